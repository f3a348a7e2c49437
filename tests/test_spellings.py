"""What a schema means does not depend on how it is spelled."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.automaton import Automaton
from structkit.automaton.link import link
from structkit.automaton.shortest import shortest_text
from structkit.limits import Limits
from structkit.targets import AnyTarget, read_target
from tests.schema.values import schemas

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
    """The automaton of a target whose keys come in any order, `None` if it holds nothing."""
    try:
        return link(read_target(target, limits=limits).rules(order="any", limits=limits), limits)
    except sk.UnsatisfiableSchema:
        return None


def some_text(automaton: Automaton, rng: random.Random) -> bytes:
    """A text of the language, random at first."""
    frames, text = automaton.first(), b""
    kept = b""
    for _ in range(rng.randrange(40)):
        choices = [byte for byte in set(automaton.next_bytes(frames)) if 32 <= byte < 127]
        if not choices:
            break
        byte = bytes((rng.choice(choices),))
        following = automaton.read(frames, kept, byte)
        if not following[0]:
            break
        (frames, kept), text = following, text + byte
    return text if automaton.can_end(frames) else text + shortest_text(automaton, min(frames, key=repr))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, st.sampled_from(SPELLINGS), st.randoms(use_true_random=False))
def test_two_spellings_are_one_language(schema: object, spell: Any, rng: random.Random) -> None:
    if not isinstance(schema, dict) or "$ref" in json.dumps(schema):
        reject()
    try:
        left, right = read(schema), read(spell(schema))
    except (sk.SchemaError, sk.LimitExceeded):
        reject()
    assert (left is None) == (right is None)
    for one, other in ((left, right), (right, left)):
        for _ in range(8 if one is not None and other is not None and not one.remembers else 0):
            assert one is not None and other is not None
            text = some_text(one, rng)
            assert one.accepts(text) == other.accepts(text), text


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        # What a choice removed stays removed where one of the choice's sides is needed.
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
        # What an array contains may be one of its first items, which are not under `items`.
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
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [1], True),
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [None], False),
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [], False),
        ({"type": "array", "not": {"prefixItems": [{"type": "null"}], "items": False}}, [None, 1], True),
    ],
)  # fmt: skip
def test_negations_of_negations(schema: dict[str, object], value: object, valid: bool) -> None:
    automaton = read(schema)
    assert (automaton is not None and automaton.accepts(json.dumps(value).encode())) == valid


def test_what_only_undeclared_keys_can_break_holds_nothing_when_closed() -> None:
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
def test_a_lenient_reading_of_arrays_succeeds(schema: dict[str, object]) -> None:
    automaton = read(sk.JsonSchema(schema, strict=False))
    assert automaton is not None
    assert automaton.accepts(b"[1, 2]")


def test_forms_told_apart_by_a_tag_grow_by_their_number() -> None:
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
    assert automaton.accepts(b'{"tag": "v7", "key of v7": 0}')
    assert not automaton.accepts(b'{"tag": "v7", "key of v8": 0}')


def test_none_of_many_texts() -> None:
    words = [f"w{number}" for number in range(2_000)]
    automaton = read({"type": "string", "not": {"enum": words}})
    assert automaton is not None
    assert [automaton.accepts(text) for text in (b'"w77"', b'"w1999"', b'"w2000"', b'"x"')] == [0, 0, 1, 1]
