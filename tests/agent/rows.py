"""Observation of the rows that agents cache during runs."""

from __future__ import annotations

import pytest

from structkit.agent.run import driver
from structkit.generate.schedule.prefix_cache import CachedRow

__all__ = ["noted_rows"]


def noted_rows(monkeypatch: pytest.MonkeyPatch) -> list[CachedRow]:
    """Collect every row that is cached from now on."""
    kept: list[CachedRow] = []

    class Noted(CachedRow):
        def __init__(self) -> None:
            super().__init__()
            kept.append(self)

    monkeypatch.setattr(driver, "CachedRow", Noted)
    return kept
