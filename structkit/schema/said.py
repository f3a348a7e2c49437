"""What a JSON Schema says, with a keyword of structkit's own, about the value at a place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

__all__ = ["said_at", "says"]

JsonSchema: TypeAlias = "Mapping[str, object]"


def says(schema: JsonSchema, keyword: str) -> bool:
    """Whether the keyword may be somewhere in the schema.

    >>> says({"items": {"x-mine": 1}}, "x-mine"), says({}, "x-mine")
    (True, False)
    """
    return f'"{keyword}"' in json.dumps(schema, default=str)


def said_at(schema: JsonSchema, keyword: str, path: Sequence[str | int]) -> list[object]:
    """What the keyword is for a value at a place, in all the schemas that speak of it.

    >>> said_at({"properties": {"a": {"items": {"x-mine": 5}}}}, "x-mine", ["a", 3])
    [5]
    """
    found: list[JsonSchema] = [schema]
    for step in path:
        found = [
            below for node in found for leaf in _branches(schema, node, ()) for below in _below(leaf, step)
        ]
    return [leaf[keyword] for node in found for leaf in _branches(schema, node, ()) if keyword in leaf]


def _branches(root: JsonSchema, node: JsonSchema, seen: tuple[str, ...]) -> Iterator[JsonSchema]:
    """The schema, and those that it is made of."""
    yield node
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/") and reference not in seen:
        definitions = root.get("$defs")
        target = definitions.get(reference[8:]) if isinstance(definitions, Mapping) else None
        if isinstance(target, Mapping):
            yield from _branches(root, target, (*seen, reference))
    for keyword in ("anyOf", "oneOf", "allOf"):
        members = node.get(keyword)
        for member in members if isinstance(members, list) else []:
            if isinstance(member, Mapping):
                yield from _branches(root, member, seen)


def _below(node: JsonSchema, step: str | int) -> Iterator[JsonSchema]:
    if isinstance(step, str):
        properties = node.get("properties")
        named = properties.get(step) if isinstance(properties, Mapping) else None
        candidates = [named if named is not None else node.get("additionalProperties")]
    else:
        prefix = node.get("prefixItems")
        first = prefix if isinstance(prefix, list) else []
        candidates = [first[step] if step < len(first) else node.get("items")]
    for candidate in candidates:
        if isinstance(candidate, Mapping):
            yield candidate
