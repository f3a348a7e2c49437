"""Distinct values: floats in sets and as keys, and models in sets."""

from __future__ import annotations

import datetime as dt
import json
import random
from functools import cache
from typing import Annotated, Any

import numpy as np
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


class Number(BaseModel, frozen=True):
    value: float


Floats = Annotated[set[float], Field(min_length=2)]
Numbers = Annotated[set[int | float], Field(min_length=2)]

edges = st.sampled_from([5e-324, 1e22, 1e16, 1e-7, 1e-4, 9007199254740993.0, 0.1 + 0.2])
values = (st.floats(-1e308, 1e308, exclude_min=True, exclude_max=True) | edges).filter(bool)


@cache
def _guide(target: Any) -> Guide:
    return sk.compile(target, byte_vocabulary(), cache=False)


def _accepts(target: Any, text: str) -> bool:
    cursor = _guide(target).cursor()
    return reads(cursor, text.encode()) and cursor.is_accepting


@given(values)
def test_the_dump_of_a_float_is_in_the_language(value: float) -> None:
    for target, container in (
        (set[float], {value}),
        (set[float | None], {value, None}),
        (set[tuple[float, str]], {(value, "a")}),
        (set[Number], {Number(value=value)}),
        (dict[float, int], {value: 1}),
    ):
        text = dump(TypeAdapter(target), container)
        assert _accepts(target, text), text


@pytest.mark.parametrize("target", [Floats, Numbers])
@given(st.lists(values, min_size=2, max_size=4), st.integers(15, 17))
def test_no_two_items_are_equal_if_items_are_counted(target: Any, items: list[float], digits: int) -> None:
    texts = [*map(repr, items), repr(float(f"{items[0]:.{digits - 1}e}")), f"{items[0]:.{digits}g}"]
    text = f"[{', '.join(texts)}]"
    if _accepts(target, text):
        assert len(set(json.loads(text))) == len(texts)


@pytest.mark.parametrize("text", ["[1, 1.0]", "[0.1, 0.10000000000000001]", "[1e+16, 10000000000000000]"])
def test_equal_numbers_in_different_notations(text: str) -> None:
    assert not _accepts(Floats, text)
    assert not _accepts(Numbers, text)
    assert not _accepts(Annotated[set[Any], Field(min_length=2)], text)


def test_equal_models_in_different_notations() -> None:
    text = '[{"at": "2024-01-01T00:00:00Z"}, {"at": "2024-01-01T01:00:00+01:00"}]'
    moments = Annotated[set[Moment], Field(min_length=2)]
    assert not _accepts(moments, text)
    assert _accepts(moments, text.replace("01:00:00+01:00", "01:00:00Z"))
    assert not _accepts(Annotated[set[Truth], Field(min_length=2)], '[{"value": 1}, {"value": true}]')
    assert _accepts(Annotated[set[Truth], Field(min_length=2)], '[{"value": 2}, {"value": true}]')


def _bytes_after(schema: dict[str, object], text: bytes) -> set[int]:
    cursor = sk.compile(schema, byte_vocabulary(), cache=False).cursor()
    for byte in text:
        cursor.advance(byte)
    mask = np.zeros(9, np.uint32)
    cursor.fill_mask(mask)
    return {byte for byte in range(256) if mask[byte >> 5] >> (byte & 31) & 1}


def test_a_text_that_can_only_repeat_is_not_begun() -> None:
    """The rule of the items ends with a call, so that the frame above theirs is that of another rule."""
    items = {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 0}]}
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 2}
    assert _bytes_after(schema, b"[") == {*b'n"'}
    assert _bytes_after(schema, b'["", ') == {*b"n"}


@pytest.mark.long(every=2)
@pytest.mark.parametrize("seed", range(4))
def test_all_of_finitely_many_objects_fit_into_their_length(seed: int) -> None:
    item: dict[str, object] = {"type": "object", "properties": {key: {"enum": [1, 22]} for key in "abc"}}
    item["additionalProperties"] = False
    schema = {"type": "array", "items": item, "uniqueItems": True, "minItems": 27}
    cursor, chance = sk.compile(schema, byte_vocabulary(), cache=False).cursor(), random.Random(seed)
    left, mask, text = cursor.min_tokens_to_end(), np.zeros(9, np.uint32), bytearray()
    while not cursor.is_accepting:
        cursor.fill_mask(mask, left - len(text))
        text.append(chance.choice([b for b in range(256) if mask[b >> 5] >> (b & 31) & 1]))
        cursor.advance(text[-1])
    values = [json.dumps(each) for each in json.loads(text)]
    assert len(set(values)) == len(values) == 27 and len(text) == left


def test_a_token_may_write_a_whole_list_of_distinct_texts() -> None:
    texts = [
        json.dumps(
            {"n": number} | ({} if tags is None else {"tags": tags}) | ({} if last is None else {"z": last})
        )
        for number in "xy"
        for tags in (None, [], ["a"], ["b"], ["a", "b"], ["b", "a"])
        for last in (None, "a", "b")
    ]
    tags = {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}
    keys = {"n": {"enum": ["x", "y"]}, "tags": tags, "z": {"enum": ["a", "b"]}}
    schema = {"type": "object", "properties": keys, "required": ["n"], "additionalProperties": False}
    longer = b"""["a", "a"]|["a", "b"]|["a", |", "a"|", "b"]|"a"]|{"n": "x"|, "tags": ["|"}""".split(b"|")
    vocabulary = sk.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), *longer, b""], eos_token_ids=[256 + len(longer)]
    )
    guide = sk.compile(schema, vocabulary, cache=False)
    mask = np.empty(vocabulary.mask_words, np.uint32)
    prefixes = {text[:length].encode() for text in texts for length in range(len(text) + 1)}
    for prefix in sorted(prefixes - {text.encode() for text in texts}):
        cursor = guide.cursor()
        assert reads(cursor, prefix)
        cursor.fill_mask(mask)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        expected = [n for n, token in enumerate(vocabulary.tokens[:-1]) if prefix + token in prefixes]
        assert allowed.tolist() == expected, prefix
