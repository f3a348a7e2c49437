"""Reads the keywords of one kind of value: numbers, strings, arrays, objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Literal, Protocol

from structkit.errors import SchemaError, UnsupportedKeyword
from structkit.schema.admit import admits
from structkit.schema.build import array, object_, string
from structkit.schema.keywords import FORMATS, OPTIONAL, PYTHON_FORMATS, Kind
from structkit.schema.meet import meet_strings
from structkit.schema.nodes import (
    Array,
    Boolean,
    Bound,
    Const,
    Never,
    Null,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.numbers import number_range, tighter
from structkit.schema.place import Place
from structkit.schema.values import shown, to_count, to_number

__all__ = ["Subschemas", "read_kind"]

RawSchema = Mapping[str, object]

_EVERY_NAME = frozenset({"", "^", "$", ".*", "^.*", ".*$", "[\\s\\S]*", "^[\\s\\S]*$"})
"""Patterns that every name matches."""


_ALIASES = 100
"""References to references that are followed; more are a circle."""


class Subschemas(Protocol):
    """What reading one kind needs of the reader of the whole schema."""

    python: bool
    defaults: Literal["always", "may_omit"]

    def schema(self, raw: object, at: Place) -> Schema:
        """Read a subschema."""

    def look(self, node: Ref, at: Place) -> Schema:
        """The definition that a reference names."""

    def meet(self, nodes: Iterable[Schema], at: Place) -> Schema:
        """The intersection of nodes."""


def read_kind(kind: Kind, raw: RawSchema, at: Place, reader: Subschemas) -> Schema:
    """The values of one kind that the keywords of `raw` allow.

    Raises:
        SchemaError: A keyword has a value that the specification does not allow.
        UnsupportedKeyword: A keyword cannot be enforced in this form.
    """
    match kind:
        case "null":
            return Null()
        case "boolean":
            return Boolean()
        case "integer" | "number":
            return _number(raw, at, whole=kind == "integer")
        case "string":
            return _string(raw, at, reader)
        case "array":
            return _array(raw, at, reader)
        case "object":
            return _object(raw, at, reader)


def _number(raw: RawSchema, at: Place, *, whole: bool) -> Schema:
    step: Fraction | None = None
    if "multipleOf" in raw:
        step = Fraction(to_number(raw["multipleOf"], "multipleOf", at))
        if step <= 0:
            raise SchemaError("multipleOf must be more than 0", place=at.path)
    low = _bound(raw, "minimum", "exclusiveMinimum", 1, at)
    high = _bound(raw, "maximum", "exclusiveMaximum", -1, at)
    return number_range(low, high, step, whole=whole)


def _bound(raw: RawSchema, inclusive: str, exclusive: str, sign: Literal[1, -1], at: Place) -> Bound | None:
    """One end of a range; in draft 4 the exclusive keyword is a boolean that qualifies the other one."""
    strict = raw.get(exclusive)
    plain = Bound(to_number(raw[inclusive], inclusive, at), strict is True) if inclusive in raw else None
    if strict is None or isinstance(strict, bool):
        return plain
    return tighter(plain, Bound(to_number(strict, exclusive, at), exclusive=True), sign)


def _string(raw: RawSchema, at: Place, reader: Subschemas) -> Schema:
    patterns: tuple[str, ...] = ()
    if "pattern" in raw:
        patterns = (_text(raw["pattern"], "pattern", at),)
    return string(
        String(
            min_length=_count(raw, "minLength", at) or 0,
            max_length=_count(raw, "maxLength", at),
            patterns=patterns,
            format=_format(_text(raw["format"], "format", at), at, reader) if "format" in raw else None,
        )
    )


def _format(name: str, at: Place, reader: Subschemas) -> str | None:
    if not reader.python:
        return name if name in FORMATS else None
    if name not in PYTHON_FORMATS:
        raise UnsupportedKeyword(
            "format",
            f"a type whose format is {name!r} is not supported; use str, with a pattern, and a validator",
            place=at.path,
        )
    return PYTHON_FORMATS[name]


def _array(raw: RawSchema, at: Place, reader: Subschemas) -> Schema:
    prefix, rest, keyword = raw.get("prefixItems"), raw.get("items", True), "prefixItems"
    if isinstance(rest, list | tuple):
        if prefix is not None:
            raise SchemaError("items must be a schema where prefixItems is given", place=at.path)
        prefix, rest, keyword = rest, raw.get("additionalItems", True), "items"
    if prefix is not None and not isinstance(prefix, list | tuple):
        raise SchemaError("prefixItems must be a list of schemas", place=at.path)
    least = _count(raw, "minItems", at) or 0
    if reader.python and reader.defaults == "always" and prefix:
        # Only a NamedTuple with defaults may be shorter than its prefix.
        least = max(least, len(prefix))
    return array(
        Array(
            prefix=tuple(
                reader.schema(item, at.under(keyword, index)) for index, item in enumerate(prefix or ())
            ),
            items=reader.schema(rest, at.under("items")),
            min_items=least,
            max_items=_count(raw, "maxItems", at),
            unique=raw.get("uniqueItems") is True,
        )
    )


def _object(raw: RawSchema, at: Place, reader: Subschemas) -> Schema:
    keys = {
        name: reader.schema(value, at.under("properties", name))
        for name, value in _mapping(raw, "properties", at).items()
    }
    required = _required(raw, tuple(keys), at, reader)
    every, names, additional = _additional(raw, bool(keys), at, reader)
    if every is not None:
        keys = {
            name: reader.meet((value, every), at.under("properties", name)) for name, value in keys.items()
        }
    allowed = _property_names(raw, at, reader)
    for name in (*required, *(allowed if isinstance(allowed, tuple) else ())):
        if name not in keys:
            keys[name] = _extra(name, names, additional, at)
    if isinstance(allowed, String):
        names = meet_strings(names, allowed, at)
        keys = {name: _extra(name, allowed, value, at) for name, value in keys.items()}
    elif allowed is not None:
        additional = None
        keys = {name: value if name in allowed else Never(_NAME) for name, value in keys.items()}
    return object_(
        Object(
            tuple(Property(name, value, name in required) for name, value in keys.items()),
            additional=additional,
            names=names,
            min_properties=_count(raw, "minProperties", at) or 0,
            max_properties=_count(raw, "maxProperties", at),
        )
    )


_NAME = "propertyNames forbids its name"


def _required(raw: RawSchema, declared: tuple[str, ...], at: Place, reader: Subschemas) -> dict[str, None]:
    """The names that must be written, in order; for a Python type also those that have a default."""
    names = _strings(raw, "required", at)
    if reader.python and reader.defaults == "always":
        optional = _strings(raw, OPTIONAL, at)
        return dict.fromkeys((*(name for name in declared if name not in optional), *names))
    return dict.fromkeys(names)


def _additional(
    raw: RawSchema, declares: bool, at: Place, reader: Subschemas
) -> tuple[Schema | None, String, Schema | None]:
    """What every key's value must be as well, and the names and the value of keys that are not declared."""
    patterns = _mapping(raw, "patternProperties", at)
    closed = raw.get("additionalProperties", not reader.python) is False
    if not patterns:
        if closed:
            return None, String(), None
        additional = reader.schema(raw.get("additionalProperties", True), at.under("additionalProperties"))
        return None, String(), None if isinstance(additional, Never) else additional
    if len(patterns) == 1:
        ((pattern, value),) = patterns.items()
        node = reader.schema(value, at.under("patternProperties", pattern))
        if pattern in _EVERY_NAME:
            return node, String(), node
        if closed and not declares:
            return None, String(patterns=(pattern,)), node
    raise UnsupportedKeyword(
        "patternProperties",
        "patternProperties is enforced only as one pattern with additionalProperties: false and no properties; "
        "use propertyNames and additionalProperties",
        place=at.path,
    )


