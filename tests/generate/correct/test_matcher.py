"""Replies are read alike, however they are divided into pieces."""

from __future__ import annotations

import random

import pytest

import structkit as sk
from structkit.generate.correct.matcher import ReplyMatcher
from structkit.guide.guide import Cursor
from structkit.targets.targets import AnyTarget
from structkit.vocabulary.vocabulary import byte_vocabulary
from tests.generate.correct.test_hostile_replies import REPLIES, TARGETS
from tests.shared import cases


def read(cursor: Cursor, text: bytes, pieces: list[str], *, continues: bool) -> tuple[object, ...]:
    matcher = ReplyMatcher(cursor, text, len(text.rstrip()), 2_000, continues=continues)
    for piece in pieces:
        if matcher.feed(piece):
            break
    matcher.finish()
    best = matcher.best()
    return () if best is None else (bytes(best.text), best.state, best.start, best.position)


@pytest.mark.long(every=5)
@pytest.mark.parametrize("seed", range(cases(60, of=300)))
def test_the_division_into_pieces_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    target, answer = rng.choice(TARGETS)
    cursor = sk.compile(target, byte_vocabulary()).cursor()
    text = answer.encode()[: rng.randrange(len(answer.encode()))]
    for byte in text:
        cursor.advance(byte)
    reply = REPLIES[rng.choice([*REPLIES])](rng, answer, text.decode(errors="ignore"))
    pieces, rest = [], reply
    while rest:
        length = rng.randrange(1, 9)
        pieces.append(rest[:length])
        rest = rest[length:]
    for continues in (True, False):
        whole = read(cursor, text, [reply], continues=continues)
        assert whole == read(cursor, text, pieces, continues=continues), reply[:200]


QUERY = sk.Grammar('start: "find" NAME\nNAME: "name" | "age"\n%ignore " "')


@pytest.mark.long(every=3)
@pytest.mark.parametrize("continues", [True, False])
@pytest.mark.parametrize(
    ("target", "text"),
    [
        (int, "42"),
        (bool, "true"),
        (QUERY, "find age"),
        (list[int], "[4, 2]"),
        (sk.Choice(["yes", "no"]), "no"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "before",
    ["\ufeff", "\ufeff\n", "\ufeff<think>1?</think>", "so it is, then</think>", "<think>1?</think> "],
)
def test_a_mark_reasoning_and_spaces_before_the_answer_are_skipped(
    target: AnyTarget, text: str, before: str, continues: bool
) -> None:
    model = sk.from_function(lambda prompt: before + text, continues=continues)
    result: sk.Result[object] = sk.generate(model, "?", target)
    assert (result.text.lstrip(), result.usage.calls) == (text, 1)


def test_spaces_that_belong_to_a_value_are_kept() -> None:
    assert sk.extract(sk.from_function(lambda text: " no"), "?", sk.Regex(" ?(no|n)")) == " no"
    cursor = sk.compile(sk.Regex("[a-d]{4}"), byte_vocabulary()).cursor()
    for byte in b"ab":
        cursor.advance(byte)
    assert read(cursor, b"ab", [" cd"], continues=True) == ()  # it is not abcd


def test_a_mark_is_no_part_of_the_rest_of_a_string() -> None:
    model = sk.from_function(lambda text: '\ufeffAna"]')
    assert sk.extract(model, "?", tuple[str]) == ("Ana",)
    assert sk.extract(sk.from_function(lambda text: "\ufeff"), "?", sk.Regex("\ufeff")) == "\ufeff"


@pytest.mark.parametrize("chat", [True, False])
def test_a_model_that_does_not_continue_can_explain_itself_first(chat: bool) -> None:
    prose = "Let me see. The number must be even, and small.\n" * 200
    model = sk.from_function(lambda given: f"{prose}42", chat=chat, continues=False)
    assert sk.generate(model, "?", int).usage.calls == 1
    continuing = sk.from_function(lambda given: prose, chat=chat)
    with pytest.raises(sk.CorrectionsExhausted) as raised:
        sk.generate(continuing, "?", int)
    assert len(raised.value.drafts[0]) < 6_000


@pytest.mark.parametrize("before", ["", "[1, "])
@pytest.mark.parametrize("start", ["", "so: "])
def test_a_value_is_searched_in_400_bytes_of_prose(before: str, start: str) -> None:
    """The bytes are counted from the first reading that ends, whatever the pieces."""
    cursor = sk.compile(list[int], byte_vocabulary()).cursor()
    for byte in before.encode():
        cursor.advance(byte)
    counts = []
    for size in (1, 7, 5_000):
        matcher = ReplyMatcher(cursor, before.encode(), len(before.rstrip()), 2_000, continues=True)
        pieces = [("x" * 5_000)[at : at + size] for at in range(0, 5_000, size)]
        matcher.feed(start)
        fed = next(number for number, piece in enumerate(pieces, 1) if matcher.feed(piece))
        counts.append(fed * size)
    assert counts[0] + len(start) == 401 and counts[1] == -(-counts[0] // 7) * 7 and counts[2] == 5_000
