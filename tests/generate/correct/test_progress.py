"""Replies that are counted until one makes progress."""

from __future__ import annotations

from itertools import product
from typing import Any

import structkit as sk
from structkit.generate.correct.bounds import Progress, repeats
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


def test_replies_repeat_if_the_last_four_are_equal() -> None:
    """Replies with text must be idle, too, and longer than a token; the seconds and earlier replies do not matter."""
    long, short = "longer than a token of a model", "sixteen letters!"
    for end, reply, count, idle, other in product(
        ("refused", "empty", "ended"), (long, short), range(6), range(6), (None, "first", "last")
    ):
        drafts = [_draft(end, reply) for _ in range(count)]
        if other is not None:
            drafts.insert(0 if other == "first" else len(drafts), _draft(end, reply, reply="other"))
        equal = (count >= 4 and other != "last") or drafts[-4:] == [_draft(end, reply)] * 4
        expected = equal and (end != "ended" or (idle >= 4 and reply == long))
        assert repeats(drafts, idle) == expected, (end, reply, count, idle, other)
