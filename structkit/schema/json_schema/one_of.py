"""`oneOf`: the values of exactly one alternative.

Values of different types are different, so each type is decided alone: alternatives that do not restrict a type exclude
all of its values at once, and the objects of many schemas differ in one key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from typing import Protocol

from structkit.schema.algebra.disjoint import disjoint_before_definitions
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.ir.constructors import union
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Combined,
    Const,
    Integer,
    Never,
    Null,
    Number,
    Object,
    ObjectProduct,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath

__all__ = ["exactly_one"]


class OneOf(Protocol):
    """The part of the schema parser that `oneOf` depends on."""

    intersector: Intersector

    def combine(
        self, parts: Sequence[Schema], min_count: int, max_count: int, path: SchemaPath
    ) -> Schema | None:
        """Return the values in the given number of the parts; `None` if combinations are multiplied out."""

    def intersect(self, nodes: Iterable[Schema], path: SchemaPath) -> Schema:
        """Return the intersection of nodes."""

    def difference(self, left: Schema, right: Schema, path: SchemaPath) -> Schema:
        """Return the values of `left` that are not values of `right`."""

    def postpone(self, branches: Sequence[Schema], path: SchemaPath) -> None:
        """Prove that branches are disjoint when all definitions are known."""


def exactly_one(
    members: Sequence[Schema], others: Schema, path: SchemaPath, parser: OneOf, *, is_overlapping: bool
) -> Schema:
    """Return the values of exactly one alternative, each intersected with the other keywords.

    Args:
        members: The alternatives.
        others: The other keywords.
        path: The place of the `oneOf`.
        parser: The parser.
        is_overlapping: Whether alternatives that refer to definitions were found to overlap.
    """
    alternatives = [parser.intersect((others, node), path) for node in members]
    choice = _Choice(path, parser, is_overlapping)
    found = choice.disjoint([node for node in alternatives if not isinstance(node, Never)])
    if found is not None:
        return found if isinstance(found, Never) else union(alternatives)
    kinds = choice.kinds(alternatives)
    by_kind = None if kinds is None else [choice.of_one_type(parts) for parts in kinds]
    if by_kind is not None and None not in by_kind:
        return union(part for part in by_kind if part is not None)
    if (one := parser.combine(members, 1, 1, path)) is not None:
        return parser.intersect((others, one), path)
    if kinds is None or by_kind is None:
        return choice.exclude(alternatives)
    return union(
        choice.exclude(parts) if found is None else found for parts, found in zip(kinds, by_kind, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    """One `oneOf`."""

    path: SchemaPath
    parser: OneOf
    is_overlapping: bool

    def disjoint(self, nodes: Sequence[Schema]) -> Schema | None:
        """Return the union of nodes that are disjoint, as far as it is known; `None` for others."""
        intersector = self.parser.intersector
        answer = disjoint_before_definitions(nodes, intersector.oracle, intersector.find)
        if answer is None and not self.is_overlapping:
            # Only references to definitions that are being parsed postpone the proof, and so a second parsing.
            self.parser.postpone(nodes, self.path)
            return union(nodes)
        return union(nodes) if answer else None

    def of_one_type(self, parts: Sequence[Schema]) -> Schema | None:
        """Return the values of exactly one of some nodes of a type; `None` if they overlap."""
        counts = Counter(parts)
        found = self.disjoint([part for part, count in counts.items() if count == 1])
        for part, count in counts.items():
            if count > 1 and found is not None:
                found = self.parser.difference(found, part, self.path)
        return found

    def exclude(self, nodes: Sequence[Schema]) -> Schema:
        """Return the values of exactly one of some nodes that overlap."""
        intersector = self.parser.intersector
        intersector.met_objects |= any(isinstance(node, Object | Ref) for node in nodes)
        intersector.charge(len(nodes) ** 2 // 4, self.path)
        overlapping: list[list[Schema]] = [[] for _ in nodes]
        for (i, one), (j, other) in combinations(enumerate(nodes), 2):
            if not disjoint_before_definitions((one, other), intersector.oracle, intersector.find):
                overlapping[i].append(other)
                overlapping[j].append(one)
        return union(
            reduce(lambda rest, other: self.parser.difference(rest, other, self.path), others, node)
            for node, others in zip(nodes, overlapping, strict=True)
        )

    def kinds(self, nodes: Iterable[Schema]) -> list[list[Schema]] | None:
        """Return for each type the parts of the nodes that have this type; `None` if a definition is not known."""
        found: dict[str, list[Schema]] = {}
        for node in nodes:
            parts = self._kinds_of(node)
            if parts is None:
                return None
            for kind, part in parts.items():
                found.setdefault(kind, []).append(part)
        return list(found.values())

    def _kinds_of(self, node: Schema) -> dict[str, Schema] | None:
        """Return the parts of a node by their type."""
        match node:
            case Anything():
                return dict(_ALL)
            case Never():
                return {}
            case Const(text):
                return {_KINDS.get(text[0], "number"): node}
            case Union(branches):
                found: dict[str, list[Schema]] = {}
                for branch in branches:
                    parts = self._kinds_of(branch)
                    if parts is None:
                        return None
                    for kind, part in parts.items():
                        found.setdefault(kind, []).append(part)
                return {kind: union(parts) for kind, parts in found.items()}
            case Ref(name):
                return self._kinds_of_definition(node, name)
            case _:
                return {_TYPES[type(node)]: node}

    def _kinds_of_definition(self, node: Ref, name: str) -> dict[str, Schema] | None:
        intersector = self.parser.intersector
        known = intersector.find(name)
        if known is None or isinstance(known, Ref):
            return None
        parts = self._kinds_of(known)
        if parts is None or len(parts) == 1:
            return parts and dict.fromkeys(parts, node)
        # Other references to the definition have the same part.
        reference = intersector.definitions.reference
        return {
            kind: reference(("type", name, kind), name, partial(_same, part)) if _is_large(part) else part
            for kind, part in parts.items()
        }


def _same(node: Schema) -> Schema:
    return node


def _is_large(node: Schema) -> bool:
    """Return whether a node has parts; equal nodes without parts are to stay equal."""
    return isinstance(node, Object | Array | Combined) and node not in _ALL.values()


_ALL: Mapping[str, Schema] = {
    "null": Null(),
    "boolean": Boolean(),
    "number": Number(),
    "string": String(),
    "array": Array(),
    "object": Object(additional=(Additional(String(), Anything(), implicit=True),)),
}
"""The parts of all values."""

_TYPES: Mapping[type[Schema], str] = {
    Null: "null",
    Boolean: "boolean",
    Integer: "number",
    Number: "number",
    String: "string",
    Array: "array",
    Object: "object",
    Combined: "object",
    ObjectProduct: "object",
}
_KINDS = {'"': "string", "{": "object", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}
"""The types of constants by the first character of their text."""
