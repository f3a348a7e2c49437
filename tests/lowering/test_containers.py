"""Free text that excludes the names of declared keys, and the size of arrays."""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.compile import compile
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.regex.json_string import free_text_except
from structkit.regex.nodes import Rules
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary
from tests.shared import cases

_WORDS = st.text('ab"é', max_size=6)


def _body(word: str) -> bytes:
    return json.dumps(word, ensure_ascii=False)[1:].encode()


@given(st.frozensets(_WORDS, min_size=1, max_size=5), st.lists(_WORDS, max_size=5))
def test_free_text_accepts_every_text_except_the_names(names: frozenset[str], words: list[str]) -> None:
    automaton = link(Rules(free_text_except(names), {}))
    for word in (*names, *words, *(name + "a" for name in names), *(name[:-1] for name in names)):
        assert Reader(automaton).accepts(_body(word)) == (word not in names)


@pytest.mark.parametrize("length", [24, 25, 500])
def test_long_names_are_excluded(length: int) -> None:
    automaton = link(Rules(free_text_except(["x" * length]), {}))
    for count in (0, 23, 24, 25, length - 1, length, length + 1):
        assert Reader(automaton).accepts(_body("x" * count)) == (count != length)


def test_a_counted_array_has_one_copy_of_a_large_item() -> None:
    """The first item precedes the counted others."""
    names = ["first", "second", "third"]
    declared = [{f"{name}{i}": {"const": i} for i in range(30)} for name in names]
    objects = [{"type": "object", "properties": each, "additionalProperties": False} for each in declared]
    large = {"anyOf": objects}
    counted = link(read_target({"type": "array", "items": large, "maxItems": 100}).rules()).build_all()
    plain = link(read_target({"type": "array", "items": large}).rules()).build_all()
    assert len(counted.row) < 1.1 * len(plain.row)
    text = json.dumps([{"first3": 3}, {"second0": 0, "second9": 9}, {}]).encode()
    assert Reader(counted).accepts(text) and not Reader(counted).accepts(text.replace(b"9}", b"8}"))


def test_many_counted_keys_of_several_groups_differ() -> None:
    """A repetition of alternatives with distinct keys is no rule of its own, which would have its own set of keys."""
    schema = {
        "type": "object",
        "patternProperties": {"^a": {"const": 1}, "^b": {"const": 2}},
        "additionalProperties": False,
        "minProperties": 30,
    }
    names = [f"{'ab'[number % 2]}{number}" for number in range(30)]
    keys = [json.dumps(name) + (": 2" if name[0] == "b" else ": 1") for name in names]
    reader = Reader(link(read_target(schema).rules()))
    assert reader.accepts(f"{{{', '.join(keys)}}}".encode())
    for twice in (0, 1, 28):
        assert not reader.accepts(f"{{{', '.join([*keys[:-1], keys[twice]])}}}".encode())


