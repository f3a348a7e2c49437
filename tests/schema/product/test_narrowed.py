"""Alternatives of `oneOf` that are narrowed to objects that one key tells apart, against jsonschema."""

from __future__ import annotations

import random
from itertools import product

import pytest
from jsonschema import Draft202012Validator

from structkit.errors import LimitExceeded, UnsatisfiableSchema, UnsupportedKeyword
from structkit.schema.product import combine
from tests.schema.reading import read
from tests.schema.semantics import holds
from tests.shared import cases

LEAVES = [{"const": "a"}, {"const": "b"}, {"enum": ["a", "c"]}, {"type": "integer"}, {"minimum": 2}, {}]
VALUES = ["a", "b", "c", 1, 2, None]
INNER = [{"k": k} for k in ("a", "b", 1)] + [{"j": "a"}, {"k": "a", "j": 1}, {}]
OBJECTS = [
    {key: value for key, value in zip("kjv", chosen, strict=True) if value != "absent"}
    for chosen in product(["absent", "a", "b", 1], ["absent", "a", 2], ["absent", "a", *INNER])
]


def _random_object(chance: random.Random, depth: int) -> dict[str, object]:
    keys = chance.sample("kjv", chance.randint(1, 3))
    found: dict[str, object] = {
        "type": "object",
        "properties": {
            key: _random_schema(chance, depth - 1) if key == "v" and depth else chance.choice(LEAVES)
            for key in keys
        },
    }
    if chance.random() < 0.5:
        found["required"] = chance.sample(keys, chance.randint(1, len(keys)))
    if chance.random() < 0.4:
        found["additionalProperties"] = chance.choice([False, {"type": "integer"}])
    return found


def _random_schema(chance: random.Random, depth: int) -> dict[str, object]:
    kind = chance.random()
    if depth == 0 or kind < 0.25:
        return _random_object(chance, depth)
    parts = [_random_schema(chance, depth - 1) for _ in range(chance.randint(2, 3))]
    if kind < 0.6:
        return {"oneOf": parts}
    if kind < 0.7:
        return {"not": parts[0], "type": "object"}
    if kind < 0.8:
        return {"if": parts[0], "then": parts[1]}
    if kind < 0.9:
        return {chance.choice(["allOf", "anyOf"]): parts}
    return {"$ref": f"#/$defs/{chance.choice('xyz')}"}


@pytest.mark.long(every=3)
@pytest.mark.parametrize("seed", sorted({1120, *range(cases(50, of=3_000))}))
def test_no_other_value_is_allowed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(combine.WAYS, "many", (combine.Way(max_cost=20_000, narrows=True),))
    chance = random.Random(seed)
    schema = {
        "oneOf": [_random_schema(chance, 2) for _ in range(chance.randint(2, 3))],
        "$defs": {name: _random_schema(chance, 1) for name in "xyz"},
    }
    try:
        document = read(schema)
    except (LimitExceeded, UnsatisfiableSchema, UnsupportedKeyword):
        return
    except Exception as error:  # references that lead back are refused
        if "without a key" in str(error) or "only to itself" in str(error):
            return
        raise
    validator = Draft202012Validator(schema)
    for value in (*OBJECTS, *VALUES):
        assert not holds(document, value) or validator.is_valid(value), value


def test_what_was_narrowed_to_nothing_is_subtracted_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(combine.WAYS, "many", (combine.Way(narrows=True),))
    tagged = [
        {"properties": {"v": {"const": "b"}}},
        {"properties": {"v": {"type": "integer"}}, "required": ["j"]},
    ]
    schema = {"oneOf": [{}, {"if": {"additionalProperties": False}, "then": {"oneOf": tagged}}]}
    with pytest.raises(LimitExceeded):
        read(schema)
