"""The rows that runs of agents keep, seen from outside."""

from __future__ import annotations

import pytest

from structkit.agent.run import driver
from structkit.generate.run.prefix_cache import KeptRow, keeping
from structkit.models.protocols import Rows

__all__ = ["noted_rows"]


def noted_rows(monkeypatch: pytest.MonkeyPatch) -> list[KeptRow]:
    """Every row that is kept from now on, as it is made."""
    kept: list[KeptRow] = []

    def noted(rows: Rows) -> Rows:
        made = keeping(rows)
        if isinstance(made, KeptRow):
            kept.append(made)
        return made

    monkeypatch.setattr(driver, "keeping", noted)
    return kept
