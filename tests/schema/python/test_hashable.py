"""Which types have no hashable value."""

from __future__ import annotations

from typing import Any

import pytest

from structkit.schema.python.hashable import set_reason, unhashable_type


def test_a_definition_is_hashable_as_what_it_names() -> None:
    reference: dict[str, Any] = {"type": "definition-ref", "schema_ref": "a"}
    for inner, expected in (({"type": "list"}, "list"), ({"type": "int"}, None)):
        pair = {"type": "tuple", "items_schema": [{"type": "int"}, inner]}
        for definition in (inner, pair):
            assert unhashable_type(reference, {"a": definition}) == expected
    assert unhashable_type(reference, {}) is None
    # A definition that refers to itself ends.
    assert unhashable_type(reference, {"a": {"type": "tuple", "items_schema": [reference]}}) is None


@pytest.mark.parametrize(
    ("items", "is_refused"),
    [
        ({"type": "frozenset"}, True),
        ({"type": "frozenset", "max_length": 1}, False),
        ({"type": "tuple", "items_schema": [{"type": "int"}, {"type": "frozenset"}]}, True),
        ({"type": "tuple", "items_schema": [{"type": "int"}]}, False),
        ({"type": "default", "schema": {"type": "frozenset"}}, True),
        ({"type": "json", "schema": {"type": "tuple", "items_schema": [{"type": "frozenset"}]}}, True),
        ({"type": "nullable", "schema": {"type": "frozenset"}}, True),
        ({"type": "union", "choices": [{"type": "int"}, {"type": "frozenset"}]}, True),
        ({"type": "default", "schema": {"type": "int"}}, False),
    ],
)
def test_a_set_of_two_or_more_items_that_contain_sets_is_refused(items: Any, is_refused: bool) -> None:
    assert (set_reason({"type": "set", "min_length": 2, "items_schema": items}, {}) is not None) == is_refused
    assert set_reason({"type": "set", "min_length": 1, "items_schema": items}, {}) is None


def test_definitions_that_refer_to_each_other_are_looked_at_once() -> None:
    definitions = {
        name: {"type": "tuple", "items_schema": [{"type": "definition-ref", "schema_ref": other}, *more]}
        for name, other, more in (
            ("a", "b", []),
            ("b", "a", [{"type": "int"}]),
            ("c", "a", [{"type": "frozenset"}]),
        )
    }
    for name, is_refused in (("a", False), ("c", True), ("d", False)):
        items = {"type": "definition-ref", "schema_ref": name}
        found = set_reason({"type": "set", "min_length": 2, "items_schema": items}, definitions)
        assert (found is not None) == is_refused