def _property_names(raw: RawSchema, at: Place, reader: Subschemas) -> String | tuple[str, ...] | None:
    """The names that `propertyNames` allows: a language, or an enumeration, or `None` for all."""
    if "propertyNames" not in raw:
        return None
    node = reader.meet((String(), reader.schema(raw["propertyNames"], at.under("propertyNames"))), at)
    for _ in range(_ALIASES):
        if not isinstance(node, Ref):
            break
        node = reader.look(node, at)
    match node:
        case String():
            return None if node == String() else node
        case Never():
            return ()
        case Const():
            return (json.loads(node.text),)
        case Union(branches=branches) if all(isinstance(branch, Const) for branch in branches):
            return tuple(json.loads(branch.text) for branch in branches if isinstance(branch, Const))
    raise UnsupportedKeyword(
        "propertyNames", "propertyNames is enforced only as one string schema or an enum", place=at.path
    )


def _extra(name: str, names: String, value: Schema | None, at: Place) -> Schema:
    """What a key may hold whose name must be among `names`."""
    if value is None:
        return Never("additionalProperties forbids it")
    admitted = admits(names, name)
    if admitted is None:
        raise UnsupportedKeyword(
            "propertyNames",
            f"whether {json.dumps(name)} is a name depends on a pattern; use an enum",
            place=at.path,
        )
    return value if admitted else Never(_NAME)


def _count(raw: RawSchema, keyword: str, at: Place) -> int | None:
    return to_count(raw[keyword], keyword, at) if keyword in raw else None


def _text(value: object, keyword: str, at: Place) -> str:
    if not isinstance(value, str):
        raise SchemaError(f"{keyword} must be a string, not {shown(value)}", place=at.path)
    return value


def _strings(raw: RawSchema, keyword: str, at: Place) -> tuple[str, ...]:
    value = raw.get(keyword, ())
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise SchemaError(f"{keyword} must be a list of names", place=at.path)
    return tuple(value)


def _mapping(raw: RawSchema, keyword: str, at: Place) -> Mapping[str, object]:
    value = raw.get(keyword, {})
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise SchemaError(f"{keyword} must map names to schemas", place=at.path)
    return value
