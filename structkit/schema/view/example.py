"""An example of a JSON Schema, and the schema without what only structkit reads: two descriptions for prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from structkit.errors import UnresolvedReference
from structkit.schema.ir.path import SchemaPath
from structkit.schema.ir.refs import References

__all__ = ["example_of", "plain_schema"]

_STRINGS: Mapping[str, str] = {
    "date": "2024-05-17",
    "date-time": "2024-05-17T09:30:00Z",
    "email": "name@example.com",
    "time": "09:30:00",
    "uri": "https://example.com",
}
"""A string of each common format; any other string is written as dots."""

_DATA = ("const", "default", "enum", "examples")
"""Keywords whose values are data and not schemas."""

_MAX_DEPTH = 8
_MAX_VALUES = 1000
"""Levels and values of an example; what is beyond them is null, so that a recursive schema has a short example."""


def example_of(schema: Mapping[str, object]) -> object:
    """Return a JSON value in the shape of a schema: every property, one item of each array, and the first alternative.

    It shows names and nesting; a constraint such as a pattern need not hold. The `examples` of a schema are preferred.

    >>> example_of({"type": "object", "properties": {"age": {"type": "integer"}, "tags": {"items": {"enum": ["a"]}}}})
    {'age': 1, 'tags': ['a']}
    """
    return _Example(References(schema)).write(schema, _MAX_DEPTH)


def plain_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """Return a schema without the annotations of structkit and the titles that pydantic makes from names.

    >>> plain_schema({"title": "A", "properties": {"b": {"title": "B", "x-structkit-quote": {}, "type": "string"}}})
    {'title': 'A', 'properties': {'b': {'type': 'string'}}}
    """
    plain: dict[str, object] = {}
    for key, value in schema.items():
        if key.startswith("x-structkit-"):
            continue
        if key in _DATA:
            plain[key] = value
            continue
        if key in ("properties", "$defs") and isinstance(value, Mapping):
            plain[key] = {name: _without_title(name, each) for name, each in value.items()}
        else:
            plain[key] = _plain_value(value)
    return plain


def _without_title(name: str, schema: object) -> object:
    if not isinstance(schema, Mapping):
        return schema
    plain = plain_schema(schema)
    if str(plain.get("title", "")).replace(" ", "_").lower() == name.lower():
        del plain["title"]
    return plain


def _plain_value(value: object) -> object:
    if isinstance(value, Mapping):
        return plain_schema(value)
    if isinstance(value, list):
        return [_plain_value(each) for each in value]
    return value


@dataclass(slots=True)
class _Example:
    """A writer of the example of one schema.

    Attributes:
        references: The parts of the schema that references name.
        values: How many values are written.
    """

    references: References
    values: int = 0

    def write(self, schema: object, depth: int) -> object:
        """Return the example of a part of the schema, with at most `depth` levels."""
        self.values += 1
        if not isinstance(schema, Mapping) or depth == 0 or self.values > _MAX_VALUES:
            return None
        for keyword in ("examples", "enum"):
            if isinstance(listed := schema.get(keyword), list) and listed:
                return listed[0]
        if "const" in schema:
            return schema["const"]
        if isinstance(reference := schema.get("$ref"), str):
            return self.write(self._find(reference), depth - 1)
        for keyword in ("anyOf", "oneOf", "allOf"):
            options = schema.get(keyword)
            if isinstance(options, Sequence) and options:
                return self.write(next((each for each in options if not _is_null(each)), None), depth)
        return self._write_type(schema, depth)

    def _find(self, reference: str) -> object:
        """Return the schema that a reference names; `None` if there is none, which `compile` reports."""
        try:
            return self.references.find(reference, self.references.root.base, SchemaPath()).schema
        except UnresolvedReference:
            return None

    def _write_type(self, schema: Mapping[str, object], depth: int) -> object:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), None)
        if kind == "object" or "properties" in schema:
            properties = schema.get("properties")
            named = properties if isinstance(properties, Mapping) else {}
            return {name: self.write(each, depth - 1) for name, each in named.items()}
        if kind == "array" or "items" in schema or "prefixItems" in schema:
            prefix, items = schema.get("prefixItems"), schema.get("items")
            parts = (
                list(prefix) if isinstance(prefix, list) else [items] if isinstance(items, Mapping) else []
            )
            return [self.write(each, depth - 1) for each in parts]
        if kind == "string":
            return _STRINGS.get(str(schema.get("format")), "...")
        if kind in ("integer", "number"):
            return schema.get("minimum", schema.get("maximum", 1))
        return True if kind == "boolean" else None


def _is_null(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"
