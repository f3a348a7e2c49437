"""JSON Schemas in which several keywords meet that are decided together."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_INTEGER, _STRING = {"type": "integer"}, {"type": "string"}


def _array(items: object = None, **keywords: object) -> dict[str, object]:
    return schema(type="array", **({} if items is None else {"items": items}), **keywords)


def _keys(count: int, value: object = _INTEGER) -> dict[str, object]:
    return {f"k{n}": value for n in range(count)}


def _containing(count: int, items: object, **keywords: object) -> dict[str, object]:
    return _array(items, allOf=[{"contains": {"const": f"t{n}"}} for n in range(count)], **keywords)


def _tree(**keywords: object) -> dict[str, object]:
    """A tree that its users extend: the children are what the extension says."""
    node = {
        "$id": "tree",
        "$dynamicAnchor": "node",
        **union(properties={"data": _INTEGER, "children": _array({"$dynamicRef": "#node"}, maxItems=3)}),
    }
    return {
        "$id": "http://example.com/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "$defs": {"tree": node},
        **keywords,
    }


def _extended(levels: int) -> dict[str, object]:
    return {
        f"d{n}": {
            "$id": f"level{n}",
            "$dynamicAnchor": "node",
            **({"$ref": f"level{n - 1}"} if n else {}),
            **union(properties={f"p{n}": {"$dynamicRef": "#node"} if n % 2 else _INTEGER}),
        }
        for n in range(levels)
    }


def _ordered(seed: int) -> dict[str, object]:
    """An object whose keys are in another order for each seed, as are those of the objects in it."""
    keys = [f"k{n}" for n in range(8)]
    Random(seed).shuffle(keys)
    inner = [{"x": 1, "y": 2}, {"y": 2, "x": 1}][seed % 2]
    return {key: {"a": key, "b": [1, inner]} for key in keys}


def _periods(*periods: int) -> dict[str, object]:
    """Lists whose length is a multiple of each period."""
    return {
        "allOf": [{"$ref": f"#/$defs/p{period}_0"} for period in periods],
        "$defs": {
            f"p{period}_{n}": union(
                properties={"next": {"$ref": f"#/$defs/p{period}_{(n + 1) % period}"}, "v": {"enum": [0, 1]}},
                required=["v", "next"] if n else ["v"],
            )
            for period in periods
            for n in range(period)
        },
    }


_CASES: dict[str, Callable[[], object]] = {
    "dynamicRef and unevaluatedProperties": lambda: _tree(unevaluatedProperties=False),
    "dynamicRef, a condition and unevaluatedProperties": lambda: _tree(
        unevaluatedProperties=False,
        **{
            "if": {"required": ["data"]},
            "then": {"properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"]},
            "else": {"properties": {"none": {"type": "boolean"}}},
        },
    ),
    "dynamicRef, extended 20 times": lambda: {
        "$id": "http://example.com/last", "$dynamicAnchor": "node", "$ref": "level19",
        "unevaluatedProperties": False, "$defs": _extended(20),
    },
    "unevaluatedProperties and 60 anyOf of patternProperties": lambda: union(
        anyOf=[{"patternProperties": {f"^p{n}_": _INTEGER}, "required": [f"p{n}_x"]} for n in range(60)],
        unevaluatedProperties=False,
    ),
    "unevaluatedItems, contains and prefixItems": lambda: _array(
        prefixItems=[_INTEGER, _STRING],
        contains={"const": 7},
        anyOf=[{"prefixItems": [_INTEGER, _STRING, {"type": "boolean"}]}, {"contains": {"const": 9}}],
        unevaluatedItems=False,
        maxItems=6,
    ),
    "unevaluatedItems and 5 contains": lambda: _array(
        allOf=[{"contains": {"const": n}} for n in range(5)], unevaluatedItems=False
    ),
    "unevaluatedItems and 20 conditions on prefixes": lambda: _array(
        allOf=[
            {"if": {"prefixItems": [{"const": n}], "minItems": 1}, "then": {"prefixItems": [True] * (n + 1)}}
            for n in range(20)
        ],
        unevaluatedItems={"type": "null"},
    ),
    "dependentSchemas, a chain of 100": lambda: union(
        properties=_keys(100), dependentSchemas={f"k{n}": {"required": [f"k{n + 1}"]} for n in range(99)}
    ),
    "dependentSchemas, a chain of 30 with values": lambda: union(
        properties=_keys(30),
        dependentSchemas={
            f"k{n}": {"properties": {f"k{n + 1}": {"minimum": n}}, "required": [f"k{n + 1}"]} for n in range(29)
        },
    ),
    "dependentSchemas, a circle of 12 closed objects": lambda: union(
        properties=_keys(12),
        dependentSchemas={
            f"k{n}": {
                "required": [f"k{(n + 1) % 12}"], "additionalProperties": False, "properties": _keys(12, True)
            }
            for n in range(12)
        },
    ),
    "dependentSchemas of 8 counts": lambda: union(
        properties=_keys(8),
        dependentSchemas={f"k{n}": {"minProperties": n + 1, "maxProperties": 12} for n in range(8)},
    ),
    "dependentSchemas of 10 propertyNames": lambda: union(
        dependentSchemas={
            f"k{n}": {"propertyNames": {"pattern": f"^[a-{'klmnopqrst'[n]}]"}} for n in range(10)
        }
    ),
    "dependentSchemas of not": lambda: union(
        properties=_keys(8),
        dependentSchemas={f"k{n}": {"not": {"required": [f"k{(n + 3) % 8}"]}} for n in range(8)},
        minProperties=2,
    ),
    "dependentRequired and counts": lambda: union(
        properties=_keys(14),
        dependentRequired={f"k{n}": [f"k{(5 * n + 1) % 14}"] for n in range(14)},
        maxProperties=6,
        additionalProperties=False,
    ),
    "propertyNames, patternProperties and counts": lambda: union(
        propertyNames={"pattern": "^[a-f]{2,4}$"},
        patternProperties={"^a": _INTEGER, "b$": {"minimum": 3}, "cc": _STRING},
        minProperties=4,
        maxProperties=9,
    ),
    "propertyNames of 300, patternProperties, minProperties 200": lambda: union(
        propertyNames={"enum": [f"n{n:03d}" for n in range(300)]},
        patternProperties={f"{n}$": {"const": n} for n in range(10)},
        minProperties=200,
    ),
    "patternProperties with lookbehinds": lambda: union(
        patternProperties={"(?<=a)b": _INTEGER, "(?<!c)d$": _STRING, "^(?!x).*e": {"type": "boolean"}},
        additionalProperties=False,
        minProperties=2,
    ),
    "propertyNames with lookbehinds": lambda: union(
        propertyNames={"pattern": "^.{1,8}(?<=[0-9])(?<!7)$"}, additionalProperties=_INTEGER, minProperties=3
    ),
    "contains and 30 prefixItems": lambda: _array(
        prefixItems=[{"enum": [n, "x"]} for n in range(30)], contains={"const": "x"}, minContains=5, maxContains=7
    ),
    "contains, prefixItems and uniqueItems": lambda: _array(
        {"enum": list(range(12))},
        prefixItems=[{"enum": list(range(6))}] * 5,
        contains={"multipleOf": 3},
        minContains=3,
        uniqueItems=True,
        minItems=7,
    ),
    "contains of three tagged objects": lambda: _array(
        union(properties={"tag": {"enum": list("abc")}, "v": _INTEGER}, required=["tag"]),
        allOf=[{"contains": union(properties={"tag": {"const": tag}}, required=["tag"])} for tag in "abc"],
        prefixItems=[union(properties={"tag": {"const": "b"}}, required=["tag"])],
    ),
    "oneOf of contains": lambda: _array(
        {"enum": list(range(5))}, oneOf=[{"contains": {"const": n}} for n in range(4)], minItems=3
    ),
    "not of contains and counts": lambda: _array(
        {"enum": [0, 1, 2]}, not_={"contains": {"const": 1}, "minContains": 3}, minItems=5, maxItems=9
    ),
    "not of oneOf of 6 objects": lambda: union(
        properties=_keys(6), not_={"oneOf": [{"required": [f"k{n}"]} for n in range(6)]}, additionalProperties=False
    ),
    "not of oneOf of 30 objects": lambda: union(
        not_={
            "oneOf": [union(properties={f"k{n}": {"const": n}}, required=[f"k{n}"]) for n in range(30)]
        }
    ),
    "not of objects, 6 deep": lambda: union(
        properties={"a": True}, not_=_nested(6), additionalProperties=False, required=["a"]
    ),
    "not of a condition": lambda: union(
        properties={"a": {"enum": [1, 2]}, "b": _INTEGER, "c": _INTEGER},
        not_={
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"required": ["b"]},
            "else": {"required": ["c"]},
        },
        additionalProperties=False,
    ),
    "enum of equal objects in 300 orders": lambda: {"enum": [_ordered(seed) for seed in range(300)]},
    "enum of objects, properties and not": lambda: {
        "enum": [{"a": n, "b": {"c": [n % 3]}} for n in range(500)],
        "properties": {"b": {"properties": {"c": {"contains": {"const": 2}}}}},
        "not": {"properties": {"a": {"multipleOf": 4}}},
    },
    "recursion through not": lambda: {
        "$ref": "#/$defs/t",
        "$defs": {
            "t": union(properties={"n": {"not": {"$ref": "#/$defs/t"}}, "v": _INTEGER}, required=["v"])
        },
    },
    "recursion through oneOf": lambda: {
        "oneOf": [{"$ref": "#/$defs/d0"}, {"$ref": "#/$defs/d1"}],
        "$defs": {f"d{n}": {"anyOf": [{"const": n}, _array({"$ref": f"#/$defs/d{n}"})]} for n in (0, 1)},
    },
    "recursion through allOf, 12 trees": lambda: {
        "allOf": [{"$ref": f"#/$defs/d{n}"} for n in range(12)],
        "$defs": {
            f"d{n}": union(
                properties={"l": {"$ref": f"#/$defs/d{(n + 1) % 12}"}, "v": {"type": "integer", "minimum": n}}
            )
            for n in range(12)
        },
    },
    "recursion through allOf, lists of 2, 3, 5 and 7": lambda: _periods(2, 3, 5, 7),
    "recursion through contains": lambda: {
        "$ref": "#/$defs/t",
        "$defs": {"t": {"anyOf": [{"enum": [0, 1]}, _array({"$ref": "#/$defs/t"}, contains={"const": 1})]}},
    },
    "all keywords of an object": lambda: union(
        properties={"a": _INTEGER, "b": _STRING},
        patternProperties={"^p": {"type": "boolean"}},
        propertyNames={"maxLength": 6},
        dependentRequired={"a": ["b"]},
        dependentSchemas={"b": {"minProperties": 2}},
        minProperties=1,
        maxProperties=5,
        unevaluatedProperties={"type": "null"},
        **{
            "if": {"required": ["a"]},
            "then": {"properties": {"b": {"minLength": 2}}},
            "else": {"not": {"required": ["c"]}},
        },
    ),
    "all keywords of an array": lambda: _array(
        prefixItems=[_INTEGER, _STRING],
        contains={"type": "string", "minLength": 2},
        minContains=2,
        maxContains=4,
        uniqueItems=True,
        minItems=4,
        maxItems=7,
        unevaluatedItems={"type": ["string", "null"]},
        **{
            "if": {"prefixItems": [{"minimum": 5}]},
            "then": {"minItems": 5},
            "else": {"not": {"contains": {"const": "zz"}}},
        },
    ),
    "oneOf of 20 objects with patternProperties and counts": lambda: {
        "oneOf": [
            union(patternProperties={f"^{chr(97 + n)}": {"const": n}}, additionalProperties=False, minProperties=1)
            for n in range(20)
        ]
    },
    "propertyNames with 8 lookaheads": lambda: union(
        allOf=[{"propertyNames": {"pattern": f"^(?!.*{letter}{letter})[a-h]+$"}} for letter in "abcdefgh"],
        minProperties=3,
        additionalProperties=_INTEGER,
    ),
    "300 fields of a condition each": lambda: union(
        properties={
            f"k{n}": schema(
                type=["integer", "string", "null"],
                **{"if": {"type": "integer"}, "then": {"minimum": n}, "else": {"maxLength": n + 1}},
            )
            for n in range(300)
        },
        required=[f"k{n}" for n in range(300)],
    ),
    "contains 4 of 7 texts": lambda: _containing(4, {"enum": [f"t{n}" for n in range(7)]}),
    "contains 10 of 12 texts": lambda: _containing(10, {"enum": [f"t{n}" for n in range(12)]}),
    "contains 5 tagged objects with numbers": lambda: _array(
        union(properties={"tag": {"enum": list("abcdefg")}, "v": _INTEGER}, required=["tag"], additionalProperties=False),
        allOf=[{"contains": union(properties={"tag": {"const": tag}}, required=["tag"])} for tag in "abcde"],
    ),
    "unevaluatedItems and 4 contains": lambda: _containing(4, None, unevaluatedItems=False),
    "unevaluatedItems and anyOf of 4 contains": lambda: _array(
        anyOf=[{"contains": {"const": n}} for n in range(4)], unevaluatedItems=False
    ),
    "uniqueItems and prefixItems in a ring of 12": lambda: _array(
        False,
        prefixItems=[{"enum": [n, (n + 1) % 12, 5 * n % 12]} for n in range(12)],
        uniqueItems=True,
        minItems=12,
    ),
    "uniqueItems, contains and prefixItems in a ring of 3": lambda: _array(
        {"enum": [1, 2, 3, 4]},
        prefixItems=[{"enum": [1, 2]}, {"enum": [2, 3]}, {"enum": [3, 1]}],
        contains={"const": 4},
        uniqueItems=True,
        minItems=4,
    ),
    "uniqueItems, maxContains 1 of 4 and 4 others, minItems 6": lambda: _array(
        {"enum": list(range(8))}, contains={"multipleOf": 2}, maxContains=1, uniqueItems=True, minItems=6
    ),
    "oneOf of 400 by two tags": lambda: {
        "oneOf": [
            union(properties={"a": {"const": f"a{n}"}, "b": {"const": f"b{m}"}, f"v{n}": _INTEGER}, required=["a", "b"])
            for n in range(20)
            for m in range(20)
        ]
    },
}  # fmt: skip


def _nested(depth: int) -> dict[str, object]:
    found: dict[str, object] = _INTEGER
    for _ in range(depth):
        found = union(properties={"a": found}, required=["a"])
    return found


CASES = tuple(Case("keywords that meet", name, make) for name, make in _CASES.items())
