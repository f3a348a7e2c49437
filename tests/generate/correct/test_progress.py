"""Replies that are counted until one makes progress."""

from __future__ import annotations

from typing import Any

import structkit as sk
from structkit.generate.correct.bounds import Progress
from structkit.generate.output.trace import Draft
from structkit.testing import byte_vocabulary


def _draft(end: Any, accepted: str = "", reply: str = "r") -> Draft:
    return Draft(
        attempt=0, prefix="", reply=reply, healed="", skipped="", accepted=accepted, refused="", rest="", forced="",
        choices=(), hint="", end=end, seconds=1.0,
    )  # fmt: skip


def _counts(progress: Progress) -> tuple[int, int, int]:
    return progress.corrections, progress.idle_replies, progress.hanging_replies


def test_replies_without_progress_are_counted() -> None:
    cursor = sk.compile(str, byte_vocabulary()).cursor()
    progress = Progress(cursor)
    assert _counts(progress) == (0, 0, 0)
    for draft, expected in (
        (_draft("timeout"), (0, 0, 1)),
        (_draft("timeout"), (0, 0, 2)),
        (_draft("timeout", "long enough to be more than a token of a model"), (0, 0, 0)),
        (_draft("refused"), (1, 0, 0)),
        (_draft("empty"), (2, 0, 0)),
        (_draft("ended", "long enough to be more than a token of a model"), (2, 1, 0)),
        (_draft("ended", "a", reply="a"), (2, 1, 0)),
        (_draft("ended", "a", reply="a"), (2, 2, 0)),
        (_draft("failed"), (2, 2, 0)),
    ):
        progress.count(draft, 0, cursor)
        assert _counts(progress) == expected, draft
    cursor.advance(ord('"'))  # the end is nearer
    progress.count(_draft("ended", "a", reply="a"), 0, cursor)
    assert _counts(progress) == (2, 0, 0)
    progress.count(_draft("ended", "a", reply="a"), 0, cursor)
    progress.count(_draft("refused"), 1, cursor)  # a value is complete
    assert _counts(progress) == (1, 0, 0)
    progress.count(_draft("refused"), 1, cursor)
    assert _counts(progress) == (2, 0, 0)
