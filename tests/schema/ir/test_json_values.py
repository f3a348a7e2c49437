"""Numbers of keywords: which are exact decimals, and the errors of the others."""

from __future__ import annotations

from decimal import Decimal

import pytest

from structkit.errors import SchemaError
from structkit.schema.ir.json_values import to_count, to_number
from structkit.schema.ir.path import SchemaPath

PATH = SchemaPath().child("properties", "a")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, Decimal(3)),
        (0.1, Decimal("0.1")),
        (-0.0, Decimal(0)),
        (Decimal("1e1000"), Decimal("1e1000")),
        (Decimal("1e-1000"), Decimal("1e-1000")),
        (Decimal("1" * 1000), Decimal("1" * 1000)),
        (2**3000 - 1, Decimal(2**3000 - 1)),
    ],
)
def test_a_number_is_exact(value: object, expected: Decimal) -> None:
    assert to_number(value, "minimum", PATH) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**3000, "minimum has more than about 1000 digits"),
        (-(2**3000), "minimum has more than about 1000 digits"),
        (Decimal("1e1001"), "digits"),
        (Decimal("1e-1001"), "digits"),
        (Decimal("1." + "1" * 1000), "digits"),
        (float("inf"), "minimum must be finite, not inf"),
        (float("nan"), "minimum must be finite, not nan"),
        (True, "minimum must be a number, not True"),
        ("3", "minimum must be a number, not '3'"),
        (None, "minimum must be a number, not None"),
    ],
)
def test_a_number_that_cannot_be_read_is_an_error_with_its_place(value: object, message: str) -> None:
    with pytest.raises(SchemaError) as raised:
        to_number(value, "minimum", PATH)
    assert message in str(raised.value) and "at `$.properties.a`" in str(raised.value)


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (7, 7), (7.0, 7), (Decimal("7.00"), 7)])
def test_a_count_is_an_integer(value: object, expected: int) -> None:
    found = to_count(value, "minItems", PATH)
    assert found == expected and type(found) is int


@pytest.mark.parametrize("value", [-1, 1.5, True, "1", None, float("inf")])
def test_another_count_is_an_error(value: object) -> None:
    with pytest.raises(SchemaError, match="minItems"):
        to_count(value, "minItems", PATH)
