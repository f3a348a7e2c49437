"""`patternProperties` against jsonschema: patterns that overlap, differ in their beginnings, or have equal values."""

from __future__ import annotations

import json
from itertools import product

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import UnsatisfiableSchema, UnsupportedKeyword
from structkit.lowering.lower import lower
from structkit.schema.ir.nodes import Object
from tests.schema.reading import read
from tests.shared import cases

VALUES = [1, 5, "x", "long text", None]
KEYS = [*("".join(key) for size in (1, 2, 3) for key in product("ab", repeat=size)), "c", "kx", "ka_1"]
PATTERNS = [
    "a",
    "b",
    "^a",
    "^b",
    "a$",
    "b$",
    "^ab",
    "^a.*b$",
    "^k",
    "^ka_",
    "^kb_",
    "^a|b$",
    ".*",
    "aa",
    "^[ab]+$",
]

values = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "integer", "minimum": 3},
        {"type": ["integer", "string"]},
        {"type": "string"},
        {"type": "string", "minLength": 3},
        {"enum": [1, "x"]},
        {"const": 1},
        {"type": ["integer", "null"]},
        True,
        False,
    ]
)

schemas = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), values, min_size=1, max_size=12),
    },
    optional={
        "additionalProperties": st.sampled_from([False, {"type": "null"}]),
        "properties": st.dictionaries(st.sampled_from(KEYS), values, max_size=2),
    },
)


@settings(max_examples=cases(20, of=600), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas)
def test_each_key_has_the_values_of_its_patterns(schema: dict[str, object]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    objects = [{key: value} for key, value in product(KEYS, VALUES)]
    try:
        reader = Reader(link(lower(read(schema))))
    except UnsatisfiableSchema:
        assert not any(map(validator.is_valid, ({}, *objects)))
        return
    for each in objects:
        assert reader.accepts(json.dumps(each).encode()) == validator.is_valid(each)


def groups(patterns: dict[str, object]) -> int:
    root = read({"type": "object", "patternProperties": patterns}).root
    assert isinstance(root, Object)
    return len(root.additional)


def test_patterns_with_equal_values_are_one_group() -> None:
    assert groups({f"{letter}.*{n}$": {"type": "integer"} for n in range(20) for letter in "ab"}) == 2


def test_patterns_that_begin_apart_are_not_split() -> None:
    assert groups({f"^k{n:03d}_": {"minimum": n} for n in range(200)}) == 201


def test_stricter_patterns_are_one_group_each() -> None:
    assert groups({letter: {"type": "integer", "minimum": n} for n, letter in enumerate("abcdefghij")}) == 11


def test_patterns_that_restrict_each_other_are_bounded() -> None:
    kinds = {
        letter: {"enum": [number for number in range(20) if number != n]}
        for n, letter in enumerate("abcdefghij")
    }
    with pytest.raises(UnsupportedKeyword, match="more than 512 groups"):
        groups(kinds)
