"""`oneOf`: the values of exactly one alternative.

Values of different types are different, so each type is decided alone: alternatives that do not restrict a type exclude
all of its values at once, and the objects of many schemas differ in one key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations
from typing import Protocol

from structkit.schema.algebra.disjoint import disjoint_before_definitions
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.ir.constructors import object_, union
from structkit.schema.ir.definitions import Definitions
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
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import SchemaPath

__all__ = ["exactly_one", "pay_comparisons"]

_STEPS_PER_NODE = 10
"""Comparisons of two nodes in the time of one intersection."""


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
    if kinds is not None and by_kind is not None and parser.intersector.narrows:
        by_kind = [
            choice.narrowed(parts) if found is None else found
            for parts, found in zip(kinds, by_kind, strict=True)
        ]
    if by_kind is not None and None not in by_kind:
        return union(part for part in by_kind if part is not None)
    parser.intersector.met_overlap = True
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
    open_names: set[str] = field(default_factory=set)

    @property
    def definitions(self) -> Definitions:
        """The definitions of the document."""
        return self.parser.intersector.definitions

    def disjoint(self, nodes: Sequence[Schema]) -> Schema | None:
        """Return the union of nodes that are disjoint, as far as it is known; `None` for others."""
        intersector = self.parser.intersector
        find, pay = self.definitions.find_superset, partial(pay_comparisons, intersector, self.path)
        answer = disjoint_before_definitions(nodes, intersector.oracle, find, pay)
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

    def narrowed(self, parts: Sequence[Schema]) -> Schema | None:
        """Return the objects of exactly one part that one key tells apart from each other part; `None` if none does.

        Others that are also in one part only are left out: objects without the key that has another constant in each
        alternative, and objects with a key that another alternative requires.
        """
        intersector = self.parser.intersector
        intersector.charge(len(parts) ** 2 // 4, self.path)
        excluded = [self._objects(part, self.definitions.find_superset) for part in parts]
        found: list[Schema] = []
        for number, part in enumerate(parts):
            own = self._objects(part, intersector.find)
            if own is None or None in excluded:
                return None
            others = [each for index, each in enumerate(excluded) if index != number]
            kept = [self._apart(node, [other for each in others for other in each or ()]) for node in own]
            if None in kept:
                return None
            found += [part] if kept == own else [node for node in kept if node is not None]
        union_ = union(found)
        if isinstance(union_, Never):
            return None
        key, stem = (self.path.text, tuple(parts)), str(self.path.part or "oneOf")
        exact = intersector.definitions.reference(("exact", *key), stem, lambda: self.exclude(parts))
        narrow = intersector.definitions.narrow
        return narrow(self.path.text, ("narrowed", *key), stem, union_, union(parts), exact)

    def _objects(self, node: Schema, find: Callable[[str], Schema | None]) -> list[Object] | None:
        """Return the objects whose union a node is; `None` if it has other parts, or is not known."""
        if isinstance(node, Ref):
            known = None if node.name in self.open_names else find(node.name)
            if known is None:
                return None
            self.open_names.add(node.name)
            objects = self._objects(known, find)
            self.open_names.discard(node.name)
            return objects
        if isinstance(node, Union):
            found = [self._objects(branch, find) for branch in node.branches]
            return None if None in found else [each for objects in found for each in objects or ()]
        return [node] if isinstance(node, Object) else None

    def _apart(self, node: Object, others: Iterable[Object]) -> Schema | None:
        """Return objects of a node that are in none of the others; `None` if no key tells them apart."""
        for other in others:
            if not self._are_disjoint(node, other):
                changed = self._with_one_key(node, other)
                if not isinstance(changed, Object):
                    return changed
                node = changed
        return node

    def _with_one_key(self, node: Object, other: Object) -> Schema | None:
        """Return the objects of a node that differ from those of another one in a key; `None` if no key is found."""
        theirs = {key.name: key for key in other.properties}
        for key in node.properties:
            known = theirs.get(key.name)
            if known is not None and not key.required and self._are_disjoint(key.value, known.value):
                return _with_key(node, replace(key, required=True))
        own = {key.name for key in node.properties}
        for key in other.properties:
            if key.required and key.name not in own:
                never = Never("another alternative requires the key")
                return _with_key(node, Property(key.name, never, required=False, in_order=False))
        return None

    def _are_disjoint(self, left: Schema, right: Schema) -> bool:
        intersector = self.parser.intersector
        return (
            disjoint_before_definitions((left, right), intersector.oracle, self.definitions.find_superset)
            is True
        )

    def exclude(self, nodes: Sequence[Schema]) -> Schema:
        """Return the values of exactly one of some nodes that overlap."""
        intersector = self.parser.intersector
        intersector.met_objects |= any(isinstance(node, Object | Ref) for node in nodes)
        intersector.charge(len(nodes) ** 2 // 4, self.path)
        overlapping: list[list[Schema]] = [[] for _ in nodes]
        find, pay = self.definitions.find_superset, partial(pay_comparisons, intersector, self.path)
        for (i, one), (j, other) in combinations(enumerate(nodes), 2):
            if not disjoint_before_definitions((one, other), intersector.oracle, find, pay):
                overlapping[i].append(other)
                overlapping[j].append(one)
        return union(
            reduce(lambda rest, other: self.parser.difference(rest, other, self.path), others, node)
            for node, others in zip(nodes, overlapping, strict=True)
        )

    def kinds(self, nodes: Iterable[Schema]) -> list[list[Schema]] | None:
        """Return for each type the parts of the nodes that have this type; `None` if a definition is not known."""
        found = self._by_kind(nodes)
        return None if found is None else list(found.values())

    def _by_kind(self, nodes: Iterable[Schema]) -> dict[str, list[Schema]] | None:
        found: dict[str, list[Schema]] = {}
        for node in nodes:
            parts = self._kinds_of(node)
            if parts is None:
                return None
            for kind, part in parts.items():
                found.setdefault(kind, []).append(part)
        return found

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
                found = self._by_kind(branches)
                return None if found is None else {kind: union(parts) for kind, parts in found.items()}
            case Ref(name):
                return self._kinds_of_definition(node, name)
            case _:
                return {_TYPES[type(node)]: node}

    def _kinds_of_definition(self, node: Ref, name: str) -> dict[str, Schema] | None:
        intersector = self.parser.intersector
        if intersector.definitions.is_narrowed(name):
            return {"object": node}  # even if it has no value: what it was narrowed from may have some
        known = None if name in self.open_names else intersector.find(name)
        if known is None:
            return None
        self.open_names.add(name)
        parts = self._kinds_of(known)
        self.open_names.discard(name)
        if parts is None or len(parts) == 1:
            return parts and dict.fromkeys(parts, node)
        # Other references to the definition have the same part.
        reference = intersector.definitions.reference
        return {
            kind: reference(("type", name, kind), name, partial(_same, part)) if _is_large(part) else part
            for kind, part in parts.items()
        }


def pay_comparisons(intersector: Intersector, path: SchemaPath, steps: int) -> None:
    """Add the comparisons of a proof to the cost of the document."""
    intersector.charge(steps / _STEPS_PER_NODE, path)


def _with_key(node: Object, key: Property) -> Schema:
    """Return an object with a key, in the place of the key of the same name if there is one."""
    names = [each.name for each in node.properties]
    index = names.index(key.name) if key.name in names else len(names)
    return object_(replace(node, properties=(*node.properties[:index], key, *node.properties[index + 1 :])))


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
