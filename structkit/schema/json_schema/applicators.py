"""The keywords of JSON Schema that combine schemas: their members, and the order of the keys that these declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from structkit.errors import SchemaError
from structkit.schema.ir.nodes import Additional, Anything, Object, Property, Schema, String
from structkit.schema.ir.path import SchemaPath

__all__ = ["having", "in_document_order", "members"]


def in_document_order(parts: Iterable[tuple[str, Schema]], raw: Mapping[str, object]) -> list[Schema]:
    """Return nodes in the order of their keywords in a schema, so that the keys of objects have this order.

    The alternatives of `anyOf` are last: most of them restrict keys that the schema declares itself.

    >>> raw = {"anyOf": [], "allOf": [], "properties": {}}
    >>> parts = [("properties", Anything()), ("allOf", String()), ("anyOf", Object())]
    >>> in_document_order(parts, raw) == [String(), Anything(), Object()]
    True
    """
    found = list(parts)
    if len(found) > 1:
        keywords = [keyword for keyword in raw if keyword != "anyOf"] + ["anyOf"]
        found.sort(key=lambda part: keywords.index(part[0]))
    return [node for _, node in found]


def having(names: Iterable[str]) -> Object:
    """Return the objects with all of some keys."""
    keys = tuple(Property(name, Anything(), in_order=False) for name in names)
    return Object(keys, additional=(Additional(String(), Anything()),))


def members(raw: Mapping[str, object], keyword: str, path: SchemaPath) -> Sequence[object]:
    """Return the schemas of `allOf`, `anyOf` or `oneOf`.

    Raises:
        SchemaError: The value is no list of schemas, or an empty one.
    """
    found = raw[keyword]
    if not isinstance(found, list | tuple) or not found:
        raise SchemaError(f"{keyword} must be a list of schemas; write [{{}}]", place=path.text)
    return found
