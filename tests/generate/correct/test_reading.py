"""One way to read a reply: what it adds to an answer, where it stops, and that its pieces do not matter."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

import structkit as sk
from structkit.generate.correct.reading import MAX_SPACES, Reading
from structkit.generate.output.json_reader import MAX_DEPTH
from structkit.guide.guide import Guide
from structkit.testing import byte_vocabulary

TARGETS: dict[str, Any] = {
    "list": list[int],
    "text": str,
    "number": int,
    "words": sk.Regex("[a-z]+( [a-z]+)*"),
    "object": {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "spaces": sk.Regex(" *x"),
    "any": {"type": "array"},
}


@cache
def _guide(name: str) -> Guide:
    return sk.compile(TARGETS[name], byte_vocabulary(), cache=False)


def _read(
    name: str, reply: str, *, before: str = "", budget: int = 1000, cuts: tuple[int, ...] = (), **options: Any
) -> Reading:
    cursor = _guide(name).cursor()
    for byte in before.encode():
        cursor.advance(byte)
    data = bytearray(reply.encode())
    reading = Reading(cursor, before.encode(), 0, budget, **options)
    for cut in cuts:
        reading.read(data[:cut], cut)
    reading.read(data, len(data), is_last=True)
    return reading


CASES = [
    ("list", "", "[1,2]", "[1, 2]", "complete", 5),
    ("list", "", "[1 ,\n 2 ] and more", "[1, 2]", "complete", 9),
    ("list", "", "[1, x", "[1, ", "refused", 4),
    ("list", "", "[1 2]", "[1", "refused", 3),
    ("list", "[1", "2]", "[12]", "complete", 2),
    ("list", "", "[", "[", "open", 1),
    ("number", "", "12", "12", "complete", 2),
    ("number", "", "12.", "12", "complete", 2),
    ("number", "", "12, so", "12", "complete", 2),
    ("number", "", "12x", "12", "refused", 2),
    ("number", "", "12 x", "12", "complete", 3),
    ("number", "", "12`", "12", "complete", 2),
    ("number", "", "-", "-", "open", 1),
    ("text", "", '"\\u00e9"', '"é"', "complete", 8),
    ("text", "", '"\\ud83d\\ude00"', '"😀"', "complete", 14),
    ("text", "", '"\\/"', '"/"', "complete", 4),
    ("text", "", '"\\x"', '"', "refused", 1),
    ("text", "", '"a"', '"a"', "complete", 3),
    ("text", "", '"a', '"a', "open", 2),
    ("object", "", '{"a":"x"}', '{"a": "x"}', "complete", 9),
    ("object", "", '{\n  "a" : "x"\n}!', '{"a": "x"}', "complete", 15),
    ("object", "", '{"b"', '{"', "refused", 2),
    ("words", "", "ab cd", "ab cd", "complete", 5),
    ("words", "", "ab cd ", "ab cd", "complete", 5),
    ("words", "", "ab cd.", "ab cd", "complete", 5),
    ("words", "", "ab CD", "ab", "complete", 2),
    ("words", "", "ab1", "ab", "refused", 2),
]


@pytest.mark.parametrize(("name", "before", "reply", "text", "state", "position"), CASES)
def test_what_a_reply_adds_and_where_it_stops(
    name: str, before: str, reply: str, text: str, state: str, position: int
) -> None:
    reading = _read(name, reply, before=before)
    assert (reading.text.decode(), reading.state, reading.position) == (text, state, position)
    assert reading.consumed == position and not reading.is_shortened
    assert reading.cursor.token_ids == tuple(text.encode())


@pytest.mark.parametrize(("name", "before", "reply"), [case[:3] for case in CASES])
def test_the_pieces_of_a_reply_do_not_matter(name: str, before: str, reply: str) -> None:
    rng, whole = random.Random(reply), _read(name, reply, before=before)
    size = len(reply.encode())
    for _ in range(5):
        cuts = tuple(sorted(rng.sample(range(size + 1), min(3, size))))
        reading = _read(name, reply, before=before, cuts=cuts)
        assert (reading.text, reading.state, reading.position) == (whole.text, whole.state, whole.position), (
            cuts
        )


def test_a_budget_refuses_what_leaves_no_room_for_the_end() -> None:
    for budget, text, shortened in [
        (6, "[1, 2]", False),
        (5, "[1", True),
        (3, "[1", True),
        (2, "[", True),
        (1, "", True),
    ]:
        reading = _read("list", "[1,2]", budget=budget)
        assert (reading.text.decode(), reading.is_shortened) == (text, shortened), budget
        assert reading.state == ("refused" if shortened else "complete")


def test_the_bytes_that_a_reply_repeats_add_nothing() -> None:
    reading = _read("list", "[1, 2]", before="[1,", repeats=b"[1,")
    assert (reading.text.decode(), reading.begin, reading.state) == ("[1, 2]", 3, "complete")
    other = _read("list", "[2, 2]", before="[1,", repeats=b"[1,")
    assert (other.text.decode(), other.state, other.position) == ("[1,", "refused", 1)


@pytest.mark.parametrize("count", [MAX_SPACES - 1, MAX_SPACES, MAX_SPACES + 1])
def test_whitespace_without_end_is_refused(count: int) -> None:
    reading = _read("list", "[1," + " " * count + "2]")
    assert reading.state == ("refused" if count > MAX_SPACES else "complete")
    assert reading.position == (3 if count > MAX_SPACES else 5 + count)
    plain = _read("spaces", " " * count + "x")
    assert (plain.state, plain.text) == (
        ("refused", b"") if count > MAX_SPACES else ("complete", b" " * count + b"x")
    )


def test_brackets_are_nested_as_deep_as_pydantic_reads() -> None:
    for depth in (MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1):
        reading = _read("any", "[" * depth + "]" * depth)
        fits = depth <= MAX_DEPTH
        assert reading.state == ("complete" if fits else "refused")
        assert (reading.depth, len(reading.text)) == ((0, 2 * depth) if fits else (MAX_DEPTH, MAX_DEPTH))
    TypeAdapter(list[Any]).validate_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)
