"""Predicates whose language is known are enforced; others are called afterwards."""

from __future__ import annotations

import enum
import math
from decimal import Decimal
from typing import Annotated, Any, Literal

import annotated_types as at
import pytest
from pydantic import AfterValidator, Field, Json, StringConstraints, TypeAdapter, ValidationError

import structkit as sk
from structkit.schema.python.output import OutputType
from structkit.schema.view.describe import describe
from structkit.testing import byte_vocabulary

LOWER = at.Predicate(str.islower)
TEXTS = ["", "a", "A", "aB", "abcd", "5", "a5", "ǅ", "é", "ß", "²", "a b", "the Cat", "sat"]


class Size(str, enum.Enum):
    SMALL = "small"
    LARGE = "LARGE"


@pytest.mark.parametrize(
    "target",
    [
        at.LowerCase[str],
        at.UpperCase[str],
        at.IsDigits[str],
        at.IsAscii[str],
        Annotated[str, at.Not(str.islower)],
        Annotated[str, at.Predicate(at.Not(str.isdigit))],
        Annotated[str, at.Not(at.Not(str.isdigit))],
        Annotated[str, LOWER, at.Predicate(str.isalpha)],
        Annotated[str, LOWER, Field(max_length=3)],
        Annotated[str, Field(pattern="^a"), LOWER, Field(pattern="[a-z]$")],
        Annotated[str, StringConstraints(strip_whitespace=True), at.Predicate(str.isascii)],
        at.LowerCase[Literal["a", "B"]],
        at.UpperCase[Size],
        Annotated[str | None, LOWER],
        Annotated[Annotated[str, LOWER], Field(default="a")],
    ],
)
def test_a_predicate_of_texts_is_enforced(target: Any) -> None:
    assert sk.explain(target).enforced
    reader, adapter = sk.compile(target, byte_vocabulary()).reader, TypeAdapter(target)
    texts = [*(f'"{text}"' for text in [*TEXTS, "small", "LARGE", "B"]), "null"]
    answers = [_accepts(adapter, text) for text in texts]
    assert [reader.accepts(text.encode()) for text in texts] == answers
    assert any(answers) and not all(answers)


def _accepts(adapter: TypeAdapter[Any], text: str) -> bool:
    try:
        adapter.validate_json(text)
    except ValidationError:
        return False
    return True


def test_a_predicate_of_keys_and_items() -> None:
    reader = sk.compile(dict[at.IsDigits[str], set[at.UpperCase[str]]], byte_vocabulary()).reader
    assert reader.accepts(b'{"1": ["A", "B"]}')
    assert not any(map(reader.accepts, (b'{"a": []}', b'{"1": ["a"]}', b'{"1": ["A", "A"]}')))


def test_a_predicate_of_a_quote() -> None:
    target = Annotated[str, sk.Quote(source="the Cat sat"), LOWER]
    reader = sk.compile(target, byte_vocabulary()).reader
    assert [text for text in TEXTS if reader.accepts(f'"{text}"'.encode())] == ["sat"]


@pytest.mark.parametrize(
    "target", [at.IsFinite[float], at.IsNotNan[float], at.IsNotInfinite[Decimal], at.IsFinite[float | None]]
)
def test_numbers_of_json_are_finite(target: Any) -> None:
    assert sk.explain(target).enforced
    reader = sk.compile(target, byte_vocabulary()).reader
    texts = [b"1.5", b"-2", b"null", b"Infinity", b"NaN", b'"NaN"']
    assert [each for each in texts if reader.accepts(each)] == [
        b"1.5",
        b"-2",
        *([b"null"] if _accepts(TypeAdapter(target), "null") else []),
    ]


@pytest.mark.parametrize("target", [at.IsNan[float], at.IsInfinite[float], at.IsNotFinite[float]])
def test_no_number_of_json_is_infinite(target: Any) -> None:
    with pytest.raises(sk.UnsupportedKeyword, match="JSON has only finite numbers"):
        sk.to_regex(target)


@pytest.mark.parametrize(
    "target",
    [
        Annotated[str, AfterValidator(str.upper), LOWER],
        Annotated[Json[str], LOWER],
        Annotated[str, at.Predicate(lambda text: text.islower())],
        Annotated[int | str, LOWER],
        Annotated[int, at.Predicate(math.sqrt)],
    ],
)
def test_other_predicates_are_called_afterwards(target: Any) -> None:
    reasons = [row.reason for row in sk.explain(target).rows if row.how == "checked after"]
    assert reasons[0] == "Predicate runs when the value is complete"


def test_the_description_of_a_predicate() -> None:
    target = tuple[at.IsDigits[str], Annotated[str, at.Not(str.islower), Field(max_length=3)]]
    described = OutputType.of(target).document
    assert describe(described) == (
        "[string of digits, string that is no string in lower case (at most 3 characters)]"
    )
