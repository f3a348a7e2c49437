"""Observation of the rows that agents cache during runs."""

from __future__ import annotations

import pytest

from structkit.agent.run import driver
from structkit.generate.run.prefix_cache import CachedRow, with_cached_row
from structkit.models.protocols import Batch

__all__ = ["noted_rows"]


def noted_rows(monkeypatch: pytest.MonkeyPatch) -> list[CachedRow]:
    """Collect every row that is cached from now on."""
    kept: list[CachedRow] = []

    def noted(rows: Batch) -> Batch:
        made = with_cached_row(rows)
        if isinstance(made, CachedRow):
            kept.append(made)
        return made

    monkeypatch.setattr(driver, "with_cached_row", noted)
    return kept
