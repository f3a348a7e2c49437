"""Objects of JSON: declared keys and others, in the order of the schema or in any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from structkit.errors import UnsupportedKeyword
from structkit.lowering.containers.properties import any_order, entries, with_kinds
from structkit.lowering.strings.strings import Lowering, Strings
from structkit.regex.json_string import json_text
from structkit.regex.nodes import EMPTY, NEVER, Call, Entry, Node, Part, Text, Unique, Unordered, alt, seq
from structkit.regex.walk import is_larger
from structkit.schema.ir.nodes import Additional, Object, Schema
from structkit.schema.ir.path import step
from structkit.schema.markers.json_style import Order

__all__ = ["LATE", "Objects"]

LATE = 500
"""Schemas that a plain rule may spell out and still be built only when it is called."""

_LARGE = 60
"""Schemas in an object that becomes a rule, so that no automaton holds many of them."""

_PART = 8
"""Nodes of a value in a large object that becomes a rule of its own, to be built when it is come to."""


class Walk(Lowering, Protocol):
    """What objects need of the walk over the whole schema."""

    strings: Strings
    order: Order
    keywords: bool
    plain: bool
    size: int
    comma: str
    colon: str


class Objects:
    """The objects of one lowering."""

    def __init__(self, lowering: Walk) -> None:
        self._lowering = lowering

    def object(self, schema: Object, place: str) -> Node:
        """The entries in braces."""
        lowering = self._lowering
        unordered = lowering.order == "any" or schema.any_order
        if unordered and not lowering.once and (bounds := any_order(schema)) is not None:
            return self.unordered(schema, place, *bounds)
        called = lowering.keywords and place == "$"
        places = [place + step(prop.name) for prop in schema.properties]
        values = [self.value(prop.value, at) for prop, at in zip(schema.properties, places, strict=True)]
        large = lowering.size > _LARGE
        parts: list[Part] = []
        for prop, at, (value, plain, size) in zip(schema.properties, places, values, strict=True):
            if large and is_larger(value, _PART):
                value = lowering.rule(value, at, plain=plain and size <= LATE)
                lowering.size -= size - 1
            if value is NEVER and not prop.required:
                continue
            name = f"{prop.name}=" if called else json_text(prop.name, place=place) + lowering.colon
            entry = seq(Text(name), value)
            parts.append(Part(entry, int(prop.required)))
        more = self.additional(schema, place)
        count = schema.min_properties, schema.max_properties
        # Two additional keys could change places, and the value would be written in a second way.
        extra = 1 if lowering.once else None
        if lowering.once and more is not NEVER and count[0] > len(parts) + 1:
            what = "`minProperties` beside free keys inside `uniqueItems`"
            raise UnsupportedKeyword(
                "minProperties", f"{what} cannot be enforced; drop one of them", place=place
            )
        if schema.some:
            kinds = [self.groups(choice, schema, place) for choice in schema.some]
            inside = with_kinds(parts, more, kinds, *count, extra=extra, comma=lowering.comma, place=place)
        else:
            inside = entries(
                parts, more, *count, extra=extra, comma=lowering.comma, rule=lowering.rule, place=place
            )
        braces = inside if called else seq(Text("{"), inside, Text("}"))
        # Each entry of a rule remembers its own unique texts.
        return lowering.rule(braces, place) if large or self.remembers(schema) else braces

    def value(self, schema: Schema, place: str) -> tuple[Node, bool, int]:
        """The texts of a property's value, whether it is plain, and its size."""
        lowering = self._lowering
        outer, before = lowering.plain, lowering.size
        lowering.plain = True
        node, plain = lowering.node(schema, place), lowering.plain
        lowering.plain = outer and (plain or isinstance(node, Call))
        return node, plain, lowering.size - before

    def unordered(self, schema: Object, place: str, least: int, most: int | None) -> Node:
        """The entries in any order: a rule of its own, for each entry of a rule remembers its own keys."""
        lowering = self._lowering
        entries: list[Entry] = []
        called = lowering.keywords and place == "$"
        all_count = not any(prop.required for prop in schema.properties)
        for prop in schema.properties:
            value = lowering.node(prop.value, place + step(prop.name))
            if value is NEVER and prop.required:
                return NEVER
            key = Unique(Text(prop.name if called else json_text(prop.name, place=place)))
            if value is not NEVER:
                rest = seq(Text("=" if called else lowering.colon), value)
                entries.append(Entry(key, rest, prop.required or all_count))
        few = sum(entry.counts for entry in entries) < least
        declared = [prop.name for prop in schema.properties]
        for group in schema.additional:
            name = lowering.strings.string(group.names, place, declared, once=True)
            value = lowering.node(group.value, f"{place}[]")
            if NEVER not in (name, value):
                entries.append(Entry(Unique(name), seq(Text(lowering.colon), value), all_count))
                few = few and not all_count
        if few:
            return NEVER
        inside = Unordered(tuple(entries), lowering.comma, least, most) if entries else EMPTY
        return lowering.rule(inside if called else seq(Text("{"), inside, Text("}")), place)

    def additional(self, schema: Object, place: str) -> Node:
        """One additional entry; `NEVER` where there are none."""
        return self.groups(schema.additional, schema, place)

    def groups(self, groups: Sequence[Additional], schema: Object, place: str) -> Node:
        """One additional entry of any of the groups."""
        lowering = self._lowering
        declared = [prop.name for prop in schema.properties if not prop.again]
        options = []
        for group in groups:
            key = lowering.strings.string(group.names, place, declared, once=True)
            if key is not NEVER and self.remembers(schema):
                key = Unique(key)
            options.append(seq(key, Text(lowering.colon), lowering.node(group.value, f"{place}[]")))
        return options[0] if len(options) == 1 else alt(options)

    def remembers(self, schema: Object) -> bool:
        """Whether additional keys must differ: always in a Python value, else where one written again would matter."""
        lowering = self._lowering
        needed = schema.min_properties > 1 or schema.some
        return bool(schema.additional) and (lowering.bounded or bool(needed))
