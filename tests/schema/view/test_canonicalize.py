"""The canonical form of a value under a schema."""

from __future__ import annotations

import pytest

from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.view.canonicalize import canonicalize

OPTIONAL = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
PEOPLE = {"type": "array", "uniqueItems": True, "items": {"enum": ["b", "a", "c"]}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"properties": {"a": {"type": "integer"}}, "type": "object"}, {"a": None}, {}),
        ({"properties": {"a": OPTIONAL}, "type": "object"}, {"a": None}, {"a": None}),
        ({"properties": {"a": {"$ref": "#/$defs/o"}}, "$defs": {"o": OPTIONAL}}, {"a": None}, {"a": None}),
        ({"properties": {"a": {"type": "integer"}}, "required": ["a"], "type": "object"}, {"a": None}, {"a": None}),
        ({"properties": {"b": {}, "a": {}}, "type": "object"}, {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"properties": {"b": {}}, "type": "object"}, {"x": 1, "b": 2}, {"b": 2, "x": 1}),
        ({"properties": {"b": {}}, "type": "object", "additionalProperties": False}, {"x": 1, "b": 2}, {"b": 2}),
        (PEOPLE, ["b", "a"], ["a", "b"]),
        ({**PEOPLE, "uniqueItems": False}, ["b", "a"], ["b", "a"]),
        ({"prefixItems": [PEOPLE], "items": {}, "type": "array"}, [["b", "a"], ["b", "a"]], [["a", "b"], ["b", "a"]]),
        ({"anyOf": [{"type": "null"}, PEOPLE]}, ["b", "a"], ["a", "b"]),
    ],
)  # fmt: skip
def test_a_value_in_the_order_of_its_schema(
    schema: dict[str, object], value: object, expected: object
) -> None:
    is_python = "uniqueItems" in str(schema)
    found = canonicalize(parse_schema(schema, python=is_python), value)
    assert found == expected
    if isinstance(found, dict) and isinstance(expected, dict):
        assert [*found] == [*expected]


def test_sets_keep_their_order_where_it_counts() -> None:
    assert canonicalize(parse_schema(PEOPLE, python=True), ["b", "a"], sort_sets=False) == ["b", "a"]


def test_sets_are_sorted_by_their_json_as_it_is_written() -> None:
    letters = {"type": "array", "uniqueItems": True, "items": {"enum": ["z", "é", "a", 1]}}
    assert canonicalize(parse_schema(letters, python=True), ["é", "z", 1, "a"]) == ["a", "z", "é", 1]


def test_a_value_of_no_branch_has_the_form_of_the_first_that_may_take_it() -> None:
    apart = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert canonicalize(parse_schema(apart), ["b", "a"]) == ["b", "a"]
    both = {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"b": {}, "a": {}}}]}
    assert [*canonicalize(parse_schema(both), {"a": 1, "b": 2})] == ["b", "a"]  # type: ignore[misc]
