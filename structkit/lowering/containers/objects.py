"""JSON objects: declared and additional keys, in the order of the schema or in any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import check_iterations
from structkit.lowering.containers.properties import any_order_bounds, entries, entries_with_required
from structkit.lowering.containers.spelling import SharedKeys, with_shared_order
from structkit.lowering.strings.strings import StringLowerer, StringLowering
from structkit.regex.json_string import json_text
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    AnyOrder,
    AnyOrderEntry,
    Distinct,
    ListPart,
    LiteralText,
    Node,
    RuleRef,
    choice,
    seq,
)
from structkit.regex.walk import exceeds_size
from structkit.schema.ir.nodes import Additional, Never, Object, Property, Ref, Schema
from structkit.schema.ir.path import path_step
from structkit.schema.markers.json_style import Order

__all__ = ["MAX_INLINE_VALUE", "MAX_LAZY_SIZE", "ObjectLowerer", "ObjectLowering", "text_size"]

MAX_LAZY_SIZE = 300
"""Largest rule, in schemas, that is built lazily."""

_SIZE_BYTES = 25
"""Bytes of names and constants that count as one schema, so that the size of a rule bounds its states."""

_MIN_LARGE_SIZE = 60
"""Largest object, in schemas, that does not become a rule. Rules bound the size of an automaton."""

MAX_INLINE_VALUE = 8
"""Largest value, in nodes, of a large object, or of a product, that does not become a rule."""


def text_size(text: str) -> int:
    """Return what a text adds to the size of a rule, in schemas: one for every 25 bytes."""
    return (len(text) if text.isascii() else 4 * len(text)) // _SIZE_BYTES


class ObjectLowering(StringLowering, Protocol):
    """The part of the lowering of a document that objects use."""

    order: Order
    keywords: bool
    overlapping: bool
    small: bool
    size: int
    comma: str
    colon: str
    definitions: Mapping[str, Schema]

    @property
    def shared_keys(self) -> SharedKeys:
        """The keys inside unique items that have the same order in all objects."""

    @property
    def strings(self) -> StringLowerer:
        """Lowers the strings of the document."""


class ObjectLowerer:
    """Lower the objects of one document."""

    __slots__ = ("_lowering",)

    def __init__(self, lowering: ObjectLowering) -> None:
        self._lowering = lowering

    def object(self, schema: Object, path: str) -> Node:
        """Lower an object."""
        lowering = self._lowering
        if (bounds := self._bounds(schema)) is not None:
            self.check_orders((schema,), path)
            return self.any_order(schema, path, *bounds)
        if lowering.canonical:
            schema = with_shared_order(schema, lowering.shared_keys)
        is_call = lowering.keywords and path == "$"
        overlapping = lowering.overlapping
        # A required additional key can also be one of the other additional keys.
        lowering.overlapping = overlapping or bool(schema.required_groups)
        paths = [path + path_step(prop.name) for prop in schema.properties]
        values = [
            self.value(prop.value, prop_path)
            for prop, prop_path in zip(schema.properties, paths, strict=True)
        ]
        large = lowering.size > _MIN_LARGE_SIZE
        parts: list[ListPart] = []
        for prop, prop_path, (value, small, size) in zip(schema.properties, paths, values, strict=True):
            if large and exceeds_size(value, MAX_INLINE_VALUE):
                value = lowering.rule(value, prop_path, small=small and size <= MAX_LAZY_SIZE)
                lowering.size -= size - 1
            lowering.small = lowering.small and (small or isinstance(value, RuleRef))
            if value is NEVER and not prop.required:
                continue
            name = f"{prop.name}=" if is_call else json_text(prop.name, path=path) + lowering.colon
            lowering.size += text_size(name)
            parts.append(ListPart(seq(name, value), int(prop.required)))
        inside = self.inside(schema, parts, path)
        lowering.overlapping = overlapping
        braces = inside if is_call else seq("{", inside, "}")
        # Every text enters the root at once, so that a rule for it would only add a call.
        is_root = path == "$" and not overlapping
        # A rule has its own set of distinct texts.
        is_rule = (large and not is_root) or self.needs_distinct_keys(schema)
        return lowering.rule(braces, path) if is_rule else braces

    def inside(self, schema: Object, parts: Sequence[ListPart], path: str) -> Node:
        """Return what is between the braces: the entries of the properties, and those of additional keys."""
        lowering = self._lowering
        additional = self.additional(schema, path)
        count = schema.min_properties, schema.max_properties
        # Two additional keys in either order would be two spellings of one value.
        max_additional = 1 if lowering.canonical else None
        if lowering.canonical and additional is not NEVER and count[0] > len(parts) + 1:
            message = "`minProperties` with additional keys inside `uniqueItems` cannot be enforced; drop one of them"
            raise UnsupportedKeyword("minProperties", message, place=path)
        if schema.required_groups:
            groups = [self.groups(choice, schema, path) for choice in schema.required_groups]
            return entries_with_required(
                parts,
                additional,
                groups,
                *count,
                max_additional=max_additional,
                comma=lowering.comma,
                rule=lowering.rule,
                path=path,
            )
        return entries(
            parts,
            additional,
            *count,
            max_additional=max_additional,
            comma=lowering.comma,
            rule=lowering.rule,
            path=path,
        )

    def value(self, schema: Schema, path: str) -> tuple[Node, bool, int]:
        """Return the lowered value of a property, whether it is small, and its size in schemas."""
        lowering = self._lowering
        outer, before = lowering.small, lowering.size
        lowering.small = True
        node, small = lowering.node(schema, path), lowering.small
        lowering.small = outer
        return node, small, lowering.size - before

    def _bounds(self, schema: Object) -> tuple[int, int | None] | None:
        """Return the bounds of the counted keys, if the keys may have any order."""
        unordered = self._lowering.order == "any" or schema.any_order
        return any_order_bounds(schema) if unordered and not self._lowering.canonical else None

    def check_orders(self, alternatives: Iterable[Schema], path: str) -> None:
        """Raise `LimitExceeded` if alternatives allow so many next keys that no `{` could be read.

        Each key of each object that may have any order is one way to continue.
        """
        ways, most = 0, self._lowering.limits.parse_states
        for each in alternatives:
            if isinstance(each, Ref):
                each = self._lowering.definitions[each.name]
            if isinstance(each, Object) and self._bounds(each) is not None:
                keys: list[Property | Additional] = [*each.properties, *each.additional]
                ways += 1 + sum([type(key.value) is not Never for key in keys])
        if ways > most:
            raise LimitExceeded("parse_states", most, "the keys that may be next in any order", place=path)

    def any_order(self, schema: Object, path: str, min_count: int, max_count: int | None) -> Node:
        """Lower an object with entries in any order, as a rule: a rule has its own set of distinct keys."""
        lowering = self._lowering
        check_iterations(min_count, lowering.limits, path)
        entries: list[AnyOrderEntry] = []
        is_call = lowering.keywords and path == "$"
        all_count = not any(prop.required for prop in schema.properties)
        for prop in schema.properties:
            value = lowering.node(prop.value, path + path_step(prop.name))
            if value is NEVER and prop.required:
                return NEVER
            key = Distinct(LiteralText(prop.name if is_call else json_text(prop.name, path=path)))
            if value is not NEVER:
                rest = seq("=" if is_call else lowering.colon, value)
                entries.append(AnyOrderEntry(key, rest, prop.required or all_count))
        too_few = sum(entry.counted for entry in entries) < min_count
        declared = [prop.name for prop in schema.properties]
        for group in schema.additional:
            name = lowering.strings.string(group.names, path, declared, canonical=True)
            value = lowering.node(group.value, f"{path}[]")
            if NEVER not in (name, value):
                entries.append(AnyOrderEntry(Distinct(name), seq(lowering.colon, value), all_count))
                too_few = too_few and not all_count
        if too_few:
            return NEVER
        inside = AnyOrder(tuple(entries), lowering.comma, min_count, max_count) if entries else EMPTY
        return lowering.rule(inside if is_call else seq("{", inside, "}"), path)

    def additional(self, schema: Object, path: str) -> Node:
        """Lower one additional entry; `NEVER` if there are none."""
        return self.groups(schema.additional, schema, path)

    def groups(self, groups: Sequence[Additional], schema: Object, path: str) -> Node:
        """Lower one additional entry of any of the groups."""
        lowering = self._lowering
        declared = [prop.name for prop in schema.properties if not prop.also_additional]
        if lowering.canonical:
            declared += lowering.shared_keys
        options = []
        for group in groups:
            key = lowering.strings.string(group.names, path, declared, canonical=True)
            if key is not NEVER and self.needs_distinct_keys(schema):
                key = Distinct(key)
            options.append(seq(key, lowering.colon, lowering.node(group.value, f"{path}[]")))
        return options[0] if len(options) == 1 else choice(options)

    def needs_distinct_keys(self, schema: Object) -> bool:
        """Return whether additional keys must differ: in Python values, and where keys are counted or required."""
        lowering = self._lowering
        if not schema.additional:
            return False
        if lowering.bounded or schema.required_groups:
            return True
        least = schema.min_properties
        return least > 1 and least > sum([prop.required for prop in schema.properties])
