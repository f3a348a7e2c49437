"""Validation of values of JSON Schemas: what `jsonschema` does, with exact multiples and `nullable`."""

from __future__ import annotations

import pytest

from structkit.schema.json_schema.validate import make_checker


@pytest.mark.parametrize(
    ("of", "value", "valid"),
    [
        (0.1, 0.3, True),
        (0.01, 1.15, True),
        (0.1, 0.35, False),
        (3, 9, True),
        (3, 10, False),
        (1e-7, 3e-7, True),
        (2, float("inf"), False),
    ],
)
def test_multiples_are_those_of_the_decimal_spelling(of: float, value: float, valid: bool) -> None:
    assert (make_checker({"multipleOf": of})(value) is None) == valid


def test_null_is_valid_where_the_schema_is_nullable() -> None:
    nullable = make_checker({"type": "string", "nullable": True})
    assert nullable(None) is None
    assert nullable(1) is not None
    assert make_checker({"type": "string", "nullable": False})(None) is not None


def test_the_error_names_its_place() -> None:
    found = make_checker({"properties": {"a": {"items": {"type": "string"}}}})({"a": ["x", 1]})
    assert found is not None
    assert found.message.endswith("(at `$.a[1]`)")
    assert found.path == ("a", 1)
