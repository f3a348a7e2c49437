"""Products of objects: the schemas that become products, against jsonschema."""

from __future__ import annotations

import json
from itertools import permutations, product
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, StructkitError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.lowering.lower import lower
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.string_oracle import UNDECIDED
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Integer,
    ObjectProduct,
    String,
    Union,
)
from structkit.schema.product.combine import WAYS, Way, combine, next_way
from structkit.schema.view.canonicalize import canonicalize
from structkit.schema.view.describe import describe
from structkit.targets.targets import read_target
from structkit.testing import byte_vocabulary
from structkit.testing.proof.sample import sample
from tests.schema.reading import read
from tests.shared import cases

KEYS = "abc"
VALUES = [1, 2, "x", "xy", None, {"z": 1}]
OBJECTS = [
    {key: value for key, value in zip(KEYS, chosen, strict=True) if value != "absent"}
    for chosen in product(["absent", *VALUES], repeat=len(KEYS))
]
OTHERS = [*VALUES, [], {"z": 1}, {"a": 1, "z": "x"}, {"b": "x", "z": 2}, {"c": 1, "z": None}]

leaves = st.sampled_from(
    [
        {"const": 1},
        {"const": "x"},
        {"enum": [1, "x"]},
        {"type": "integer"},
        {"type": "string"},
        {"minimum": 2},
        {"type": ["integer", "null"]},
        {"not": {"const": 1}},
        {"pattern": "^x"},
        {"pattern": "y$", "type": "string"},
        {"oneOf": [{}, {"required": ["z"]}]},
        {"anyOf": [{"required": ["z"]}, {"properties": {"z": False}, "required": ["y"]}]},
        True,
    ]
)

scalars = st.sampled_from(
    [
        {"type": ["object", "integer"]},
        {"type": ["object", "string"], "maxLength": 1},
        {"minimum": 2},
        {"enum": [1, "x", {"a": 1}, {"b": "x", "c": 2}]},
        {"const": {"a": "x"}},
        {"type": "object"},
    ]
)


@st.composite
def plain(draw: st.DrawFn) -> dict[str, object]:
    schema: dict[str, object] = {}
    if draw(st.booleans()):
        schema["properties"] = draw(st.dictionaries(st.sampled_from(KEYS), leaves))
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(KEYS), unique=True))
    match draw(st.integers(0, 5)):
        case 0:
            schema["additionalProperties"] = draw(st.sampled_from([False, {"type": "integer"}]))
        case 1:
            schema["minProperties"] = 1
        case 2:
            schema |= draw(scalars)
    return schema


def combined(inner: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    several = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        *(st.fixed_dictionaries({word: several}) for word in ("allOf", "anyOf", "oneOf")),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner}, optional={"else": inner}),
        st.fixed_dictionaries(
            {"dependentSchemas": st.dictionaries(st.sampled_from(KEYS), inner, min_size=1)}
        ),
        st.fixed_dictionaries({"dependentRequired": st.just({"a": ["b"], "c": ["a"]})}),
    )


schemas = st.recursive(plain(), combined, max_leaves=8).map(lambda each: {"allOf": [each]})


def accepts(reader: Reader, value: object) -> bool:
    """Return whether an object is accepted with its keys in some order, or another value."""
    orders = permutations(value.items()) if isinstance(value, dict) else ()
    texts = [json.dumps(dict(order)) for order in orders] or [json.dumps(value)]
    return any(reader.accepts(text.encode()) for text in texts)


@pytest.mark.long
@settings(max_examples=cases(8, of=1_500), deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, st.booleans())
def test_products_accept_what_jsonschema_does(schema: dict[str, object], makes_products: bool) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    expected = [validator.is_valid(value) for value in (*OBJECTS, *OTHERS)]
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(WAYS, "always", (Way(combine, makes_products=makes_products),))
            document = read(schema, products="always")
    except UnsatisfiableSchema:
        assert not any(expected)
        return
    except (UnsupportedKeyword, LimitExceeded):
        return
    reader = Reader(link(lower(document)))
    assert [accepts(reader, value) for value in (*OBJECTS, *OTHERS)] == expected


def test_a_combination_keeps_its_objects_if_another_value_is_excluded() -> None:
    schema = {
        "properties": {"a": {"oneOf": [{}, {"required": ["b"]}]}},
        "not": {"properties": {"a": {"const": None}}},
    }
    validator = jsonschema.Draft202012Validator(schema)
    reader = Reader(link(lower(read(schema, products="always"))))
    for value in ({"a": {"c": 1}}, {"a": {}}, {"a": {"b": 1}}, {"a": None}, {"a": 1}, {}):
        assert reader.accepts(json.dumps(value).encode()) == validator.is_valid(value), value


