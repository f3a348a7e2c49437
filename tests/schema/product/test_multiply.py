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
from structkit.schema.ir.nodes import Anything, Combined, Const, Object, Property, Union
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
