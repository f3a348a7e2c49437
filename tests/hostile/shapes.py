"""Shapes of JSON Schemas: references that fan out, alternatives with optional tags, values that are no JSON."""

from __future__ import annotations

from collections.abc import Callable

import structkit as sk
from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_INTEGER, _STRING = {"type": "integer"}, {"type": "string"}


def _definitions(count: int, make: Callable[[int], object]) -> dict[str, object]:
    return {
        "$ref": "#/$defs/d0",
        "$defs": {**{f"d{n}": make(n) for n in range(count)}, f"d{count}": _INTEGER},
    }


def _ref(number: int) -> dict[str, str]:
    return {"$ref": f"#/$defs/d{number}"}


def _tagged(number: int, *, required: bool = False) -> dict[str, object]:
    spec = union(properties={f"{part}{number}": _STRING for part in "abcdef"}, additionalProperties=False)
    return union(
        properties={
            "kind": {"const": f"kind{number}"},
            "spec": spec,
            "all": schema(additionalProperties=spec),
        },
        additionalProperties=False,
        required=["kind"] if required else [],
    )


def _contains_itself() -> dict[str, object]:
    found: dict[str, object] = {"type": "object"}
    found["properties"] = {"a": found}
    return found


def _default_contains_itself() -> dict[str, object]:
    value: list[object] = []
    value.append(value)
    return schema(type="integer", default=value)