@pytest.mark.long(every=5)
@pytest.mark.parametrize("declared", [0, 1, 2, 3])
@pytest.mark.parametrize("other", [False, True, {"type": "null"}])
def test_counts_of_keys_in_any_order_have_no_dead_end(declared: int, other: object) -> None:
    """No comma follows the last key of `maxProperties`; undeclared keys count towards `minProperties`, each."""
    vocabulary = byte_vocabulary()
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    properties = {name: {"type": "null"} for name in "abc"[:declared]}
    for least, most in [(0, 2), (2, 2), (1, 4), (5, None), (3, 3), (0, 3), (4, 5)][: cases(4, of=7)]:
        if other is False and least > declared:
            continue
        schema: dict[str, object] = {
            "type": "object",
            "properties": properties,
            "additionalProperties": other,
        }
        schema |= {"minProperties": least} | ({} if most is None else {"maxProperties": most})
        guide = compile(schema, vocabulary, order="any", cache=False)
        reader = Reader(link(read_target(schema).rules(order="any")))
        for text in map(json.dumps, [dict.fromkeys("zyabc"[-n:] if n else "") for n in range(6)]):
            assert reader.accepts(text.encode()) == Draft202012Validator(schema).is_valid(json.loads(text)), (
                schema,
                text,
            )
        for seed in range(cases(1, of=5)):
            random, cursor, written = Random(seed), guide.cursor(), bytearray()
            budget = cursor.min_tokens_to_end() + random.randrange(40)
            while not cursor.is_accepting:
                cursor.fill_mask(mask, budget - len(written))
                written.append(
                    random.choice(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")))
                )
                cursor.advance(written[-1])
            assert Draft202012Validator(schema).is_valid(json.loads(written))


def _ring(count: int) -> dict[str, object]:
    """Return keys, each of which restricts the next one: 2**count alternatives."""
    rules = {f"k{n}": {"properties": {f"k{(n + 1) % count}": {"minimum": n}}} for n in range(count)}
    properties = {f"k{n}": {"type": "integer"} for n in range(count)}
    return {"type": "object", "properties": properties, "dependentSchemas": rules}


def test_too_many_next_keys_in_any_order_are_a_limit_before_the_first_token() -> None:
    few, many = ({"type": "object", "properties": {f"p{n}": {} for n in range(count)}} for count in (14, 16))
    alternatives: dict[str, object] = {
        "anyOf": [few | {"required": ["p0"]}, {"$ref": "#/$defs/a"}],
        "$defs": {"a": few | {"required": ["p1"], "additionalProperties": False}},
    }
    vocabulary, limits = byte_vocabulary(), Limits(parse_states=16)
    assert compile(few, vocabulary, order="any", limits=limits, cache=False).reader.accepts(b'{"p3": 1}')
    for schema in (many, alternatives):
        with pytest.raises(LimitExceeded, match="the keys that may be next in any order exceeds"):
            compile(schema, vocabulary, order="any", limits=limits, cache=False)
        compile(schema, vocabulary, limits=limits, cache=False)
    assert compile(_ring(4), vocabulary, order="any", cache=False).reader.accepts(b'{"k2": 5, "k1": 1}')
    with pytest.raises(LimitExceeded, match="parse_states=1024"):
        compile(_ring(8), vocabulary, order="any", cache=False)


def test_the_states_of_a_long_array_that_contains_an_item_do_not_nest() -> None:
    schema = {"type": "array", "items": {"enum": [1, 2]}, "contains": {"const": 1}, "minItems": 498}
    guide = compile(schema, byte_vocabulary(), cache=False)
    for items, is_valid in (([2] * 497 + [1], True), ([2] * 498, False), ([2] * 496 + [1], False)):
        cursor = guide.cursor()
        *rest, end = json.dumps(items).encode()
        for byte in rest:
            cursor.advance(byte)
        mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
        cursor.fill_mask(mask)
        assert bool(mask[end >> 5] >> (end & 31) & 1) == is_valid


@pytest.mark.parametrize(
    "counts",
    [
        {"maxProperties": 1},
        {"maxProperties": 2},
        {"minProperties": 3},
        {"minProperties": 2, "maxProperties": 3},
    ],
)
@pytest.mark.parametrize("required", [[], ["b"], ["a", "b"]])
@pytest.mark.parametrize("is_unique", [False, True])
def test_counts_of_keys_beside_a_required_undeclared_key(
    counts: dict[str, int], required: list[str], is_unique: bool
) -> None:
    """An object has a key besides those declared; in unique items it has at most one."""
    names = {"enum": ["a", "b"]}
    schema = {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"const": 1}},
        "required": required,
        "not": {"propertyNames": names},
        **counts,
    }
    reader = Reader(link(read_target({"type": "array", "uniqueItems": is_unique, "items": schema}).rules()))
    validator = Draft202012Validator(schema)
    for chosen in product((False, True), repeat=4):
        value = {name: 1 for name, is_written in zip("abcd", chosen, strict=True) if is_written}
        is_lost = is_unique and {"c", "d"} <= value.keys()
        assert reader.accepts(json.dumps([value]).encode()) == (validator.is_valid(value) and not is_lost), (
            value
        )


@pytest.mark.parametrize("order", ["declared", "any"])
def test_a_count_of_keys_beyond_the_limit_is_refused_at_once(order: Any) -> None:
    """In any order, the bounds of the distances listed each of the keys: 8 GB for 10**9."""
    for count in (10**9, 1e308):
        schema = {"type": "object", "patternProperties": {"^x": {}}, "minProperties": count}
        with pytest.raises(sk.LimitExceeded, match=r"exceeds the limit iterations") as caught:
            sk.compile(schema, byte_vocabulary(), cache=False, order=order)
        assert caught.value.place == "$"
