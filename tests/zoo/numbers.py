"""Numbers, booleans and null."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

import pydantic
from annotated_types import Ge, Gt, Le, Lt, MultipleOf
from pydantic import BaseModel, ConfigDict, Field

from tests.zoo.specimen import Kind, Specimen


class StrictNumbers(BaseModel):
    model_config = ConfigDict(strict=True)
    whole: int
    part: float


class Finite(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)
    part: float


_ZERO = Decimal(0)

NUMBERS: Kind = {
    "int": Specimen(int, [0, -1, 10**17, 42], ["01", "-0", "1.0", "1e3", '"1"', "+1", "true", "1.5"]),
    "int, ge=-5, lt=120": Specimen(Annotated[int, Field(ge=-5, lt=120)], [-5, 0, 119], ["-6", "120", "1000"]),
    "int, gt=17": Specimen(Annotated[int, Gt(17)], [18, 99, 12345678], ["17", "0", "-20"]),
    "int, multiple_of=5": Specimen(
        Annotated[int, Field(multiple_of=5)], [0, 5, -10, 1235], ["1", "12", "-4"]
    ),
    "int, multiple_of=7, ge=10, le=1000": Specimen(
        Annotated[int, Field(multiple_of=7, ge=10, le=1000)], [14, 994], ["7", "15", "1001"]
    ),
    "int, multiple_of=12": Specimen(Annotated[int, Field(multiple_of=12)], [0, 144, -12], ["10", "6", "100"]),
    "Annotated[int, Ge(10), Le(99), MultipleOf(3)]": Specimen(
        Annotated[int, Ge(10), Le(99), MultipleOf(3)], [12, 99], ["10", "100", "9"]
    ),
    "PositiveInt": Specimen(pydantic.PositiveInt, [1, 7], ["0", "-1"]),
    "NonNegativeInt": Specimen(pydantic.NonNegativeInt, [0, 7], ["-1"]),
    "NegativeInt": Specimen(pydantic.NegativeInt, [-1, -70], ["0", "1"]),
    "NonPositiveInt": Specimen(pydantic.NonPositiveInt, [0, -70], ["1"]),
    "conint(ge=1, le=6)": Specimen(pydantic.conint(ge=1, le=6), [1, 6], ["0", "7"]),
    "StrictInt": Specimen(pydantic.StrictInt, [1, -3], ["1.0", '"1"']),
    "float": Specimen(
        float, [0.0, -1.5, 3.14, 1e-07, 1e22, 123456.789, 5e-324], ["NaN", "1.", ".5", "1e400", "01.5"]
    ),
    "float, ge=0, lt=1.5": Specimen(
        Annotated[float, Ge(0), Lt(1.5)], [0.0, 1.49, 0.1, 1e-9], ["1.5", "-0.1", "2.0", "1e3"]
    ),
    "float, gt=0": Specimen(Annotated[float, Gt(0)], [0.5, 100.0, 1e-300], ["0", "0.0", "-1"]),
    "float, multiple_of=0.3": Specimen(
        Annotated[float, Field(multiple_of=0.3)],
        [0.0, 0.9, -20.1, 3999999.9],
        ["0.1", "1.0", "20252024.1"],
        limits="between -4,000,000 and 4,000,000",
    ),
    "float, multiple_of=1.5": Specimen(
        Annotated[float, Field(multiple_of=1.5)],
        [0.0, 4.5, -1501.5, 3e15],
        ["0.5", "1.0", "9007199254740993"],
        limits="up to the largest float with exact multiples",
    ),
    "FiniteFloat": Specimen(pydantic.FiniteFloat, [1.7e307, -0.5], ["1e999", "Infinity", "NaN"]),
    "float, allow_inf_nan=False": Specimen(Finite, [Finite(part=1.5)], ['{"part": 1e999}', '{"part": NaN}']),
    "confloat(gt=-1, le=1)": Specimen(pydantic.confloat(gt=-1, le=1), [0.5, 1.0, -0.999], ["-1", "1.01"]),
    "StrictFloat": Specimen(pydantic.StrictFloat, [1.5], ['"1.5"', "true"]),
    "model, strict=True": Specimen(
        StrictNumbers,
        [StrictNumbers(whole=1, part=2.5)],
        ['{"whole": 1.0, "part": 2.5}', '{"whole": "1", "part": 2.5}'],
    ),
    "Decimal": Specimen(
        Decimal,
        [Decimal(0), Decimal("-1.50"), Decimal("12345.678")],
        texts=["0", "-1.5", "12345.678"],
        refuses=['"abc"', '"NaN"', "NaN", '"1e5"', '"01"'],
        limits="a number of up to 8 digits before and 7 after the point, or a string of up to 18 each",
    ),
    "Decimal, max_digits=5, decimal_places=2": Specimen(
        Annotated[Decimal, Field(max_digits=5, decimal_places=2)],
        [Decimal("999.99"), Decimal("-1.50"), Decimal(12)],
        texts=["0", "999.99", "-1.5", "12"],
        refuses=["1000", "0.001", "-1000", '"1000.00"', '"0.001"'],
        limits="a number or a string",
    ),
    "Decimal, max_digits=2, decimal_places=2": Specimen(
        Annotated[Decimal, Field(max_digits=2, decimal_places=2)],
        [Decimal("0.99"), Decimal("-0.5"), Decimal("0.0")],
        texts=["0.99", "-0.5"],
        refuses=["0", "-0", "0.0", '"0"', '"-0"', "1.5", '"0.123"'],
        limits="a number or a string; 0 as a string with a point, because no digit is allowed before the point",
    ),
    "Decimal, max_digits=2, decimal_places=4": Specimen(
        Annotated[Decimal, Field(max_digits=2, decimal_places=4)],
        [Decimal("0.99"), Decimal("0.1")],
        texts=["0.01"],
        refuses=["0", "0.012", '"0.012"', '"0"', '"0.0012"'],
        limits="a number or a string",
    ),
    "Decimal, decimal_places=1, gt=0, le=10.5": Specimen(
        Annotated[Decimal, Field(gt=0, le=Decimal("10.5"), decimal_places=1)],
        [Decimal("0.1"), Decimal("10.5"), Decimal(3)],
        texts=["0.1", "10.5", "3"],
        refuses=["0", "0.0", "10.6", "0.05", '"0.0"', '"10.6"', '"-1"'],
        limits="a number or a string",
    ),
    "Decimal, max_digits=4": Specimen(
        Annotated[Decimal, Field(max_digits=4)],
        [Decimal(0), Decimal(9999), Decimal("-12.34"), Decimal("0.1234"), Decimal("1.5")],
        ['"12345"', '"123.45"', '"0.12345"', "12345"],
        limits="a string",
    ),
    "Decimal, multiple_of=0.25": Specimen(
        Annotated[Decimal, MultipleOf(Decimal("0.25"))],
        [Decimal(0), Decimal("-7.75"), Decimal("1.50")],
        texts=["0", "0.25", "-7.75", "1.5"],
        refuses=["0.1", "0.3", '"0.1"'],
        limits="a number or a string",
    ),
    "condecimal(max_digits=20, decimal_places=18)": Specimen(
        pydantic.condecimal(max_digits=20, decimal_places=18),
        accepts=[Decimal("1.123456789012345678"), Decimal(0), Decimal("-99.5")],
        refuses=['"100"', '"0.1234567890123456789"', '"abc"'],
        limits="a string: a float would lose digits",
    ),
    "Fraction": Specimen(
        Fraction, [Fraction(1, 2), Fraction(3), Fraction(-22, 7)], ['"1/0"', '"a"', '"01/2"', '"1/"']
    ),
    "Fraction, gt=0": Specimen(
        Annotated[Fraction, Field(gt=0)], [Fraction(1, 3), Fraction(3)], ['"0"', '"-1/3"', '"0/3"', "1"]
    ),
    "Fraction, le=0": Specimen(
        Annotated[Fraction, Field(le=0)], [Fraction(-1, 3), Fraction(0)], ['"1"', '"1/3"', "-1"]
    ),
    "Fraction, gt=0, le=1": Specimen(
        Annotated[Fraction, Field(gt=0, le=1)],
        texts=["0.25", "1"],
        refuses=["0", "1.5", '"3/2"'],
        limits="a number; a quotient such as 1/3 is not written",
    ),
    "complex": Specimen(complex, [1 + 2j, 1j, -0.5 - 1e-7j], ['"a"', '"1+"', "null", '"1 + 2j"']),
    "bool": Specimen(bool, [True, False], ["True", "1", "null"]),
    "StrictBool": Specimen(pydantic.StrictBool, [True], ["1", '"true"']),
    "None": Specimen(None, [None], ["0", '""']),
    "ByteSize": Specimen(
        pydantic.ByteSize,
        [pydantic.ByteSize(0), pydantic.ByteSize(10**9)],
        ["-1", "1.5", '"1 parsec"', '"1GB"'],
    ),
    "ByteSize, le=1000": Specimen(
        Annotated[pydantic.ByteSize, Field(le=1000)], [pydantic.ByteSize(1000)], ["1001", "-1"]
    ),
    "Any": Specimen(Any, [None, 1, 10**17, "x", [1, {"a": [True]}], {"b": 2.5}, 1e30], ["{a}", "[1,", "nul"]),
    "object": Specimen(object, [None, [1]], ["{a}", "nul"]),
}
