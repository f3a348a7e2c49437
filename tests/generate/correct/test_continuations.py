"""What is offered as the continuation of a text."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.generate.correct.continuations import continuations, shortest_end
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
