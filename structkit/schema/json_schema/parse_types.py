"""Reads the keywords of one kind of value: numbers, strings, arrays, objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal, Protocol

from structkit.errors import SchemaError, UnsupportedKeyword
from structkit.schema.algebra.property_names import is_named, value_under
from structkit.schema.algebra.ranges import number_range, tighter
from structkit.schema.algebra.string_oracle import Texts
from structkit.schema.ir.constructors import array, object_, string
from structkit.schema.ir.json_values import shown, to_count, to_number
from structkit.schema.ir.keywords import CONTENT, FORMATS, OPTIONAL, ORDER, PYTHON_FORMATS, Kind
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Bound,
    Const,
    Contains,
    Never,
    Note,
    Null,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import Place
from structkit.schema.markers.quote import QUOTE_KEYWORD, quote_format

__all__ = ["Subschemas", "read_kind"]

RawSchema = Mapping[str, object]

_EVERY_NAME = frozenset({"", "^", "$", ".*", "^.*", ".*$", "[\\s\\S]*", "^[\\s\\S]*$"})
"""Patterns that every name matches."""

_MOST_GROUPS = 64

_ALIASES = 100
"""References to references that are followed; more are a circle."""


class Subschemas(Protocol):
    """What reading one kind needs of the reader of the whole schema."""

    python: bool
    texts: Texts
    defaults: Literal["always", "may_omit"]

    def schema(self, raw: object, at: Place) -> Schema:
        """Read a subschema."""

    def look(self, node: Ref, at: Place) -> Schema:
        """The definition that a reference names."""

    def meet(self, nodes: Iterable[Schema], at: Place) -> Schema:
        """The intersection of nodes."""

    def minus(self, left: Schema, right: Schema, at: Place) -> Schema:
        """The values of one node that are not values of another."""

    def names(self, left: String, right: String, at: Place) -> String | None:
        """The names in both languages; `None` if there are none."""

    def names_without(self, names: String, others: Iterable[String], at: Place) -> list[String]:
        """The names that are in none of the others."""


def read_kind(kind: Kind, raw: RawSchema, at: Place, reader: Subschemas, note: Note | None = None) -> Schema:
    """The values of one kind that the keywords of `raw` allow; strings, arrays and objects with the note.

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
            return _string(raw, at, reader, note)
        case "array":
            return _array(raw, at, reader, note)
        case "object":
            return _object(raw, at, reader, note)


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


def _string(raw: RawSchema, at: Place, reader: Subschemas, note: Note | None) -> Schema:
    patterns: tuple[str, ...] = ()
    if "pattern" in raw:
        patterns = (_text(raw["pattern"], "pattern", at),)
    return string(
        String(
            min_length=_count(raw, "minLength", at) or 0,
            max_length=_count(raw, "maxLength", at),
            patterns=patterns,
            format=_string_format(raw, at, reader),
            content=reader.schema(raw[CONTENT], at) if reader.python and CONTENT in raw else None,
            note=note,
        )
    )


def _string_format(raw: RawSchema, at: Place, reader: Subschemas) -> str | None:
    found = _format(_text(raw["format"], "format", at), at, reader) if "format" in raw else None
    if QUOTE_KEYWORD not in raw:
        return found
    if found is not None:
        raise UnsupportedKeyword(
            "format", "a quote cannot be of a format besides; use a pattern", place=at.path
        )
    return quote_format(raw[QUOTE_KEYWORD], at)


def _format(name: str, at: Place, reader: Subschemas) -> str | None:
    if not reader.python:
        return name if name in FORMATS else None
    if name.startswith("python:"):
        return name
    if name not in PYTHON_FORMATS:
        raise UnsupportedKeyword(
            "format",
            f"a type whose format is {name!r} is not supported; use str, with a pattern, and a validator",
            place=at.path,
        )
    return PYTHON_FORMATS[name]


