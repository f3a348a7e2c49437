"""Sizes: many keys, values, definitions, references and levels."""

from __future__ import annotations

from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_INTEGER, _STRING = {"type": "integer"}, {"type": "string"}


def _keys(count: int, required: int = 0, **others: object) -> dict[str, object]:
    return union(
        properties={f"key{n}": _STRING for n in range(count)},
        required=[f"key{n}" for n in range(required)],
        **others,
    )


def _chain(count: int) -> dict[str, object]:
    definitions: dict[str, object] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{count}": _INTEGER}}


def _nested(depth: int, kind: str) -> dict[str, object]:
    found: dict[str, object] = dict(_INTEGER)
    for _ in range(depth):
        found = (
            {"type": "array", "items": found}
            if kind == "array"
            else union(properties={"a": found}, required=["a"])
        )
    return found


def _messages(count: int) -> dict[str, object]:
    """A protocol: requests, responses and events, each an `allOf` of a base and of its own keys, many optional keys."""
    definitions: dict[str, object] = {
        "Base": union(
            properties={"seq": _INTEGER, "type": {"enum": ["request", "response", "event"]}},
            required=["seq", "type"],
        ),
        "Request": {
            "allOf": [
                {"$ref": "#/definitions/Base"},
                union(
                    properties={"type": {"enum": ["request"]}, "command": _STRING, "arguments": {}},
                    required=["type", "command"],
                ),
            ]
        },
    }
    for n in range(count):
        definitions[f"Arguments{n}"] = union(
            properties={
                f"key{i}": [
                    _STRING,
                    _INTEGER,
                    {"$ref": f"#/definitions/Arguments{(3 * n + i) % count}"},
                    {"type": "array", "items": _STRING},
                ][i % 4]
                for i in range(3 + n % 12)
            },
            required=[f"key{i}" for i in range(0, n % 3)],
        )
        definitions[f"Request{n}"] = {
            "allOf": [
                {"$ref": "#/definitions/Request"},
                union(
                    properties={
                        "command": {"enum": [f"command{n}"]},
                        "arguments": {"$ref": f"#/definitions/Arguments{n}"},
                    },
                    required=["command", "arguments"],
                ),
            ]
        }
    return {
        "anyOf": [{"$ref": f"#/definitions/Request{n}"} for n in range(count)],
        "definitions": definitions,
    }


def _cycles(count: int) -> dict[str, object]:
    return {
        "$ref": "#/$defs/d0",
        "$defs": {
            f"d{n}": union(
                properties={f"r{i}": {"$ref": f"#/$defs/d{(n * 7 + i) % count}"} for i in range(5)}
            )
            for n in range(count)
        },
    }


def _required_tree(depth: int) -> dict[str, object]:
    """A value of 2^depth leaves from a schema of `depth` definitions."""
    definitions: dict[str, object] = {
        f"d{n}": union(
            properties={"l": {"$ref": f"#/$defs/d{n + 1}"}, "r": {"$ref": f"#/$defs/d{n + 1}"}},
            required=["l", "r"],
        )
        for n in range(depth)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{depth}": _INTEGER}}


_CASES = {
    "20,000 optional keys": lambda: _keys(20_000),
    "2,000 optional keys": lambda: _keys(2_000),
    "2,000 optional keys, closed": lambda: _keys(2_000, additionalProperties=False),
    "2,000 required keys": lambda: _keys(2_000, 2_000),
    "400 required keys": lambda: _keys(400, 400, additionalProperties=False),
    "20,000 required keys": lambda: _keys(20_000, 20_000),
    "2,000 required keys, closed": lambda: _keys(2_000, 2_000, additionalProperties=False),
    "100 keys of 100,000 characters": lambda: union(
        properties={f"{'k' * 100_000}{n}": _INTEGER for n in range(100)},
        required=[f"{'k' * 100_000}{n}" for n in range(3)],
    ),
    "5,000 required keys that are not declared": lambda: union(required=[f"key{n}" for n in range(5_000)]),
    "enum 200,000": lambda: schema(enum=[f"value {n}" for n in range(200_000)]),
    "enum 20,000": lambda: schema(enum=[f"value {n}" for n in range(20_000)]),
    "enum 200,000 integers": lambda: schema(enum=list(range(0, 400_000, 2))),
    "enum of 5,000 objects": lambda: schema(enum=[{"id": n, "tags": [str(n)] * 3} for n in range(5_000)]),
    "enum of one value of 1,000,000 characters": lambda: schema(enum=["x" * 1_000_000]),
    "const of 100,000 items": lambda: schema(const=list(range(100_000))),
    "const nested 2,000 deep": lambda: schema(const=_deep_value(2_000)),
    "$ref chain of 50,000": lambda: _chain(50_000),
    "$ref chain of 500": lambda: _chain(500),
    "$ref cycle": lambda: {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "arrays 99 deep": lambda: _nested(99, "array"),
    "arrays 5,000 deep": lambda: _nested(5_000, "array"),
    "objects 99 deep": lambda: _nested(99, "object"),
    "messages, 100": lambda: _messages(100),
    "messages, 400": lambda: _messages(400),
    "200 definitions in cycles": lambda: _cycles(200),
    "5,000 definitions in cycles": lambda: _cycles(5_000),
    "a value of 2**12 leaves": lambda: _required_tree(12),
    "a value of 2**20 leaves": lambda: _required_tree(20),
    "a value of 2**99 leaves": lambda: _required_tree(99),
    "a required value without end": lambda: {
        "$ref": "#/$defs/a",
        "$defs": {"a": union(properties={"a": {"$ref": "#/$defs/a"}}, required=["a"])},
    },
    "30,000 subschemas": lambda: union(
        properties={
            f"k{n}": {"anyOf": [{"type": "integer", "minimum": n}, {"type": "null"}]} for n in range(10_000)
        }
    ),
    "600,000 subschemas": lambda: schema(anyOf=[{"type": "integer", "minimum": n} for n in range(600_000)]),
    "300 formats": lambda: union(
        properties={
            f"k{n}": {
                "type": "string",
                "format": ["date-time", "email", "hostname", "uri", "ipv6", "idn-email"][n % 6],
            }
            for n in range(300)
        }
    ),
    "1,000 arrays of enum 100": lambda: union(
        properties={
            f"k{n}": {"type": "array", "items": {"enum": list(range(n, n + 100))}} for n in range(1_000)
        }
    ),
    "description of 10,000,000 characters": lambda: schema(type="integer", description="x" * 10_000_000),
    "unknown keywords, 100,000": lambda: schema(type="integer", **{f"x-{n}": n for n in range(100_000)}),
}


def _deep_value(depth: int) -> object:
    found: object = 0
    for _ in range(depth):
        found = [found]
    return found


CASES = tuple(Case("sizes", name, make) for name, make in _CASES.items())
