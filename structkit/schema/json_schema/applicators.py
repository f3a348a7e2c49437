"""The keywords of JSON Schema that combine schemas: their members, and the order of the keys that these declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from structkit.errors import SchemaError
from structkit.schema.ir.nodes import Additional, Anything, Object, Property, Schema, String
from structkit.schema.ir.path import SchemaPath

__all__ = ["DEPENDENT_KEYWORDS", "conditions", "having", "in_document_order", "members"]


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


def conditions(
    raw: Mapping[str, object], path: SchemaPath, parse: Callable[[object, SchemaPath], Schema]
) -> Iterator[tuple[Schema, Schema]]:
    """Iterate over the keys that others depend on: the objects with the key, and what applies to them."""
    for keyword in _DEPENDENT:
        entries = raw.get(keyword, {})
        if not isinstance(entries, Mapping) or not all(isinstance(name, str) for name in entries):
            fault = f"{keyword} must map names to names or schemas; write {{'name': ['other']}}"
            raise SchemaError(fault, place=path.text)
        for name, entry in entries.items():
            here = path.child(keyword, name)
            if not isinstance(entry, list | tuple):
                yield having([name]), parse(entry, here)
            elif all(isinstance(other, str) for other in entry):
                yield having([name]), having(dict.fromkeys(map(str, entry)))
            else:
                raise SchemaError(f"{keyword} must list names; write ['name']", place=here.text)


_DEPENDENT = ("dependencies", "dependentRequired", "dependentSchemas")

DEPENDENT_KEYWORDS = frozenset(_DEPENDENT)
"""Keywords whose entries depend on a key."""
