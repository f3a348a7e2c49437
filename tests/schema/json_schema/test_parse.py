"""Parsing of JSON Schemas: MaskBench, random schemas, and rejected schemas."""

from __future__ import annotations

import pytest

from structkit.errors import (
    LimitExceeded,
    SchemaError,
    UnresolvedReference,
    UnsatisfiableSchema,
    UnsupportedKeyword,
)
from structkit.limits import Limits
from structkit.schema.ir.nodes import Object, Ref, Schema
from tests.schema.reading import read
from tests.schema.semantics import holds


def _accepts(schema: object, value: object) -> bool:
    return holds(read(schema), value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        (True, [1, None], []),
        ({}, [1, None, {}], []),
        ({"minLength": 3}, ["abc", 1, None, []], ["ab"]),
        ({"properties": {"a": {"type": "null"}}}, [1, {"a": None}, {"b": 1}], [{"a": 1}]),
        ({"type": ["integer", "null"]}, [1, 2.0, None], [1.5, "a"]),
        ({"type": ["integer", "number"]}, [1, 1.5], ["a"]),
        ({"enum": [1, 1.0, True, "a"]}, [1, True, "a"], [False, "b"]),
        ({"type": "string", "enum": ["a", 1]}, ["a"], [1]),
        ({"type": "integer", "enum": [1.0, 1.5]}, [1], [1.5]),
        ({"enum": ["ab", "b"], "minLength": 2}, ["ab"], ["b"]),
        ({"enum": ["a-b", "ab"], "pattern": "-"}, ["a-b"], ["ab", "-"]),
        ({"enum": [[1, 2], [1]], "minItems": 2}, [[1, 2]], [[1]]),
        ({"const": {"a": "x"}, "properties": {"a": {"pattern": "^x"}}}, [{"a": "x"}], [{"a": "y"}, {}]),
        ({"type": "integer", "minimum": 0.5, "maximum": 2.0}, [1, 2], [0, 3]),
        ({"type": "integer", "multipleOf": 1.5}, [0, 3, -6], [1, 2]),
        ({"exclusiveMinimum": 1, "minimum": 1}, [1.1, "a"], [1]),
        ({"minimum": 1, "exclusiveMinimum": True}, [1.1], [1]),
        ({"maximum": 1, "exclusiveMaximum": False}, [1], [1.1]),
        ({"items": [{"type": "null"}], "additionalItems": False}, [[], [None]], [[1], [None, None]]),
        ({"prefixItems": [{"type": "null"}], "items": {"type": "string"}}, [[None, "a"]], [[None, 1]]),
        ({"type": "string", "nullable": True}, ["a", None], [1]),
        ({"required": ["a"], "additionalProperties": {"type": "null"}}, [{"a": None}], [{"a": 1}, {}]),
        ({"propertyNames": {"enum": ["a"]}}, [{}, {"a": 1}], [{"b": 1}]),
        ({"propertyNames": {"maxLength": 1}, "properties": {"ab": {}}}, [{"a": 1}], [{"ab": 1}]),
        ({"propertyNames": {"$ref": "#/$defs/n"}, "$defs": {"n": {"const": "a"}}}, [{"a": 1}], [{"b": 1}]),
        (
            {"patternProperties": {"^a": {"type": "null"}}, "additionalProperties": False},
            [{"ab": None}],
            [{"ab": 1}, {"b": None}],
        ),
        ({"patternProperties": {".*": {"type": "null"}}, "properties": {"a": {}}}, [{"a": None}], [{"a": 1}]),
        ({"unevaluatedProperties": True, "then": False, "maxContains": 0}, [1, {}], []),
        ({"not-a-keyword": {"type": "null"}, "id": 3}, [1], []),
        ({"anyOf": [{"oneOf": [{}, {}]}, {"const": 3}]}, [3], [1, None]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5, "a"], [3]),
        ({"not": {"contains": {"type": "null"}}}, [], [[None], [1, None]]),
        ({"contains": True, "maxItems": 0}, [1], [[], [1]]),
        (
            {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
            [{"c": 1}],
            [{"a": 1}],
        ),
        (
            {"patternProperties": {"a": {"type": "null"}, "b": {"type": "integer"}}},
            [{"b": 1, "c": ""}],
            [{"ab": 1}],
        ),
        ({"propertyNames": {"anyOf": [{"const": "x"}, {"pattern": "^y"}]}}, [{"x": 1, "yz": 2}], [{"z": 1}]),
        ({"dependencies": {"a": ["b"], "c": {"maxProperties": 1}}}, [{"c": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
    ],
)
def test_keywords_follow_the_specification(
    schema: object, valid: list[object], invalid: list[object]
) -> None:
    document = read(schema)  # type: ignore[arg-type]
    assert [value for value in valid if not holds(document, value)] == []
    assert [value for value in invalid if holds(document, value)] == []


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": {"a": {"items": {"not": {"uniqueItems": True}}}}}, "$.properties.a.items.not"),
        (
            {"$ref": "#/$defs/a b", "$defs": {"a b": {"anyOf": [True, {"not": {"uniqueItems": True}}]}}},
            '$.$defs["a b"].anyOf[1].not',
        ),
        ({"not": {"uniqueItems": True}}, "$.not"),
        ({"allOf": [{"contains": {"multipleOf": n}} for n in (2, 3, 5, 7, 11, 13)]}, "$"),
    ],
)
def test_unenforceable_keywords_are_rejected_with_their_path(schema: dict[str, object], place: str) -> None:
    with pytest.raises(UnsupportedKeyword) as caught:
        read(schema)
    assert caught.value.place == place


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"type": 3},
        {"enum": "a"},
        {"enum": [float("nan")]},
        {"const": "\ud800"},
        {"const": {1: 2}},
        {"minimum": "1"},
        {"minimum": float("inf")},
        {"multipleOf": 0},
        {"minLength": -1},
        {"minLength": 1.5},
        {"required": True},
        {"required": [1]},
        {"properties": []},
        {"allOf": []},
        {"anyOf": {}},
        {"items": 3},
        {"prefixItems": {}},
        {"items": [], "prefixItems": [{}]},
        {"pattern": 3},
        {"$ref": 3},
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
        {"maximum": 10**5000},
    ],
)
def test_invalid_schemas_are_rejected(schema: dict[str, object]) -> None:
    with pytest.raises(SchemaError) as caught:
        read(schema)
    assert caught.value.place is not None and caught.value.place.startswith("$")


