"""Products of objects whose values are references, which exclude each other or lead back to the product."""

from __future__ import annotations

import json

import jsonschema
import pytest

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.limits import Limits
from structkit.lowering.lower import lower
from structkit.schema.product.combine import Products
from structkit.testing import byte_vocabulary
from tests.schema.reading import read


def test_references_that_exclude_each_other_are_found_at_once() -> None:
    """Otherwise the values of `mode` would have a case for each set of conditions."""
    conditions = [
        {
            "if": {"properties": {"type": {"const": f"t{number}"}}},
            "then": {"properties": {"mode": {"$ref": f"#/$defs/mode{number}"}}},
        }
        for number in range(12)
    ]
    modes = {f"mode{number}": {"type": "string", "pattern": f"^(any|m{number})$"} for number in range(12)}
    keys = {"type": {"type": "string"}, "mode": {"type": "string"}}
    schema = {"type": "object", "properties": keys, "allOf": conditions, "$defs": modes}
    document = read(schema, products="always", limits=Limits(schema_nodes=60_000))
    reader, validator = Reader(link(lower(document))), jsonschema.Draft202012Validator(schema)
    for kind in ("t1", "t11", "other"):
        for mode in ("any", "m1", "m11", "other"):
            value = {"type": kind, "mode": mode}
            assert reader.accepts(json.dumps(value).encode()) == validator.is_valid(value), value


@pytest.mark.parametrize("products", ["never", "many"])
def test_a_tag_behind_a_reference_excludes_other_tags(products: Products) -> None:
    """Otherwise 12 conditions on one key have 4,096 combinations; in unique items they are multiplied out."""
    conditions = [
        {
            "if": {"properties": {"type": {"const": f"t{number}"}}},
            "then": {
                "properties": {"type": {"$ref": "#/$defs/kind"}, f"own{number}": {"type": "integer"}},
                "additionalProperties": False,
            },
        }
        for number in range(12)
    ]
    kind = {"type": "string", "pattern": "[a-z]"}
    item = {"type": "object", "properties": {"type": {"$ref": "#/$defs/kind"}}, "allOf": conditions}
    schema = {"type": "array", "uniqueItems": True, "items": item, "$defs": {"kind": kind}}
    document = read(schema, products=products, limits=Limits(schema_nodes=60_000))
    reader, validator = Reader(link(lower(document))), jsonschema.Draft202012Validator(schema)
    for value in (
        {"type": "t1", "own1": 3},
        {"type": "t1", "own2": 3},
        {"type": "b", "own2": "x"},
        {"type": "1"},
        {},
    ):
        assert reader.accepts(json.dumps([value]).encode()) == validator.is_valid([value]), value


ARGUMENT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "type": {"enum": ["string", "locator", "element", "function"]},
        "value": {},
        "predicate": {"type": "array"},
        "args": {"type": "array", "items": {"$ref": "#/$defs/argument"}},
    },
    "additionalProperties": False,
    "oneOf": [
        {"properties": {"type": {"enum": ["string", "locator"]}}, "required": ["type", "name"]},
        {
            "properties": {
                "type": {"enum": ["locator", "element"]},
                "value": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/argument"}]},
            },
            "required": ["value"],
        },
        {
            "properties": {
                "type": {"const": "function"},
                "predicate": {"items": {"$ref": "#/$defs/argument"}},
            },
            "required": ["type", "predicate"],
        },
    ],
}

TEXT = {"name": "a", "type": "string"}
ELEMENT = {"type": "element", "value": "x"}


@pytest.mark.parametrize(
    "value",
    [
        TEXT,
        ELEMENT,
        {"type": "string"},
        {"name": "a", "type": "locator", "value": 1},
        {"name": "a", "type": "locator", "value": "x"},
        {"type": "locator", "value": {**TEXT, "value": ELEMENT}},
        {"type": "locator", "value": {**TEXT, "value": ELEMENT, "args": [TEXT, ELEMENT]}},
        {"type": "locator", "value": {**TEXT, "value": ELEMENT, "args": [TEXT, {"type": "element"}]}},
        {"type": "function", "value": ELEMENT, "predicate": [TEXT]},
        {"type": "function", "value": 1, "predicate": [TEXT, {"value": {"value": TEXT}}]},
        {"value": {"value": {"value": {"value": {"type": "string"}}}}},
        {"value": {"value": {"value": {"value": {"type": "element"}}}}},
    ],
)
def test_a_combination_may_be_a_value_of_its_own_key(value: object) -> None:
    schema = {"$ref": "#/$defs/argument", "$defs": {"argument": ARGUMENT}}
    reader = Reader(link(lower(read(schema, products="always"))))
    assert reader.accepts(json.dumps(value).encode()) == jsonschema.Draft202012Validator(schema).is_valid(
        value
    )


def test_alternatives_with_a_large_automaton_become_a_product() -> None:
    """`oneOf` of two objects with optional keys: where no key tells them apart, each has a key of its own."""
    first, second = ([f"{word}{number}" for number in range(14)] for word in ("a", "b"))
    alternatives = [
        {
            "properties": {
                "kind": {"enum": [kind]},
                **{name: {"type": "boolean"} for name in (*names, "both")},
            },
            "additionalProperties": False,
        }
        for kind, names in (("first", first), ("second", second))
    ]
    schema = {"type": "object", "oneOf": alternatives}
    guide, validator = sk.compile(schema, byte_vocabulary()), jsonschema.Draft202012Validator(schema)
    assert guide.automaton.is_unbounded  # a product has a rule for each state that a text reaches
    for value in (
        {},
        {"both": True},
        {"kind": "first", "both": True},
        {"a13": True},
        {"kind": "first", "b1": True},
    ):
        cursor = guide.cursor()
        try:
            for byte in json.dumps(value).encode():
                cursor.advance(byte)
        except sk.TokenRejected:
            assert not validator.is_valid(value)
        else:
            assert cursor.is_accepting == validator.is_valid(value)


UNIQUE = {"u": {"type": "array", "uniqueItems": True}, "l": {"type": ["array", "null"]}}
EXCLUSIVE = {"oneOf": [{"$ref": "#/$defs/l"}, {"$ref": "#/$defs/u"}]}
EXCLUDED = {"$ref": "#/$defs/l", "not": {"$ref": "#/$defs/u"}}
"""The same difference: as a by-product of alternatives, and asked for by a `not`."""


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": EXCLUSIVE, "b": EXCLUDED}},
        {"properties": {"a": EXCLUDED, "b": EXCLUSIVE}},
        {
            "allOf": [
                {"not": {"properties": {f"k{number}": {"$ref": "#/$defs/u"}}, "required": [f"k{number}"]}}
                for number in range(12)
            ]
        },
    ],
)
def test_arrays_that_a_not_asks_for_are_refused_wherever_they_are_made(schema: dict[str, object]) -> None:
    with pytest.raises((sk.UnsupportedKeyword, sk.LimitExceeded)):
        read({"type": "object", **schema, "$defs": UNIQUE})


def test_arrays_that_alternatives_leave_over_are_left_out() -> None:
    schema = {"type": "object", "properties": {"a": EXCLUSIVE}, "$defs": UNIQUE}
    reader = Reader(link(lower(read(schema))))
    assert reader.accepts(b'{"a": null}') and not reader.accepts(b'{"a": [1]}')
