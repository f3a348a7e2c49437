"""Combinations: `anyOf`, `oneOf`, `allOf`, `not`, conditions and dependencies that multiply."""

from __future__ import annotations

from itertools import pairwise

from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_INTEGER, _STRING = {"type": "integer"}, {"type": "string"}


def _conditions(count: int, *, other: bool = True, key: str | None = None) -> dict[str, object]:
    """`if` a key has a value, `then` another key is required, `else` a third one."""
    return union(
        properties={f"{part}{n}": _STRING for n in range(count) for part in "abc"},
        allOf=[
            {
                "if": {"properties": {key or f"a{n}": {"const": f"v{n}"}}, "required": [key or f"a{n}"]},
                "then": {"required": [f"b{n}"]},
                **({"else": {"required": [f"c{n}"]}} if other else {}),
            }
            for n in range(count)
        ],
    )


def _required_one_of(count: int, word: str = "oneOf", **others: object) -> dict[str, object]:
    return {word: [union(properties={f"k{n}": _INTEGER}, required=[f"k{n}"], **others) for n in range(count)]}


def _any_ofs(count: int, width: int) -> dict[str, object]:
    return {"allOf": [{"anyOf": [union(required=[f"k{n}_{i}"]) for i in range(width)]} for n in range(count)]}


def _typed_any_ofs(count: int, width: int) -> dict[str, object]:
    return union(
        allOf=[
            {"anyOf": [{"properties": {f"k{n}": {"const": i}}, "required": [f"k{n}"]} for i in range(width)]}
            for n in range(count)
        ]
    )


def _tagged(count: int, word: str) -> dict[str, object]:
    return {
        word: [
            union(
                properties={"kind": {"const": f"kind {n}"}, "value": {"type": "array", "items": _INTEGER}},
                required=["kind", "value"],
            )
            for n in range(count)
        ]
    }


def _nots(count: int) -> dict[str, object]:
    return union(allOf=[{"not": {"required": [f"a{n}", f"b{n}"]}} for n in range(count)])


def _deep_not(depth: int) -> dict[str, object]:
    found: dict[str, object] = union(required=["a"])
    for _ in range(depth):
        found = {"not": found}
    return found


def _deep_all_of(depth: int, word: str) -> dict[str, object]:
    found: dict[str, object] = {"type": "string"}
    for _ in range(depth):
        found = {word: [found]}
    return found


def _pigeons(count: int, holes: int) -> dict[str, object]:
    """Each pigeon has a hole, and no hole has two pigeons: with too few holes, no object is valid."""
    keys = [[f"p{pigeon}_{hole}" for hole in range(holes)] for pigeon in range(count)]
    housed = [{"anyOf": [{"required": [key]} for key in own]} for own in keys]
    alone = [
        {"not": {"required": [keys[one][hole], keys[other][hole]]}}
        for hole in range(holes)
        for one in range(count)
        for other in range(one)
    ]
    return union(allOf=[*housed, *alone])


def _values(count: int) -> dict[str, object]:
    """Each of `count` keys has one of three values, and each pair of neighbours differs."""
    keys = [f"k{n}" for n in range(count)]
    equal = [
        {"not": union(properties={one: {"const": value}, two: {"const": value}}, required=[one, two])}
        for one, two in pairwise(keys)
        for value in "rgb"
    ]
    return union(properties={key: {"enum": list("rgb")} for key in keys}, required=keys, allOf=equal)


