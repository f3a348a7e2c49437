"""Equivalent schemas have equal languages."""

from __future__ import annotations

import json
import re
from collections import deque
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.stack import Frame
from structkit.limits import Limits
from structkit.targets.targets import AnyTarget, read_target
from tests.schema.values import schemas
from tests.shared import cases

LIMITS = Limits(schema_nodes=50_000, nfa_states=30_000)

SPELLINGS = [
    lambda schema: {"allOf": [schema]},
    lambda schema: {"allOf": [True, {"$ref": "#/$defs/s"}], "$defs": {"s": schema}},
    lambda schema: {"anyOf": [False, schema, schema]},
    lambda schema: {"oneOf": [schema, False]},
    lambda schema: {"if": schema, "else": False},
    lambda schema: {"not": {"not": schema}},
]


def read(target: AnyTarget, limits: Limits = LIMITS) -> Automaton | None:
    """Return the automaton of a target with keys in any order, `None` if its language is empty."""
    try:
        return link(read_target(target, limits=limits).rules(order="any", limits=limits), limits)
    except sk.UnsatisfiableSchema:
        return None


def has_constant_number(schema: object, *, constant: bool = False) -> bool:
    """Return whether a `const` or an `enum` contains a number."""
    if isinstance(schema, dict):
        return any(
            has_constant_number(value, constant=constant or key in ("const", "enum"))
            for key, value in schema.items()
        )
    if isinstance(schema, list):
        return any(has_constant_number(value, constant=constant) for value in schema)
    return constant and isinstance(schema, int | float) and not isinstance(schema, bool)


def first_difference(left: Automaton, right: Automaton, max_pairs: int = 600) -> bytes | None:
    """Return the shortest text that exactly one of the automata accepts, `None` if there is none.

    Compares pairs of frame sets breadth first, up to `max_pairs`, because recursive rules have infinitely many.
    """
    start = left.start_frames(), right.start_frames()
    texts = {start: b""}
    queue = deque([start])
    while queue and len(texts) < max_pairs:
        pair = queue.popleft()
        if left.is_accepting(pair[0]) != right.is_accepting(pair[1]):
            return texts[pair]
        for byte in representative_bytes((left, pair[0]), (right, pair[1])):
            following = left.step(pair[0], byte), right.step(pair[1], byte)
            if following not in texts and (following[0] or following[1]):
                texts[following] = texts[pair] + bytes((byte,))
                queue.append(following)
    return None


def representative_bytes(*positions: tuple[Automaton, frozenset[Frame]]) -> set[int]:
    """Return one byte of each common byte class of the frames' rules."""
    rows = [
        automaton.classes[rule]
        for automaton, frames in positions
        for rule in {int(automaton.rule[frame.state]) for frame in frames}
    ]
    return set({kind: byte for byte, kind in enumerate(zip(*rows, strict=True))}.values())


@pytest.mark.long
@settings(max_examples=cases(20, of=100), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, st.sampled_from(SPELLINGS))
def test_equivalent_schemas_have_equal_languages(schema: object, spell: Any) -> None:
    # A constant is written as in the schema: 1 is not written as 1.0, which a range of numbers allows.
    if not isinstance(schema, dict) or "$ref" in json.dumps(schema) or has_constant_number(schema):
        reject()
    # The notation of a number depends on its constraints: 1.00 and 1E0 are allowed for unconstrained numbers, but not
    # for integers, nor for ranges that a double negation splits.
    if re.search("integer|imum|multipleOf", json.dumps(schema)) and '"not"' in json.dumps(spell(schema)):
        reject()
    try:
        left, right = read(schema), read(spell(schema))
    except (sk.SchemaError, sk.LimitExceeded):
        reject()
    assert (left is None) == (right is None)
    if left is not None and right is not None and not left.has_distinct:
        assert first_difference(left, right) is None


def test_a_difference_is_found() -> None:
    left, right = read({"enum": ["abc", "abd"]}), read({"type": "string", "pattern": "^ab[cde]$"})
    assert left is not None
    assert right is not None
    assert first_difference(left, right) == b'"abe"'
    assert first_difference(left, left) is None


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        # Values that `oneOf` excludes stay excluded if one of its sides is required.
        ({"oneOf": [{}, {"if": {"enum": [{"xa": "ab"}]}, "else": True}]}, {"xa": "ab", "b": 2.5}, False),
        (
            {"not": {"minProperties": 3, "if": {"patternProperties": {"b$": {"type": "string"}}}, "then": {}}},
            {"xa": {"xa": -1}, "b": [2], "c": []},
            False,
        ),
        (
            {"oneOf": [{"oneOf": [True, {"enum": [{}]}]}, {"not": {"patternProperties": {"^.$": {"enum": [{}]}}}}]},
            {"a": "xa"},
            False,
        ),
        # The item that `contains` requires may be a prefix item, to which `items` does not apply.
        (
            {"type": "array", "contains": {"type": "null"}, "prefixItems": [True], "items": {"type": "string"}},
            [None],
            True,
        ),
        (
            {"contains": {"type": "null"}, "oneOf": [{}, {"prefixItems": [True], "items": {"type": "string"}}]},
            [None],
            False,
        ),
        (
            {
                "type": "array", "maxItems": 4, "contains": {"const": "a"},
                "not": {"prefixItems": [{}, {}], "contains": {"const": "a"}, "minContains": 0, "maxContains": 0},
            },
            [None, None, None, "a"],
            True,
        ),
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [1], True),
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [None], False),
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [], False),
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [None, 1], True),
    ],
)  # fmt: skip
def test_negations_of_negations(schema: dict[str, object], value: object, valid: bool) -> None:
    automaton = read(schema)
    assert (automaton is not None and Reader(automaton).accepts(json.dumps(value).encode())) == valid


def test_a_negation_that_only_undeclared_keys_satisfy_is_empty_when_closed() -> None:
    schema = {"type": "object", "not": {"additionalProperties": {"type": "null"}}}
    assert read(schema) is not None
    assert read(sk.JsonSchema(schema, additional="closed")) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {}, "oneOf": [{}, {"prefixItems": [{}], "unevaluatedItems": False}]},
        {"prefixItems": [{}], "items": {}, "if": {"items": {"type": "integer"}}, "then": {}},
        {
            "contains": {"prefixItems": [{}], "items": {"enum": [{}]}, "unevaluatedItems": False},
            "maxContains": 2,
        },
    ],
)
def test_lenient_array_schemas_are_read(schema: dict[str, object]) -> None:
    automaton = read(sk.JsonSchema(schema, strict=False))
    assert automaton is not None
    assert Reader(automaton).accepts(b"[1, 2]")


def test_tagged_alternatives_grow_linearly() -> None:
    tags = [f"v{number}" for number in range(20)]
    forms = [
        {
            "if": {"properties": {"tag": {"const": tag}}, "required": ["tag"]},
            "then": {"required": [f"key of {tag}"]},
        }
        for tag in tags
    ]
    automaton = read({"type": "object", "allOf": forms}, Limits())
    assert automaton is not None
    assert Reader(automaton).accepts(b'{"tag": "v7", "key of v7": 0}')
    assert not Reader(automaton).accepts(b'{"tag": "v7", "key of v8": 0}')


def test_negation_of_many_texts() -> None:
    words = [f"w{number}" for number in range(2_000)]
    automaton = read({"type": "string", "not": {"enum": words}})
    assert automaton is not None
    reader = Reader(automaton)
    assert [reader.accepts(text) for text in (b'"w77"', b'"w1999"', b'"w2000"', b'"x"')] == [0, 0, 1, 1]
