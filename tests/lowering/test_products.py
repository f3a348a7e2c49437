"""Objects of many combinations, compared with jsonschema on random objects."""

from __future__ import annotations

import json
from itertools import product
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from jsonschema import Draft202012Validator

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.shortest import ShortestPaths, shortest_length, shortest_texts
from structkit.errors import UnsatisfiableSchema
from structkit.lowering.lower import lower
from structkit.schema.ir.nodes import (
    Case,
    Document,
    Null,
    ObjectProduct,
    ProductGroup,
    ProductKey,
    String,
)
from structkit.schema.ir.product_states import count_formula
from structkit.targets.targets import read_target
from tests.schema.ir.test_product_states import objects, products
from tests.shared import cases

KEYS = [f"k{number}" for number in range(60)]
INTEGERS = {key: {"type": "integer"} for key in KEYS}
CONDITIONS = [
    {
        "if": {"properties": {f"k{number}": {"const": 1}}, "required": [f"k{number}"]},
        "then": {"required": [f"k{number + 1}"], "properties": {f"k{number + 1}": {"enum": [1, 2]}}},
    }
    for number in range(12)
]
CLOSED, NULLS = {"additionalProperties": False}, {"additionalProperties": {"type": "null"}}
COUNTED = {"properties": INTEGERS}
COMBINED = {"properties": {key: {"enum": [1, 2, 3]} for key in KEYS[:13]}, "allOf": CONDITIONS}
SCHEMAS: list[dict[str, object]] = [
    {**COUNTED, **CLOSED, "minProperties": 30},
    {**COUNTED, **CLOSED, "maxProperties": 30},
    {**COUNTED, **NULLS, "minProperties": 1, "maxProperties": 30},
    {**COUNTED, **CLOSED, "required": KEYS[:3], "minProperties": 28, "maxProperties": 31},
    {**COMBINED, **CLOSED},
    {**COMBINED, **NULLS},
    {**COMBINED, **NULLS, "allOf": CONDITIONS[:5], "minProperties": 2, "maxProperties": 5},
]


def _value(random: Random, schema: dict[str, object]) -> dict[str, object]:
    """Return an object with its declared keys in their order, and others behind them."""
    declared = [key for key in KEYS if key in schema["properties"]]  # type: ignore[operator]
    count = min(random.choice([0, 1, 2, 3, 5, 13, 27, 28, 29, 30, 31, 32]), len(declared))
    chosen = set(random.sample(declared, count))
    value: dict[str, object] = {key: random.choice([1, 2, 3]) for key in declared if key in chosen}
    for name in "xyz"[: random.choice([0, 0, 1, 2])]:
        value[name] = random.choice([None, None, None, 1])
    return value


@pytest.mark.long(every=3)
@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_a_product_accepts_exactly_the_valid_objects(number: int) -> None:
    schema: dict[str, object] = {"type": "object", **SCHEMAS[number]}
    validator, random = Draft202012Validator(schema), Random(number)
    reader = Reader(link(read_target(schema).rules()))
    found = set()
    for _ in range(cases(120, of=2000)):
        value = _value(random, schema)
        found.add(expected := validator.is_valid(value))
        assert reader.accepts(json.dumps(value).encode()) == expected, value
    assert found == {True, False}


@settings(max_examples=cases(40, of=1_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(products())
@example(
    ObjectProduct(
        (ProductKey("a", (Case(Null(), 0),), False, 0),),
        (ProductGroup(String(), (Case(Null(), 1),), False),),
        count_formula(3, (), 1, 2),
    )
)
def test_the_rules_of_a_product_accept_its_objects(node: ObjectProduct) -> None:
    expected = set(objects(node))
    try:
        reader = Reader(link(lower(Document(node, bounded=False))))
    except UnsatisfiableSchema:
        assert not expected
        return
    others = range(5) if node.additional else range(1)
    for chosen in product(*([None, *range(len(key.cases))] for key in node.keys), others):
        *values, more = chosen
        texts = {
            key.name: [None, 1][case] for key, case in zip(node.keys, values, strict=True) if case is not None
        }
        texts |= {f"other{number}": None for number in range(more or 0)}
        assert reader.accepts(json.dumps(texts).encode()) == (chosen in expected), texts


def test_the_example_of_each_rule_of_a_product_is_a_text_of_it() -> None:
    """Distances are counted from examples while a rule is not lowered; the example has the keys that are missing."""
    for number in range(24):
        rng = Random(number)
        least = rng.randrange(5)
        schema = {
            "type": "object",
            "properties": {key: {"type": "integer"} for key in KEYS[: rng.randrange(2, 5)]},
            "required": [key for key in KEYS[:2] if rng.random() < 0.5],
            "patternProperties": {"^k9": {"type": "null"}},
            "minProperties": least,
            "additionalProperties": rng.random() < 0.7,
            "allOf": CONDITIONS[:3],
        }
        try:
            automaton = link(read_target(schema).rules())
        except UnsatisfiableSchema:
            continue
        shortest = ShortestPaths.build(automaton)
        for frame in automaton.start_frames():
            (text, *_) = shortest_texts(shortest, [frame])
            pairs = json.loads(text, object_pairs_hook=list)  # a distance does not know which names are equal
            numbered = {
                key if key in KEYS[:5] else f"{key}{place}": value for place, (key, value) in enumerate(pairs)
            }
            assert Draft202012Validator(schema).is_valid(numbered), (schema, pairs)
            assert len(text) == shortest_length(shortest, frame)