def conditions(count: int) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {f"{part}{n}": {"type": "string"} for n in range(count) for part in "abc"},
        "allOf": [
            {
                "if": {"properties": {f"a{n}": {"const": "v"}}, "required": [f"a{n}"]},
                "then": {"required": [f"b{n}"]},
                "else": {"required": [f"c{n}"]},
            }
            for n in range(count)
        ],
    }


MANY = {
    "conditions": conditions(12),
    "allOf of anyOf": {
        "type": "object",
        "allOf": [{"anyOf": [{"required": [f"k{n}_{i}"]} for i in range(3)]} for n in range(20)],
    },
    "oneOf": {"oneOf": [{"type": "object", "required": [f"k{n}"]} for n in range(100)]},
    "dependent": {
        "type": "object",
        "additionalProperties": False,
        "properties": {f"k{n}": {"type": "integer"} for n in range(30)},
        "dependentRequired": {f"k{n}": [f"k{(7 * n + 3) % 30}"] for n in range(30)},
    },
    "not": {"type": "object", "allOf": [{"not": {"required": [f"a{n}", f"b{n}"]}} for n in range(40)]},
    "nested": {"type": "array", "items": conditions(12), "maxItems": 2},
}


@pytest.mark.long(every=2)
@pytest.mark.parametrize("name", MANY)
def test_many_combinations_are_enforced(name: str) -> None:
    validator = jsonschema.Draft202012Validator(MANY[name])
    for value in sample(sk.JsonSchema(MANY[name]), n=30):
        validator.validate(value)


def test_a_text_makes_the_rules_of_its_own_states_only() -> None:
    schema = conditions(30)
    guide = sk.compile(schema, byte_vocabulary(), cache=False)
    cursor = guide.cursor()
    text = json.dumps({f"c{n}": "" for n in range(30)})
    for byte in text.encode():
        cursor.advance(byte)
    assert cursor.is_accepting
    assert len(guide.automaton.builder.built) < 100  # of 2 ** 30 states


@pytest.mark.parametrize("name", ["conditions", "allOf of anyOf"])
def test_a_product_is_not_stored(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        guide = sk.compile(MANY[name], byte_vocabulary())
        cursor = guide.cursor()
        while not cursor.is_finished:
            mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
            cursor.fill_mask(mask, budget=cursor.min_tokens_to_end())
            cursor.advance(int(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))[0]))
        guide.save()
    assert not list(tmp_path.rglob("*guide*"))


def test_an_array_of_products_keeps_to_a_budget() -> None:
    guide = sk.compile(MANY["nested"], byte_vocabulary(), cache=False)
    least = guide.cursor().min_tokens_to_end()
    assert least == len("[]")


def test_undeclared_keys_that_count_are_refused() -> None:
    with pytest.raises(UnsupportedKeyword, match="`minProperties` with 40 optional properties"):
        sk.compile({"type": "object", "properties": COUNTED, "minProperties": 15}, byte_vocabulary())


@pytest.mark.long
def test_parts_that_must_differ_are_multiplied_out_or_refused() -> None:
    """Six conditions are 64 combinations, which are multiplied out; of 4,096 a product cannot have unique items."""
    unique = {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}
    for count in (6, 12):
        schema = conditions(count)
        schema["properties"] = {"tags": unique}
        if count == 6:
            value = sample(sk.JsonSchema(schema), n=1)[0]
            jsonschema.Draft202012Validator(schema).validate(value)
        else:
            with pytest.raises(LimitExceeded, match="the combinations of schemas"):
                sk.compile(schema, byte_vocabulary())


def test_closed_objects_of_many_combinations_can_be_unique() -> None:
    """Each object has one text, because a product has one order of keys, and the rules of its states are few."""
    item = {
        "type": "object",
        "additionalProperties": False,
        "properties": {f"k{n}": {"type": "integer"} for n in range(20)},
        "anyOf": [{"required": [f"k{n}"]} for n in range(4)],
        "dependentSchemas": {
            "k0": {"not": {"required": ["k1"]}},
            "k1": {"not": {"required": [f"k{n}" for n in range(5, 12)]}},
            "k2": {"not": {"required": ["k3", "k12", "k13"]}},
            "k3": {"not": {"required": ["k2", "k14", "k15"]}},
            "k16": {"required": ["k2"]},
            "k17": {"required": ["k2"]},
        },
    }
    schema = {"type": "array", "items": item, "uniqueItems": True, "minItems": 2}
    reader = Reader(link(read_target(schema).rules()))
    validator = jsonschema.Draft202012Validator(schema)
    first, second = {"k2": 1, "k5": 1, "k16": 1}, {"k2": 1, "k5": 2}
    wrong = (
        {"k5": 1},
        {"k0": 1, "k1": 1},
        {"k3": 1, "k16": 1},
        {"k2": 1, "x": 1},
        {"k2": 1, "k3": 1, "k12": 1, "k13": 1},
    )
    for value in ([first, second], [first, first], [first], *([first, each] for each in wrong)):
        assert reader.accepts(json.dumps(value).encode()) == validator.is_valid(value), value
    assert not reader.accepts(b'[{"k2": 1, "k5": 1}, {"k5": 1, "k2": 1}]')


