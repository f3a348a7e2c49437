"""Values that must differ from each other: floats in sets and as keys, and what models hold in sets."""

from __future__ import annotations

import datetime as dt
import json
from functools import cache
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

import structkit as sk
from structkit.guide.guide import Guide
from structkit.testing import byte_vocabulary
from tests.reading import reads
from tests.zoo.specimen import dump


class Moment(BaseModel, frozen=True):
    at: dt.datetime


class Truth(BaseModel, frozen=True):
    value: bool | int


class Held(BaseModel, frozen=True):
    value: float


Several = Annotated[set[float], Field(min_length=2)]
Either = Annotated[set[int | float], Field(min_length=2)]

edges = st.sampled_from([5e-324, 1e22, 1e16, 1e-7, 1e-4, 9007199254740993.0, 0.1 + 0.2])
values = (st.floats(-1e308, 1e308, exclude_min=True, exclude_max=True) | edges).filter(bool)


@cache
def _guide(target: Any) -> Guide:
    return sk.compile(target, byte_vocabulary(), cache=False)


def _holds(target: Any, text: str) -> bool:
    cursor = _guide(target).cursor()
    return reads(cursor, text.encode()) and cursor.is_accepting


@given(values)
def test_the_dump_of_a_float_is_in_the_language(value: float) -> None:
    for target, held in (
        (set[float], {value}),
        (set[float | None], {value, None}),
        (set[tuple[float, str]], {(value, "a")}),
        (set[Held], {Held(value=value)}),
        (dict[float, int], {value: 1}),
    ):
        text = dump(TypeAdapter(target), held)
        assert _holds(target, text), text


@pytest.mark.parametrize("target", [Several, Either])
@given(st.lists(values, min_size=2, max_size=4), st.integers(15, 17))
def test_where_items_are_counted_no_two_are_equal(target: Any, found: list[float], figures: int) -> None:
    texts = [*map(repr, found), repr(float(f"{found[0]:.{figures - 1}e}")), f"{found[0]:.{figures}g}"]
    text = f"[{', '.join(texts)}]"
    if _holds(target, text):
        assert len(set(json.loads(text))) == len(texts)


@pytest.mark.parametrize("text", ["[1, 1.0]", "[0.1, 0.10000000000000001]", "[1e+16, 10000000000000000]"])
def test_equal_numbers_in_two_spellings(text: str) -> None:
    assert not _holds(Several, text)
    assert not _holds(Either, text)
    assert not _holds(Annotated[set[Any], Field(min_length=2)], text)


def test_equal_models_in_two_spellings() -> None:
    moments = '[{"at": "2024-01-01T00:00:00Z"}, {"at": "2024-01-01T01:00:00+01:00"}]'
    assert not _holds(Annotated[set[Moment], Field(min_length=2)], moments)
    several = Annotated[set[Moment], Field(min_length=2)]
    assert _holds(several, moments.replace("01:00:00+01:00", "01:00:00Z"))
    assert not _holds(Annotated[set[Truth], Field(min_length=2)], '[{"value": 1}, {"value": true}]')
    assert _holds(Annotated[set[Truth], Field(min_length=2)], '[{"value": 2}, {"value": true}]')