def _array(raw: RawSchema, at: Place, reader: Subschemas, note: Note | None) -> Schema:
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
    items = reader.schema(rest, at.under("items"))
    contains = _contains(raw, Anything() if prefix else items, at, reader)
    arrays = array(
        Array(
            prefix=tuple(
                reader.schema(item, at.under(keyword, index)) for index, item in enumerate(prefix or ())
            ),
            items=items,
            min_items=least,
            max_items=_count(raw, "maxItems", at),
            unique=raw.get("uniqueItems") is True,
            contains=() if prefix else contains,
            note=note,
        )
    )
    return reader.meet((arrays, array(Array(contains=contains))), at) if prefix and contains else arrays


def _contains(raw: RawSchema, items: Schema, at: Place, reader: Subschemas) -> tuple[Contains, ...]:
    """What an array must contain, all of whose items are `items`."""
    least = _count(raw, "minContains", at)
    most = _count(raw, "maxContains", at)
    least = 1 if least is None else least
    if "contains" not in raw or (least == 0 and most is None):
        return ()
    here = at.under("contains")
    node = reader.schema(raw["contains"], here)
    if most is not None and most < least:
        return (Contains(Never(f"no array contains at least {least} and at most {most}"), items, 1),)
    hits = reader.meet((items, node), here)
    # What is counted only from below need not be told apart from the rest.
    return (Contains(hits, items if most is None else reader.minus(items, node, here), least, most),)


def _object(raw: RawSchema, at: Place, reader: Subschemas, note: Note | None) -> Schema:
    keys = {
        name: reader.schema(value, at.under("properties", name))
        for name, value in _mapping(raw, "properties", at).items()
    }
    required = _required(raw, tuple(keys), at, reader)
    patterns = [
        (
            String(patterns=() if pattern in _EVERY_NAME else (pattern,)),
            reader.schema(value, at.under("patternProperties", pattern)),
        )
        for pattern, value in _mapping(raw, "patternProperties", at).items()
    ]
    groups = _groups(_rest(raw, at, reader), patterns, at, reader, silent="additionalProperties" not in raw)
    properties = [
        Property(name, _matched(name, value, patterns, at, reader) if patterns else value, name in required)
        for name, value in keys.items()
    ]
    properties += [
        Property(name, value_under(name, groups, reader.texts, at), listed=False)
        for name in required
        if name not in keys
    ]
    if "propertyNames" in raw:
        allowed = reader.meet((String(), reader.schema(raw["propertyNames"], at.under("propertyNames"))), at)
        properties, groups = _named(properties, groups, allowed, at, reader)
    return object_(
        Object(
            tuple(properties),
            additional=groups,
            min_properties=_count(raw, "minProperties", at) or 0,
            max_properties=_count(raw, "maxProperties", at),
            any_order=reader.python and raw.get(ORDER) == "any",
            note=note,
        )
    )


def _required(raw: RawSchema, declared: tuple[str, ...], at: Place, reader: Subschemas) -> dict[str, None]:
    """The names that must be written, in order; for a Python type also those that have a default."""
    names = _strings(raw, "required", at)
    if reader.python and reader.defaults == "always":
        optional = _strings(raw, OPTIONAL, at)
        return dict.fromkeys((*(name for name in declared if name not in optional), *names))
    return dict.fromkeys(names)


def _rest(raw: RawSchema, at: Place, reader: Subschemas) -> Schema:
    """The values of keys that are neither declared nor match a pattern."""
    rest = raw.get("additionalProperties", not reader.python)
    return reader.schema(rest, at.under("additionalProperties"))


