"""The title, the notes and the spans of a trace."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from structkit.generate.output.calibration import Calibration, CalibrationCurve
from structkit.generate.output.token import Token
from structkit.generate.output.trace import Draft, RejectedText, Trace, token_spans


def _draft(end: Any = "complete", *, reply: str = "ab", accepted: str = "ab", **more: Any) -> Draft:
    return Draft(
        attempt=0, prefix="", reply=reply, healed=more.pop("healed", ""), skipped="", accepted=accepted, refused="",
        rest="", forced="", choices=(), hint="", end=end, seconds=1.0, **more,
    )  # fmt: skip


def _token(
    text: bytes = b"a",
    *,
    forced: bool = False,
    logprob: float = 0.0,
    masked: float = 0.0,
    drafted: bool = False,
) -> Token:
    return Token(7, text, forced, logprob, masked, drafted)


def _title(**given: Any) -> str:
    return Trace(**given).picture().title


@pytest.mark.parametrize(("model", "target"), [("m", "t"), ("m", ""), ("", "t")])
def test_a_title_names_model_and_target(model: str, target: str) -> None:
    names = ", ".join(name for name in (model, target) if name)
    assert _title(model=model, target=target) == f"{names}: masked"
    assert _title(model=model, target=target, error="ModelError") == f"{names}: failed with ModelError"


def test_a_title_counts_what_there_is() -> None:
    for replies, cut in product(range(4), range(4)):
        drafts = [_draft("refused") for _ in range(min(cut, replies))]
        drafts += [_draft() for _ in range(replies - len(drafts))]
        counts = [f"{replies} {'reply' if replies == 1 else 'replies'}"] if replies else []
        if drafts and drafts[0].end == "refused":
            number = min(cut, replies)
            counts.append(f"{number} correction{'s' * (number != 1)}")
        trace = Trace(model="m", guarantee="corrected", drafts=tuple(drafts))
        assert trace.picture().title == "m: " + ", ".join(["corrected", *counts])
        assert trace.corrections == sum(draft.end == "refused" for draft in drafts)
    for count, forced in ((1, 0), (1, 1), (3, 2)):
        tokens = tuple(_token(forced=number < forced) for number in range(count))
        assert (
            _title(model="m", tokens=tokens)
            == f"m: masked, {count} token{'s' * (count != 1)}, {forced} forced"
        )
    assert (
        _title(model="m", drafted_tokens=5, accepted_tokens=2) == "m: masked, 2 of 5 drafted tokens accepted"
    )
    rejected: Any = tuple(RejectedText("1", 0, "no") for _ in range(2))
    assert _title(model="m", rejected=rejected) == "m: masked, 3 attempts"


def test_notes_say_what_the_model_did_not_write() -> None:
    for count in (1, 2):
        [note] = Trace(healed_bytes=count).picture().notes
        assert (note.label, note.text) == (
            "healed",
            f"the first token repeats {count} byte{'s' * (count > 1)} of the prompt",
        )
    [note] = Trace(forced_fields=("a", "b[0]")).picture().notes
    assert (note.label, note.text) == ("completed", "without the model: a, b[0]")
    assert Trace().picture().notes == ()


def test_the_spans_of_tokens_say_what_is_known() -> None:
    tokens = [
        _token(b"caf\xc3", forced=True),
        _token(b"\xa9", logprob=-1.254),
        _token(b"x", drafted=True, masked=0.255, logprob=-0.5),
        _token(b"\xe6", masked=0.5),
    ]
    assert [(span.kind, span.text, span.detail) for span in token_spans(tokens)] == [
        ("forced", "caf", "token 7"),
        ("sampled", "é", "token 7, log-probability -1.25"),
        ("sampled", "x", "token 7, drafted, log-probability -0.50, 26% masked"),
        ("sampled", "\udce6", "token 7, 50% masked"),
    ]


@pytest.mark.parametrize("constraint", [None, "grammar"])
def test_a_value_is_constrained_if_each_reply_is_and_all_of_it_was_accepted(constraint: Any) -> None:
    for reply, healed, accepted, is_whole in (
        ("ab", "", "ab", True),
        (" a b\n", "", "ab", True),
        (" ab", " ", "ab", True),
        ("ab", "a", "b", True),
        ("abc", "", "ab", False),
        ("b", "a", "b", False),
    ):
        draft = _draft(reply=reply, healed=healed, accepted=accepted, constraint=constraint)
        for drafts, forced in product(([draft], [draft, draft], []), ((), ("a",))):
            expected = is_whole and bool(drafts) and not forced and constraint is not None
            assert Trace(drafts=tuple(drafts), forced_fields=forced).is_constrained == expected
        both = (draft, _draft(constraint=None))
        assert not Trace(drafts=both).is_constrained


def test_a_calibration_is_a_table() -> None:
    curve = CalibrationCurve(points=((0, 0),), values=90, right=60, error_before=0.2, error_after=0.02)
    assert str(Calibration("m", {"choice": curve, "number, not in source": curve})).splitlines() == [
        "kind                    values   right  error before   after",
        "choice                      90      60         0.200   0.020",
        "number, not in source       90      60         0.200   0.020",
    ]