def _deep_list(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


def _ambiguous(depth: int) -> dict[str, object]:
    found: dict[str, object] = union(required=["a"])
    for n in range(depth):
        found = {"oneOf": [found, union(required=[f"k{n}"])]}
    return found


def _nested_not(depth: int) -> dict[str, object]:
    found: dict[str, object] = _INTEGER
    for n in range(depth):
        found = {"not": union(properties={f"k{n}": found}, required=[f"k{n}"])}
    return union(**found)


def _unevaluated(depth: int, found: dict[str, object], *, required: bool = False) -> dict[str, object]:
    """Objects in objects, each with two alternatives and other keys that neither evaluates."""
    for n in range(depth):
        found = union(
            properties={f"k{n}": found},
            anyOf=[{"required": [f"o{n}"]}, {"patternProperties": {f"^{n}": _STRING}}],
            unevaluatedProperties={"type": "null"},
            required=[f"k{n}"] * required,
        )
    return found


def _shared(depth: int) -> dict[str, object]:
    """A schema of one object for each level, which `json.dumps` would write 3^depth times."""
    found: dict[str, object] = _INTEGER
    for _ in range(depth):
        array = {"type": "array", "items": found}
        found = {"anyOf": [array, {**array, "maxItems": 2}, found]}
    return found


_CASES: dict[str, Callable[[], object]] = {
    "references that fan out, 60 levels": lambda: _definitions(
        60, lambda n: union(properties={"a": _ref(n + 1), "b": _ref(n + 1)}, required=["a", "b"])
    ),
    "references that fan out, optional, 200 levels": lambda: _definitions(
        200, lambda n: union(properties={"a": _ref(n + 1), "b": _ref(n + 1)})
    ),
    "anyOf that fans out, 60 levels": lambda: _definitions(
        60, lambda n: {"anyOf": [_ref(n + 1), union(properties={"x": _ref(n + 1)}, required=["x"])]}
    ),
    "allOf that fans out, 60 levels": lambda: _definitions(
        60, lambda n: {"allOf": [_ref(n + 1), _ref(n + 1)]}
    ),
    "oneOf that fans out, 30 levels": lambda: _definitions(
        30, lambda n: {"oneOf": [_ref(n + 1), union(properties={"x": _ref(n + 1)}, required=["x"])]}
    ),
    "anyOf of 10,000 references to one": lambda: {"anyOf": [_ref(0)] * 10_000, "$defs": {"d0": _INTEGER}},
    "allOf of 5,000 references to one": lambda: {
        "allOf": [_ref(0)] * 5_000,
        "$defs": {"d0": union(properties={"a": _INTEGER})},
    },
    "allOf of 300 references to objects": lambda: {
        "allOf": [_ref(n) for n in range(300)],
        "$defs": {f"d{n}": union(properties={f"k{n}": _INTEGER}, required=[f"k{n}"]) for n in range(300)},
    },
    "oneOf of 40 with optional tags": lambda: {"oneOf": [_tagged(n) for n in range(40)]},
    "oneOf of 200 with optional tags": lambda: {"oneOf": [_tagged(n) for n in range(200)]},
    "oneOf of 30 with optional tags, and conditions": lambda: union(
        properties={
            "any": {"oneOf": [_tagged(n) for n in range(30)]},
            **{f"c{n}": _STRING for n in range(30)},
        },
        allOf=[
            {
                "if": {"properties": {f"c{n}": {"const": "x"}}, "required": [f"c{n}"]},
                "then": {"required": [f"r{n}"]},
            }
            for n in range(15)
        ],
    ),
    "oneOf of 500 tagged without a type": lambda: {
        "oneOf": [
            {"properties": {"kind": {"const": f"k{n}"}, "v": {"$ref": "#"}}, "required": ["kind"]}
            for n in range(500)
        ]
    },
    "not of oneOf of 20 with optional tags": lambda: union(not_={"oneOf": [_tagged(n) for n in range(20)]}),
    "anyOf of the same objects, 30 deep": lambda: _shared(30),
    "oneOf of 100 arrays of 100 items": lambda: schema(
        oneOf=[
            schema(
                type="array",
                prefixItems=[{"const": n} if n == m else _INTEGER for m in range(100)],
                minItems=100,
            )
            for n in range(100)
        ]
    ),
    "oneOf nested 12 deep": lambda: _ambiguous(12),
    "oneOf nested 60 deep": lambda: _ambiguous(60),
    "not nested 40 deep in keys": lambda: _nested_not(40),
    "oneOf of one reference and its negation": lambda: {
        "oneOf": [_ref(0), {"not": _ref(0)}],
        "$defs": {"d0": _tagged(0)},
    },
    "30 patternProperties and additionalProperties": lambda: union(
        patternProperties={f"^{chr(97 + n % 26)}{n}": schema(minimum=n) for n in range(30)},
        additionalProperties={"oneOf": [_tagged(n) for n in range(10)]},
    ),
    "propertyNames of 60 patterns": lambda: union(
        propertyNames={"anyOf": [schema(pattern=f"^{chr(97 + n % 26)}.*{n}$") for n in range(60)]},
        minProperties=2,
    ),
    "propertyNames in allOf of 12": lambda: union(
        allOf=[{"propertyNames": {"pattern": f"{chr(97 + n)}"}} for n in range(12)], minProperties=1
    ),
    "unevaluatedProperties through 90 references": lambda: {
        **_definitions(
            90, lambda n: union(properties={f"k{n}": _INTEGER}, allOf=[_ref(n + 1)] if n < 89 else [{}])
        ),
        "unevaluatedProperties": False,
    },
    "unevaluatedProperties, 30 deep": lambda: _unevaluated(30, _INTEGER),
    "unevaluatedProperties, 30 deep, and a reference to a reference": lambda: {
        **_unevaluated(30, _ref(0)),
        "$defs": {"d0": _ref(1), "d1": _INTEGER},
    },
    "unevaluatedProperties, 30 deep, required, and references": lambda: {
        **_unevaluated(30, _ref(0), required=True),
        "$defs": {"d0": schema(type="array", items=_ref(1)), "d1": _ref(2), "d2": _INTEGER},
    },
    "unevaluatedProperties, 30 deep, closed": lambda: sk.JsonSchema(
        _unevaluated(30, _INTEGER), additional="closed"
    ),
    "unevaluatedItems of 40 prefixes": lambda: schema(
        type="array",
        anyOf=[{"prefixItems": [_INTEGER] * n} for n in range(1, 40)],
        unevaluatedItems=False,
    ),
    "dependentSchemas in a circle of 40": lambda: union(
        properties={f"k{n}": _INTEGER for n in range(40)},
        dependentSchemas={f"k{n}": {"required": [f"k{(n + 1) % 40}"]} for n in range(40)},
    ),
    "5,000 required keys that are not declared": lambda: union(required=[f"k{n}" for n in range(5_000)]),
    "if of if of if": lambda: _definitions(
        25,
        lambda n: {"if": _ref(n + 1), "then": union(required=[f"t{n}"]), "else": union(required=[f"e{n}"])},
    ),
    "a key of 1,000,000 characters": lambda: union(
        properties={"k" * 1_000_000: _INTEGER}, required=["k" * 1_000_000]
    ),
    "const of 3,000,000 characters": lambda: schema(const="c" * 3_000_000),
    "const of 90 levels": lambda: schema(const=_deep_list(90)),
    "const of 100,000 levels": lambda: schema(const=_deep_list(100_000)),
    "default of 100,000 levels": lambda: schema(type="integer", default=_deep_list(100_000)),
    "examples of 100,000 levels": lambda: schema(type="integer", examples=[_deep_list(100_000)]),
    "an unknown keyword of 100,000 levels": lambda: schema(type="integer", **{"x-a": _deep_list(100_000)}),
    "a schema that contains itself": _contains_itself,
    "a default that contains itself": _default_contains_itself,
    "keys that are no texts": lambda: {"type": "object", 1: 2, None: 3, "properties": {4: _INTEGER}},
    "values that are no JSON": lambda: schema(enum=[object(), b"a", {1, 2}]),
    "description of 5,000,000 characters": lambda: schema(type="integer", description="d" * 5_000_000),
    "counts that are floats": lambda: schema(type="array", minItems=1.0, maxItems=1e400),
    "minimum of 1e-320": lambda: schema(type="number", minimum=1e-320, maximum=5e-320),
    "multipleOf and enum of 20,000": lambda: schema(enum=list(range(20_000)), multipleOf=7),
    "enum of 20,000 and a pattern": lambda: schema(
        enum=[f"k{n}" for n in range(20_000)], pattern="^k[0-9]*7$"
    ),
    "enum of 20,000 and not an enum of 19,999": lambda: schema(
        enum=list(range(20_000)), not_={"enum": list(range(1, 20_000))}
    ),
    "anyOf of 2,000 minLength": lambda: schema(
        anyOf=[schema(type="string", minLength=n) for n in range(2_000)]
    ),
    "oneOf of 200 lengths": lambda: schema(
        oneOf=[schema(type="string", minLength=n, maxLength=n + 3) for n in range(200)]
    ),
    "anyOf of 300 arrays of one item": lambda: schema(
        anyOf=[schema(type="array", prefixItems=[{"const": n}], minItems=1) for n in range(300)]
    ),
    "oneOf of 40 arrays by length": lambda: schema(
        oneOf=[schema(type="array", items=_INTEGER, minItems=n, maxItems=2 * n) for n in range(1, 40)]
    ),
    "dynamicRef in a circle": lambda: {
        "$dynamicAnchor": "x",
        "anyOf": [{"$dynamicRef": "#x"}, _INTEGER],
    },
    "tools: 500 names": lambda: {
        "anyOf": [
            union(
                properties={"name": {"const": "a" * n}, "arguments": union(properties={f"p{n}": _STRING})},
                required=["name", "arguments"],
                additionalProperties=False,
            )
            for n in range(1, 500)
        ]
    },
    "tools: 60 tools of 60 arguments": lambda: {
        "anyOf": [
            union(
                properties={
                    "name": {"const": f"tool{n}"},
                    "arguments": union(properties={f"p{i}": {"type": ["string", "null"]} for i in range(60)}),
                },
                required=["name", "arguments"],
            )
            for n in range(60)
        ]
    },
}

CASES = tuple(Case("shapes", name, make) for name, make in _CASES.items())