def test_little_is_tried_behind_products_that_took_all_that_they_may() -> None:
    def costs(*, is_exhausted: bool) -> list[int | None]:
        ways = iter(WAYS["many"])
        next(ways)
        tried = Intersector(Definitions(), sk.Limits(), UNDECIDED, *next(ways))
        tried.is_exhausted, tried.met_objects = is_exhausted, True
        third = next_way(ways, tried)
        assert third is not None
        return [third.max_cost, *(way.max_cost for way in ways)]

    assert costs(is_exhausted=False) == [None, 150_000, 150_000]
    assert costs(is_exhausted=True) == [150_000, 150_000, 150_000]


def test_counts_beside_parts_that_must_differ_are_refused_or_relaxed() -> None:
    unique = {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}
    schema = {
        "type": "object",
        "properties": {**COUNTED, "tags": unique},
        "maxProperties": 13,
        "required": ["tags"],
    }
    with pytest.raises(UnsupportedKeyword, match="`maxProperties` with 41 optional properties"):
        sk.compile(schema, byte_vocabulary())
    relaxed = read_target(sk.JsonSchema(schema, strict=False)).rules()
    assert [each.keyword for each in relaxed.unenforced] == ["maxProperties"]
    assert not Reader(link(relaxed)).accepts(b'{"tags": ["a", "a"]}')


def test_a_product_may_begin_with_the_keys_of_documents() -> None:
    guide = sk.compile(conditions(12), byte_vocabulary())
    known = {f"c{n}": "" for n in range(12)}
    for value in ({"$schema": "x", **known}, {**known, "$schema": "x"}):
        cursor = guide.cursor()
        for byte in json.dumps(value).encode():
            cursor.advance(byte)
        assert cursor.is_accepting


def test_the_search_of_a_schema_is_bounded_by_its_limits() -> None:
    """Each of 12 pigeons has one of 11 holes, and no hole has two."""
    keys = [[f"p{one}_{hole}" for hole in range(11)] for one in range(12)]
    housed = [{"anyOf": [{"required": [key]} for key in own]} for own in keys]
    alone = [
        {"not": {"required": [keys[one][hole], keys[other][hole]]}}
        for hole in range(11)
        for one in range(12)
        for other in range(one)
    ]
    schema = {"type": "object", "allOf": [*housed, *alone]}
    with pytest.raises(LimitExceeded, match=r"the search for an object.* exceeds the limit work=2000000"):
        read(schema, limits=sk.Limits(work=2_000_000), products="always")


def test_keys_in_any_order_are_multiplied_out_or_refused() -> None:
    with pytest.raises(LimitExceeded, match="the combinations of schemas"):
        sk.compile(conditions(12), byte_vocabulary(), order="any")
    assert sk.compile(conditions(2), byte_vocabulary(), order="any")


def test_a_product_cannot_be_listed() -> None:
    with pytest.raises(LimitExceeded, match="the combinations of schemas"):
        sk.to_regex(conditions(12))
    rules = lower(read(conditions(12)))
    with pytest.raises(StructkitError, match="a rule for each state, which cannot be listed"):
        list(rules.rules)


def test_the_description_of_a_product_shows_its_keys() -> None:
    document = read(
        {
            "anyOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "string"}}},
            ],
            "not": {"required": ["b"]},
        },
        products="always",
    )
    assert isinstance(document.root, ObjectProduct)
    assert describe(document).startswith('{"a"?: integer | null')


def test_a_product_orders_the_keys_of_examples() -> None:
    document = read(conditions(12))
    assert isinstance(document.root, ObjectProduct)
    value = {"zz": [1], "c1": "x", "a1": "y", "b0": "z"}
    assert list(canonicalize(document, value)) == ["b0", "a1", "c1", "zz"]  # type: ignore[call-overload]


def test_references_inside_products_are_resolved() -> None:
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/node"}, "kind": {"enum": ["a", "b"]}},
                "required": ["kind"],
                **{key: value for key, value in conditions(8).items() if key == "allOf"},
            }
        },
    }
    validator = jsonschema.Draft202012Validator(schema)
    for value in sample(sk.JsonSchema(schema), n=10):
        validator.validate(value)


