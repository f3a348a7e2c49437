"""Combinations that are multiplied out: what they cost."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import jsonschema
import pytest

from structkit.errors import LimitExceeded, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.membership import contains_value
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import ANY_KEYS, Anything, Combined, Const, Object, Property, Union
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.product.multiply import multiply_out


def test_alternatives_that_exclude_each_other_are_charged() -> None:
    """Of 3,600 pairs 60 are possible, and the others are compared, too."""
    base = Object((Property("k", Anything()),))
    tagged = Combined(tuple(Object((Property("k", Const(str(n))),)) for n in range(60)), 1, 60)

    def multiply(limits: Limits) -> object:
        return multiply_out(base, [tagged, tagged], Intersector(Definitions(), limits), SchemaPath())

    found = multiply(Limits())
    assert isinstance(found, Union) and len(found.branches) == 60
    with pytest.raises(LimitExceeded, match="the combinations of schemas"):
        multiply(Limits(schema_nodes=3_000))


OBJECTS = [
    {key: value for key, value in zip("abc", values, strict=True) if value}
    for values in product([None, 1, 2], repeat=3)
]


def _formula(rng: random.Random, depth: int) -> dict[str, Any]:
    """Return random parts that must hold, one of them, any of them, or none."""
    if depth == 0 or rng.random() < 0.2:
        key = rng.choice("abc")
        return rng.choice(
            [{"required": [key]}, {"properties": {key: {"const": rng.choice([1, 2])}}, "required": [key]}]
        )
    keyword = rng.choice(["allOf", "anyOf", "oneOf", "not", "oneOf", "not"])
    if keyword == "not":
        return {"not": _formula(rng, depth - 1)}
    return {keyword: [_formula(rng, depth - 1) for _ in range(rng.choice([2, 3]))]}


@pytest.mark.parametrize("seed", range(8))
def test_what_is_multiplied_out_has_the_objects_of_the_formula(seed: int) -> None:
    rng, oracle, compared = random.Random(seed), AutomatonOracle(python=False), 0
    for _ in range(10):
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {key: {"enum": [1, 2]} for key in "abc"},
            "additionalProperties": False,
            "allOf": [_formula(rng, 3)],
        }
        validator = jsonschema.Draft202012Validator(schema)
        expected = [validator.is_valid(each) for each in OBJECTS]
        try:
            root = parse_schema(schema, products="never", oracle=oracle).root
        except UnsatisfiableSchema:
            assert not any(expected), schema
            continue
        except UnsupportedKeyword:
            continue
        found = [contains_value(root, each, oracle) for each in OBJECTS]
        assert found == expected, schema
        compared += 1
    assert compared > 3


KEYS = "abc"
BASE = Object(tuple(Property(key, Union((Const("1"), Const("2"))), required=False) for key in KEYS))


def _combined(rng: random.Random, depth: int) -> Object | Combined:
    """Return an object with one more condition, or a number of parts that must hold."""
    if depth == 0 or rng.random() < 0.2:
        key = rng.choice(KEYS)
        value = rng.choice([Anything(), Const("1"), Const("2")])
        return Object((Property(key, value),), ANY_KEYS)
    parts = tuple(_combined(rng, depth - 1) for _ in range(rng.randrange(1, 4)))
    low, high = sorted((rng.randrange(len(parts) + 1), rng.randrange(len(parts) + 1)))
    return Combined(parts, low, high)


def _is_in(value: dict[str, int], node: Object | Combined) -> bool:
    if isinstance(node, Combined):
        return node.min_count <= sum(_is_in(value, part) for part in node.parts) <= node.max_count
    [key] = node.properties
    return key.name in value and (isinstance(key.value, Anything) or str(value[key.name]) == key.value.text)


@pytest.mark.parametrize("seed", range(6))
def test_objects_are_in_a_number_of_parts(seed: int) -> None:
    rng, oracle, compared = random.Random(seed), AutomatonOracle(python=False), set[bool]()
    for _ in range(8):
        parts = [_combined(rng, 2) for _ in range(rng.randrange(1, 3))]
        some = [part if isinstance(part, Combined) else Combined((part,), 1, 1) for part in parts]
        intersector = Intersector(Definitions(), Limits(), oracle)
        found = multiply_out(BASE, some, intersector, SchemaPath())
        expected = [all(_is_in(each, part) for part in some) for each in OBJECTS]
        assert [contains_value(found, each, oracle) for each in OBJECTS] == expected, some
        compared |= {*expected}
    assert compared == {True, False}
