"""Keys in any order, and quotes of long sources."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

import structkit as sk
from tests.hostile.case import Case, union

__all__ = ["CASES"]


def _keys(count: int, *, required: bool = True, **others: object) -> dict[str, object]:
    names = [f"k{number}" for number in range(count)]
    properties = {name: {"type": "integer"} for name in names}
    return union(
        properties=properties, required=names if required else [], additionalProperties=False, **others
    )


def _tagged(count: int) -> dict[str, object]:
    values = {f"k{number}": {"type": "integer"} for number in range(10)}
    return {
        "oneOf": [
            union(properties={"kind": {"const": number}, **values}, required=["kind"])
            for number in range(count)
        ]
    }


def _nested(depth: int) -> dict[str, object]:
    found: dict[str, object] = {"type": "integer"}
    for level in range(depth):
        names = [f"p{level}{number}" for number in range(6)]
        found = union(properties=dict.fromkeys(names, found), required=names[:3], additionalProperties=False)
    return found


_ORDERS: dict[str, Callable[[], dict[str, object]]] = {
    "20 required": lambda: _keys(20),
    "64 required": lambda: _keys(64),
    "150 required": lambda: _keys(150),
    "1,000 optional": lambda: _keys(1000, required=False),
    "30 optional, minProperties 10": lambda: _keys(30, required=False, minProperties=10),
    "a long optional key": lambda: union(
        properties={"a": {"type": "integer"}, "b": {"type": "string", "minLength": 5000}},
        additionalProperties=False,
    ),
    "unique objects": lambda: {"type": "array", "uniqueItems": True, "minItems": 5, "items": _keys(20)},
    "20 of 40 optional": lambda: _keys(40, required=False, minProperties=20, maxProperties=20),
    "oneOf of 8 pairs of required keys": lambda: union(
        properties={f"{part}{number}": {"type": "integer"} for number in range(8) for part in "ab"},
        oneOf=[{"required": [f"a{number}", f"b{number}"]} for number in range(8)],
        additionalProperties=False,
    ),
    "6 keys, 4 levels": lambda: _nested(4),
    "60 required, open": lambda: _keys(60) | {"additionalProperties": True},
    "oneOf of 30 tagged": lambda: _tagged(30),
    "minProperties 10**9": lambda: union(patternProperties={"^x": {}}, minProperties=10**9),
    "minProperties 9,000,000": lambda: union(patternProperties={"^x": {}}, minProperties=9_000_000),
    "minProperties 1e308": lambda: union(patternProperties={"^x": {}}, minProperties=1e308),
    "470 optional names of 99 characters": lambda: union(
        properties={f"{'n' * 96}{number:03d}": {"type": "integer"} for number in range(470)}
    ),
}


def _quote(source: str, **bounds: Any) -> Callable[[], Any]:
    return lambda: Annotated[str, sk.Quote(source), Field(**bounds)]


def _text(size: int) -> str:
    return "".join(random.Random(5).choices("abcdefghijklmnopqrstuvwxyz      .,", k=size))


_QUOTES: dict[str, Callable[[], Any]] = {
    "100,000 characters": _quote(_text(100_000)),
    "a 100,000 times": _quote("a" * 100_000),
    "one word of 100,000": _quote("abc" * 33_333),
    "at least 1,000 of 20,000": _quote(_text(20_000), min_length=1000),
    "at least 5,000 of 4,000": _quote(_text(4000), min_length=5000),
    "with a pattern of counts": _quote(_text(5000), pattern="^(.{0,40}a){3}"),
    "quotes and backslashes": _quote('"\\\\' * 20_000),
}

CASES = tuple(
    [Case("keys in any order", name, make, order="any") for name, make in _ORDERS.items()]
    + [Case("quotes", name, make) for name, make in _QUOTES.items()]
)
