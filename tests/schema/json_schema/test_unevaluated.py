"""What is evaluated inside other keywords, compared with jsonschema."""

from __future__ import annotations

import json
from itertools import combinations, product

import pytest
from jsonschema import Draft202012Validator

from tests.schema.reading import read
from tests.schema.semantics import holds

KEYS: dict[str, dict[str, object]] = {name: {"properties": {name: {"type": "integer"}}} for name in "abc"}
OBJECTS: list[dict[str, object]] = [
    dict.fromkeys(names, value)
    for size in range(4)
    for names in combinations("abcd", size)
    for value in (1, "x")
]
ARRAYS = [[1] * size for size in range(4)] + [["x"], [1, "x"]]


@pytest.mark.parametrize(
    ("keyword", "required"),
    [("allOf", False), ("allOf", True), ("anyOf", False), ("anyOf", True), ("oneOf", True)],
)
def test_keys_of_alternatives_are_evaluated_where_they_hold(keyword: str, required: bool) -> None:
    parts = [{**KEYS[name], "required": [name]} if required else KEYS[name] for name in "ab"]
    schema = {"type": "object", keyword: parts, **KEYS["c"], "unevaluatedProperties": False}
    validator, document = Draft202012Validator(schema), read(schema)
    for value in OBJECTS:
        assert holds(document, value) == validator.is_valid(value), value


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_items_of_alternatives_are_evaluated_where_they_hold(keyword: str) -> None:
    parts = [{"prefixItems": [{"type": "integer"}] * size} for size in (1, 2)]
    schema = {"type": "array", keyword: parts, "unevaluatedItems": False}
    validator, document = Draft202012Validator(schema), read(schema)
    for value in ARRAYS:
        assert holds(document, value) == validator.is_valid(value), value


@pytest.mark.parametrize(("then", "otherwise"), [*product([None, "b", False], [None, "c", False])][:-1])
def test_keys_of_a_condition_are_evaluated_where_it_holds(then: object, otherwise: object) -> None:
    schema: dict[str, object] = {"type": "object", "unevaluatedProperties": False}
    schema["if"] = {**KEYS["a"], "required": ["a"]}
    for keyword, part in (("then", then), ("else", otherwise)):
        if part is not None:
            schema[keyword] = KEYS[part] if isinstance(part, str) else part
    validator, document = Draft202012Validator(schema), read(schema)
    for value in OBJECTS:
        assert holds(document, value) == validator.is_valid(value), value


ITEMS = [[*items] for count in range(4) for items in product([1, 2, "x"], repeat=count)]


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]},
        {"anyOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]},
        {"contains": {"const": 1}, "allOf": [{"contains": {"const": 2}, "minContains": 0}]},
        {"prefixItems": [True], "allOf": [{"contains": {"const": 1}, "prefixItems": [True, {"const": 2}]}]},
        {"if": {"contains": {"const": 1}}, "then": {"contains": {"const": 2}}},
        {"contains": {"const": 1}, "$ref": "#/$defs/a", "$defs": {"a": {"contains": {"const": 2}}}},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("rest", [False, {"const": "x"}])
def test_items_that_any_condition_counts_are_evaluated(schema: dict[str, object], rest: object) -> None:
    whole = {**schema, "type": "array", "maxItems": 3, "unevaluatedItems": rest}
    validator, document = Draft202012Validator(whole), read(whole)
    expected = [validator.is_valid(items) for items in ITEMS]
    assert [holds(document, items) for items in ITEMS] == expected
    assert any(expected) and not all(expected)
