"""Random JSON Schemas, all the way to the automaton, against `jsonschema`: nothing loose, nothing strict."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, PatternError, SchemaError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.targets.explain import explain
from structkit.targets.targets import JsonSchema, read_target
from tests.schema.values import is_valid, json_values, schemas

LIMITS = Limits(schema_nodes=50_000, nfa_states=30_000)


def _plain(value: object) -> object:
    """The value with whole numbers as integers: a whole number is written without a fraction."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
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
        # Unique items and constants are written in one way; keys that are counted, or must be there, in one order.
        spelled = json.dumps(schema)
        if not any(word in spelled for word in ("uniqueItems", "Properties", "propertyNames", ".0")):
            assert written == valid, text


def _harder(schema: object) -> object:
    """The schema with a pattern that no regular language says."""
    if isinstance(schema, list):
        return [_harder(each) for each in schema]
    if isinstance(schema, dict):
        return {
            key: r"^([ab])\1$" if (key, value) == ("pattern", "a") else _harder(value)
            for key, value in schema.items()
        }
    return schema


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, schemas, st.lists(json_values, min_size=1, max_size=8))
def test_a_lenient_reading_forbids_nothing_and_explains_itself(
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
        if "itself" not in error.message:
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
    spelled = json.dumps(schema)
    if any(word in spelled for word in ("uniqueItems", "Properties", "propertyNames", ".0")):
        reject()
    validator = Draft202012Validator(schema)
    for value in map(_plain, values):
        text = json.dumps(value, ensure_ascii=False).encode()
        valid = is_valid(validator, value)
        assert not valid or (automaton is not None and Reader(automaton).accepts(text)), text