@pytest.mark.parametrize("kind", ["string", "integer", "number", "boolean", "null"])
def test_bare_types_equal_types_with_neutral_keywords(kind: str) -> None:
    bare = {"type": kind, "title": "T", "description": "D", "examples": [1], "default": 2}
    found, expected = read(bare).root, read(bare | {"x-nothing": True}).root
    assert found == expected
    assert found.note == expected.note is not None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 2, "pattern": "^a", "format": "date", "then": False},
        {
            "type": "string",
            "minLength": 2,
            "maxLength": 1,
            "$schema": "http://json-schema.org/draft-07/schema#",
        },
        {"type": "integer", "minimum": 2, "exclusiveMaximum": 9.5, "multipleOf": 3, "title": "T"},
        {"type": "number", "minimum": 2, "items": False},
        {
            "type": "array",
            "prefixItems": [True],
            "contains": {"type": "null"},
            "minContains": 2,
            "maxContains": 3,
        },
        {
            "type": "array",
            "items": {"type": "integer", "maximum": 5},
            "uniqueItems": True,
            "description": "D",
        },
        {
            "type": "object",
            "properties": {"a": {"type": "object"}},
            "required": ["a", "b"],
            "definitions": {},
        },
        {"type": "object", "patternProperties": {"": {"type": "string"}}, "additionalProperties": False},
    ],
)
def test_fast_path_of_one_type_equals_the_general_path(schema: dict[str, object]) -> None:
    def root(schema: dict[str, object]) -> Schema | str:
        try:
            return read(schema).root
        except UnsatisfiableSchema as error:
            return error.message

    found, expected = root(schema), root(schema | {"allOf": [True]})
    assert found == expected
    if not isinstance(found, str) and not isinstance(expected, str):
        assert found.note == expected.note


@pytest.mark.parametrize(
    "reference", ["#/$defs/x", "other.json", "#nowhere", "http://example.com/", "#/%20", "http://["]
)
def test_unresolved_references_are_rejected(reference: str) -> None:
    with pytest.raises(UnresolvedReference):
        read({"items": {"$ref": reference}})


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (False, "$"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "$"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "$"),
        ({"enum": []}, "$"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "$.a"),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"allOf": [{"type": "null"}, {"const": 1}]}},
            },
            "$.a",
        ),
        (
            {
                "prefixItems": [{}, {"required": ["b"], "type": "object", "properties": {"b": False}}],
                "minItems": 2,
                "type": "array",
            },
            "$[1].b",
        ),
        ({"type": "array", "minItems": 1, "items": False}, "$[0]"),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}}, "$"),
        *(
            ({"type": "array", "maxItems": 4, "uniqueItems": True, "contains": each, "minContains": 3}, "$")
            for each in (
                {"const": "a"},
                {"type": ["boolean"]},
                {"type": "integer", "minimum": 1, "maximum": 2},
            )
        ),
        (
            {
                "type": "array",
                "uniqueItems": True,
                "contains": {"$ref": "#/$defs/two"},
                "minContains": 3,
                "$defs": {"two": {"enum": ["a", "b"]}},
            },
            "$",
        ),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "$.a"),
        ({"anyOf": [False, {"type": "null", "const": 1}]}, "$"),
        ({"type": "object", "minProperties": 2, "propertyNames": {"const": "a"}}, "$"),
    ],
)
def test_contradictions_are_reported_with_their_path(schema: dict[str, object], place: str) -> None:
    with pytest.raises(UnsatisfiableSchema) as caught:
        read(schema)
    assert caught.value.place == place


