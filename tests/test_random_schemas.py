"""Automata of random JSON Schemas compared with `jsonschema`: neither too loose nor too strict."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from structkit.api.explain import explain
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.compile import compile
from structkit.errors import LimitExceeded, PatternError, SchemaError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary
from tests.schema.values import is_valid, json_values, schemas
from tests.shared import cases

LIMITS = Limits(schema_nodes=50_000, nfa_states=60_000)


def _plain(value: object) -> object:
    """Return the value with integral floats as integers, because integers are written without a fraction."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


@settings(max_examples=cases(15, of=150), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.lists(json_values, min_size=1, max_size=8))
def test_a_text_is_written_if_and_only_if_it_is_valid(
    schema: object, other: object, values: list[object]
) -> None:
    if not isinstance(schema, dict):
        reject()
    schema = {**schema, "$defs": {"x": other}}
    try:
        automaton = link(read_target(schema, limits=LIMITS).rules(order="any", limits=LIMITS), LIMITS)
    except UnsatisfiableSchema:
        automaton = None
    except (SchemaError, LimitExceeded):
        reject()
    validator = Draft202012Validator(schema)
    for value in map(_plain, values):
        text = json.dumps(value, ensure_ascii=False).encode()
        valid = is_valid(validator, value)
        written = automaton is not None and Reader(automaton).accepts(text)
        assert written <= valid, text
        # Unique items and constants have one notation; keys that are counted or required have one order.
        keywords = json.dumps(schema)
        if not any(word in keywords for word in ("uniqueItems", "Properties", "propertyNames", ".0")):
            assert written == valid, text


def _harder(schema: object) -> object:
    """Return the schema with each pattern `a` replaced by a pattern that is not a regular language."""
    if isinstance(schema, list):
        return [_harder(each) for each in schema]
    if isinstance(schema, dict):
        return {
            key: r"^([ab]+)\1$" if (key, value) == ("pattern", "a") else _harder(value)
            for key, value in schema.items()
        }
    return schema


@settings(max_examples=cases(15, of=150), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.lists(json_values, min_size=1, max_size=8))
def test_a_lenient_schema_allows_all_valid_values_and_is_explained(
    schema: object, other: object, values: list[object]
) -> None:
    if not isinstance(schema, dict):
        reject()
    schema = {**schema, "$defs": {"x": other}}
    schema = {key: _harder(value) for key, value in schema.items()}
    try:
        rules = read_target(JsonSchema(schema, strict=False), limits=LIMITS).rules(order="any", limits=LIMITS)
        explained = explain(schema, order="any", limits=LIMITS)
        automaton = link(rules, LIMITS)
    except UnsatisfiableSchema:
        automaton = None
    except LimitExceeded:
        reject()
    except SchemaError as error:
        if "itself" not in error.message and "leads back" not in error.message:
            raise
        reject()
    try:
        read_target(schema, limits=LIMITS).rules(order="any", limits=LIMITS)
        assert automaton is not None
        assert explained.enforced, str(explained)
        assert rules.unenforced == ()
    except UnsatisfiableSchema:
        pass
    except (UnsupportedKeyword, PatternError):
        assert automaton is None or not explained.enforced, str(explained)
    keywords = json.dumps(schema)
    if any(word in keywords for word in ("uniqueItems", "Properties", "propertyNames", ".0")):
        reject()
    validator = Draft202012Validator(schema)
    for value in map(_plain, values):
        text = json.dumps(value, ensure_ascii=False).encode()
        valid = is_valid(validator, value)
        assert not valid or (automaton is not None and Reader(automaton).accepts(text)), text


_BYTES = byte_vocabulary()


@settings(max_examples=cases(12, of=100), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.sampled_from([30, 100, 300, 1_000, 3_000]), st.randoms(use_true_random=False))
def test_a_limit_is_exceeded_before_the_first_token_or_never(
    schema: object, other: object, states: int, chance: Random
) -> None:
    if not isinstance(schema, dict):
        reject()
    limits = Limits(states=states, nfa_states=4 * states, transitions=64 * states, product_states=states)
    try:
        guide = compile({**schema, "$defs": {"x": other}}, _BYTES, limits=limits, cache=False)
    except (SchemaError, LimitExceeded):
        reject()
    cursor, mask = guide.cursor(), np.empty(_BYTES.mask_words, np.uint32)
    while not cursor.is_terminated and len(cursor.token_ids) < 60:
        cursor.fill_mask(mask)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        cursor.advance(chance.choice(allowed.tolist()))


def test_a_product_is_refused_with_limits_that_its_rules_could_exceed() -> None:
    """Its rules are built while a text is read."""
    schema: dict[str, object] = {"type": "object", "dependentRequired": {"a": ["kind"]}}
    limits = Limits(states=30, nfa_states=120, transitions=1920, product_states=30)
    with pytest.raises(LimitExceeded, match="states=30"):
        compile(schema, _BYTES, limits=limits, cache=False)
