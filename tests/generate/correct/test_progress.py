"""Replies that are counted until one makes progress."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import structkit as sk
from structkit.generate.correct.bounds import _REMEDIES, Progress, message_of, repeats
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


def test_the_message_of_a_bound_has_the_ends_of_the_texts() -> None:
    model = SimpleNamespace(name="m", max_calls=7)
    settings = SimpleNamespace(max_corrections=3, timeout=2.5)
    request: Any = SimpleNamespace(model=model, settings=settings)
    limits: dict[Any, str] = {
        "max_corrections": "within max_corrections=3",
        "max_calls": "within max_calls=7",
        "timeout": "within timeout=2.5",
        "repeats": "and gave the same reply 4 times",
        "idle": "in 32 replies that brought its end no nearer",
    }
    refused, empty = replace(_draft("refused"), refused="r" * 61), _draft("empty", reply="")
    for bound, limit in limits.items():
        start = f"m did not complete the value {limit}: the accepted text ends in "
        for drafts, found, remedy in (
            ([], "", bound),
            ([refused, _draft("ended")], "", bound),
            ([empty, refused], f", where the model wrote {'r' * 60!r}", bound),
            (
                [refused, empty],
                ", and the last reply is empty, as with a full context",
                "empty" if bound == "repeats" else bound,
            ),
        ):
            for text, shown in ((b"", ""), (b"a" * 61, "a" * 60), (b"caf\xc3", "caf\ufffd")):
                assert (
                    message_of(bound, request, text, drafts)
                    == f"{start}{shown!r}{found}; {_REMEDIES[remedy]}"
                )


def test_a_reply_of_16_bytes_may_be_one_token() -> None:
    cursor = sk.compile(str, byte_vocabulary()).cursor()
    for accepted in ("a" * 16, "é" * 8, "a" * 17, "é" * 8 + "a"):
        progress, is_long = Progress(cursor), len(accepted.encode()) > 16
        progress.count(_draft("timeout", accepted), 0, cursor)
        progress.count(_draft("ended", accepted, reply="other"), 0, cursor)
        assert _counts(progress) == (0, int(is_long), 0)
        progress.count(_draft("timeout", accepted), 0, cursor)
        assert progress.hanging_replies == (not is_long)
        progress.count(_draft("ended", accepted, reply="x"), 0, cursor)
        progress.count(_draft("ended", accepted, reply="x"), 0, cursor)
        assert progress.idle_replies == (3 if is_long else 1)
