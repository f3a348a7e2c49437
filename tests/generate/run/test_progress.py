"""The progress bar: when it is shown, and what it counts."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import structkit as sk
from structkit.generate.run.progress import Progress

tqdm_auto = pytest.importorskip("tqdm.auto", reason="needs tqdm")


class Bar:
    """A bar that keeps what it is told."""

    made: list[Bar]

    def __init__(self, **options: Any) -> None:
        self.options, self.steps, self.is_closed = options, 0, False
        Bar.made.append(self)

    def update(self) -> None:
        self.steps += 1

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("total", [None, 0, 1, 2, 9])
@pytest.mark.parametrize("enabled", [None, True, False])
def test_a_bar_is_shown_for_more_than_one_value(
    total: int | None, enabled: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    Bar.made = []
    monkeypatch.setattr(tqdm_auto, "tqdm", Bar)
    with Progress(total, enabled) as progress:
        progress.advance()
        progress.advance()
        assert all(not bar.is_closed for bar in Bar.made)
    if enabled is False or total in (0, 1):
        assert not Bar.made
        return
    (bar,) = Bar.made
    assert bar.options == {"total": total, "unit": "value", "disable": None if enabled is None else False}
    assert (bar.steps, bar.is_closed) == (2, True)


def test_a_bar_that_is_asked_for_needs_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for enabled in (None, False):
        with Progress(5, enabled) as progress:
            progress.advance()
    with pytest.raises(sk.MissingExtra, match="progress=True needs"):
        Progress(5, True)
