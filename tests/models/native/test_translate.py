"""Which part of a schema a server gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import structkit as sk
from structkit.errors import SchemaError
from structkit.models.native.profiles import ANTHROPIC, GEMINI, LLAMA_CPP, OPENAI_STRICT, SchemaProfile
from structkit.models.native.translate import Translation, Unsent, translate
from tests.shared import cases

PROFILES = [OPENAI_STRICT, ANTHROPIC, GEMINI, LLAMA_CPP]


class Address(BaseModel):
    city: str
    code: int | None = None


class Person(BaseModel):
    name: str
    tags: set[str] = set()
    address: Address | None = None


class Node(BaseModel):
    children: list[Node]


def wrap(schema: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


def sent(schema: Mapping[str, object], profile: SchemaProfile) -> Any:
    """Return what is sent of the schema of a property."""
    translation = translate(wrap(schema), profile)
    assert translation.schema is not None, translation.unsent
    return translation.schema["properties"]["a"]  # type: ignore[index]


def refusal(schema: object, profile: SchemaProfile) -> Unsent:
    translation = translate(schema, profile)
    assert translation.schema is None
    return translation.unsent[-1]


def test_the_rules_of_openai() -> None:
    found = translate(sk.to_json_schema(Person), OPENAI_STRICT)
    assert found.schema is not None
    assert found.schema["required"] == ["name", "tags", "address"]
    assert found.schema["additionalProperties"] is False
    address = found.schema["$defs"]["Address"]  # type: ignore[index]
    assert (address["required"], address["additionalProperties"]) == (["city", "code"], False)
    assert [(each.pointer, each.keyword) for each in found.unsent] == [
        (("properties", "tags"), "uniqueItems")
    ]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (list[int], "takes only objects"),
        (Person | None, "takes only objects"),
        (dict[str, int], "takes no object with any keys"),
        ({"type": "object", "properties": {"a": {}}}, "values of any type"),
        ({"type": "object", "properties": {"a": True}}, "boolean schema"),
        ({"type": "object", "properties": {"a": {"$ref": "b.json"}}}, "references that start with #/"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "array without a schema"),
        ({"type": "object", "properties": {}, "required": ["b"]}, "required property without a schema"),
        (
            {"type": "object", "properties": {"a": {"enum": [f"{n}" for n in range(1001)]}}},
            "at most 1000 values",
        ),
    ],
)
def test_what_openai_refuses(target: Any, reason: str) -> None:
    schema = target if isinstance(target, dict) else sk.to_json_schema(target)
    assert reason in refusal(schema, OPENAI_STRICT).reason


def test_depth_is_bounded() -> None:
    schema: dict[str, object] = {"type": "integer"}
    for _ in range(20_000):
        schema = wrap(schema)
    for profile in PROFILES:
        assert "too deep" in refusal(schema, profile).reason


@pytest.mark.parametrize(
    "definitions",
    [
        {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
        {"A": {"$ref": "#/$defs/B"}, "B": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
    ],
)
def test_recursion(definitions: dict[str, object]) -> None:
    schema = {**wrap({"$ref": "#/$defs/A"}), "$defs": definitions}
    assert "refers to itself" in refusal(schema, ANTHROPIC).reason
    assert translate(schema, OPENAI_STRICT).schema is not None
    assert translate({**schema, "$defs": {"A": {"type": "null"}}}, ANTHROPIC).schema is not None


def test_bounds_of_anthropic() -> None:
    assert sent({"type": "array", "items": {"type": "null"}, "minItems": 1}, ANTHROPIC)["minItems"] == 1
    assert "minItems" not in sent({"type": "array", "items": {"type": "null"}, "minItems": 2}, ANTHROPIC)
    many = {"type": "object", "properties": {f"p{n}": {"type": "null"} for n in range(25)}}
    assert "at most 24 optional" in refusal(many, ANTHROPIC).reason
    unions = {f"p{n}": {"type": ["string", "null"]} for n in range(17)}
    assert (
        "at most 16 unions"
        in refusal({"type": "object", "properties": unions, "required": [*unions]}, ANTHROPIC).reason
    )


def test_gemini_gets_a_constant_as_an_enum_and_one_of_as_any_of() -> None:
    assert sent({"const": "x"}, GEMINI) == {"enum": ["x"]}
    assert sent({"oneOf": [{"type": "null"}]}, GEMINI) == {"anyOf": [{"type": "null"}]}


def test_llama_cpp_ignores_what_stands_beside_some_keywords() -> None:
    assert sent({"type": "string", "pattern": "a", "minLength": 2}, LLAMA_CPP) == {"type": "string"}
    assert sent({"type": "string", "pattern": "^a$"}, LLAMA_CPP) == {"type": "string", "pattern": "^a$"}
    both = {"anyOf": [{"type": "string"}], "minLength": 1}
    assert sent(both, LLAMA_CPP) == {"anyOf": [{"type": "string"}]}


def test_llama_cpp_writes_a_tuple_of_its_items_only() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}]}
    length = {"minItems": 2, "maxItems": 2}
    assert sent({**pair, **length}, LLAMA_CPP) == {**pair, **length}
    assert sent({**pair, "items": False}, LLAMA_CPP) == pair
    assert sent({**pair, "items": {"type": "string"}, "maxItems": 5}, LLAMA_CPP) == pair


@pytest.mark.parametrize("pattern", [r"^\d$", "^a|b$", "^(?:a)$", "^a+?$", "^a^b$", r"^a\$", "^", "a"])
def test_patterns_that_llama_cpp_reads_otherwise_are_left_out(pattern: str) -> None:
    assert sent({"type": "string", "pattern": pattern}, LLAMA_CPP) == {"type": "string"}
    plain = {"type": "string", "pattern": r"^([A-Z]{2}|\+)[^?|]*-\.$"}
    assert sent(plain, LLAMA_CPP) == plain


def test_what_llama_cpp_and_anthropic_take_of_all_of() -> None:
    joined = {"type": "object", "properties": {"a": {"type": "null"}}, "allOf": [{"type": "object"}]}
    assert "allOf" not in sent(joined, LLAMA_CPP)
    schema = {**wrap({"allOf": [{"$ref": "#/$defs/A"}], "type": "null"}), "$defs": {"A": {"type": "null"}}}
    found = translate(schema, ANTHROPIC)
    assert found.schema is not None
    assert found.schema["properties"] == {"a": {"type": "null"}}
    assert [each.reason for each in found.unsent] == ["Anthropic takes no $ref in allOf"]


_LEAF = st.sampled_from(
    [
        {"type": "integer", "minimum": 0, "maximum": 20},
        {"type": "integer", "multipleOf": 3, "minimum": 0, "maximum": 300},
        {"type": "string", "minLength": 1, "maxLength": 3},
        {"type": "string", "pattern": "^[ab]+$"},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "uri"},
        {"enum": ["a", 1, None]},
        {"const": True},
        {"type": ["string", "null"]},
        {"type": "boolean", "not": {"const": True}},
    ]
)


def _grow(inner: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    names = st.sampled_from("abcd")
    objects = st.builds(
        lambda properties, required, closed: {
            "type": "object",
            "properties": properties,
            "required": sorted(required & properties.keys()),
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(names, inner, min_size=1, max_size=3),
        st.sets(names),
        st.booleans(),
    )
    arrays = st.builds(
        lambda items, least, unique: {
            "type": "array",
            "items": items,
            "minItems": least,
            "maxItems": 3,
            "uniqueItems": unique,
        },
        inner,
        st.integers(0, 2),
        st.booleans(),
    )
    unions = st.builds(lambda members: {"anyOf": members}, st.lists(inner, min_size=1, max_size=3))
    return st.one_of(objects, arrays, unions)


def _without(schema: Any, unsent: tuple[Unsent, ...]) -> Any:
    """Return a schema without what a server does not get."""
    copy = json.loads(json.dumps(schema))
    for each in unsent:
        at = copy
        for step in each.pointer:
            at = at[int(step)] if isinstance(at, list) else at[step]
        at.pop(each.keyword, None)
    return copy


@given(st.recursive(_LEAF, _grow, max_leaves=6).map(wrap), st.sampled_from(PROFILES))
@settings(max_examples=cases(20, of=60), deadline=None)
def test_what_is_sent_allows_only_values_of_what_is_not_left_out(
    schema: dict[str, object], profile: SchemaProfile
) -> None:
    found = translate(schema, profile)
    if found.schema is None:
        assert found.unsent[-1].reason
        return
    jsonschema.Draft202012Validator.check_schema(found.schema)
    validator = jsonschema.Draft202012Validator(_without(schema, found.unsent))
    try:
        values = sk.sample(sk.JsonSchema(found.schema, strict=False), n=5)
    except SchemaError:
        return
    for value in values:
        assert validator.is_valid(value), value


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(
                    ["type", "properties", "items", "anyOf", "required", "enum", "$ref", "$defs", "x"]
                ),
                inner,
                max_size=4,
            ),
        ),
        max_leaves=12,
    ),
    st.sampled_from(PROFILES),
)
def test_any_json_is_translated_or_refused(schema: object, profile: SchemaProfile) -> None:
    assert isinstance(translate(schema, profile), Translation)


@pytest.mark.parametrize("profile", [ANTHROPIC, GEMINI, LLAMA_CPP], ids=lambda profile: profile.name)
@pytest.mark.parametrize(
    "schema",
    [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}, {"enum": ["a"]}],
    ids=str,
)
def test_only_openai_wants_objects(profile: SchemaProfile, schema: dict[str, object]) -> None:
    assert translate(schema, profile).schema is not None
    refused = translate(schema, OPENAI_STRICT)
    assert refused.schema is None
    assert refused.unsent[-1].reason == "OpenAI takes only objects"


@pytest.mark.parametrize("pattern", [r"^\d$", "a", "^a+?$"])
def test_other_servers_read_any_pattern(pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    every = SchemaProfile(
        name="every", keywords=frozenset({"type", "properties", "required", "pattern", "minLength"})
    )
    for profile in (OPENAI_STRICT, every):
        assert sent(schema, profile) == schema
    assert sent({**schema, "minLength": 2}, every) == {**schema, "minLength": 2}
