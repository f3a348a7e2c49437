"""A schema without what may be hard to enforce: for values that are checked after they are written."""

from __future__ import annotations

from dataclasses import replace

from structkit.schema.nodes import Array, Integer, Number, Object, Schema, String

__all__ = ["relaxed"]


def relaxed(node: Schema) -> Schema:
    """A node with at least the values of another, and nothing of its own that could be refused.

    >>> relaxed(String(min_length=1, patterns=("a(?=b)",)))
    String(note=None, min_length=1, max_length=None, patterns=(), format=None, forbidden=(), forbidden_formats=())
    """
    match node:
        case String(min_length=least, max_length=most):
            return String(least, most)
        case Integer() | Number():
            return replace(node, multiple_of=None, not_multiple_of=())
        case Array():
            return replace(node, contains=(), unique=node.unique and not node.prefix)
        case Object():
            return replace(node, min_properties=0, max_properties=None, some=())
    return node
