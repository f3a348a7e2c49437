"""JSON arrays: a prefix, further items, `contains`, and unique items."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Protocol

from structkit.lowering.containers.contains import contains_demands, contains_items, prefix_items
from structkit.lowering.containers.distinct_prefix import Demand, Item, distinct_prefix, texts_of
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Distinct,
    ListPart,
    Node,
    Repeat,
    SeparatedList,
    seq,
)
from structkit.regex.walk import exceeds_size, inlined
from structkit.schema.algebra.membership import contains_value
from structkit.schema.ir.nodes import Array, Boolean, Const, Integer, Null, Number, Ref, Schema, String, Union

__all__ = ["MAX_INLINE_NODES", "ArrayLowerer"]

MAX_INLINE_NODES = 64
"""Largest part, in nodes, that is copied to each of several uses; larger ones become rules."""


class ArrayLowering(Protocol):
    """The part of the lowering of a document that arrays use."""

    bounded: bool
    canonical: bool
    overlapping: bool
    comma: str
    definitions: Mapping[str, Schema]
    rules: dict[str, Node]

    def node(self, schema: Schema, path: str) -> Node:
        """Lower one schema."""

    def rule(self, node: Node, path: str, *, small: bool | None = None) -> Node:
        """Add `node` as a rule with a new name, and return the call."""


class ArrayLowerer:
    """Lower the arrays of one document."""

    __slots__ = ("_lowering",)

    def __init__(self, lowering: ArrayLowering) -> None:
        self._lowering = lowering

    def array(self, schema: Array, path: str) -> Node:
        """Lower an array."""
        comma = self._lowering.comma
        prefix = [self._item(schema, f"{path}[{index}]", item) for index, item in enumerate(schema.prefix)]
        max_items = schema.max_items
        if NEVER in prefix:
            max_items = min(prefix.index(NEVER), len(prefix) if max_items is None else max_items)
        has_no_items = max_items is not None and max_items <= len(prefix)
        items = NEVER if has_no_items else self._item(schema, f"{path}[]", schema.items)
        if items is NEVER and not schema.contains:
            max_items = len(prefix) if max_items is None else min(max_items, len(prefix))
        if max_items is not None and schema.min_items > max_items:
            return NEVER
        min_count = max(schema.min_items - len(prefix), 0)
        max_count = None if max_items is None else max(max_items - len(prefix), 0)
        rule = None if schema.unique_items else self._lowering.rule
        inside: Node
        if schema.contains:
            item = partial(self._contains_item, schema, path)
            inside = contains_items(schema, item, comma=comma, rule=rule, path=path)
        elif max_count == 0:
            inside = EMPTY
        elif prefix:
            inside = Repeat(seq(comma, items), min_count, max_count)
        else:
            # Counted items follow a first one that is a copy of them.
            is_copied = min_count > 1 or max_count not in (None, 1)
            if rule is not None and is_copied and exceeds_size(items, MAX_INLINE_NODES):
                items = rule(items, f"{path}[]")
            inside = SeparatedList((ListPart(items, min_count, max_count),), comma)
        prefix = prefix[:max_items]
        chosen: Node | None = None
        if schema.unique_items and prefix:
            given = [self._prefix_item(*each) for each in zip(prefix, schema.prefix, strict=False)]
            demands = self._demands(schema, path, items, min_count)
            chosen = distinct_prefix(given, demands, inside, schema.min_items, comma=comma, path=path)
        if chosen is None:
            chosen = prefix_items(prefix, inside, schema.min_items, comma=comma, rule=rule, path=path)
        array = seq("[", chosen, "]")
        return self._lowering.rule(array, path) if schema.unique_items else array

    def _item(self, schema: Array, path: str, item: Schema) -> Node:
        """Lower one item."""
        lowering = self._lowering
        outer = lowering.canonical
        # Pydantic merges equal items, which matters only if there must be more than one.
        lowering.canonical = outer or (schema.unique_items and (schema.min_items > 1 or not lowering.bounded))
        node = lowering.node(item, path)
        lowering.canonical = outer
        return Distinct(node) if schema.unique_items and node is not NEVER else node

    def _prefix_item(self, node: Node, schema: Schema) -> Item:
        """Return an item of a prefix of unique items."""
        while isinstance(schema, Ref):
            schema = self._lowering.definitions[schema.name]
        target, rules = schema, self._lowering.rules
        return Item(
            node,
            lambda text: contains_value(target, json.loads(text)) is not False,
            lambda: inlined(node.node, rules) if isinstance(node, Distinct) and _is_scalar(target) else None,
        )

    def _demands(self, schema: Array, path: str, items: Node, min_count: int) -> list[Demand]:
        """Return what the items after a prefix need."""
        if schema.contains:
            return contains_demands(schema, partial(self._contains_item, schema, path), min_count)
        texts = texts_of(items, min_count + len(schema.prefix)) if min_count else None
        return [] if texts is None else [Demand(texts, min_count)]

    def _contains_item(self, schema: Array, path: str, item: Schema) -> Node:
        """Lower one item of an array with `contains`; a large item becomes a rule, because it is copied."""
        lowering = self._lowering
        outer, lowering.overlapping = lowering.overlapping, True
        node = self._item(schema, f"{path}[]", item)
        lowering.overlapping = outer
        is_rule = not schema.unique_items and exceeds_size(node, MAX_INLINE_NODES)
        return lowering.rule(node, f"{path}[]") if is_rule else node


def _is_scalar(schema: Schema) -> bool:
    """Return whether all values are scalars, whose language is regular."""
    if isinstance(schema, Union):
        return all(map(_is_scalar, schema.branches))
    return isinstance(schema, (Boolean, Const, Integer, Null, Number, String))
