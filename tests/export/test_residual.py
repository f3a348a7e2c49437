"""The rest of a language after a text."""

from __future__ import annotations

import re
from random import Random

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded
from structkit.export.residual import residual
from structkit.targets.targets import AnyTarget, read_target
from structkit.testing import byte_vocabulary
from tests.export.test_round_trips import GRAMMARS, LIMITS, _changed, _reader, _walk
from tests.shared import cases
from tests.zoo import ZOO


class Person(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=120)
    tags: list[str] = []
    friend: Person | None = None


_FAST = ("arithmetic", "csv", "iso8601", "parentheses", "left recursion", "regex", "choice")

TARGETS: dict[str, AnyTarget] = {
    "person": Person,
    "counts": {
        "type": "array",
        "minItems": 30,
        "maxItems": 200,
        "items": {"type": "integer", "multipleOf": 3},
    },
    "pattern": {"type": "string", "pattern": "^(ab|é)*$", "maxLength": 100},
    "open": {"properties": {"a": {"type": "number"}}, "type": "object"},
}


def _cursor(target: AnyTarget, text: bytes) -> sk.Cursor:
    cursor = sk.compile(target, byte_vocabulary(), cache=False).cursor()
    for byte in text:
        cursor.advance(byte)
    return cursor


def _is_boundary(text: bytes, at: int) -> bool:
    return at == len(text) or text[at] & 0xC0 != 0x80


def _check(target: AnyTarget, name: str, prefixes: int) -> int:
    automaton = link(read_target(target).rules(source=" ? "))
    reader, chance, checked = Reader(automaton), Random(name), 0
    walked = [text for _ in range(8) if (text := _walk(automaton, chance)) is not None]
    for text in walked[:prefixes]:
        at = chance.choice([at for at in range(len(text) + 1) if _is_boundary(text, at)])
        frames = reader.read(automaton.start_frames(), b"", text[:at])[0]
        try:
            rest = residual(automaton, frames)
            grammar = rest.to_gbnf()
        except LimitExceeded:  # a pattern with a maximum length
            continue
        if len(grammar) > 60_000:
            continue
        printed = _reader(sk.Grammar(grammar, syntax="gbnf", limits=LIMITS))
        try:
            lark = _reader(sk.Grammar(rest.to_lark(), limits=LIMITS))
        except LimitExceeded:  # many rules of one loop, such as those of a semantic version
            continue
        assert printed.accepts(text[at:])
        for other in [each[at:] for each in walked] + [_changed(text[at:], chance) for _ in range(8)]:
            expected = reader.accepts(text[:at] + other)
            assert printed.accepts(other) == expected, (text[:at], other)
            assert lark.accepts(other) == expected, (text[:at], other)
        checked += 1
    return checked


@pytest.mark.long(every=3)
@pytest.mark.parametrize("name", [*_FAST, *TARGETS])
def test_the_rest_after_a_prefix_is_what_the_language_allows(name: str) -> None:
    target = GRAMMARS[name]() if name in GRAMMARS else TARGETS[name]
    assert _check(target, name, cases(2, of=4))


@pytest.mark.long(every=3)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name",
    sorted(Random(1).sample([n for n in ZOO if "set" not in n and "dict" not in n], cases(8, of=40))),
)
def test_types(name: str) -> None:
    _check(ZOO[name].target, name, cases(1, of=2))


def test_a_rest_is_a_regex_if_the_language_is_regular() -> None:
    cursor = _cursor({"type": "string", "maxLength": 20}, b'"ab')
    pattern = cursor.residual().to_regex()
    assert re.fullmatch(pattern, 'x"')
    assert re.fullmatch(pattern, "x" * 18 + '"')
    assert not re.fullmatch(pattern, "x" * 19 + '"')


def test_a_count_stays_a_count() -> None:
    grammar = _cursor({"type": "string", "maxLength": 5_000}, b'"ab').residual().to_gbnf()
    assert len(grammar) < 500


def test_the_end_has_an_empty_rest() -> None:
    guide = sk.compile(bool, byte_vocabulary(), cache=False)
    cursor = guide.cursor()
    for byte in b"true":
        cursor.advance(byte)
    assert cursor.residual().to_gbnf() == 'root ::= ""\n'
    cursor.advance(guide.vocabulary.eos_token_ids[0])
    assert cursor.residual().to_regex() == ""


def test_a_text_that_ends_inside_a_character_has_no_rest() -> None:
    cursor = _cursor(sk.Choice(["é!", "è"]), "é".encode()[:1])
    with pytest.raises(ValueError, match="inside a character"):
        cursor.residual()
    cursor.advance("é".encode()[1])
    assert cursor.residual().to_regex() == "!"


def test_frames_of_a_cursor_that_distinguishes_texts() -> None:
    cursor = _cursor(set[int], b"[1")
    assert "[0-9]" in cursor.residual().to_gbnf()


@pytest.mark.parametrize(
    "before", [b'{"a": ', b'{"a": {"b": [', b'{"a": {"b": [{"a": ', b'{"b": [{"b": [{}, ']
)
def test_the_rests_below_a_text_are_numbered_from_one(before: bytes) -> None:
    """No number is left out, and each rest is called."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"$ref": "#"}}},
        "additionalProperties": False,
    }
    names = re.findall(r"\brest-(\d+)(?![\d-])", _cursor(schema, before).residual().to_gbnf())
    assert {*map(int, names)} == {*range(1, max(map(int, names)) + 1)} and len(names) > len({*names})
