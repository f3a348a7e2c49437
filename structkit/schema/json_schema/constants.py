"""The values of `enum` and `const`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from structkit.limits import Limits
from structkit.schema.ir.json_values import canonical_key, is_integer, json_text, json_type_of
from structkit.schema.ir.keywords import JsonType
from structkit.schema.ir.nodes import Const
from structkit.schema.ir.path import SchemaPath

__all__ = ["enum_constants"]


def enum_constants(
    raw: Mapping[str, object],
    values: Iterable[object],
    types: tuple[JsonType, ...] | None,
    path: SchemaPath,
    limits: Limits,
) -> list[Const]:
    """Return the distinct values of some types, by default of all, that `enum` and `const` allow."""
    keyword = "enum" if "enum" in raw else "const"
    found: dict[object, Const] = {}
    for value in values:
        text = json_text(value, keyword, path, limits)
        if types is None or _is_one_of_types(value, types):
            # There may be very many strings: a key without a tuple is none of the collector's objects.
            key = value if type(value) is str else canonical_key(value)
            if key not in found:
                found[key] = Const(text)
    if "enum" in raw and "const" in raw:
        json_text(raw["const"], "const", path, limits)
        other = raw["const"]
        same = other if type(other) is str else canonical_key(other)
        return [node for key, node in found.items() if key == same]
    return list(found.values())


def _is_one_of_types(value: object, types: tuple[JsonType, ...]) -> bool:
    """Return whether a JSON value has one of the types."""
    return json_type_of(value) in types or ("integer" in types and is_integer(value))