def test_products_inside_arrays_are_products_too() -> None:
    inner = conditions(8)
    schema = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "prefixItems": [inner], "items": inner, "maxItems": 2},
            "one": {"type": "array", "contains": inner, "maxItems": 2},
        },
        "required": ["items", "one"],
        "additionalProperties": False,
    }
    validator = jsonschema.Draft202012Validator(schema)
    for value in sample(sk.JsonSchema(schema), n=3):
        validator.validate(value)


EXCLUDING: dict[str, object] = {
    "oneOf": [
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "additionalProperties": {"type": ["string", "integer"]}, "required": ["v"]},
    ]
}
COUNTING: dict[str, object] = {
    "type": "object",
    "oneOf": [
        {"maxProperties": 2},
        {"required": ["x", "y", "z"]},
        {"properties": {"x": {"const": 1}}, "required": ["x"]},
    ],
}


@pytest.mark.parametrize("inner", [EXCLUDING, COUNTING])
def test_an_object_that_no_product_represents_is_multiplied_out(inner: dict[str, object]) -> None:
    """Twelve conditions beside it are a product."""
    others = conditions(12)
    schema = {**others, "properties": {"inner": inner, **others["properties"]}}  # type: ignore[dict-item]
    validator = jsonschema.Draft202012Validator(schema)
    reader = Reader(link(lower(read(schema))))
    for value in ("s", 1, 2, None):
        for names in ("v", "w", "vw", "x", "xy", "xyz", "xwy", "vwx", "xyzw"):
            for changed in names:
                found = {name: value if name == changed else "s" for name in names}
                texts = [json.dumps({"inner": dict(order)}).encode() for order in permutations(found.items())]
                is_valid = validator.is_valid({"inner": found})
                assert any(map(reader.accepts, texts)) == is_valid, found
    for value in sample(sk.JsonSchema(schema), n=5):
        validator.validate(value)


def test_products_beside_required_undeclared_keys_have_few_rules() -> None:
    """An undeclared key that is required must differ from the others, and a budget then needs all rules."""
    few = conditions(12)
    spread = dict(sorted(few["properties"].items()))  # type: ignore[attr-defined]
    schemas = [
        {"type": "array", "prefixItems": [each, EXCLUDING]} for each in (few, {**few, "properties": spread})
    ]
    assert sk.compile(schemas[0], byte_vocabulary(), cache=False).cursor().min_tokens_to_end() == 2
    with pytest.raises(LimitExceeded, match="the combinations of schemas"):
        sk.compile(schemas[1], byte_vocabulary(), cache=False)


def test_values_that_no_condition_tells_apart_are_one_case() -> None:
    document = read(
        {
            "type": "object",
            "properties": {"a": {"type": ["integer", "array", "string"]}},
            "allOf": [
                {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}},
                {"if": {"properties": {"a": {"enum": [1, 2]}}}, "then": {"required": ["c"]}},
            ],
        },
        products="always",
    )
    assert isinstance(document.root, ObjectProduct)
    cases = next(key.cases for key in document.root.keys if key.name == "a")
    assert len(cases) == 3  # 1 meets both conditions, 2 the second, and all others none
    others = next(case.value for case in cases if case.violates == 0b1111)
    assert isinstance(others, Union) and {type(branch) for branch in others.branches} == {
        Integer,
        Array,
        String,
    }
    assert Anything() not in others.branches


COUNTED = {f"k{n}": {"type": "integer"} for n in range(40)}


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    "others",
    [
        {"minProperties": 15, "maxProperties": 20, "additionalProperties": False},
        {"minProperties": 15, "additionalProperties": False},
        {"maxProperties": 12, "required": ["k20"]},
        {"maxProperties": 13, "additionalProperties": {"type": "null"}},
        {"minProperties": 1, "maxProperties": 20},
    ],
)
def test_many_optional_keys_are_counted(others: dict[str, object]) -> None:
    schema = {"type": "object", "properties": COUNTED, **others}
    validator = jsonschema.Draft202012Validator(schema)
    for value in sample(sk.JsonSchema(schema), n=4):
        validator.validate(value)
    reader = Reader(link(lower(read(schema))))
    for count in (0, 1, 10, 11, 12, 13, 14, 15, 16, 19, 20, 21, 37, 38, 39, 40):
        for more in ({}, {"z": None}, {"y": None, "z": None}, {"x": None, "y": None, "z": None}):
            value = {**{f"k{n}": n for n in range(40 - count, 40)}, **more}
            assert reader.accepts(json.dumps(value).encode()) == validator.is_valid(value)
