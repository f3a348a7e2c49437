"""Targets in which parts of different features meet: formats, distinct items, references, names of keys, types."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union

from pydantic import BaseModel, Field, Json, create_model

import structkit as sk
from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_INTEGER = {"type": "integer"}

_FORMATS = (
    "date",
    "time",
    "date-time",
    "uuid",
    "ipv4",
    "ipv6",
    "email",
    "hostname",
    "uri",
    "duration",
    "json-pointer",
    "uri-reference",
)

T = TypeVar("T")


class _Box(BaseModel, Generic[T]):
    value: T
    other: Optional[T] = None


def _text(**keywords: object) -> dict[str, object]:
    return schema(type="string", **keywords)


def _set(items: object, **keywords: object) -> dict[str, object]:
    return schema(type="array", items=items, uniqueItems=True, **keywords)


def _all(properties: dict[str, object], **keywords: object) -> dict[str, object]:
    """An object that requires its properties."""
    return union(properties=properties, required=list(properties), **keywords)


def _ring(count: int, make: Callable[[int, object], object]) -> dict[str, object]:
    """Definitions, each of which refers to the next, and the last to the first."""
    found = {f"r{n}": make(n, {"$ref": f"#/$defs/r{(n + 1) % count}"}) for n in range(count)}
    return {"$defs": found, "$ref": "#/$defs/r0"}


def _distinct_in_ring(format: str) -> dict[str, object]:
    return _ring(
        6,
        lambda n, after: {
            "oneOf": [
                {"type": "null"},
                _set(_text(format=format, maxLength=40 - n, minLength=n), minItems=2),
                _all({"next": after, f"t{n}": {"const": n}}),
            ]
        },
    )


def _ring_of_keys(count: int, make: Callable[[int], dict[str, object]]) -> dict[str, object]:
    return union(
        properties={f"k{n}": _INTEGER for n in range(count)},
        dependentSchemas={f"k{n}": make(n) for n in range(count)},
    )


def _all_of_all(count: int, make: Callable[[int, dict[str, object]], dict[str, object]]) -> dict[str, object]:
    """Definitions that refer to all of each other; the last of them may be a number."""
    every: dict[str, object] = {f"k{n}": {"$ref": f"#/$defs/d{n}"} for n in range(count)}
    found = {
        f"d{n}": {"anyOf": [make(n, every), *([_INTEGER] if n == count - 1 else [])]} for n in range(count)
    }
    return {"$ref": "#/$defs/d0", "$defs": found}


def _hole(target: dict[str, object]) -> sk.Grammar:
    return sk.Grammar('start: "<" x ">" | "<" x ">" start', holes={"x": target})


def _extended(count: int, *, is_ring: bool = False) -> dict[str, object]:
    """A chain or a ring of documents with one dynamic anchor."""
    found = {
        f"d{n}": {
            "$id": f"l{n}",
            "$dynamicAnchor": "n",
            **union(properties={f"p{n}": {"$dynamicRef": "#n"}}),
            **({"$ref": f"l{(n + 1) % count}"} if n + 1 < count or is_ring else {}),
        }
        for n in range(count)
    }
    return {"$id": "http://example.com/r", "$ref": "l0", "$defs": found}


def _compared(objects: int, keys: int, numbers: int) -> dict[str, object]:
    """A union of objects that meets an object: few values of the lists of each key are equal, and the last are."""

    def make(sign: int, **keywords: object) -> dict[str, object]:
        values = {"anyOf": [*({"const": sign * n} for n in range(1, numbers)), _text(pattern="^z")]}
        return _all({f"k{n}": values for n in range(keys)}, **keywords)

    return {"allOf": [{"anyOf": [make(1, maxProperties=keys + n) for n in range(objects)]}, make(-1)]}


def _models(count: int, *, tagged: bool) -> Any:
    models = (
        create_model(f"M{n}", kind=(Literal[f"k{n}"], ...))
        if tagged
        else create_model(f"M{n}", **{f"f{n}": (int, ...)})
        for n in range(count)
    )
    return Union[tuple(models)]


def _boxes(depth: int) -> Any:
    found: Any = int
    for _ in range(depth):
        found = _Box[found]
    return found


_CASES: dict[str, Callable[[], Any]] = {
    **{f"distinct texts of {each} in a ring": partial(_distinct_in_ring, each) for each in _FORMATS},
    "distinct texts of all formats, 200": lambda: _set({"anyOf": [_text(format=f) for f in _FORMATS]}, minItems=200),
    "distinct objects of two formats, 100": lambda: _set(
        _all({"a": _text(format="date"), "b": _text(format="uuid")}, additionalProperties=False), minItems=100
    ),
    "distinct texts of a format or a lookahead, 60": lambda: _set(
        {"anyOf": [_text(format="date"), _text(pattern=r"^(?=.*\d)[a-z0-9]{3,9}$")]}, minItems=60
    ),
    "distinct texts of 120 counts, 20": lambda: _set(
        _text(pattern="^(" + "|".join(f"w{n}.{{1,{n + 1}}}" for n in range(120)) + ")$"), minItems=20
    ),
    "distinct texts of optional groups, 30 deep": lambda: _set(
        _text(pattern="^" + "(a" * 30 + ")?" * 30 + "$"), minItems=25
    ),
    "distinct sets of distinct sets, 40": lambda: _set(
        _set(_set({"enum": [0, 1, 2]}), minItems=3), minItems=40
    ),
    "distinct objects of optional keys, 300": lambda: _set(
        union(properties={f"k{n}": {"type": "boolean"} for n in range(8)}, additionalProperties=False), minItems=300
    ),
    "distinct multiples of 0.0003, 300": lambda: _set(
        schema(type="number", multipleOf=0.0003, minimum=-1e9, maximum=1e9), minItems=300
    ),
    "oneOf of 40 sets of formats": lambda: {
        "oneOf": [
            _set(_text(format=_FORMATS[n % 12], maxLength=60 + n), minItems=n + 1, maxItems=n + 1) for n in range(40)
        ]
    },
    "names with lookbehinds and a format, 40": lambda: union(
        propertyNames={"allOf": [{"pattern": "^(?!x)[a-z]{1,20}(?<!y)$"}, {"format": "hostname"}]}, minProperties=40
    ),
    "names in one of 30 lookaheads": lambda: union(
        propertyNames={"oneOf": [{"pattern": f"^(?=.*{chr(97 + n % 26)}).{{{n + 1}}}$"} for n in range(30)]},
        minProperties=5,
    ),
    "names outside a format, and patterns of formats": lambda: union(
        propertyNames={"not": {"format": "date"}},
        patternProperties={f"^{n}.*[0-9]$": {"format": each} for n, each in enumerate(_FORMATS)},
        minProperties=3,
    ),
    "9 lookaheads of keys, with sets": lambda: union(
        patternProperties={
            f"(?=.*{each}).{{2,}}": _set({"enum": list(range(n + 3))}) for n, each in enumerate("abcdefghi")
        },
        minProperties=2,
    ),
    "dependentSchemas in a ring of 100": lambda: _ring_of_keys(100, lambda n: {"required": [f"k{(n + 1) % 100}"]}),
    "dependentSchemas in a ring of 60, counted": lambda: _ring_of_keys(
        60, lambda n: {"required": [f"k{(n + 1) % 60}"], "minProperties": n % 5}
    ),
    "dependentSchemas in a ring of 30, negated": lambda: _ring_of_keys(
        30, lambda n: {"not": {"required": [f"k{(n + 7) % 30}", f"k{(n + 3) % 30}"]}}
    ),
    "dynamicRef through 300 documents": lambda: _extended(300),
    "contains in a ring": lambda: _ring(
        12,
        lambda n, after: schema(
            type="array", items={"anyOf": [after, _INTEGER]}, contains={"const": n}, minContains=2
        ),
    ),
    "unevaluatedProperties in a ring": lambda: _ring(
        20,
        lambda n, after: union(
            properties={f"k{n}": after},
            anyOf=[{"required": [f"k{n}"]}, {"properties": {f"o{n}": _INTEGER}}],
            unevaluatedProperties=False,
        ),
    ),
    "objects that meet a union of 30, 40 keys of 30 numbers": lambda: _compared(30, 40, 30),
    "multiples of a millionth, to 1e55": lambda: schema(type="number", multipleOf=1e-6, minimum=-1e55, maximum=1e55),
    "multiples of 1e-300": lambda: schema(type="number", multipleOf=1e-300, minimum=0, maximum=1e300),
    "allOf of multiples of 2 to 40": lambda: {"allOf": [schema(type="integer", multipleOf=n) for n in range(2, 41)]},
    "no multiples of 2 to 40": lambda: schema(
        type="integer", not_={"anyOf": [{"multipleOf": n} for n in range(2, 41)]}, minimum=0, maximum=10**30
    ),
    "oneOf of multiples of 2 to 14": lambda: {"oneOf": [schema(type="integer", multipleOf=n) for n in range(2, 15)]},
    "Literal of 50,000 texts": lambda: Literal[tuple(f"value {n}" for n in range(50_000))],
    "Literal of 50,000 numbers": lambda: Literal[tuple(n**3 for n in range(50_000))],
    "set of 4,999 of 5,000 texts": lambda: Annotated[
        set[Literal[tuple(f"v{n}" for n in range(5_000))]], Field(min_length=4_999)  # type: ignore[misc]
    ],
    "union of 50 Literals of 1,000": lambda: Union[
        tuple(Literal[tuple(f"{k} {n}" for n in range(1_000))] for k in range(50))
    ],
    "generic models, 40 deep": lambda: _boxes(40),
    "generic models, 90 deep": lambda: _boxes(90),
    "union of 1,000 tagged models": lambda: _models(1_000, tagged=True),
    "union of 1,000 models": lambda: _models(1_000, tagged=False),
    "Json of lists of Json of dates": lambda: Json[
        list[Json[Annotated[set[datetime.date], Field(min_length=30)]]]  # type: ignore[type-arg]
    ],
    "dict of 50 dates to sets of 10 times": lambda: Annotated[
        dict[datetime.date, Annotated[set[datetime.time], Field(min_length=10)]], Field(min_length=50)
    ],
    "hole of 40 tagged objects": lambda: _hole({"oneOf": [_all({"kind": {"const": n}, "v": _text()}) for n in range(40)]}),
    "hole of counts of counts": lambda: _hole(_text(pattern="^((a{1,30}b?){1,30}c?){1,30}$")),
    "hole of 300 distinct dates": lambda: _hole(_set(_text(format="date"), minItems=300)),
    "hole of definitions in cycles": lambda: _hole(
        {"$ref": "#/$defs/d0", "$defs": {
            f"d{n}": union(properties={k: {"$ref": f"#/$defs/d{(n * i + 1) % 20}"} for k, i in (("a", 1), ("b", 7))})
            for n in range(20)
        }}
    ),
    "hole in templates": lambda: sk.Grammar(
        'start: t{t{t{x}}}\nt{y}: "(" y ("," y)* ")" | "[" y "]"', holes={"x": {"enum": list(range(500))}}
    ),
    "dynamicRef in a ring of 200": lambda: _extended(200, is_ring=True),
    "unevaluatedProperties under anyOf of 12": lambda: {
        "anyOf": [
            union(
                allOf=[{"properties": {f"k{n}_{i}": _INTEGER}} for i in range(6)],
                anyOf=[{"required": [f"k{n}_{i}"]} for i in range(6)],
                unevaluatedProperties=False,
            )
            for n in range(12)
        ]
    },
    "not of 100 patterns": lambda: _text(not_={"anyOf": [{"pattern": f"^x{n}.*y$"} for n in range(100)]}),
    "not of 200 arrays": lambda: schema(
        type="array", not_={"anyOf": [{"prefixItems": [{"const": n}], "minItems": 1} for n in range(200)]}
    ),
    "not of 160 objects with numbers": lambda: union(
        not_={"anyOf": [_all({"k": {"const": n}, "v": _text()}) for n in range(160)]}
    ),
    "40 oneOf of 400 lengths": lambda: _all(
        {
            f"k{k}": {"oneOf": [schema(type="array", items={"minimum": k}, minItems=n, maxItems=n) for n in range(400)]}
            for k in range(40)
        }
    ),
    "multiples of 7 of 300 digits": lambda: schema(
        type="integer", multipleOf=7, minimum=10**299, maximum=10**300
    ),
    "2,000 tools": lambda: {
        "oneOf": [_all({"name": {"const": f"tool{n}"}, "arguments": {"type": "object"}}) for n in range(2_000)]
    },
    "generic models of 300 arguments": lambda: Union[tuple(_Box[Literal[n]] for n in range(300))],  # type: ignore[valid-type]
    "lookaheads of digits, counted": lambda: sk.Regex(r"(?=\w{8,64}$)(?=.*\d)(?=.*[A-Z])\w+"),
    "Choice of 60,000": lambda: sk.Choice([f"c{n}" for n in range(60_000)]),
    "60 objects of 60, counted": lambda: _all_of_all(60, lambda n, every: union(properties=every, minProperties=1 + (not n))),
    "15 conditions on prefixes": lambda: schema(
        type="array",
        items={"enum": list(range(15))},
        allOf=[
            {"if": {"prefixItems": [True] * n + [{"const": n}], "minItems": n + 1}, "then": {"minItems": n + 2}}
            for n in range(15)
        ],
    ),
    "86 of 256 arrays of bits excluded": lambda: schema(
        type="array",
        items={"enum": [0, 1]},
        minItems=8,
        maxItems=8,
        not_={"anyOf": [{"prefixItems": [{"const": n >> b & 1} for b in range(8)]} for n in range(0, 256, 3)]},
    ),
    "41 unique values of 40 and one before": lambda: schema(
        type="array", prefixItems=[{"enum": list(range(41))}] + [{"enum": list(range(40))}] * 40, minItems=41, uniqueItems=True
    ),
    "30 unique values, each in its own 19 of 40": lambda: schema(
        type="array",
        prefixItems=[{"enum": [n * k % 40 for k in range(1, 20)]} for n in range(1, 30)],
        minItems=29,
        uniqueItems=True,
    ),
    "texts before the one that is left, unique": lambda: schema(
        type="array", prefixItems=[{"type": "string"}] * 20, items={"enum": ["a", "b"]}, contains={"const": "b"}, minItems=22, uniqueItems=True
    ),
    "3,000 numbers that meet 3,000 ranges or texts": lambda: {
        "allOf": [
            {"enum": list(range(3_000))},
            {"anyOf": [*(schema(type="integer", minimum=10 * n, maximum=10 * n + 5) for n in range(3_000)), _text()]},
        ]
    },
    "oneOf of 10 arrays of 20 numbers, each with another": lambda: schema(
        type="array",
        oneOf=[{"prefixItems": [{"enum": list(range(n + 1))}] * 20, "contains": {"const": n}} for n in range(10)],
    ),
    "maxContains 10^12": lambda: schema(type="array", contains=_INTEGER, maxContains=10**12),
    "not enum of 40 nested objects": lambda: union(
        properties={"a": union(properties={"b": schema(type="array", items=_INTEGER)})},
        not_={"enum": [{"a": {"b": [n, n + 1]}} for n in range(40)]},
        required=["a"],
    ),
}  # fmt: skip


CASES = tuple(Case("mixtures", name, make, is_read=name.startswith("hole")) for name, make in _CASES.items())
