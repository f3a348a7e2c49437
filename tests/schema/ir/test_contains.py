"""Arrays with first items and with items that must occur, against jsonschema."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import structkit as sk
from structkit.testing import byte_vocabulary
from tests.shared import cases

V = byte_vocabulary()
INTEGER, STRING = {"type": "integer"}, {"type": "string"}
ARRAYS = [list(items) for count in range(5) for items in product([1, "a"], repeat=count)]


def _schema(chance: random.Random) -> dict[str, Any]:
    options = {
        "prefixItems": [None, [{}], [INTEGER], [{}, {}], [INTEGER, STRING], [STRING, {}]],
        "items": [None, {"enum": [1, "a"]}, INTEGER, STRING],
        "minContains": [None, 0, 1, 2],
        "maxContains": [None, 1, 2],
        "minItems": [None, 1, 3],
        "maxItems": [None, 3],
    }
    chosen = {keyword: chance.choice(values) for keyword, values in options.items()}  # type: ignore[arg-type]
    return {
        "type": "array",
        "contains": INTEGER,
        **{key: value for key, value in chosen.items() if value is not None},
    }


def _accepts(guide: sk.Guide | None, text: bytes) -> bool:
    if guide is None:
        return False
    cursor = guide.cursor()
    try:
        for byte in text:
            cursor.advance(byte)
    except sk.TokenRejected:
        return False
    return cursor.is_accepting


@pytest.mark.parametrize("seed", range(cases(60, of=2_000)))
def test_arrays_are_those_of_jsonschema(seed: int) -> None:
    schema = _schema(random.Random(seed))
    try:
        guide = sk.compile(schema, V, cache=False)
    except sk.UnsatisfiableSchema:
        guide = None
    found = [items for items in ARRAYS if _accepts(guide, json.dumps(items).encode())]
    assert found == [items for items in ARRAYS if Draft202012Validator(schema).is_valid(items)], schema


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"maxItems": 3, "minItems": 2},
        {"minContains": 0, "maxItems": 2},
        {"uniqueItems": True},
        {"prefixItems": [STRING], "minContains": 2},
    ],
)
def test_a_maximum_of_matches_that_no_array_reaches_is_left_out(keywords: dict[str, Any]) -> None:
    schema = {"type": "array", "items": {"enum": [1, "a"]}, "contains": INTEGER, **keywords}
    guide = sk.compile(schema | {"maxContains": sk.Limits().iterations + 1}, V, cache=False)
    expected = [items for items in ARRAYS if Draft202012Validator(schema).is_valid(items)]
    assert expected
    assert [items for items in ARRAYS if _accepts(guide, json.dumps(items).encode())] == expected


def test_a_maximum_of_matches_that_the_items_reach_stays() -> None:
    schema = {
        "type": "array",
        "items": {"enum": [1, "a"]},
        "contains": INTEGER,
        "maxContains": 2,
        "maxItems": 3,
    }
    guide = sk.compile(schema, V, cache=False)
    assert not _accepts(guide, b"[1, 1, 1]")
    assert _accepts(guide, b'[1, "a", 1]')
