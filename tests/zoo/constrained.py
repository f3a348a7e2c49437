"""Constraints that are combined, apply to unions, or do not apply to the type."""

from __future__ import annotations

import datetime as dt
import enum
import re
import uuid
import zoneinfo
from collections import Counter, defaultdict
from collections.abc import Hashable
from decimal import Decimal
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import annotated_types as at
import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Json,
    SecretStr,
    Strict,
    StringConstraints,
    Tag,
)
from typing_extensions import TypeAliasType

from tests.zoo.choices import Level
from tests.zoo.specimen import Kind, Specimen


class Size(str, enum.Enum):
    S = "s"
    XL = "xl"


class Price(enum.Enum):
    LOW = Decimal("1.5")
    HIGH = Decimal("2.25")


class PriceValues(BaseModel):
    model_config = ConfigDict(use_enum_values=True)
    price: Annotated[Price, Field(max_digits=2)]


class Plain(BaseModel):
    a: int


class Square(BaseModel):
    kind: Literal["square"]


class Circle(BaseModel):
    kind: Literal["circle"]
    inside: Square


Shape = Annotated[Square | Circle, Field(discriminator="kind")]


class Pair(NamedTuple):
    left: int
    right: int = 0


Positive = TypeAliasType("Positive", Annotated[int | float, Field(ge=1)])
Size2 = TypeAliasType("Size2", pydantic.ByteSize)


class Twice(BaseModel):
    a: Positive
    b: Annotated[Positive, Field(le=5)]
    c: list[Positive]
    d: tuple[Size2, Size2]


class Both(BaseModel):
    x: Annotated[Plain | list[int], Field(min_length=2)]
    y: Plain


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "list"


def _same(value: Any, le: int = 0) -> Any:
    return value


_AFTER = "remove it, or check it in a validator"
_LAST = "the last constraint applies, as in pydantic"
_ANY = "the predicate is called afterwards"

