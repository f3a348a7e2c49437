"""The members of an object that a value can do without."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.schema.ir.descend import descend, make_resolver
from structkit.schema.ir.nodes import Anything, Document, Object, ObjectProduct

__all__ = ["is_optional_at"]


def is_optional_at(document: Document, path: Sequence[str | int]) -> bool:
    """Return whether every schema of the object around `path` lets its last key be left out.

    What an object requires of its keys together, such as their number, is not considered.

    Args:
        document: A schema.
        path: Keys and indices; the last one is a key, or the part is not optional.

    >>> from structkit.schema.json_schema.parse import parse_schema
    >>> document = parse_schema({"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["b"]})
    >>> is_optional_at(document, ["a"]), is_optional_at(document, ["b"]), is_optional_at(document, [])
    (True, False, False)
    """
    if not path or not isinstance(path[-1], str):
        return False
    around = descend(document.root, path[:-1], make_resolver(document.definitions))
    objects = [node for node in around if isinstance(node, Anything | Object | ObjectProduct)]
    return bool(objects) and not any(_requires(node, path[-1]) for node in objects)


def _requires(node: Anything | Object | ObjectProduct, key: str) -> bool:
    """Return whether an object without the key can be outside of a schema; a product of objects is not taken apart."""
    if isinstance(node, Object):
        return bool(node.required_groups) or any(
            each.required and each.name == key for each in node.properties
        )
    return isinstance(node, ObjectProduct)
