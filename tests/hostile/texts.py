"""Texts: keys, values and choices with characters that programs get wrong."""

from __future__ import annotations

import structkit as sk
from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_NAMES = [
    "__proto__",
    "constructor",
    "__class__",
    "__init__",
    "toString",
    "$ref",
    "$defs",
    "",
    " ",
    "\x00",
    "\ud800",
    "\udfff\ud800",
    "\U0010ffff",
    "\u2028",
    "\\",
    '"',
    "\\u0000",
    "a" * 5_000,
    "é",
    "e\u0301",
    "\ufeff",
]


def _properties(names: list[str]) -> dict[str, object]:
    return union(
        properties={name: {"type": "integer"} for name in names}, required=names, additionalProperties=False
    )


_CASES = {
    "keys that are prototypes' names, NUL, surrogates": lambda: _properties(_NAMES),
    "enum of strange texts": lambda: schema(enum=_NAMES),
    "const lone surrogate": lambda: schema(const="\ud800"),
    "pattern with a lone surrogate": lambda: schema(type="string", pattern="^\ud800+$"),
    "format unknown": lambda: schema(type="string", format="\x00" * 1_000),
    "$ref to a strange place": lambda: {"$ref": "#/$defs/%00%ff~2~1"},
    "$ref to a file": lambda: {"$ref": "file:///etc/passwd"},
    "$ref to a web page": lambda: {"$ref": "http://localhost:1/schema.json"},
    "$id of many": lambda: {
        "$defs": {f"d{n}": {"$id": f"http://x/{n}", "type": "integer"} for n in range(5_000)},
        "$ref": "http://x/4999",
    },
    "type is no type": lambda: schema(type="😀"),
    "type of 10,000 names": lambda: schema(type=["string"] * 10_000),
    "keywords of the wrong type": lambda: schema(
        type="object", properties=[1], required="a", minProperties=-1
    ),
    "properties of a number": lambda: schema(properties={"a": 5}),
    "minimum NaN": lambda: schema(type="number", minimum=float("nan")),
    "maximum infinity": lambda: schema(type="number", maximum=float("inf")),
    "enum of NaN": lambda: schema(enum=[float("nan"), float("inf")]),
    "enum empty": lambda: schema(enum=[]),
    "false": lambda: schema(not_={}),
    "1 and true and 1.0": lambda: schema(
        type="array", items={"enum": [1, True, 1.0, 0, False, -0.0]}, uniqueItems=True, minItems=4
    ),
    "Choice of 100,000": lambda: sk.Choice([f"choice {n}" for n in range(100_000)]),
    "Choice of 2 texts of 500,000": lambda: sk.Choice(["a" * 500_000, "a" * 499_999 + "b"]),
    "Choice of prefixes": lambda: sk.Choice(["a" * n for n in range(1, 1_500)]),
    "Choice of surrogates": lambda: sk.Choice(["\ud800", "b"]),
}

CASES = tuple(Case("texts", name, make) for name, make in _CASES.items())
