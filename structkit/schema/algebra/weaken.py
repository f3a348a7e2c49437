"""Supersets of a schema without keywords that are expensive to enforce; values are checked after decoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from structkit.schema.ir.nodes import ANY_KEYS, Array, Integer, Number, Object, Schema, String

__all__ = ["relaxations"]


def relaxations(node: Schema) -> Iterator[Schema]:
    """Iterate over supersets of a node, from the strictest to the most permissive.

    >>> next(relaxations(String(min_length=1, patterns=("a(?=b)",)))) == String(min_length=1)
    True
    """
    match node:
        case String(min_length=min_length, max_length=max_length):
            yield String(min_length, max_length)
        case Integer() | Number():
            yield replace(node, multiple_of=None, not_multiple_of=())
            yield type(node)()
        case Array():
            node = replace(node, contains=(), repeats_item=False)
            yield node
            yield replace(node, unique_items=False)
        case Object():
            node = replace(node, min_properties=0, max_properties=None, required_groups=())
            yield node
            yield replace(node, additional=ANY_KEYS if node.additional else ())