_CASES = {
    "not of itself": lambda: {"not": {"allOf": [{"type": "boolean"}], "$ref": "#"}},
    "oneOf of 1,000 objects with a required key": lambda: _required_one_of(1_000),
    "oneOf of 100 objects with a required key": lambda: _required_one_of(100),
    "oneOf of 12 objects with a required key": lambda: _required_one_of(12),
    "oneOf of 1,000 closed objects": lambda: _required_one_of(1_000, additionalProperties=False),
    "anyOf of 1,000 objects with a required key": lambda: _required_one_of(1_000, "anyOf"),
    "oneOf of 1,000 tagged objects": lambda: _tagged(1_000, "oneOf"),
    "anyOf of 1,000 tagged objects": lambda: _tagged(1_000, "anyOf"),
    "oneOf of 200 objects with a pattern": lambda: {
        "oneOf": [
            union(properties={"id": {"type": "string", "pattern": f"^{n:03d}-[a-z]+$"}}, required=["id"])
            for n in range(200)
        ]
    },
    "oneOf of 30 objects with overlapping patterns": lambda: {
        "oneOf": [
            union(properties={"id": {"type": "string", "pattern": f"{chr(97 + n % 26)}{n}"}}, required=["id"])
            for n in range(30)
        ]
    },
    "allOf of 20 anyOf of 3": lambda: _any_ofs(20, 3),
    "allOf of 8 anyOf of 3": lambda: _any_ofs(8, 3),
    "allOf of 6 anyOf of 3": lambda: _any_ofs(6, 3),
    "allOf of 20 anyOf of 3 constants": lambda: _typed_any_ofs(20, 3),
    "allOf of 12 anyOf of 2 constants": lambda: _typed_any_ofs(12, 2),
    "allOf of 6 oneOf of 3": lambda: {
        "allOf": [{"oneOf": [union(required=[f"k{n}_{i}"]) for i in range(3)]} for n in range(6)]
    },
    "6 independent conditions": lambda: _conditions(6),
    "12 independent conditions": lambda: _conditions(12),
    "30 independent conditions": lambda: _conditions(30),
    "12 conditions without else": lambda: _conditions(12, other=False),
    "40 conditions on one key": lambda: _conditions(40, other=False, key="kind"),
    "40 conditions on one key with else": lambda: _conditions(40, key="kind"),
    "200 conditions on one key": lambda: _conditions(200, other=False, key="kind"),
    "if nested 30 deep": lambda: _nested_if(30),
    "if nested 90 deep": lambda: _nested_if(90),
    "200 patternProperties": lambda: union(
        patternProperties={f"^{chr(97 + n % 26)}.*{n}$": _INTEGER for n in range(200)}
    ),
    "20 patternProperties": lambda: union(
        patternProperties={f"^{chr(97 + n % 26)}.*{n}$": _INTEGER for n in range(20)}
    ),
    "200 disjoint patternProperties": lambda: union(
        patternProperties={f"^k{n:03d}_": {"type": "integer", "minimum": n} for n in range(200)},
        additionalProperties=False,
    ),
    "10 patternProperties with other types": lambda: union(
        patternProperties={
            chr(97 + n): {"type": ["integer", "string", "null"], "minimum": n} for n in range(10)
        }
    ),
    "14 patternProperties with enums": lambda: union(
        patternProperties={chr(97 + n): {"enum": [*range(n), *range(n + 1, 20)]} for n in range(14)}
    ),
    "patternProperties against 500 properties": lambda: union(
        properties={f"key{n}": _STRING for n in range(500)},
        patternProperties={"^key[0-9]*7$": {"minLength": 3}, "9": {"maxLength": 40}},
    ),
    "dependentRequired, 30 chains": lambda: union(
        properties={f"k{n}": _INTEGER for n in range(30)},
        dependentRequired={f"k{n}": [f"k{(7 * n + 3) % 30}"] for n in range(30)},
    ),
    "dependentRequired, 12 pairs": lambda: union(dependentRequired={f"a{n}": [f"b{n}"] for n in range(12)}),
    "dependentRequired, 300": lambda: union(
        properties={f"k{n}": _INTEGER for n in range(300)},
        dependentRequired={f"k{n}": [f"k{n + 1}"] for n in range(299)},
    ),
    "dependentSchemas, 10": lambda: union(
        dependentSchemas={f"a{n}": {"properties": {f"b{n}": {"minimum": n}}} for n in range(10)}
    ),
    "not required pairs, 6": lambda: _nots(6),
    "not required pairs, 12": lambda: _nots(12),
    "not required pairs, 40": lambda: _nots(40),
    "not nested 90 deep": lambda: _deep_not(90),
    "not of enum 5,000 of enum 10,000": lambda: schema(
        enum=list(range(10_000)), not_={"enum": list(range(0, 10_000, 2))}
    ),
    "not of 1,000 const strings": lambda: schema(
        type="string", not_={"enum": [f"word {n}" for n in range(1_000)]}
    ),
    "not of 5,000 constants of any type": lambda: schema(not_={"enum": [f"word {n}" for n in range(5_000)]}),
    "propertyNames that are none of 2,000": lambda: union(
        propertyNames={"not": {"enum": [f"word {n}" for n in range(2_000)]}}
    ),
    "a definition if it is not itself": lambda: {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"if": {"$ref": "#/$defs/a"}, "then": _INTEGER, "else": _STRING}},
    },
    "not anyOf of 30 objects": lambda: union(
        not_={"anyOf": [union(properties={f"k{n}": {"const": n}}, required=[f"k{n}"]) for n in range(30)]}
    ),
    "not oneOf of 8": lambda: union(not_={"oneOf": [{"required": [f"k{n}"]} for n in range(8)]}),
    "not oneOf of oneOf of oneOf": lambda: union(
        not_={
            "oneOf": [
                {"oneOf": [{"oneOf": [{"required": [f"k{a}{b}{c}"]} for c in range(4)]} for b in range(4)]}
                for a in range(4)
            ]
        }
    ),
    "allOf nested 90 deep": lambda: _deep_all_of(90, "allOf"),
    "anyOf nested 90 deep": lambda: _deep_all_of(90, "anyOf"),
    "oneOf nested 90 deep": lambda: _deep_all_of(90, "oneOf"),
    "allOf nested 5,000 deep": lambda: _deep_all_of(5_000, "allOf"),
    "allOf of 5,000 times the same": lambda: schema(allOf=[_STRING] * 5_000),
    "allOf of 300 objects": lambda: schema(
        allOf=[
            union(properties={f"k{n}": _INTEGER, "shared": {"minimum": n}}, required=[f"k{n}"])
            for n in range(300)
        ]
    ),
    "allOf of 30 enums of 1,000": lambda: schema(
        allOf=[{"enum": [f"{n}" for n in range(1_000) if n % 31 != m]} for m in range(30)]
    ),
    "anyOf of 2,000 arrays": lambda: schema(
        anyOf=[{"type": "array", "items": {"const": n}, "minItems": 2} for n in range(2_000)]
    ),
    "oneOf of 200 arrays": lambda: schema(
        oneOf=[{"type": "array", "prefixItems": [{"const": n}, _INTEGER], "minItems": 2} for n in range(200)]
    ),
    "anyOf of types, 8 times allOf": lambda: schema(
        allOf=[
            {
                "anyOf": [
                    {"type": kind}
                    for kind in ("string", "integer", "object", "array", "null")
                    if kind != skipped
                ]
            }
            for skipped in ("string", "integer", "object", "array") * 2
        ]
    ),
    "unevaluatedProperties with 10 anyOf": lambda: union(
        anyOf=[{"properties": {f"k{n}": _INTEGER}, "required": [f"k{n}"]} for n in range(10)],
        unevaluatedProperties=False,
    ),
    "unevaluatedItems with 8 anyOf": lambda: schema(
        type="array",
        anyOf=[{"prefixItems": [{"const": i} for i in range(n)]} for n in range(8)],
        unevaluatedItems=False,
    ),
    "recursive allOf": lambda: {
        "$ref": "#/$defs/a",
        "$defs": {
            "a": {"allOf": [{"$ref": "#/$defs/b"}, union(properties={"x": {"$ref": "#/$defs/a"}})]},
            "b": union(properties={"x": {"$ref": "#/$defs/b"}, "y": {"$ref": "#/$defs/a"}}, required=["y"]),
        },
    },
    "recursive products": lambda: {
        "allOf": [{"$ref": f"#/$defs/t{n}"} for n in (2, 3, 5, 7, 11)],
        "$defs": {
            f"t{n}_{i}": {
                "anyOf": [
                    {
                        "type": "array",
                        "prefixItems": [{"$ref": f"#/$defs/t{n}_{(i + 1) % n}"}],
                        "minItems": 1,
                        "maxItems": 1,
                    },
                    *([{"const": 0}] if i == 0 else []),
                ]
            }
            for n in (2, 3, 5, 7, 11)
            for i in range(n)
        }
        | {f"t{n}": {"$ref": f"#/$defs/t{n}_0"} for n in (2, 3, 5, 7, 11)},
    },
    "12 pigeons, 11 holes": lambda: _pigeons(12, 11),
    "15 pigeons, 15 holes": lambda: _pigeons(15, 15),
    "a row of 100 colours": lambda: _values(100),
    "300 independent conditions": lambda: _conditions(300),
    "oneOf of 2,000 objects with a required key": lambda: _required_one_of(2_000),
    "20 oneOf of 20 oneOf": lambda: schema(
        allOf=[
            {"oneOf": [union(properties={f"k{n}": {"const": i}}, required=[f"k{n}"]) for i in range(20)]}
            for n in range(20)
        ]
    ),
    "conditions on lengths of one string": lambda: union(
        properties={"s": _STRING},
        allOf=[
            {"if": {"properties": {"s": {"minLength": n}}}, "then": {"required": [f"k{n}"]}}
            for n in range(40)
        ],
    ),
    "conditions on patterns of one string": lambda: union(
        properties={"s": _STRING},
        allOf=[
            {"if": {"properties": {"s": {"pattern": f"{chr(97 + n)}"}}}, "then": {"required": [f"k{n}"]}}
            for n in range(12)
        ],
    ),
    "oneOf of 40 overlapping enums of 40": lambda: schema(
        oneOf=[{"enum": list(range(n, n + 40))} for n in range(0, 800, 20)]
    ),
    "oneOf of 8 pairs of required keys": lambda: union(
        properties={f"{part}{n}": _INTEGER for n in range(8) for part in "ab"},
        oneOf=[{"required": [f"a{n}", f"b{n}"]} for n in range(8)],
        additionalProperties=False,
    ),
    "not of 30 required keys": lambda: union(not_={"required": [f"k{n}" for n in range(30)]}),
    "not of enum of 200 objects": lambda: union(
        properties={"a": {"type": "integer", "minimum": 0, "maximum": 99}, "b": {"type": "boolean"}},
        required=["a", "b"],
        additionalProperties=False,
        not_={"enum": [{"a": n, "b": bool(n % 2)} for n in range(200)]},
    ),
    "8 conditions and minProperties 8 of 16": lambda: union(
        properties={f"k{n}": _INTEGER for n in range(16)},
        additionalProperties=False,
        minProperties=8,
        allOf=[{"if": {"required": [f"k{n}"]}, "then": {"required": [f"k{n + 8}"]}} for n in range(8)],
    ),
    "144 conditions on two keys": lambda: union(
        properties={"a": {"enum": list(range(12))}, "b": {"enum": list(range(12))}, "v": _INTEGER},
        required=["a", "b"],
        allOf=[
            {
                "if": {"properties": {"a": {"const": a}, "b": {"const": b}}},
                "then": {"properties": {"v": {"minimum": a * b}}},
            }
            for a in range(12)
            for b in range(12)
        ],
    ),
    "a chain of 25 implications": lambda: union(
        properties={f"k{n}": {"type": "boolean"} for n in range(25)},
        required=[f"k{n}" for n in range(25)],
        allOf=[
            {
                "if": {"properties": {f"k{n}": {"const": True}}},
                "then": {"properties": {f"k{n + 1}": {"const": True}}},
            }
            for n in range(24)
        ],
    ),
    "unevaluatedProperties with 8 conditions": lambda: union(
        allOf=[
            {
                "if": {"properties": {f"a{n}": {"const": n}}, "required": [f"a{n}"]},
                "then": {"properties": {f"b{n}": _INTEGER}},
                "else": {"properties": {f"c{n}": _STRING}},
            }
            for n in range(8)
        ],
        unevaluatedProperties=False,
    ),
    "dynamicRef through 40 documents": lambda: {
        "$id": "http://x/root",
        "$ref": "http://x/l0",
        "$defs": {
            f"l{n}": {
                "$id": f"http://x/l{n}",
                "$dynamicAnchor": "x",
                **union(properties={f"p{n}": {"$dynamicRef": "#x"}}),
                **({"allOf": [{"$ref": f"http://x/l{n + 1}"}]} if n < 39 else {}),
            }
            for n in range(40)
        },
    },
    "60 negated ranges": lambda: schema(
        type="integer", allOf=[{"not": {"minimum": 100 * n, "maximum": 100 * n + 50}} for n in range(60)]
    ),
    "allOf of 300 patternProperties": lambda: union(
        allOf=[{"patternProperties": {f"^{chr(97 + n % 26)}{n}$": _INTEGER}} for n in range(300)]
    ),
    "contradictions": lambda: union(
        required=["a"], allOf=[{"properties": {"a": {"minimum": n, "maximum": n}}} for n in range(50)]
    ),
}


def _nested_if(depth: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for n in range(depth):
        found = {"if": {"required": [f"k{n}"]}, "then": {"required": [f"t{n}"]}, "else": found}
    return union(**found)


CASES = tuple(Case("combinations", name, make) for name, make in _CASES.items())
