"""Python types: trees of types that grow, and fields with many constraints."""

from __future__ import annotations

import datetime
import enum
import ipaddress
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    StringConstraints,
    create_model,
)
from typing_extensions import TypeAliasType, TypedDict

import structkit as sk
from tests.hostile.case import Case

__all__ = ["CASES"]


def _nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    found: Any = int
    for _ in range(depth):
        found = wrap(found)
    return found


def _model(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, **{key: (kind, ...) for key, kind in fields.items()})


def _union(*members: Any) -> Any:
    return Union[members]


def _many_models(count: int) -> Any:
    return _union(*(_model(f"M{n}", **{f"k{n}": int, "shared": str}) for n in range(count)))


def _tool(number: int) -> type[BaseModel]:
    arguments = _model(f"A{number}", a=int, b=list[str], c=Optional[float])
    return create_model(f"T{number}", name=(Literal[f"tool{number}"], ...), arguments=(arguments, ...))


def _dicts(count: int) -> Any:
    return _union(*(TypedDict(f"D{n}", {"a": int, "b": Optional[int]}, total=False) for n in range(count)))  # type: ignore[misc, operator]


def _function(count: int) -> Callable[..., int]:
    names = ", ".join(f"p{n}: int = {n}" for n in range(count))
    scope: dict[str, Any] = {}
    exec(f"def call({names}) -> int:\n    return 0", scope)
    return scope["call"]  # type: ignore[no-any-return]


class _Chain(BaseModel):
    model_config = ConfigDict(frozen=True)
    bit: bool
    rest: Optional[_Chain] = None


class _Node(BaseModel):
    left: Optional[_Node] = None
    right: Optional[_Node] = None
    both: list[_Node] = []
    named: dict[str, _Node] = {}


_Tree = TypeAliasType("_Tree", "dict[str, _Tree] | list[_Tree] | int | None")

_CASES: dict[str, Callable[[], Any]] = {
    "list nested 90 deep": lambda: _nested(90, lambda kind: list[kind]),
    "list nested 400 deep": lambda: _nested(400, lambda kind: list[kind]),
    "Optional dict nested 90 deep": lambda: _nested(90, lambda kind: Optional[dict[str, kind]]),
    "union of 150 models": lambda: _many_models(150),
    "union of 500 tools": lambda: _union(*(_tool(n) for n in range(500))),
    "300 fields of one pattern": lambda: _model(
        "M", **dict.fromkeys((f"f{n}" for n in range(300)), Annotated[str, Field(pattern=r"^\w+(-\w+){0,20}$", max_length=100)])
    ),
    "AliasPath with the index 10**9": lambda: create_model(
        "M", value=(int, Field(validation_alias=AliasPath("a", 10**9)))
    ),
    "union of 60 equal TypedDicts": lambda: _dicts(60),
    "model of 1,000 fields": lambda: create_model("M", **{f"f{n}": (int, n) for n in range(1_000)}),
    "model of 400 fields of one model": lambda: _model("M", **{f"f{n}": _Node for n in range(400)}),
    "model that contains itself 4 times": lambda: _Node,
    "recursive alias": lambda: _Tree,
    "Literal of 20,000": lambda: Literal[tuple(f"value {n}" for n in range(20_000))],
    "Enum of 5,000": lambda: enum.Enum("E", {f"M{n}": n for n in range(5_000)}),
    "Flag of 10": lambda: enum.Flag("F", [f"M{n}" for n in range(10)]),
    "Flag of 60": lambda: enum.Flag("F", [f"M{n}" for n in range(60)]),
    "dict of 500 literals": lambda: dict[Literal[tuple(f"k{n}" for n in range(500))], int],  # type: ignore[misc]
    "set of 300 literals, all": lambda: Annotated[set[Literal[tuple(range(300))]], Field(min_length=300)],
    "set of tuples of bits": lambda: Annotated[set[tuple[bool, bool, bool, bool, bool]], Field(min_length=32)],
    "set of 20 models that contain themselves": lambda: Annotated[set[_Chain], Field(min_length=20)],
    "Decimal above 0.999... of 300 digits": lambda: Annotated[Decimal, Field(gt=Decimal("0." + "9" * 300), lt=1)],
    "set of floats": lambda: Annotated[set[float], Field(min_length=500)],
    "tuple of 3,000": lambda: tuple[(int,) * 3_000],  # type: ignore[misc]
    "Json nested 5 deep": lambda: _nested(5, lambda kind: Json[kind]),
    "Json nested 12 deep": lambda: _nested(12, lambda kind: Json[kind]),
    "Json of lists nested 6 deep": lambda: _nested(6, lambda kind: Json[list[kind]]),
    "Decimal of 1,000 digits": lambda: Annotated[Decimal, Field(max_digits=1_000, decimal_places=500)],
    "Decimal of 10**9 digits": lambda: Annotated[Decimal, Field(max_digits=10**9, decimal_places=10**9)],
    "int of 4,000 digits": lambda: Annotated[int, Field(ge=10**3_999, le=10**4_000)],
    "multiples of 12 numbers": lambda: _nested(12, lambda kind: Annotated[kind, Field(multiple_of=7)]),
    "12 patterns": lambda: Annotated[
        (str, *(StringConstraints(pattern=f"{chr(97 + n)}.*{n}") for n in range(12)))  # type: ignore[misc]
    ],
    "str of 10**9, stripped, in lower case": lambda: Annotated[
        str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=10_000, max_length=10**9)
    ],
    "bytes of 100,000": lambda: Annotated[bytes, Field(min_length=100_000)],
    "union of all formats": lambda: _union(
        datetime.datetime, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, Decimal, int, float, bool,
        ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network, str, bytes, None,
    ),
    "dict of all formats": lambda: dict[
        Union[datetime.datetime, uuid.UUID, Decimal, int, ipaddress.IPv6Network],
        Union[datetime.timedelta, ipaddress.IPv6Address],
    ],
    "date of a second": lambda: Annotated[
        datetime.datetime, Field(ge=datetime.datetime(2024, 2, 29, 23, 59, 59, 999_999), le=datetime.datetime(2024, 3, 1))
    ],
    "aliases, 300": lambda: create_model(
        "M", **{f"f{n}": (int, Field(validation_alias=AliasChoices(*(f"a{n}_{i}" for i in range(10))))) for n in range(300)}
    ),  # type: ignore[call-overload]
    "function of 250 parameters": lambda: _function(250),
    "function as a Python call, 250 parameters": lambda: sk.PythonCall(_function(250)),
    "200 functions as Python calls": lambda: sk.PythonCall(*(_renamed(_function(4), f"call{n}") for n in range(200))),
}  # fmt: skip


def _renamed(function: Callable[..., int], name: str) -> Callable[..., int]:
    function.__name__ = name
    return function


CASES = tuple(Case("types", name, make) for name, make in _CASES.items())
