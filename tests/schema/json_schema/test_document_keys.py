"""`$schema` and `$id` as first keys of a document, where its root allows them as additional keys."""

from __future__ import annotations

from typing import Any

import pytest

from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.ir.nodes import Document, Object, ObjectProduct, Property, Union
from structkit.schema.json_schema.document_keys import with_document_keys
from structkit.schema.json_schema.parse import parse_schema

ORACLE = AutomatonOracle(python=False)
A: dict[str, Any] = {"type": "object", "properties": {"a": {}}}


def _keys(schema: dict[str, Any], **options: Any) -> list[list[str]]:
    """Return the declared keys of each branch of the root."""
    root = with_document_keys(parse_schema(schema, oracle=ORACLE, **options), ORACLE).root
    branches = root.branches if isinstance(root, Union) else (root,)
    return [
        [key.name for key in (branch.properties if isinstance(branch, Object) else branch.keys)]
        for branch in branches
        if isinstance(branch, Object | ObjectProduct)
    ]


@pytest.mark.parametrize(
    ("schema", "keys"),
    [
        (A, ["$schema", "$id", "a"]),
        ({**A, "additionalProperties": False}, ["a"]),
        ({**A, "minProperties": 1}, ["a"]),
        ({**A, "maxProperties": 2}, ["a"]),
        ({**A, "minProperties": 1, "maxProperties": 2}, ["a"]),
        ({"type": "object"}, []),
        ({**A, "properties": {"a": {}, "$id": {}}}, ["$schema", "a", "$id"]),
        ({**A, "properties": {"$schema": {}, "$id": {}}}, ["$schema", "$id"]),
        ({**A, "additionalProperties": False, "patternProperties": {"^[$]i": {}}}, ["$id", "a"]),
    ],
)
def test_the_keys_are_first_where_they_may_be_and_are_not_counted(
    schema: dict[str, Any], keys: list[str]
) -> None:
    assert _keys(schema) == [keys]


@pytest.mark.parametrize(
    ("more", "keys"),
    [
        ({}, ["$schema", "$id"]),
        ({"minProperties": 1}, []),
        ({"maxProperties": 3}, []),
        ({"minProperties": 1, "maxProperties": 3}, []),
        ({"additionalProperties": False}, []),
        ({"properties": {"$id": {}}}, ["$schema"]),
    ],
)
def test_a_product_of_objects_has_them_too(more: dict[str, Any], keys: list[str]) -> None:
    schema = {**A, **more, "if": {"required": ["a"]}, "then": {"required": ["b"]}}
    parsed = parse_schema(schema, products="always", oracle=ORACLE)
    assert isinstance(parsed.root, ObjectProduct)
    before = [key.name for key in parsed.root.keys]
    (found,) = _keys(schema, products="always")
    assert found == [*keys, *before]


def test_each_branch_of_a_union_and_the_root_behind_a_reference_have_them() -> None:
    branches = {"anyOf": [A, {"type": "null"}, {**A, "properties": {"b": {}}, "additionalProperties": False}]}
    assert _keys(branches) == [["$schema", "$id", "a"], ["b"]]
    assert _keys(
        {"$ref": "#/$defs/d", "$defs": {"d": {**A, "properties": {"a": {"$ref": "#/$defs/d"}}}}}
    ) == [["$schema", "$id", "a"]]


def test_they_are_optional_in_any_order_and_a_document_without_them_is_the_same() -> None:
    found = with_document_keys(parse_schema(A), ORACLE).root
    assert isinstance(found, Object)
    for key in found.properties[:2]:
        assert not key.required and not key.in_order and key.also_additional
    closed = Document(Object((Property("a", found),)))
    assert with_document_keys(closed, ORACLE) is closed
