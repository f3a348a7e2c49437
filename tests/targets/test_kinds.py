"""What kinds of values a target can have, from its alternatives."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk
from structkit.rejected import Rejected
from structkit.targets.targets import read_target

PARTS: dict[str, tuple[object, bool, bool]] = {
    "object": ({"type": "object"}, True, False),
    "array": ({"type": "array", "items": {"type": "integer"}}, True, False),
    "integer": ({"type": "integer"}, False, True),
    "number": ({"type": "number"}, False, True),
    "string": ({"type": "string"}, False, False),
    "boolean": ({"type": "boolean"}, False, False),
    "one": ({"const": 1}, False, True),
    "half": ({"const": 0.5}, False, True),
    "digits": ({"const": "12"}, False, False),
    "brackets": ({"const": "[1]"}, False, False),
    "list": ({"const": [1, 2]}, True, False),
    "keys": ({"const": {"a": 1}}, True, False),
    "null": ({"const": None}, False, False),
    "reference": ({"$ref": "#/$defs/tree"}, True, False),
    "alias": ({"$ref": "#/$defs/count"}, False, True),
}
"""Schemas, whether all their values are containers, and whether one is a number."""

DEFINITIONS = {
    "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
    "count": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/count"}}]},
}


@pytest.mark.parametrize(
    "names", [names for size in (1, 2) for names in combinations(PARTS, size)], ids="-".join
)
def test_kinds_are_those_of_all_alternatives(names: tuple[str, ...]) -> None:
    parts = [PARTS[name] for name in names]
    target = read_target({"anyOf": [schema for schema, _, _ in parts], "$defs": DEFINITIONS})
    assert target.is_container == all(is_container for _, is_container, _ in parts)
    assert target.can_be_number == any(is_number for _, _, is_number in parts)


def test_a_text_that_is_no_option_is_rejected() -> None:
    for options, text in ((["a", "b"], "c"), ([1, "x"], "x"), (["a" * 300], "b" * 300)):
        found = read_target(sk.Choice(options)).parse(text)
        assert isinstance(found, Rejected) and found.path == ()
        assert found.message.endswith(" is not one of the options") and len(found.message) < 200
        assert isinstance(found.cause, KeyError)


def test_a_text_without_a_tree_is_rejected() -> None:
    """Lark raises an error of its own for a few texts that are in the language (lark-parser/lark#1576)."""
    target: Any = read_target(sk.Grammar('start: "a"', value="tree"))

    def parse(text: str) -> object:
        raise RuntimeError("no tree")

    object.__setattr__(target.spec.source, "lark", SimpleNamespace(parse=parse))
    found = target.parse("a")
    assert isinstance(found, Rejected) and (found.path, found.message) == ((), "no tree")
