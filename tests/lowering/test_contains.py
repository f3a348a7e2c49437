"""Counts of matching items together with counts of items, compared with jsonschema on all short arrays."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from jsonschema import Draft202012Validator

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import UnsatisfiableSchema, UnsupportedKeyword
from structkit.lowering.containers.contains import interleave
from structkit.regex.nodes import LiteralText, Node, RuleRef
from structkit.targets.targets import read_target
from tests.shared import ALL

ARRAYS = [list(items) for size in range(6) for items in product([1, 2], repeat=size)]


@pytest.mark.long(every=3)
@pytest.mark.parametrize("most_matches", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("matches", [0, 1, 2, 3])
def test_an_array_contains_as_many_matches_as_it_may(matches: int, most_matches: int | None) -> None:
    lengths = list(product([0, 1, 3], [None, 2, 4], [False, True]))
    for least, most, prefix in lengths if ALL else lengths[matches::5]:
        schema: dict[str, object] = {"type": "array", "contains": {"const": 1}, "minContains": matches}
        schema |= {"items": {"enum": [1, 2]}, "minItems": least}
        schema |= {} if most is None else {"maxItems": most}
        schema |= {} if most_matches is None else {"maxContains": most_matches}
        schema |= {"prefixItems": [{"enum": [1, 2]}]} if prefix else {}
        validator = Draft202012Validator(schema)
        expected = [validator.is_valid(array) for array in ARRAYS]
        try:
            reader = Reader(link(read_target(schema).rules()))
        except UnsatisfiableSchema:
            assert not any(expected)
            continue
        assert [reader.accepts(json.dumps(array).encode()) for array in ARRAYS] == expected, schema


@pytest.mark.parametrize(
    ("matching", "most", "has_rule", "is_refused"),
    [
        (2, 24, False, False),
        (2, 25, False, True),
        (2, 25, True, False),
        (5, None, True, False),
        (5, None, False, True),
        (6, None, True, True),
        (5, 30, True, False),
        (5, 31, True, True),
    ],
)
def test_too_many_combinations_of_required_parts_are_refused(
    matching: int, most: int | None, has_rule: bool, is_refused: bool
) -> None:
    def rule(node: Node, name: str) -> Node:
        return RuleRef(name)

    parts = [LiteralText(letter) for letter in "abcdef"[:matching]]
    try:
        interleave(parts, LiteralText("z"), 0, most, comma=",", rule=rule if has_rule else None, path="$.x")
        refused = None
    except UnsupportedKeyword as error:
        refused = error
    assert (refused is not None) == is_refused
    assert refused is None or refused.place == "$.x"


def _tags(count: int, items: dict[str, object], **keywords: object) -> dict[str, object]:
    contains = [
        {"contains": {"properties": {"kind": {"const": f"t{n}"}}, "required": ["kind"]}} for n in range(count)
    ]
    if "enum" in items:
        contains = [{"contains": {"const": f"t{n}"}} for n in range(count)]
    return {"type": "array", "items": items, "allOf": contains, **keywords}


@pytest.mark.parametrize("prefix", [0, 1])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_required_items_come_in_any_order_and_repeatedly(count: int, prefix: int) -> None:
    tags = [f"t{n}" for n in range(5)]
    prefixes = [{"enum": ["t4", "t0"]}] * prefix
    schema = _tags(count, {"enum": tags}, **({"prefixItems": prefixes} if prefixes else {}))
    validator = Draft202012Validator(schema)
    reader = Reader(link(read_target(schema).rules()))
    pattern = re.compile(sk.to_regex(schema))
    for size in range(count + 2):
        for array in product(tags, repeat=size):
            text, expected = json.dumps(array), validator.is_valid(list(array))
            assert reader.accepts(text.encode()) == (pattern.fullmatch(text) is not None) == expected, text


@pytest.mark.parametrize("with_number", [False, True])
def test_required_objects_come_in_any_order_and_repeatedly(with_number: bool) -> None:
    tags = [f"t{n}" for n in range(5)]
    keys: dict[str, object] = {"kind": {"enum": tags}, **({"v": {"type": "integer"}} if with_number else {})}
    items = {"type": "object", "properties": keys, "required": ["kind"], "additionalProperties": False}
    reader = Reader(link(read_target(_tags(4, items)).rules()))
    for array in ("01234", "3210", "00112203", "012", "44123", "3333", ""):
        objects = [
            {"kind": f"t{n}", "v": 17} if with_number and n != "0" else {"kind": f"t{n}"} for n in array
        ]
        assert reader.accepts(json.dumps(objects).encode()) == ({"0", "1", "2", "3"} <= set(array)), array


def test_ten_required_texts_take_an_automaton_of_their_subsets() -> None:
    reader = Reader(link(read_target(_tags(10, {"enum": [f"t{n}" for n in range(12)]})).rules()))
    order = [5, 3, 3, 11, 0, 1, 2, 9, 8, 7, 6, 4]
    assert reader.accepts(json.dumps([f"t{n}" for n in order]).encode())
    assert not reader.accepts(json.dumps([f"t{n}" for n in order[:-1]]).encode())
