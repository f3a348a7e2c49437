"""Counts and repeats: lengths, items, unique items, contains, counts of counts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_INTEGER = {"type": "integer"}

_EMPTY = (
    {"type": "string", "maxLength": 0},
    {"type": "array", "maxItems": 0},
    {"type": "object", "maxProperties": 0},
)
"""A value of each type."""


def _array(items: object = None, **keywords: object) -> dict[str, object]:
    return {"type": "array", **({} if items is None else {"items": items}), **keywords}


def _nested_any_of(depth: int) -> dict[str, object]:
    definitions = {
        f"d{n}": {
            "anyOf": [
                _array({"$ref": f"#/$defs/d{n + 1}"}),
                _array({"$ref": f"#/$defs/d{n + 1}"}, maxItems=3),
            ]
        }
        for n in range(depth)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{depth}": _INTEGER}}


def _inline_any_of(depth: int) -> dict[str, object]:
    found: dict[str, object] = dict(_INTEGER)
    for _ in range(depth):
        found = {"anyOf": [_array(found), {"type": "string"}]}
    return found


def _counts_of_counts(depth: int, least: int, most: int) -> dict[str, object]:
    found: dict[str, object] = dict(_INTEGER)
    for _ in range(depth):
        found = _array(found, minItems=least, maxItems=most)
    return found


_CASES: dict[str, Callable[[], Any]] = {
    "uniqueItems, enum 20,000, minItems 10,000": lambda: _array(
        {"enum": [f"value {n}" for n in range(20_000)]}, uniqueItems=True, minItems=10_000
    ),
    "uniqueItems, enum 2,000, minItems 1,000": lambda: _array(
        {"enum": [f"value {n}" for n in range(2_000)]}, uniqueItems=True, minItems=1_000
    ),
    "uniqueItems, enum 500, minItems 499": lambda: _array(
        {"enum": [f"value {n}" for n in range(500)]}, uniqueItems=True, minItems=499
    ),
    "uniqueItems, 5,000 integers": lambda: _array(_INTEGER, uniqueItems=True, minItems=5_000),
    "uniqueItems, integers 0 to 9,999, minItems 9,000": lambda: _array(
        {"type": "integer", "minimum": 0, "maximum": 9_999}, uniqueItems=True, minItems=9_000
    ),
    "uniqueItems, integers 0 to 99, minItems 100": lambda: _array(
        {"type": "integer", "minimum": 0, "maximum": 99}, uniqueItems=True, minItems=100
    ),
    "uniqueItems, integers 0 to 99, minItems 101": lambda: _array(
        {"type": "integer", "minimum": 0, "maximum": 99}, uniqueItems=True, minItems=101
    ),
    "uniqueItems, strings of 2 characters, minItems 1,000": lambda: _array(
        {"type": "string", "maxLength": 2}, uniqueItems=True, minItems=1_000
    ),
    "uniqueItems, strings of [ab]{0,9}, minItems 1,000": lambda: _array(
        {"type": "string", "pattern": "^[ab]{0,9}$"}, uniqueItems=True, minItems=1_000
    ),
    "uniqueItems, objects of 20 booleans, minItems 200": lambda: _array(
        union(
            properties={f"b{n}": {"type": "boolean"} for n in range(20)},
            required=[f"b{n}" for n in range(20)],
            additionalProperties=False,
        ),
        uniqueItems=True,
        minItems=200,
    ),
    "uniqueItems, all 81 objects of 4 optional keys": lambda: _array(
        union(properties={key: {"enum": [1, 2]} for key in "abcd"}, additionalProperties=False),
        uniqueItems=True,
        minItems=81,
    ),
    "uniqueItems, the last of 7 short items": lambda: _array(
        {"anyOf": [{"type": "boolean"}, {"type": "null"}, {"enum": [0, 1]}, *_EMPTY]},
        uniqueItems=True,
        minItems=7,
    ),
    "50 arrays of unique items": lambda: union(
        properties={
            f"k{n}": _array({"enum": list(range(n, n + 60))}, uniqueItems=True, minItems=50)
            for n in range(50)
        },
        required=[f"k{n}" for n in range(50)],
    ),
    "uniqueItems of uniqueItems": lambda: _array(
        _array({"enum": [1, 2, 3, 4, 5]}, uniqueItems=True, minItems=5), uniqueItems=True, minItems=100
    ),
    "uniqueItems 3 deep": lambda: _array(
        _array(_array({"enum": [1, 2, 3]}, uniqueItems=True), uniqueItems=True, minItems=10),
        uniqueItems=True,
        minItems=20,
    ),
    "uniqueItems, anything, minItems 500": lambda: _array(uniqueItems=True, minItems=500),
    "contains 100 to 200, uniqueItems": lambda: _array(
        _INTEGER,
        contains={"type": "integer", "minimum": 0, "maximum": 999},
        minContains=100,
        maxContains=200,
        uniqueItems=True,
    ),
    "contains 100 to 200": lambda: _array(
        _INTEGER, contains={"type": "integer", "multipleOf": 7}, minContains=100, maxContains=200
    ),
    "contains 5,000 to 10,000": lambda: _array(
        _INTEGER, contains={"type": "integer", "minimum": 5}, minContains=5_000, maxContains=10_000
    ),
    "contains with enum 2,000": lambda: _array(
        {"enum": list(range(4_000))},
        contains={"enum": list(range(0, 4_000, 2))},
        minContains=1_000,
        uniqueItems=True,
    ),
    "allOf of 6 contains": lambda: _array(
        _INTEGER, allOf=[{"contains": {"const": n}, "maxContains": 3} for n in range(6)], maxItems=100
    ),
    "allOf of 20 contains": lambda: _array(_INTEGER, allOf=[{"contains": {"const": n}} for n in range(20)]),
    "contains of contains": lambda: _array(
        contains=_array(contains=_array(contains={"const": 1}, minContains=20), minContains=20),
        minContains=20,
    ),
    "contains a pattern 3 times, unique": lambda: _array(
        {"type": "string", "maxLength": 6},
        contains={"pattern": "^a.*z$"},
        minContains=3,
        uniqueItems=True,
        maxItems=9,
    ),
    "contains 3 to 5 after prefixItems": lambda: _array(
        {"type": "string"},
        prefixItems=[_INTEGER] * 5,
        contains={"type": "string", "minLength": 2},
        minContains=3,
        maxContains=5,
    ),
    "uniqueItems, arrays of bits, minItems 25": lambda: _array(
        _array({"enum": [0, 1]}, maxItems=4), uniqueItems=True, minItems=25
    ),
    "set of 20 decimals": lambda: Annotated[
        set[Annotated[Decimal, Field(max_digits=3, decimal_places=1, ge=0, le=9)]], Field(min_length=20)
    ],
    "set of 90 multiples of 17": lambda: Annotated[
        set[Annotated[int, Field(multiple_of=17, ge=0, le=1_700)]], Field(min_length=90)
    ],
    "dict of 50 of 60 integers": lambda: Annotated[
        dict[Annotated[int, Field(ge=0, lt=60)], int], Field(min_length=50)
    ],
    "set of 8 sets": lambda: Annotated[set[frozenset[int]], Field(min_length=8)],
    "arrays in anyOf, 180 references deep": lambda: _nested_any_of(180),
    "arrays in anyOf, 90 deep inline": lambda: _inline_any_of(90),
    "minItems 100 of 100 of 100": lambda: _counts_of_counts(3, 100, 200),
    "minItems 1,000 of 1,000": lambda: _counts_of_counts(2, 1_000, 2_000),
    "minItems 10 of 10, 6 deep": lambda: _counts_of_counts(6, 10, 10),
    "minItems 10,000,000": lambda: _array(_INTEGER, minItems=10_000_000),
    "minItems 100,000,000": lambda: _array(_INTEGER, minItems=100_000_000),
    "minItems 10**30": lambda: _array(_INTEGER, minItems=10**30),
    "maxItems 10**30": lambda: _array(_INTEGER, maxItems=10**30),
    "minItems 2, maxItems 1": lambda: _array(_INTEGER, minItems=2, maxItems=1),
    "prefixItems 5,000": lambda: _array(prefixItems=[{"enum": [n]} for n in range(5_000)], minItems=5_000),
    "prefixItems 20,000 optional": lambda: _array(prefixItems=[_INTEGER] * 20_000),
    "minLength 1e308": lambda: schema(type="string", minLength=1e308),
    "minLength 10,000,000": lambda: schema(type="string", minLength=10_000_000),
    "minLength 1,000,000 of 40 keys": lambda: union(
        properties={f"k{n}": {"type": "string", "minLength": 1_000_000 + n} for n in range(40)},
        required=[f"k{n}" for n in range(40)],
    ),
    "maxLength 10**18": lambda: schema(type="string", maxLength=10**18),
    "minProperties 20": lambda: union(minProperties=20),
    "minProperties 200": lambda: union(minProperties=200),
    "minProperties 2,000": lambda: union(minProperties=2_000),
    "minProperties 100,000": lambda: union(minProperties=100_000),
    "minProperties 20, integer values": lambda: union(minProperties=20, additionalProperties=_INTEGER),
    "minProperties 500 of pattern keys": lambda: union(
        minProperties=500, patternProperties={"^[a-f]{3}$": _INTEGER}, additionalProperties=False
    ),
    "minProperties 64 of 64 pattern keys": lambda: union(
        minProperties=64, propertyNames={"pattern": "^[ab]{6}$"}
    ),
    "minProperties 65 of 64 pattern keys": lambda: union(
        minProperties=65, propertyNames={"pattern": "^[ab]{6}$"}
    ),
    "minProperties 50 of 100 optional keys": lambda: union(
        properties={f"k{n}": _INTEGER for n in range(100)}, minProperties=50, maxProperties=60
    ),
    "minProperties 100 of 1,000 optional keys": lambda: union(
        properties={f"k{n}": _INTEGER for n in range(1_000)}, minProperties=100, additionalProperties=False
    ),
    "maxProperties 500 of 3,000 optional keys": lambda: union(
        properties={f"k{n}": _INTEGER for n in range(3_000)}, maxProperties=500
    ),
    "minProperties 20 in items of minProperties 20": lambda: _array(union(minProperties=20), minItems=20),
    "maxProperties 10**9": lambda: union(maxProperties=10**9),
    "1,000 objects of minProperties 1,000": lambda: _array(union(minProperties=1_000), minItems=1_000),
    "propertyNames enum 5,000, minProperties 2,000": lambda: union(
        propertyNames={"enum": [f"key{n}" for n in range(5_000)]}, minProperties=2_000
    ),
    "multipleOf 999,999,937": lambda: schema(type="integer", multipleOf=999_999_937),
    "multipleOf 12,345": lambda: schema(type="integer", multipleOf=12_345),
    "multipleOf 0.000001 to 10**15": lambda: schema(
        type="number", multipleOf=0.000001, minimum=0, maximum=10**15
    ),
    "multipleOf 1e-300": lambda: schema(type="number", multipleOf=1e-300),
    "multipleOf 7, 11, 13, 17, 19": lambda: schema(
        type="integer", allOf=[{"multipleOf": n} for n in (7, 11, 13, 17, 19, 23)]
    ),
    "allOf of not multipleOf": lambda: schema(
        type="integer", allOf=[{"not": {"multipleOf": n}} for n in (2, 3, 5, 7, 11, 13, 17)]
    ),
    "minimum 10**400": lambda: schema(type="integer", minimum=10**400),
    "maximum -10**4000": lambda: schema(type="integer", maximum=-(10**4000)),
    "minimum 1e308": lambda: schema(type="number", minimum=1e308, maximum=1.7e308),
    "enum of 10**400": lambda: schema(enum=[10**400 + n for n in range(1_000)]),
    "1,000 ranges": lambda: schema(
        anyOf=[{"type": "integer", "minimum": 1_000 * n, "maximum": 1_000 * n + 777} for n in range(1_000)]
    ),
    "oneOf of 300 overlapping ranges": lambda: schema(
        oneOf=[{"type": "integer", "minimum": 10 * n, "maximum": 10 * n + 15} for n in range(300)]
    ),
    "oneOf of 1,000 disjoint ranges": lambda: schema(
        oneOf=[{"type": "integer", "minimum": 10 * n, "maximum": 10 * n + 9} for n in range(1_000)]
    ),
}

CASES = tuple(Case("counts", name, make) for name, make in _CASES.items())
