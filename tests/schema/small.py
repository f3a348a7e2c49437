"""Random small JSON Schemas with all small values: which texts an automaton accepts, compared with `jsonschema`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import permutations, product
from random import Random

from jsonschema import Draft202012Validator

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, SchemaError, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.lowering.lower import Order
from structkit.targets.targets import read_target

__all__ = ["combined", "differences", "nested", "referring"]

JsonSchema = dict[str, object]

NAMES = ("a", "b", "ab", "c1")
SCALARS: tuple[object, ...] = (
    None, True, False, -1, 0, 1, 2, 3, 7, 0.5, 1.0, 2.5, -1.5, "", "a", "b", "ab", "aab", "1",
)  # fmt: skip
LIMITS = Limits(schema_nodes=50_000, nfa_states=60_000)


def _number(random: Random) -> JsonSchema:
    schema: JsonSchema = {"type": random.choice(["integer", "number"])}
    if random.random() < 0.5:
        schema[random.choice(["minimum", "exclusiveMinimum"])] = random.choice([-1, 0, 0.5, 1])
    if random.random() < 0.5:
        schema[random.choice(["maximum", "exclusiveMaximum"])] = random.choice([1, 2, 2.5, 7])
    if random.random() < 0.3:
        schema["multipleOf"] = random.choice([1, 2, 3, 0.5, 2.5])
    return schema


def _string(random: Random) -> JsonSchema:
    schema: JsonSchema = {"type": "string"}
    if random.random() < 0.4:
        schema["pattern"] = random.choice(["^[ab]+$", "a", "^a|b$", "(?=.*b)a", r"\d", "[^a]$", "^(?!a)"])
    if random.random() < 0.3:
        schema["minLength"] = random.randint(0, 2)
    if random.random() < 0.3:
        schema["maxLength"] = random.randint(0, 3)
    return schema


def _leaf(random: Random) -> JsonSchema:
    kind = random.randrange(10)
    if kind < 3:
        return _number(random)
    if kind < 6:
        return _string(random)
    if kind == 6:
        return {"enum": random.sample([*SCALARS, [1], {"a": 1}, [], {}], random.randint(1, 4))}
    if kind == 7:
        return {"const": random.choice([*SCALARS, [1, "a"], {"a": 1, "b": "a"}])}
    names = random.sample(["null", "boolean", "integer", "string", "array", "object"], random.randint(1, 3))
    return random.choice([{}, {"type": names}])


def _array(random: Random, depth: int) -> JsonSchema:
    schema: JsonSchema = {"type": "array"}
    if random.random() < 0.7:
        schema["items"] = nested(random, depth - 1)
    if random.random() < 0.3:
        schema["prefixItems"] = [nested(random, depth - 1) for _ in range(random.randint(1, 2))]
    if random.random() < 0.3:
        schema["minItems"] = random.randint(0, 2)
    if random.random() < 0.3:
        schema["maxItems"] = random.randint(0, 3)
    if random.random() < 0.2:
        schema["uniqueItems"] = True
    if random.random() < 0.3:
        schema["contains"] = _leaf(random)
        if random.random() < 0.5:
            schema["minContains"] = random.randint(0, 2)
        if random.random() < 0.5:
            schema["maxContains"] = random.randint(1, 3)
    return schema


def _object(random: Random, depth: int) -> JsonSchema:
    schema: JsonSchema = {"type": "object"}
    names = random.sample(NAMES, random.randint(0, 3))
    schema["properties"] = {name: nested(random, depth - 1) for name in names}
    optional: list[tuple[float, str, object]] = [
        (0.5, "required", random.sample(NAMES, random.randint(1, 2))),
        (0.5, "additionalProperties", random.choice([False, False, _leaf(random)])),
        (0.2, "patternProperties", {random.choice(["^a", "b$", r"\d", "^.$"]): _leaf(random)}),
        (0.2, "propertyNames", random.choice([{"maxLength": 1}, {"pattern": "^[ab]"}, {"enum": ["a", "b"]}])),
        (0.2, "minProperties", random.randint(1, 2)),
        (0.2, "maxProperties", random.randint(1, 2)),
        (0.1, "dependentRequired", {random.choice(NAMES): [random.choice(NAMES)]}),
        (
            0.1,
            "dependentSchemas",
            {random.choice(NAMES): {"properties": {random.choice(NAMES): _leaf(random)}}},
        ),
        (0.1, "unevaluatedProperties", random.choice([False, _leaf(random)])),
    ]
    return schema | {keyword: value for share, keyword, value in optional if random.random() < share}


def nested(random: Random, depth: int) -> JsonSchema:
    """Return a schema of scalars, arrays and objects, at most so deep."""
    kind = random.random()
    if depth <= 0 or kind < 0.3:
        return _leaf(random)
    return _array(random, depth) if kind < 0.6 else _object(random, depth)


def combined(random: Random, depth: int) -> JsonSchema:
    """Return a schema that combines others, at most so deep."""

    def part() -> JsonSchema:
        return combined(random, depth - 1) if random.random() < 0.4 else nested(random, depth - 1)

    kind = random.randrange(7)
    if depth <= 0:
        return nested(random, depth)
    if kind < 4:
        return {random.choice(["anyOf", "oneOf", "allOf"]): [part() for _ in range(random.randint(2, 3))]}
    if kind < 6:
        return part() | {"not": part()}
    return part() | {"if": part(), "then": part(), "else": part()}


def referring(random: Random, depth: int) -> JsonSchema:
    """Return a schema with a definition, to which alternatives of keys and items refer, beside others."""
    shared, other = combined(random, depth - 1), combined(random, depth - 1)
    reference: JsonSchema = {"$ref": "#/$defs/x"}
    used: JsonSchema = random.choice(
        [
            {"allOf": [reference, other], "unevaluatedProperties": False, "unevaluatedItems": False},
            {"properties": {"a": reference}, "patternProperties": {"b$": other}},
            {"type": ["object", "array"], "items": reference, "additionalProperties": reference},
            {"oneOf": [reference, other]},
            reference | other,
            {"properties": {"a": {"$ref": "#"}, "b": reference}, "additionalProperties": other},
        ]
    )
    return {"$defs": {"x": shared}} | used


def _values() -> Iterator[object]:
    """Yield scalars, and arrays and objects of few of them."""
    yield from SCALARS
    few: tuple[object, ...] = (0, 1, 2.5, "a", "ab", None)
    for length in range(4):
        yield from map(list, product(few[: 6 - length], repeat=length))
    for size in range(4):
        for names in permutations(NAMES, size):
            for values in product(few[1 : 6 - size], repeat=size):
                yield dict(zip(names, values, strict=True))
    yield from ([[]], [{}], [[1]], {"a": []}, {"a": {}}, {"a": {"b": 1}})
    entries: list[tuple[str, object]] = [("a", [1, "a"]), ("b", {"a": 1})]
    yield from (dict(entries), dict(entries[::-1]))


VALUES = tuple(_values())


def differences(schema: Mapping[str, object], order: Order) -> list[str] | None:
    """Return the values on which an automaton and `jsonschema` differ; `None` if the schema is refused.

    A value is accepted if its text is, with its keys in any order or in one of them. The complement of unique items is
    empty, so where they may be negated, a valid value may be refused.
    """
    try:
        automaton = link(read_target(dict(schema), limits=LIMITS).rules(order=order, limits=LIMITS), LIMITS)
    except UnsatisfiableSchema:
        automaton = None
    except (SchemaError, LimitExceeded):
        return None
    validator = Draft202012Validator(schema)
    reader = automaton and Reader(automaton)
    found: dict[str, tuple[bool, bool]] = {}
    for value in VALUES:
        text = json.dumps(value)
        accepted = reader is not None and reader.accepts(text.encode())
        name = json.dumps(value, sort_keys=True)
        valid, before = found.get(name, (None, False))
        found[name] = validator.is_valid(value) if valid is None else valid, before or accepted
    keywords = json.dumps(schema)
    is_strict = "uniqueItems" in keywords and any(f'"{each}"' in keywords for each in ("not", "if", "oneOf"))
    return [
        name
        for name, (valid, accepted) in found.items()
        if accepted > valid or (accepted < valid and not is_strict)
    ]
