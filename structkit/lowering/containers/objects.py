"""Objects of JSON: declared keys and others, in the order of the schema or in any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from structkit.errors import UnsupportedKeyword
from structkit.lowering.containers.properties import any_order_bounds, entries, entries_with_required
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
from structkit.schema.ir.nodes import Additional, Object, Schema
from structkit.schema.ir.path import path_step
from structkit.schema.markers.json_style import Order

__all__ = ["MAX_LAZY_SIZE", "ObjectLowerer"]

MAX_LAZY_SIZE = 500
"""Schemas that a plain rule may spell out and still be built only when it is called."""

_MIN_LARGE_SIZE = 60
"""Schemas in an object that becomes a rule, so that no automaton holds many of them."""

_PART = 8
"""Nodes of a value in a large object that becomes a rule of its own, to be built when it is come to."""


class ObjectLowering(StringLowering, Protocol):
    """What objects need of the walk over the whole schema."""

    strings: StringLowerer
    order: Order
    keywords: bool
    small: bool
    size: int
    comma: str
    colon: str


class ObjectLowerer:
    """The objects of one lowering."""

    def __init__(self, lowering: ObjectLowering) -> None:
        self._lowering = lowering

    def object(self, schema: Object, path: str) -> Node:
        """The entries in braces."""
        lowering = self._lowering
        unordered = lowering.order == "any" or schema.any_order
        if unordered and not lowering.canonical and (bounds := any_order_bounds(schema)) is not None:
            return self.any_order(schema, path, *bounds)
        called = lowering.keywords and path == "$"
        places = [path + path_step(prop.name) for prop in schema.properties]
        values = [self.value(prop.value, at) for prop, at in zip(schema.properties, places, strict=True)]
        large = lowering.size > _MIN_LARGE_SIZE
        parts: list[ListPart] = []
        for prop, at, (value, plain, size) in zip(schema.properties, places, values, strict=True):
            if large and exceeds_size(value, _PART):
                value = lowering.rule(value, at, small=plain and size <= MAX_LAZY_SIZE)
                lowering.size -= size - 1
            if value is NEVER and not prop.required:
                continue
            name = f"{prop.name}=" if called else json_text(prop.name, path=path) + lowering.colon
            entry = seq(LiteralText(name), value)
            parts.append(ListPart(entry, int(prop.required)))
        more = self.additional(schema, path)
        count = schema.min_properties, schema.max_properties
        # Two additional keys could change places, and the value would be written in a second way.
        extra = 1 if lowering.canonical else None
        if lowering.canonical and more is not NEVER and count[0] > len(parts) + 1:
            what = "`minProperties` beside free keys inside `uniqueItems`"
            raise UnsupportedKeyword(
                "minProperties", f"{what} cannot be enforced; drop one of them", place=path
            )
        if schema.required_groups:
            kinds = [self.groups(choice, schema, path) for choice in schema.required_groups]
            inside = entries_with_required(
                parts, more, kinds, *count, max_additional=extra, comma=lowering.comma, path=path
            )
        else:
            inside = entries(
                parts, more, *count, max_additional=extra, comma=lowering.comma, rule=lowering.rule, path=path
            )
        braces = inside if called else seq(LiteralText("{"), inside, LiteralText("}"))
        # Each entry of a rule remembers its own unique texts.
        return lowering.rule(braces, path) if large or self.needs_distinct_keys(schema) else braces

    def value(self, schema: Schema, path: str) -> tuple[Node, bool, int]:
        """The texts of a property's value, whether it is plain, and its size."""
        lowering = self._lowering
        outer, before = lowering.small, lowering.size
        lowering.small = True
        node, plain = lowering.node(schema, path), lowering.small
        lowering.small = outer and (plain or isinstance(node, RuleRef))
        return node, plain, lowering.size - before

    def any_order(self, schema: Object, path: str, min_count: int, max_count: int | None) -> Node:
        """The entries in any order: a rule of its own, for each entry of a rule remembers its own keys."""
        lowering = self._lowering
        entries: list[AnyOrderEntry] = []
        called = lowering.keywords and path == "$"
        all_count = not any(prop.required for prop in schema.properties)
        for prop in schema.properties:
            value = lowering.node(prop.value, path + path_step(prop.name))
            if value is NEVER and prop.required:
                return NEVER
            key = Distinct(LiteralText(prop.name if called else json_text(prop.name, path=path)))
            if value is not NEVER:
                rest = seq(LiteralText("=" if called else lowering.colon), value)
                entries.append(AnyOrderEntry(key, rest, prop.required or all_count))
        few = sum(entry.counted for entry in entries) < min_count
        declared = [prop.name for prop in schema.properties]
        for group in schema.additional:
            name = lowering.strings.string(group.names, path, declared, canonical=True)
            value = lowering.node(group.value, f"{path}[]")
            if NEVER not in (name, value):
                entries.append(
                    AnyOrderEntry(Distinct(name), seq(LiteralText(lowering.colon), value), all_count)
                )
                few = few and not all_count
        if few:
            return NEVER
        inside = AnyOrder(tuple(entries), lowering.comma, min_count, max_count) if entries else EMPTY
        return lowering.rule(inside if called else seq(LiteralText("{"), inside, LiteralText("}")), path)

    def additional(self, schema: Object, path: str) -> Node:
        """One additional entry; `NEVER` where there are none."""
        return self.groups(schema.additional, schema, path)

    def groups(self, groups: Sequence[Additional], schema: Object, path: str) -> Node:
        """One additional entry of any of the groups."""
        lowering = self._lowering
        declared = [prop.name for prop in schema.properties if not prop.also_additional]
        options = []
        for group in groups:
            key = lowering.strings.string(group.names, path, declared, canonical=True)
            if key is not NEVER and self.needs_distinct_keys(schema):
                key = Distinct(key)
            options.append(seq(key, LiteralText(lowering.colon), lowering.node(group.value, f"{path}[]")))
        return options[0] if len(options) == 1 else choice(options)

    def needs_distinct_keys(self, schema: Object) -> bool:
        """Whether additional keys must differ: always in a Python value, else where one written again would matter."""
        lowering = self._lowering
        needed = schema.min_properties > 1 or schema.required_groups
        return bool(schema.additional) and (lowering.bounded or bool(needed))
