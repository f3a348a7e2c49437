"""Keywords of one type of value: numbers, strings, arrays, objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal, Protocol, TypedDict, cast

from structkit.errors import SchemaError, UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.algebra.intersect_strings import literal_text
from structkit.schema.algebra.property_names import additional_values, matching_names
from structkit.schema.algebra.ranges import number_range, tighter
from structkit.schema.algebra.string_oracle import StringOracle
from structkit.schema.ir.constructors import array, object_, string
from structkit.schema.ir.json_values import (
    shorten_value,
    to_count,
    to_number,
)
from structkit.schema.ir.keywords import (
    CONTENT,
    FORMAT,
    FORMATS,
    JSON_TYPES,
    ORDER,
    PYTHON_FORMATS,
    JsonType,
)
from structkit.schema.ir.nodes import (
    FREE_STRING,
    Additional,
    Anything,
    Array,
    Boolean,
    Bound,
    Const,
    Contains,
    Format,
    FormatArgument,
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
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.name_groups import name_groups
from structkit.schema.json_schema.unknown import describe_unknown_type, near_format, report_format
from structkit.schema.markers.grammar import GRAMMAR_KEYWORD, grammar_format
from structkit.schema.markers.quote import QUOTE_KEYWORD, quote_format

__all__ = [
    "TYPE_NAMES",
    "ParseContext",
    "parse_type",
    "parse_type_keyword",
]

RawSchema = Mapping[str, object]

_UNRESTRICTED_PATTERNS = frozenset({"", "^", "$", ".*", "^.*", ".*$", "[\\s\\S]*", "^[\\s\\S]*$"})
"""Patterns that match every name."""


_MAX_ALIASES = 100
"""Maximum number of references followed; a longer chain is a cycle."""


class ParseContext(Protocol):
    """The part of the schema parser that parsing one type depends on."""

    python: bool
    oracle: StringOracle
    limits: Limits

    def parse(self, raw: object, path: SchemaPath) -> Schema:
        """Parse a subschema."""

    def parse_values(self, raws: Mapping[str, object], keyword: str, path: SchemaPath) -> dict[str, Schema]:
        """Parse the schemas that a keyword maps names to."""

    def resolve(self, node: Ref, path: SchemaPath) -> Schema:
        """Return the definition of a reference."""

    def intersect(self, nodes: Iterable[Schema], path: SchemaPath) -> Schema:
        """Return the intersection of nodes."""

    def difference(self, left: Schema, right: Schema, path: SchemaPath) -> Schema:
        """Return the values of `left` that are not values of `right`."""

    def intersect_names(self, left: String, right: String, path: SchemaPath) -> String | None:
        """Return the names in both languages; `None` if there are none."""

    def subtract_names(self, names: String, others: Iterable[String], path: SchemaPath) -> list[String]:
        """Return the names in none of the other languages."""


def parse_type(
    json_type: JsonType, raw: RawSchema, path: SchemaPath, parser: ParseContext, note: Note | None = None
) -> Schema:
    """Return the values of one type that the keywords of `raw` allow; strings, arrays and objects get the note.

    Raises:
        SchemaError: The value of a keyword is invalid.
        UnsupportedKeyword: A keyword cannot be enforced in this form.
    """
    match json_type:
        case "null":
            return Null()
        case "boolean":
            return Boolean()
        case "integer" | "number":
            return _number(raw, path, integral=json_type == "integer")
        case "string":
            return _string(raw, path, parser, note)
        case "array":
            return _array(raw, path, parser, note)
        case "object":
            return _object(raw, path, parser, note)


def _number(raw: RawSchema, path: SchemaPath, *, integral: bool) -> Schema:
    step: Fraction | None = None
    if "multipleOf" in raw:
        step = Fraction(to_number(raw["multipleOf"], "multipleOf", path))
        if step <= 0:
            raise SchemaError("multipleOf must be more than 0; write 1", place=path.text)
    low = _bound(raw, "minimum", "exclusiveMinimum", 1, path)
    high = _bound(raw, "maximum", "exclusiveMaximum", -1, path)
    return number_range(low, high, step, integral=integral)


def _bound(
    raw: RawSchema, inclusive: str, exclusive: str, sign: Literal[1, -1], path: SchemaPath
) -> Bound | None:
    """Return one end of a range; in draft 4 the exclusive keyword is a boolean flag of the inclusive one."""
    strict = raw.get(exclusive)
    plain = Bound(to_number(raw[inclusive], inclusive, path), strict is True) if inclusive in raw else None
    if strict is None or isinstance(strict, bool):
        return plain
    return tighter(plain, Bound(to_number(strict, exclusive, path), exclusive=True), sign)


def _string(raw: RawSchema, path: SchemaPath, parser: ParseContext, note: Note | None) -> Schema:
    if raw.keys().isdisjoint(_STRING_KEYWORDS):
        return FREE_STRING if note is None else String(note=note)
    patterns: tuple[str, ...] = ()
    if "pattern" in raw:
        patterns = (_text(raw["pattern"], "pattern", path),)
        # As a constant, it tells alternatives apart at once.
        if not parser.python and raw.keys().isdisjoint(_BESIDE_PATTERN):
            text = literal_text(patterns[0])
            if text is not None and text.isascii():
                return Const(json.dumps(text), note=note)
    return string(
        String(
            min_length=_count(raw, "minLength", path) or 0,
            max_length=_count(raw, "maxLength", path),
            patterns=patterns,
            format=_string_format(raw, path, parser),
            content=parser.parse(raw[CONTENT], path) if parser.python and CONTENT in raw else None,
            note=note,
        )
    )


_BESIDE_PATTERN = frozenset(
    {"minLength", "maxLength", "format", CONTENT, FORMAT, GRAMMAR_KEYWORD, QUOTE_KEYWORD}
)
"""Keywords that restrict strings with a pattern."""

_STRING_KEYWORDS = _BESIDE_PATTERN | {"pattern"}
"""The keywords that restrict strings."""


def _string_format(raw: RawSchema, path: SchemaPath, parser: ParseContext) -> Format | None:
    found: Format | None = None
    if "format" in raw:
        found = _format(_text(raw["format"], "format", path), path, parser)
    if parser.python and FORMAT in raw:
        own = _private_format(cast("_PrivateFormat", raw[FORMAT]))
        if found is not None and found.name == own.name and not own.arguments:
            own = found
        if found not in (None, own) and found.name not in _FOLLOWING.get(own.name, ()):
            fault = f"the type has a format of its own, to which {found.name!r} cannot be added"
            raise UnsupportedKeyword("format", f"{fault}; remove it from the schema", place=path.text)
        found = own
    if GRAMMAR_KEYWORD in raw:
        if found is not None or QUOTE_KEYWORD in raw:
            raise UnsupportedKeyword(
                "format", "a text of a grammar cannot have a format; remove it", place=path.text
            )
        return grammar_format(raw[GRAMMAR_KEYWORD], path, python=parser.python)
    if QUOTE_KEYWORD not in raw:
        return found
    if found is not None:
        raise UnsupportedKeyword("format", "a quote cannot have a format; use a pattern", place=path.text)
    return quote_format(raw[QUOTE_KEYWORD], path)


_FOLLOWING = {"python:date": ("date",), "python:uuid": ("uuid",)}
"""The formats that all texts of a format of a Python type have."""


class _PrivateFormat(TypedDict):
    """The value of `structkit:format`."""

    name: str
    arguments: dict[str, str | int | list[str]]


def _private_format(raw: _PrivateFormat) -> Format:
    arguments: dict[str, FormatArgument | None] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in raw["arguments"].items()
    }
    return Format.of(raw["name"], arguments)


def _format(name: str, path: SchemaPath, parser: ParseContext) -> Format | None:
    if parser.python and name in PYTHON_FORMATS:
        return PYTHON_FORMATS[name]
    if name in FORMATS:
        return Format(name)
    if parser.python:
        meant = near_format(name, sorted({*PYTHON_FORMATS, *FORMATS}))
        remedy = "use str with a pattern and a validator" if meant is None else f"write {meant!r}"
        raise UnsupportedKeyword(
            "format", f"types with the format {name!r} are not supported; {remedy}", place=path.text
        )
    report_format(name, FORMATS)
    return None


def _array(raw: RawSchema, path: SchemaPath, parser: ParseContext, note: Note | None) -> Schema:
    prefix, rest, keyword = raw.get("prefixItems"), raw.get("items", True), "prefixItems"
    if isinstance(rest, list | tuple):
        if prefix is not None:
            raise SchemaError("items must be a schema if prefixItems is present; write {}", place=path.text)
        prefix, rest, keyword = rest, raw.get("additionalItems", True), "items"
    if prefix is not None and not isinstance(prefix, list | tuple):
        raise SchemaError("prefixItems must be a list of schemas; write [{}]", place=path.text)
    min_items = _count(raw, "minItems", path) or 0
    items = parser.parse(rest, path.child("items"))
    contains = _contains(raw, Anything() if prefix else items, path, parser)
    arrays = array(
        Array(
            prefix=tuple(
                parser.parse(item, path.child(keyword, index)) for index, item in enumerate(prefix or ())
            ),
            items=items,
            min_items=min_items,
            max_items=_count(raw, "maxItems", path),
            unique_items=raw.get("uniqueItems") is True,
            contains=() if prefix else contains,
            note=note,
        )
    )
    return (
        parser.intersect((arrays, array(Array(contains=contains))), path) if prefix and contains else arrays
    )


def _contains(raw: RawSchema, items: Schema, path: SchemaPath, parser: ParseContext) -> tuple[Contains, ...]:
    """Return the `contains` constraint of an array with items `items`."""
    min_count = _count(raw, "minContains", path)
    max_count = _count(raw, "maxContains", path)
    min_count = 1 if min_count is None else min_count
    if "contains" not in raw or (min_count == 0 and max_count is None):
        return ()
    here = path.child("contains")
    node = parser.parse(raw["contains"], here)
    if max_count is not None and max_count < min_count:
        return (Contains(Never(f"no array contains at least {min_count} and at most {max_count}"), items, 1),)
    if max_count is not None and max_count > parser.limits.iterations:  # as of all repetitions; see `Limits`
        if not min_count:
            return ()
        max_count = None
    matching = parser.intersect((items, node), here)
    # Without a maximum, matching items need not be distinguished from the others.
    others = items if max_count is None else parser.difference(items, node, here)
    return (Contains(matching, others, min_count, max_count),)


def _object(raw: RawSchema, path: SchemaPath, parser: ParseContext, note: Note | None) -> Schema:
    keys = parser.parse_values(_mapping(raw, "properties", path), "properties", path)
    required = dict.fromkeys(_required(raw, path))
    patterned = _mapping(raw, "patternProperties", path) if "patternProperties" in raw else {}
    patterns = [
        (String(patterns=() if pattern in _UNRESTRICTED_PATTERNS else (pattern,)), value)
        for pattern, value in parser.parse_values(patterned, "patternProperties", path).items()
    ]
    groups = name_groups(
        _additional_properties(raw, path, parser),
        patterns,
        path,
        parser,
        implicit="additionalProperties" not in raw,
    )
    if patterns:
        keys = _matched(keys, patterns, path, parser)
    properties = [Property(name, value, name in required) for name, value in keys.items()]
    others = [name for name in required if name not in keys]
    if others:
        values = additional_values(others, groups, parser.oracle, path)
        properties += [Property(name, value, in_order=False) for name, value in values.items()]
    if "propertyNames" in raw:
        allowed = parser.intersect(
            (FREE_STRING, parser.parse(raw["propertyNames"], path.child("propertyNames"))), path
        )
        properties, groups = _named(properties, groups, allowed, path, parser)
    return object_(
        Object(
            tuple(properties),
            additional=groups,
            min_properties=_count(raw, "minProperties", path) or 0,
            max_properties=_count(raw, "maxProperties", path),
            any_order=parser.python and raw.get(ORDER) == "any",
            note=note,
        )
    )


def _additional_properties(raw: RawSchema, path: SchemaPath, parser: ParseContext) -> Schema:
    """Return the schema of keys that are neither declared nor match a pattern."""
    rest = raw.get("additionalProperties", True)
    return parser.parse(rest, path.child("additionalProperties"))


def _matched(
    keys: Mapping[str, Schema],
    patterns: Iterable[tuple[String, Schema]],
    path: SchemaPath,
    parser: ParseContext,
) -> dict[str, Schema]:
    """Return the schemas of declared keys, each intersected with those of the patterns that match its name."""
    inner: dict[str, list[Schema]] = {}
    for language, other in patterns:
        for name in matching_names(list(keys), language, parser.oracle, path):
            inner.setdefault(name, []).append(other)
    return {
        name: parser.intersect((value, *inner[name]), path.child("properties", name))
        if name in inner
        else value
        for name, value in keys.items()
    }


def _named(
    properties: list[Property],
    groups: tuple[Additional, ...],
    allowed: Schema,
    path: SchemaPath,
    parser: ParseContext,
) -> tuple[list[Property], tuple[Additional, ...]]:
    """Return the properties and groups with allowed names only."""
    branches = _branches(allowed, path, parser)
    constants = [json.loads(branch.text) for branch in branches if isinstance(branch, Const)]
    languages = [branch for branch in branches if isinstance(branch, String)]
    if len(constants) + len(languages) < len(branches):
        message = "propertyNames must be a non-recursive schema of strings"
        raise UnsupportedKeyword("propertyNames", message, place=path.text)

    known = [key.name for key in properties]
    allowed_names = set(constants)
    for names in languages:
        others = [name for name in known if name not in allowed_names]
        allowed_names |= matching_names(others, names, parser.oracle, path)
    named = [
        key if key.name in allowed_names else replace(key, value=Never("propertyNames forbids the key"))
        for key in properties
    ]
    values = additional_values((name for name in constants if name not in known), groups, parser.oracle, path)
    named += [Property(name, value, required=False, in_order=False) for name, value in values.items()]
    shared: list[Additional] = []
    covered: list[String] = []
    for names in languages:
        for group in groups:
            if (both := parser.intersect_names(group.names, names, path)) is not None:
                new = parser.subtract_names(both, covered, path)
                shared += [Additional(one, group.value, group.implicit) for one in new]
        covered.append(names)
    return named, tuple(shared)


def _branches(node: Schema, path: SchemaPath, parser: ParseContext) -> list[Schema]:
    """Return the alternatives of a node; references are followed."""
    found: list[Schema] = []
    pending, followed = [node], 0
    while pending:
        match pending.pop():
            case Ref() as reference if followed < _MAX_ALIASES:
                followed += 1
                pending.append(parser.resolve(reference, path))
            case Union(branches=branches):
                pending.extend(reversed(branches))
            case Never():
                pass
            case other:
                found.append(other)
    return found


def _count(raw: RawSchema, keyword: str, path: SchemaPath) -> int | None:
    return to_count(raw[keyword], keyword, path) if keyword in raw else None


def _text(value: object, keyword: str, path: SchemaPath) -> str:
    if not isinstance(value, str):
        raise SchemaError(
            f"{keyword} must be a string, not {shorten_value(value)}; quote it", place=path.text
        )
    return value


def _required(raw: RawSchema, path: SchemaPath) -> tuple[str, ...]:
    value = raw.get("required", ())
    if not isinstance(value, list | tuple) or not _are_texts(value):
        raise SchemaError("required must be a list of names; write ['name']", place=path.text)
    return tuple(value)


def _mapping(raw: RawSchema, keyword: str, path: SchemaPath) -> Mapping[str, object]:
    value = raw.get(keyword, {})
    if not isinstance(value, (dict, Mapping)) or not _are_texts(value):
        raise SchemaError(f"{keyword} must map names to schemas; write {{'name': {{}}}}", place=path.text)
    return value


def _are_texts(values: Iterable[object]) -> bool:
    # Comparing the set of types is several times faster than testing each value.
    return {*map(type, values)} <= {str} or all(isinstance(value, str) for value in values)


def parse_type_keyword(raw: Mapping[str, object], path: SchemaPath) -> tuple[JsonType, ...]:
    """Return the types that `type` names; `nullable` (OpenAPI 3.0) adds null."""
    names = raw["type"]
    found: dict[JsonType, None] = {}
    for name in names if isinstance(names, list | tuple) else (names,):
        kind = TYPE_NAMES.get(name) if isinstance(name, str) else None
        if kind is None:
            raise SchemaError(describe_unknown_type(name, raw), place=path.text)
        found[kind] = None
    if not found:
        raise SchemaError("type must list at least one type; write 'string'", place=path.text)
    if "number" in found:
        found.pop("integer", None)
    if raw.get("nullable") is True:
        found["null"] = None
    return tuple(found)


TYPE_NAMES: dict[str, JsonType] = {kind: kind for kind in (*JSON_TYPES, "integer")}