def test_unsatisfiable_parts_are_removed() -> None:
    document = read(
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/endless"}, "b": {"anyOf": [False, {"type": "null"}]}},
            "additionalProperties": False,
            "$defs": {"endless": {"type": "array", "items": {"$ref": "#/$defs/endless"}, "minItems": 1}},
        }
    )
    assert document == read(
        {"type": "object", "properties": {"b": {"type": "null"}}, "additionalProperties": False}
    )


def test_a_forbidden_key_of_an_open_object_is_kept() -> None:
    assert not _accepts({"properties": {"a": False}}, {"a": 1})
    assert _accepts({"properties": {"a": False}}, {"b": 1})


def test_a_recursive_schema_is_a_reference_to_a_definition() -> None:
    document = read({"type": "object", "properties": {"next": {"$ref": "#"}}})
    assert isinstance(document.root, Ref)
    assert list(document.definitions) == [document.root.name]


def test_intersections_of_recursive_definitions_terminate() -> None:
    schema = {
        "$defs": {
            "a": {
                "type": "object",
                "properties": {"x": {"$ref": "#/$defs/a", "$comment": "", "minProperties": 1}},
            },
            "b": {
                "properties": {"x": {"$ref": "#/$defs/b"}, "y": {"type": "null"}},
                "additionalProperties": False,
            },
        },
        "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
    }
    document = read(schema)
    assert holds(document, {"x": {"x": {"y": None}}})
    assert not holds(document, {"x": {"x": {}}})
    assert not holds(document, {"z": 1})


def test_old_drafts_ignore_keywords_next_to_references() -> None:
    schema = {"$ref": "#/definitions/a", "type": "null", "definitions": {"a": {"type": "string"}}}
    assert _accepts({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, "a")
    with pytest.raises(UnsatisfiableSchema):
        read(schema)


@pytest.mark.parametrize("first", [{"const": "a"}, {"pattern": "^a$"}])
def test_an_allowed_name_is_not_compared_with_other_patterns(first: dict[str, object]) -> None:
    """The automaton of the other pattern would be too large, so whether it allows a name is unknown."""
    names = {"anyOf": [first, {"pattern": "^(?:[a-z]{0,60}x){0,40}[0-9]{0,300}z$"}]}
    document = read({"type": "object", "properties": {"a": {"type": "integer"}}, "propertyNames": names})
    assert isinstance(document.root, Object) and document.root.properties[0].name == "a"


def _nested(keyword: str, depth: int) -> dict[str, object]:
    schema: dict[str, object] = {}
    for _ in range(depth):
        schema = {keyword: [schema]} if keyword in ("allOf", "prefixItems") else {keyword: schema}
    return schema


@pytest.mark.parametrize(
    "keyword", ["items", "allOf", "prefixItems", "additionalProperties", "propertyNames"]
)
def test_schemas_that_are_too_deep_are_rejected(keyword: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        read(_nested(keyword, 20_000))
    assert caught.value.limit == "schema_depth"
    read(_nested(keyword, 50))


def test_deep_and_circular_constants_are_rejected() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    circular: list[object] = []
    circular += [circular, circular]
    for value in (deep, circular):
        with pytest.raises(LimitExceeded):
            read({"const": value})


def test_a_product_of_alternatives_is_bounded() -> None:
    def alternatives(i: int) -> dict[str, object]:
        return {"anyOf": [{"type": "object", "required": [f"{i} {j}"]} for j in range(10)]}

    with pytest.raises(LimitExceeded) as caught:
        read(
            {"allOf": [alternatives(i) for i in range(10)]},
            limits=Limits(schema_nodes=20_000),
            products="never",
        )
    assert caught.value.limit == "schema_nodes"


def test_untyped_alternatives_do_not_multiply() -> None:
    assert _accepts({"allOf": [{"minimum": i, "minLength": i} for i in range(60)]}, 59)


@pytest.mark.parametrize("count", [3_000])
def test_long_chains_of_references_do_not_recurse(count: int) -> None:
    links: dict[str, object] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(count)}
    assert _accepts({"$ref": "#/$defs/d0", "$defs": {**links, f"d{count}": {"type": "null"}}}, None)


def test_an_object_that_occurs_many_times_is_compared_by_identity() -> None:
    """Its text has 3^30 parts, so that its `repr` would take forever."""
    schema: dict[str, object] = {"type": "integer"}
    for _ in range(30):
        array = {"type": "array", "items": schema}
        schema = {"anyOf": [array, {**array, "maxItems": 2}, schema]}
    with pytest.raises(LimitExceeded, match="work"):
        read(schema)
