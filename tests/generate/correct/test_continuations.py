"""What is offered as the continuation of a text."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.generate.correct.continuations import _ranges, continuations, named_choice, shortest_end
from structkit.guide.guide import Cursor
from structkit.targets.targets import AnyTarget
from structkit.vocabulary.vocabulary import byte_vocabulary


class Ticket(BaseModel):
    level: Literal["low", "high"]
    count: Annotated[int, Field(ge=10, le=12)]
    tags: Annotated[list[str], Field(min_length=1)]
    title: Annotated[str, Field(min_length=2)] | None


MAYBE = {
    "type": "object",
    "properties": {"low": {"type": "string"}, "high": {"type": "array"}, "x": {"type": "object"}},
    "additionalProperties": False,
}


def after(target: AnyTarget, text: str) -> Cursor:
    cursor = sk.compile(target, byte_vocabulary()).cursor()
    for byte in text.encode():
        cursor.advance(byte)
    return cursor


@pytest.mark.parametrize(
    ("target", "text", "choices", "hint"),
    [
        (Ticket, '{"level": "', ('high"', 'low"'), ""),
        (Ticket, '{"level": "low", "count": ', ("10", "11", "12"), ""),
        (
            Ticket,
            '{"level": "low", "count": 10, "tags": ["a"',
            (),
            'text that starts with one of `, "`, `], "title": `',
        ),
        (bool | list[int], "", ("[", "false", "true"), ""),
        (sk.Choice(["yes", "no", "né"]), "n", ("o", "é"), ""),
        (
            sk.Choice([f"option {number}" for number in range(65)]),
            "opt",
            (),
            "text that starts with one of `ion `",
        ),
        (
            sk.Regex(r"(left|right) turn \d+"),
            "",
            (),
            "text that starts with one of `left turn `, `right turn `",
        ),
        (str, '"a', (), None),
        (MAYBE, "{", ('"high"', '"low"', '"x"', "}"), ""),
        (MAYBE, '{"', ('high"', 'low"', 'x"'), ""),
        (MAYBE, '{"low": "a"', (', "high"', ', "x"', "}"), ""),
        (MAYBE, '{"high": ', ("[",), ""),
        (MAYBE, '{"x": ', ("{",), ""),
    ],
)
def test_texts_or_their_starts_are_offered(
    target: AnyTarget, text: str, choices: tuple[str, ...], hint: str | None
) -> None:
    found = continuations(after(target, text), text.encode())
    assert found == (choices, found[1] if hint is None else hint)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", '{"level": "low", "count": 10, "tags": [""], "title": "00"}'),
        ('{"level": "h', 'igh", "count": 10, "tags": [""], "title": "00"}'),
        ('{"level": "low", "count": 10, "tags": ["a", "b', '"], "title": "00"}'),
    ],
)
def test_the_shortest_end_completes_the_value(text: str, end: str) -> None:
    cursor = after(Ticket, text)
    shortest = shortest_end(cursor)
    assert cursor.is_accepting
    assert len(shortest) == after(Ticket, text).min_tokens_to_end()
    assert (text + shortest.decode())[-4:] in (end[-4:], "ull}")


@pytest.mark.parametrize("count", [15, 16, 17, 18])
def test_up_to_16_next_bytes_are_enumerated(count: int) -> None:
    letters = [chr(0x61 + number) for number in range(count)]
    choices, hint = continuations(after(sk.Choice(letters), ""), b"")
    assert choices == (tuple(letters) if count <= 16 else ())
    assert hint == ("" if count <= 16 else f"text that starts with one of a-{letters[-1]}")


@pytest.mark.parametrize("length", [200, 201])
def test_a_long_text_is_shown_by_its_first_40_characters(length: int) -> None:
    choices, hint = continuations(after(sk.Regex(f"x{{{length}}}"), ""), b"")
    assert choices == (("x" * length,) if length <= 200 else ())
    assert hint == ("" if length <= 200 else f"text that starts with one of `{'x' * 40}`")


@pytest.mark.parametrize("count", [64, 65])
def test_up_to_64_texts_or_starts_are_listed(count: int) -> None:
    texts = [f"{number:02x}" for number in range(count)]
    choices, hint = continuations(after(sk.Choice(texts), ""), b"")
    assert choices == (tuple(texts) if count <= 64 else ())
    assert hint == ("" if count <= 64 else "text that starts with one of `40`, 0-3")
    letters = [chr(0x30 + number) for number in range(count)]
    _, hint = continuations(after(sk.Choice([letter + "." for letter in letters]), ""), b"")
    starts = ", ".join(f"`{letter}.`" for letter in letters) if count <= 64 else f"0-{letters[-1]}"
    assert hint == f"text that starts with one of {starts}"


def test_starts_are_listed_before_the_characters_that_anything_follows() -> None:
    _, hint = continuations(after(sk.Regex(r"left turn \d+|[a-e]\w+|y."), ""), b"")
    assert hint == "text that starts with one of `left turn `, a-e, y"


def test_characters_are_named_as_ranges() -> None:
    """Each name stands for one character, and no two ranges touch."""
    random = Random(1)
    names = {code: f"\\x{code:02x}" for code in range(0x80)}
    names |= {code: chr(code) for code in range(0x21, 0x7F)} | {0x20: "' '"}
    sets = [{0x7F, 0x80}, {0x80}, {0x7F}, {0}, {0, 1}, {0x1F, 0x20, 0x21}, {0x7E, 0x7F}, {*range(0x100)}]
    sets += [{low + step for step in range(9) if random.random() < 0.6} for low in range(0, 0x79, 3)]
    for allowed in sets:
        ascii_only = sorted(code for code in allowed if code < 0x80)
        firsts = [code for code in ascii_only if code - 1 not in allowed]
        lasts = [code for code in ascii_only if code + 1 not in allowed or code == 0x7F]
        expected = [
            names[first] if first == last else f"{names[first]}-{names[last]}"
            for first, last in zip(firsts, lasts, strict=True)
        ]
        if max(allowed, default=0) >= 0x80:
            expected.append("other characters")
        assert _ranges(sorted(allowed)) == expected


@pytest.mark.parametrize(("letters", "end"), [("/0", "0"), ("/~\x7f", "~"), ("/\x7f", "/"), ("0A~", "0")])
def test_the_shortest_end_prefers_letters_and_digits(letters: str, end: str) -> None:
    assert shortest_end(after(sk.Regex(f"[{letters}]"), "")) == end.encode()


def test_a_reply_names_a_choice_apart_from_case_quotes_and_punctuation() -> None:
    choices = ('"high"', '"very high"', "STRASSE", "low", "Low")
    for around in "\"'`*.,;:! \t\r\n":
        assert named_choice(f"{around}hiGH{around}{around}".encode(), choices) == b'"high"'
        assert named_choice(f"very{around}high".encode(), choices) == (
            b'"very high"' if around == " " else b""
        )
    assert named_choice("straße".encode(), choices) == b"STRASSE"
    assert [named_choice(reply, choices) for reply in (b"low", b"hig", b"(high)", b"", b"\xff")] == [b""] * 5
