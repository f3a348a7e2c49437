"""Constraints that pydantic checks with a function, compared with pydantic on values at and beside each bound."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, MinLen, MultipleOf
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr, TypeAdapter, ValidationError

import structkit as sk
from structkit.testing import byte_vocabulary

V = byte_vocabulary()


def _accepts(target: Any, text: str) -> bool:
    cursor = sk.compile(target, V, cache=False).cursor()
    try:
        for byte in text.encode():
            cursor.advance(byte)
    except sk.TokenRejected:
        return False
    return cursor.is_accepting


def _is_valid(target: Any, text: str) -> bool:
    try:
        TypeAdapter(target).validate_json(text)
    except ValidationError:
        return False
    return True


class Level(enum.IntEnum):
    LOW, MIDDLE, HIGH = 1, 2, 3


NUMBERS = ["1", "2", "3", "1.5", "2.0", "2.5", "3.5", "null", "true", '"b"']


@pytest.mark.parametrize("bound", [Ge, Gt, Le, Lt, MultipleOf])
@pytest.mark.parametrize(
    "inner",
    [
        int | float,
        int | None,
        float | Literal[2, 3],
        int | str,
        Level | int,
        Literal[1, 2, 3],
        Level,
    ],
    ids=str,
)
def test_a_number_with_a_bound_that_a_function_checks(bound: Any, inner: Any) -> None:
    target: Any = Annotated[inner, bound(2)]
    accepted = [text for text in NUMBERS if _accepts(target, text)]
    valid: list[str] = []
    for text in NUMBERS:
        try:
            if _is_valid(target, text):
                valid.append(text)
        except TypeError:  # pydantic compares a text with a number
            continue
    canonical = {"2.0", "true"}  # other spellings of 2 and 1
    assert [text for text in accepted if text not in canonical] == [
        text for text in valid if text not in canonical and _accepts(inner, text)
    ]


DAY = dt.date(2020, 1, 2)


@pytest.mark.parametrize("bound", [Ge, Gt, Le, Lt])
@pytest.mark.parametrize(
    ("inner", "value", "texts"),
    [
        (dt.date | None, DAY, ['"2020-01-01"', '"2020-01-02"', '"2020-01-03"', "null"]),
        (dt.date | int, DAY, ['"2020-01-01"', '"2020-01-02"', '"2020-01-03"', "2"]),
        (dt.time | None, dt.time(1), ['"00:59:59"', '"01:00:00"', '"01:00:01"']),
        (Decimal | None, Decimal(2), ['"1.9"', '"2"', '"2.1"', "null"]),
    ],
    ids=str,
)
def test_a_time_with_a_bound_that_a_function_checks(
    bound: Any, inner: Any, value: Any, texts: list[str]
) -> None:
    target: Any = Annotated[inner, bound(value)]
    for text in texts:
        try:
            valid = _is_valid(target, text)
        except TypeError:
            valid = False
        assert _accepts(target, text) == valid, text


@pytest.mark.parametrize("constraint", [MinLen(2), MaxLen(2), Len(2, 2)], ids=str)
@pytest.mark.parametrize(
    ("inner", "texts"),
    [
        (str | None, ['"a"', '"ab"', '"abc"', "null"]),
        (list[int] | str, ["[1]", "[1, 2]", "[1, 2, 3]", '"a"', '"ab"', '"abc"']),
        (SecretStr, ['"a"', '"ab"', '"abc"']),
        (SecretBytes, ['"a"', '"ab"', '"abc"']),
        (dict[str, int] | int, ['{"a": 1}', '{"a": 1, "b": 2}', '{"a": 1, "b": 2, "c": 3}', "1"]),
    ],
    ids=str,
)
def test_a_length_that_a_function_checks(constraint: Any, inner: Any, texts: list[str]) -> None:
    target: Any = Annotated[inner, constraint]
    for text in texts:
        try:
            valid = _is_valid(target, text)
        except TypeError:  # pydantic asks for the length of a number
            valid = False
        assert _accepts(target, text) == valid, text


class Cat(BaseModel):
    kind: Literal["cat"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Annotated[Level, Ge(4)], "no value satisfies `ge`; remove it"),
        (Annotated[Literal[1, 2], Gt(2)], "no value satisfies `gt`; remove it"),
        (
            Annotated[Secret[int], Ge(1)],
            "`ge` of Secret cannot be enforced; remove it, or check it in a validator",
        ),
        (
            Annotated[SecretStr, Field(pattern="a")],
            "`pattern` of a secret cannot be enforced; use str, or check it in a validator",
        ),
        (
            Annotated[int | Annotated[int, Ge(3)], Ge(2)],
            "`ge` of int cannot be enforced; remove it, or check it in a validator",
        ),
        (
            Annotated[Cat, Ge(1)],
            "`ge` of Cat cannot be enforced; remove it, or check it in a validator",
        ),
    ],
    ids=str,
)
def test_a_constraint_that_cannot_be_enforced_is_named(target: Any, message: str) -> None:
    with pytest.raises(sk.SchemaError) as raised:
        sk.compile(target, V, cache=False)
    found = "; ".join(line.strip() for line in str(raised.value).splitlines())
    assert message in found