CONSTRAINED: Kind = {
    "int, ge and gt, le and lt": Specimen(
        Annotated[int, Field(ge=2), at.Gt(3), at.Le(9), at.Lt(9)], [4, 8], ["3", "9"]
    ),
    "int, ge twice": Specimen(
        Annotated[int, Field(ge=2), Field(ge=5), Field(ge=3)],
        [5],
        ["2"],
        limits=_LAST,
    ),
    "int, ge above le": Specimen(
        Annotated[int, Field(ge=5, le=3)], error="no integer is at least 5 and at most 3"
    ),
    "int, multiple_of=4, then 6": Specimen(
        Annotated[Annotated[int, Field(multiple_of=4)], Field(multiple_of=6)], [12, 6, 0], ["4"], limits=_LAST
    ),
    "int, ge=10**30, le=10**31": Specimen(Annotated[int, Field(ge=10**30, le=10**31)], [10**30], ["1"]),
    "conint(strict=True, ge=1, le=3, multiple_of=2)": Specimen(
        pydantic.conint(strict=True, ge=1, le=3, multiple_of=2), [2], ["1", "3", "2.0"]
    ),
    "confloat of everything": Specimen(
        pydantic.confloat(strict=True, gt=0, lt=10, multiple_of=0.5, allow_inf_nan=False),
        [0.5, 9.5],
        ["0", "10.0", "0.3"],
    ),
    "constr of everything": Specimen(
        pydantic.constr(
            strip_whitespace=True, to_upper=True, strict=True, min_length=1, max_length=3, pattern="^[A-Z]*$"
        ),
        ["AB"],
        ['"a"', '""', '"ABCD"'],
    ),
    "float, gt=0.1, lt=0.1000001": Specimen(
        Annotated[float, Field(gt=0.1, lt=0.1000001)], [0.10000005], ["0.1", "0.1000001"]
    ),
    "float, ge=0.1, le=0.1": Specimen(Annotated[float, Field(ge=0.1, le=0.1)], [0.1], ["0.2"]),
    "float, Interval": Specimen(Annotated[float, at.Interval(gt=0, lt=1)], [0.5, 1e-300], ["0", "1", "1.0"]),
    "Decimal, digits, places, multiple and bounds": Specimen(
        Annotated[
            Decimal,
            Field(max_digits=6, decimal_places=3, gt=-5),
            at.MultipleOf(Decimal("0.125")),
            at.Le(Decimal("100.5")),
        ],
        [Decimal("-4.875"), Decimal("100.5")],
        ['"-5"', "100.625", "0.1"],
    ),
    "float | Decimal, max_digits=3": Specimen(
        Annotated[float | Decimal, Field(max_digits=3)],
        [Decimal("1.25")],
        ["1.5", '"12345"'],
        limits="never the float, to which pydantic cannot apply it",
    ),
    "str, two patterns": Specimen(
        Annotated[str, Field(pattern="^a"), Field(pattern="b$")],
        ["ab", "b"],
        ['"a"'],
        limits=_LAST,
    ),
    "str, AfterValidator, then a pattern": Specimen(
        Annotated[str, AfterValidator(_same), Field(pattern="^a")], ["ab"], ['"b"', '""']
    ),
    "str in lower case, then a pattern": Specimen(
        Annotated[str, AfterValidator(_same), StringConstraints(to_lower=True, pattern="^[a-c]+$")],
        ["ab"],
        ['"d"', '""'],
    ),
    "Predicate": Specimen(
        Annotated[int, at.Predicate(lambda value: value > 3)], [5], ['"x"'], limits=_ANY, checked=True
    ),
    "Not(Predicate)": Specimen(
        Annotated[int, at.Not(lambda value: value > 3)], [2], ['"x"'], limits=_ANY, checked=True
    ),
    "Predicate(str.islower)": Specimen(at.LowerCase[str], ["a1"], ['"aB"', '"1"', '""', "1"]),
    "Not(str.islower)": Specimen(Annotated[str, at.Not(str.islower)], ["A", "1"], ['"a"', "1"]),
    "two predicates": Specimen(
        Annotated[str, at.Predicate(str.isalpha), at.Predicate(str.istitle)], ["Ab"], ['"ab"', '"A1"', '"AB"']
    ),
    "Predicate(math.isfinite)": Specimen(at.IsFinite[float], [1.5], ['"x"', "null"]),
    "AfterValidator(partial(f, le=5))": Specimen(
        Annotated[int, AfterValidator(partial(_same, le=5))],
        [9, 3],
        ['"x"'],
        limits="the validator runs afterwards",
    ),
    "Optional[str], min_length=3 outside": Specimen(
        Annotated[str | None, Field(min_length=3)], [None, "abc"], ['"ab"']
    ),
    "int | str, min_length=3": Specimen(
        Annotated[int | str, Field(min_length=3)],
        ["abc"],
        ["1000", '"ab"'],
        limits="never the int, to which pydantic cannot apply it",
    ),
    "int | float | str, ge=2.5": Specimen(
        Annotated[int | float | str, Field(ge=2.5)],
        [3, 2.5],
        ["2", '"a"'],
        limits="never the str, to which pydantic cannot apply it",
    ),
    "list[int] | Literal, min_length=2": Specimen(
        Annotated[list[int] | Literal["a", "bb"], Field(min_length=2, max_length=3)],
        ["bb", [1, 2]],
        ['"a"', "[1]"],
    ),
    "model | list[int], min_length=2": Specimen(
        Annotated[Plain | list[int], Field(min_length=2)],
        [[1, 2]],
        ['{"a": 1}', "[1]"],
        limits="never the model, to which pydantic cannot apply it",
    ),
    "Literal[1, 5, 'x'], ge=3": Specimen(Annotated[Literal[1, 5, "x"], Field(ge=3)], [5], ["1", '"x"']),
    "IntEnum, ge=3": Specimen(Annotated[Level, Field(ge=3)], [Level.HIGH], ["1", "5"]),
    "str Enum, min_length=2": Specimen(Annotated[Size, Field(min_length=2)], [Size.XL], ['"s"', '"xxl"']),
    "bool, ge=1": Specimen(Annotated[bool, Field(ge=1)], [True], ["false"]),
    "Json[int], ge=2": Specimen(Annotated[Json[int], Field(ge=2)], texts=['"2"'], refuses=['"1"', "2"]),
    "Json[list[int]], min_length=2": Specimen(
        Annotated[Json[list[int]], Field(min_length=2)], texts=['"[1, 2]"'], refuses=['"[1]"', '"[]"']
    ),
    "ByteSize, ge=10, lt=1000, multiple_of=5": Specimen(
        Annotated[pydantic.ByteSize, Field(ge=10, lt=1000, multiple_of=5)],
        [pydantic.ByteSize(10)],
        ["5", "11", "1000"],
    ),
    "Json[ByteSize], multiple_of=16, le=40": Specimen(
        Annotated[Json[pydantic.ByteSize], Field(multiple_of=16, le=40)],
        texts=['"32"'],
        refuses=['"30"', '"48"', "32"],
    ),
    "enum of Decimal, max_digits=2, use_enum_values": Specimen(
        PriceValues, texts=['{"price": 1.5}'], refuses=['{"price": 2.25}']
    ),
    "float | Literal, ge=0": Specimen(
        Annotated[float | Literal["auto"], Field(ge=0)],
        [1.5],
        ["-1", '"auto"'],
        limits="never the Literal, to which pydantic cannot apply it",
    ),
    "float | str, allow_inf_nan=False": Specimen(
        Annotated[float | str, Field(allow_inf_nan=False)],
        [1.5],
        ['"a"'],
        limits="never the str, to which pydantic cannot apply it",
    ),
    "str, allow_inf_nan=False": Specimen(
        Annotated[str, Field(allow_inf_nan=False)], error="`allow_inf_nan` of str cannot be enforced"
    ),
    "alias of float | None, ge=0": Specimen(
        Annotated[TypeAliasType("MaybeFloat", float | None), Field(ge=0)],
        [1.5],
        ["-1", "null"],
        limits="never null, to which pydantic cannot apply it",
    ),
    "ByteSize, ge=Decimal": Specimen(
        Annotated[pydantic.ByteSize, Field(ge=Decimal("1.5"))], [pydantic.ByteSize(2)], ["1"]
    ),
    "timedelta between two microseconds": Specimen(
        Annotated[dt.timedelta, Field(ge=dt.timedelta(microseconds=1), le=dt.timedelta(microseconds=3))],
        [dt.timedelta(microseconds=2)],
        ['"PT1S"', '"PT0S"'],
    ),
    "timedelta, gt=-1 day, le=0": Specimen(
        Annotated[dt.timedelta, Field(gt=dt.timedelta(days=-1), le=dt.timedelta(0))],
        [dt.timedelta(0), dt.timedelta(hours=-1)],
        ['"PT1S"', '"-P1D"'],
    ),
    "EmailStr, max_length=10": Specimen(
        Annotated[pydantic.EmailStr, Field(max_length=10)], ["a@b.co"], ['"aaaaaaaa@b.co"']
    ),
    "alias of a constrained union, used twice": Specimen(
        Twice,
        [Twice(a=1, b=5, c=[1.5], d=(pydantic.ByteSize(1), pydantic.ByteSize(2)))],
        ['{"a": 0, "b": 1, "c": [], "d": [1, 2]}', '{"a": 1, "b": 6, "c": [], "d": [1, 2]}'],
    ),
    "model | list[int], min_length=2, and the model": Specimen(
        Both, [Both(x=[1, 2], y=Plain(a=1))], ['{"x": {"a": 1}, "y": {"a": 1}}', '{"x": [1], "y": {"a": 1}}']
    ),
    "callable Discriminator, min_length=2": Specimen(
        Annotated[
            Annotated[Annotated[str, Tag("text")] | Annotated[list[int], Tag("list")], Discriminator(_kind)],
            Field(min_length=2),
        ],
        ["ab", [1, 2]],
        ['"a"', "[1]"],
    ),
    "defaultdict, max_length=1": Specimen(
        Annotated[defaultdict[str, int], Field(max_length=1)],
        [defaultdict(int, {"a": 1})],
        ['{"a": 1, "b": 2}'],
    ),
    "Secret[int], ge=3": Specimen(
        Annotated[pydantic.Secret[int], Field(ge=3)], error="`ge` of Secret cannot be enforced"
    ),
    "none, ge=2": Specimen(Annotated[None, Field(ge=2)], error="no value satisfies `ge`"),
    "UUID, min_length=3": Specimen(Annotated[uuid.UUID, Field(min_length=3)], error=_AFTER),
    "IPv4Address, ge=...": Specimen(
        Annotated[IPv4Address, Field(ge=IPv4Address("128.0.0.0"))],
        error="`ge` of IPv4Address cannot be enforced",
    ),
    "Path, min_length=2": Specimen(
        Annotated[Path, Field(min_length=2)], error="`min_length` of Path cannot be enforced"
    ),
    **{
        f"{name}, {constraint}": Specimen(
            Annotated[kind, Field(**value)], error=f"`{constraint}` of {shown} cannot be enforced"
        )
        for name, kind, constraint, value, shown in (
            ("HttpUrl", pydantic.HttpUrl, "pattern", {"pattern": "^https"}, "a URL"),
            ("HttpUrl", pydantic.HttpUrl, "ge", {"ge": 1}, "a URL"),
            ("Base64Str", pydantic.Base64Str, "pattern", {"pattern": "^a"}, "EncodedStr"),
            ("ByteSize", pydantic.ByteSize, "max_length", {"max_length": 3}, "ByteSize"),
            ("EmailStr", pydantic.EmailStr, "ge", {"ge": 1}, "EmailStr"),
            ("Pattern", re.Pattern, "min_length", {"min_length": 1}, "Pattern"),
            ("ZoneInfo", zoneinfo.ZoneInfo, "max_length", {"max_length": 5}, "ZoneInfo"),
            ("ImportString", pydantic.ImportString, "ge", {"ge": 1}, "ImportString"),
            ("named tuple", Pair, "min_length", {"min_length": 3}, "Pair"),
            ("Counter", Counter[str], "ge", {"ge": 1}, "counter"),
            ("Hashable", Hashable, "min_length", {"min_length": 1}, "Hashable"),
            ("Predicate", Annotated[str, at.Predicate(str.isdigit)], "ge", {"ge": 1}, "str"),
            ("timedelta", dt.timedelta, "multiple_of", {"multiple_of": dt.timedelta(1)}, "timedelta"),
            ("Json[timedelta]", Json[dt.timedelta], "ge", {"ge": 1}, "timedelta"),
            ("A | B, tagged", Shape, "max_length", {"max_length": 2}, "tagged-union"),
            ("date | str", dt.date | str, "ge", {"ge": dt.date(2024, 1, 1)}, "str"),
        )
    },
    "timedelta | int, ge=0": Specimen(
        Annotated[dt.timedelta | int, Field(ge=0)],
        [3],
        ["-1", '"P1D"'],
        limits="never the timedelta, to which pydantic cannot apply it",
    ),
    "timedelta | int, ge=timedelta(0)": Specimen(
        Annotated[dt.timedelta | int, Field(ge=dt.timedelta(0))],
        [dt.timedelta(1)],
        ["1", '"-P1D"'],
        limits="never the int, to which pydantic cannot apply it",
    ),
    "Counter | list, min_length=1": Specimen(
        Annotated[Counter[str] | list[int], Field(min_length=1)], [Counter("a"), [1]], ["{}", "[]"]
    ),
    "HttpUrl | EmailStr, max_length=12": Specimen(
        Annotated[pydantic.HttpUrl | pydantic.EmailStr, Field(max_length=12)],
        ["a@b.cd", pydantic.HttpUrl("http://a.b/")],
        ['"http://abcdefgh.com/"', '"aaaaaaa@bbbbbbb.com"'],
    ),
    "tuple[int, int], min_length=1": Specimen(
        Annotated[tuple[int, int], Field(min_length=1, max_length=5)], [(1, 2)], ["[1]", "[1, 2, 3]"]
    ),
    "str | int, max_digits=2": Specimen(
        Annotated[str | int, Field(max_digits=2)], error="`max_digits` of union cannot be enforced"
    ),
    "Predicate, then a length": Specimen(
        Annotated[str, at.Predicate(str.islower), Field(max_length=2)], ["ab"], ['"abc"', '"A"']
    ),
    "date, multiple_of=3": Specimen(Annotated[dt.date, Field(multiple_of=3)], error=_AFTER),
    "str, ge='b'": Specimen(Annotated[str, Field(ge="b")], error="`ge` of str cannot be enforced"),
    "bytes, pattern, then ge=b'b'": Specimen(
        Annotated[bytes, Field(pattern="^b"), Field(ge=b"b")], error="`ge` of str cannot be enforced"
    ),
    "EmailStr, to_upper": Specimen(
        Annotated[pydantic.EmailStr, StringConstraints(to_upper=True)], error="cannot be in upper case"
    ),
    "int, pattern": Specimen(
        Annotated[int, Field(pattern="^1")], error="`pattern` of int cannot be enforced"
    ),
    "SecretStr, pattern": Specimen(
        Annotated[SecretStr, Field(pattern="^a")], error="`pattern` of a secret cannot be enforced"
    ),
    "Any, ge=2": Specimen(Annotated[Any, Field(ge=2)], error="`ge` of any cannot be enforced"),
    "bool | int, Strict": Specimen(
        Annotated[bool | int, Strict()], error="Unable to apply constraint 'strict'"
    ),
}