def _groups(
    rest: Schema, patterns: Iterable[tuple[String, Schema]], at: Place, reader: Subschemas, *, silent: bool
) -> tuple[Additional, ...]:
    """The additional keys by the patterns that their names match, so that no name is in two groups."""
    groups: list[tuple[String, Schema | None]] = [(String(), None)]
    for names, value in patterns:
        split: list[tuple[String, Schema | None]] = []
        outside = String(forbidden=names.patterns)
        for known, inner in groups:
            if (inside := reader.names(known, names, at)) is not None:
                split.append((inside, value if inner is None else reader.meet((inner, value), at)))
            if names.patterns and (others := reader.names(known, outside, at)) is not None:
                split.append((others, inner))
        groups = split
        if len(groups) > _MOST_GROUPS:
            message = f"the patterns split the names into more than {_MOST_GROUPS} groups; use fewer"
            raise UnsupportedKeyword("patternProperties", message, place=at.path)
    found = (
        Additional(names, rest, silent) if value is None else Additional(names, value)
        for names, value in groups
    )
    return tuple(group for group in found if not isinstance(group.value, Never))


def _matched(
    name: str, value: Schema, patterns: Iterable[tuple[String, Schema]], at: Place, reader: Subschemas
) -> Schema:
    """A declared value that must also be what the patterns say that match its name."""
    inner = [other for names, other in patterns if is_named(name, names, reader.texts, at)]
    return reader.meet((value, *inner), at.under("properties", name)) if inner else value


def _named(
    properties: list[Property], groups: tuple[Additional, ...], allowed: Schema, at: Place, reader: Subschemas
) -> tuple[list[Property], tuple[Additional, ...]]:
    """Only the keys whose names are allowed."""
    branches = _branches(allowed, at, reader)
    constants = [json.loads(branch.text) for branch in branches if isinstance(branch, Const)]
    languages = [branch for branch in branches if isinstance(branch, String)]
    if len(constants) + len(languages) < len(branches):
        message = "propertyNames is enforced only as strings that are said without recursion"
        raise UnsupportedKeyword("propertyNames", message, place=at.path)

    def is_allowed(name: str) -> bool:
        return name in constants or any(is_named(name, names, reader.texts, at) for names in languages)

    known = {key.name for key in properties}
    kept = [
        key if is_allowed(key.name) else replace(key, value=Never("propertyNames forbids its name"))
        for key in properties
    ]
    kept += [
        Property(name, value_under(name, groups, reader.texts, at), required=False, listed=False)
        for name in constants
        if name not in known
    ]
    shared: list[Additional] = []
    taken: list[String] = []
    for names in languages:
        for group in groups:
            if (both := reader.names(group.names, names, at)) is not None:
                new = reader.names_without(both, taken, at)
                shared += [Additional(one, group.value, group.silent) for one in new]
        taken.append(names)
    return kept, tuple(shared)


def _branches(node: Schema, at: Place, reader: Subschemas) -> list[Schema]:
    """The alternatives of a node, those behind references too."""
    found: list[Schema] = []
    pending, looked = [node], 0
    while pending:
        match pending.pop():
            case Ref() as reference if looked < _ALIASES:
                looked += 1
                pending.append(reader.look(reference, at))
            case Union(branches=branches):
                pending.extend(reversed(branches))
            case Never():
                pass
            case other:
                found.append(other)
    return found


def _count(raw: RawSchema, keyword: str, at: Place) -> int | None:
    return to_count(raw[keyword], keyword, at) if keyword in raw else None


def _text(value: object, keyword: str, at: Place) -> str:
    if not isinstance(value, str):
        raise SchemaError(f"{keyword} must be a string, not {shown(value)}", place=at.path)
    return value


def _strings(raw: RawSchema, keyword: str, at: Place) -> tuple[str, ...]:
    value = raw.get(keyword, ())
    if not isinstance(value, list | tuple) or not _are_texts(value):
        raise SchemaError(f"{keyword} must be a list of names", place=at.path)
    return tuple(value)


def _mapping(raw: RawSchema, keyword: str, at: Place) -> Mapping[str, object]:
    value = raw.get(keyword, {})
    if not isinstance(value, (dict, Mapping)) or not _are_texts(value):
        raise SchemaError(f"{keyword} must map names to schemas", place=at.path)
    return value


def _are_texts(values: Iterable[object]) -> bool:
    # The types as a set are had several times faster than one answer for each value.
    return {*map(type, values)} <= {str} or all(isinstance(value, str) for value in values)
