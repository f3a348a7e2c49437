"""Which types have no hashable value."""

from __future__ import annotations

from typing import Any

from structkit.schema.python.hashable import unhashable_type


def test_a_definition_is_hashable_as_what_it_names() -> None:
    reference: dict[str, Any] = {"type": "definition-ref", "schema_ref": "a"}
    for inner, expected in (({"type": "list"}, "list"), ({"type": "int"}, None)):
        pair = {"type": "tuple", "items_schema": [{"type": "int"}, inner]}
        for definition in (inner, pair):
            assert unhashable_type(reference, {"a": definition}) == expected
    assert unhashable_type(reference, {}) is None
    # A definition that refers to itself ends.
    assert unhashable_type(reference, {"a": {"type": "tuple", "items_schema": [reference]}}) is None
