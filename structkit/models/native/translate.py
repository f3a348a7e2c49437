"""Translates a JSON Schema into the part of JSON Schema that a server enforces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from structkit.models.native.profiles import SchemaProfile

__all__ = ["Translation", "Unsent", "translate"]

Pointer = tuple[str, ...]

_NAMED_SCHEMAS = ("$defs", "definitions", "properties")
_LISTED_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems")
_READ = ("description", "title")
"""Annotations that the model reads."""

_SILENT = frozenset(
    {
        "$comment", "$id", "$schema", "contentEncoding", "contentMediaType", "default", "deprecated", "discriminator",
        "example", "examples", "readOnly", "writeOnly", *_READ,
    }
)  # fmt: skip
"""Keywords that restrict nothing."""

_OF_OBJECTS = frozenset({"additionalProperties", "properties", "required"})

_BESIDE = frozenset({"$defs", "$ref", "definitions", "type"})
"""Keywords that are enforced, or harmless, beside those beside which others are not."""

_MAX_DEPTH = 200
"""Maximum depth of a schema that is translated."""


@dataclass(frozen=True, slots=True)
class Unsent:
    """A keyword that a server does not enforce.

    Attributes:
        pointer: The place of its schema in the whole schema.
        keyword: The keyword; empty if the schema as a whole cannot be sent.
        reason: Why.
    """

    pointer: Pointer
    keyword: str
    reason: str


@dataclass(frozen=True, slots=True)
class Translation:
    """A schema for a server.

    Attributes:
        schema: The schema; `None` if the server enforces no part of it.
        unsent: What the server does not enforce.
    """

    schema: Mapping[str, object] | None
    unsent: tuple[Unsent, ...]


class _Refused(Exception):
    """The server refuses any schema for the value."""

    def __init__(self, pointer: Pointer, reason: str) -> None:
        super().__init__(reason)
        self.unsent = Unsent(pointer, "", reason)


def translate(schema: object, profile: SchemaProfile) -> Translation:
    """Return the part of a schema that a server enforces.

    What the server does not enforce is left out. What it requires beyond the schema, such as no additional properties,
    is added where the schema allows it, so that the values of the result belong to the schema apart from what was left
    out. A schema that the server would refuse gives none.

    >>> from structkit.models.native.profiles import OPENAI_STRICT
    >>> schema = {"type": "object", "properties": {"age": {"type": "integer", "not": {"const": 0}}}}
    >>> found = translate(schema, OPENAI_STRICT)
    >>> found.schema["properties"], found.schema["required"]
    ({'age': {'type': 'integer'}}, ['age'])
    >>> [(unsent.pointer, unsent.keyword) for unsent in found.unsent]
    [(('properties', 'age'), 'not')]
    >>> translate({"type": "array"}, OPENAI_STRICT).unsent[0].reason
    'OpenAI takes only objects'
    """
    translator = _Translator(profile)
    try:
        translated = translator.root(schema)
    except _Refused as refused:
        return Translation(None, (*translator.unsent, refused.unsent))
    return Translation(translated, tuple(translator.unsent))


class _Translator:
    def __init__(self, profile: SchemaProfile) -> None:
        self.profile = profile
        self.unsent: list[Unsent] = []
        self.properties = self.optional = self.unions = self.enums = 0

    def root(self, schema: object) -> Mapping[str, object]:
        profile = self.profile
        if profile.is_object and not (isinstance(schema, Mapping) and schema.get("type") == "object"):
            raise _Refused((), f"{profile.name} takes only objects")
        if profile.is_object and isinstance(schema, Mapping) and "anyOf" in schema:
            raise _Refused((), f"{profile.name} takes no union as the value")
        translated = self.schema(schema, (), 0)
        counts = (
            ("properties", self.properties, profile.max_properties),
            ("optional properties", self.optional, profile.max_optional),
            ("unions", self.unions, profile.max_unions),
            ("values of enums", self.enums, profile.max_enum),
        )
        for what, count, most in counts:
            if most is not None and count > most:
                raise _Refused((), f"{profile.name} takes at most {most} {what}, not {count}")
        if not profile.is_recursive and _is_recursive(translated):
            raise _Refused((), f"{profile.name} takes no schema that refers to itself")
        return translated

    def schema(self, schema: object, pointer: Pointer, depth: int) -> dict[str, object]:
        profile = self.profile
        if not isinstance(schema, Mapping):
            if schema is True and not profile.requires_type:
                return {}
            raise _Refused(pointer, f"{profile.name} takes no boolean schema")
        if len(pointer) > _MAX_DEPTH or (profile.max_depth is not None and depth > profile.max_depth):
            raise _Refused(pointer, f"the schema is too deep for {profile.name}")
        found: dict[str, object] = {}
        for keyword, value in schema.items():
            reason = self.reason(keyword, value, schema)
            if reason:
                self.unsent.append(Unsent(pointer, keyword, reason))
            elif keyword in profile.keywords or keyword in _READ:
                found[keyword] = self.value(keyword, value, pointer, depth)
        if "const" in schema and "const" not in found:
            found["enum"] = [schema["const"]]
        if "oneOf" in found:
            found["anyOf"] = found.pop("oneOf")
        self.complete(found, schema, pointer)
        self.count(found)
        return found

    def reason(self, keyword: str, value: object, schema: Mapping[str, object]) -> str:
        """Return why a keyword is left out; empty if it is sent, or restricts nothing."""
        profile = self.profile
        if (
            keyword in _SILENT
            or keyword.startswith("structkit:")
            or (keyword, "enum" in schema) == ("const", False)
        ):
            return ""
        if keyword not in profile.keywords:
            return f"{profile.name} does not enforce it"
        for other in sorted(profile.alone & {*schema} - {keyword}):
            if keyword not in _BESIDE:
                return f"{profile.name} does not enforce it beside {other}"
        if keyword == "format" and value not in profile.formats:
            return f"{profile.name} does not enforce this format"
        if keyword == "minItems" and profile.least_items is not None and value not in profile.least_items:
            return f"{profile.name} enforces only {' and '.join(map(str, sorted(profile.least_items)))}"
        if keyword == "pattern" and profile.plain_patterns and not _is_plain(value):
            return f"{profile.name} enforces only plain patterns from ^ to $"
        for other in sorted(dict(profile.overridden).get(keyword, frozenset()) & {*schema}):
            if not _is_length(keyword, value, schema.get(other)):
                return f"{profile.name} does not enforce it beside {other}"
        late = _late_property(schema) if profile.orders_required and keyword in _OF_OBJECTS else None
        if late is not None:
            return f"{profile.name} writes required properties before {late}, which is optional"
        if keyword == "allOf" and not profile.joins_references and _has_reference(value):
            return f"{profile.name} takes no $ref in allOf"
        return (
            f"{profile.name} does not enforce it beside anyOf"
            if keyword == "oneOf" and "anyOf" in schema
            else ""
        )

    def value(self, keyword: str, value: object, pointer: Pointer, depth: int) -> object:
        """Return the value of a keyword with its schemas translated."""
        if keyword in _NAMED_SCHEMAS and isinstance(value, Mapping):
            inner = depth + (keyword == "properties")
            return {name: self.schema(each, (*pointer, keyword, name), inner) for name, each in value.items()}
        if keyword in _LISTED_SCHEMAS and isinstance(value, list):
            return [
                self.schema(each, (*pointer, keyword, str(number)), depth)
                for number, each in enumerate(value)
            ]
        if keyword == "items" or (keyword == "additionalProperties" and not isinstance(value, bool)):
            return self.schema(value, (*pointer, keyword), depth)
        if keyword == "$ref" and not str(value).startswith("#/"):
            raise _Refused(pointer, f"{self.profile.name} takes only references that start with #/")
        return value

    def complete(self, found: dict[str, object], schema: Mapping[str, object], pointer: Pointer) -> None:
        """Add what the server requires, or refuse the schema."""
        profile = self.profile
        says_kind = {"type", "enum", "const", "anyOf", "allOf", "$ref"} & {*found}
        if profile.requires_type and not says_kind:
            raise _Refused(pointer, f"{profile.name} takes no schema of values of any type")
        types = found.get("type")
        if types == "array" and "items" not in found and profile.requires_type:
            raise _Refused(pointer, f"{profile.name} takes no array without a schema of its items")
        if types != "object" and "properties" not in found:
            return
        properties = found.get("properties")
        names = [*properties] if isinstance(properties, Mapping) else []
        if profile.is_closed:
            if found.get("additionalProperties") is not False and "properties" not in found:
                raise _Refused(pointer, f"{profile.name} takes no object with any keys")
            if set(_names(found.get("required"))) - {*names}:
                raise _Refused(pointer, f"{profile.name} takes no required property without a schema")
            found["additionalProperties"] = False
        if profile.requires_all:
            found["required"] = names
        self.properties += len(names)
        self.optional += len({*names} - {*_names(found.get("required"))})

    def count(self, found: Mapping[str, object]) -> None:
        """Add the unions and values of a schema to the counts."""
        self.unions += "anyOf" in found or isinstance(found.get("type"), list)
        values = found.get("enum")
        self.enums += len(values) if isinstance(values, list) else 0


def _is_plain(pattern: object) -> bool:
    r"""Return whether a pattern is one from `^` to `$`, of characters, classes, groups and greedy repetitions.

    >>> [_is_plain(pattern) for pattern in (r"^[A-Z]{2}(-|\.)x$", "a", r"^\d$", "^a|b$", "^a+?$", "^(?=a)b$")]
    [True, False, False, False, False, False]
    """
    if not isinstance(pattern, str) or not re.fullmatch(r"\^.*[^\\]\$", pattern, re.DOTALL):
        return False
    if re.search(r"\\[A-Za-z0-9]|\(\?", pattern):
        return False
    outside = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern[1:-1], flags=re.DOTALL)
    if re.search(r"[*+?}][?+]|[$^]", outside):
        return False
    while (inner := re.sub(r"\([^()]*\)", "x", outside)) != outside:
        outside = inner
    return "|" not in outside


def _is_length(keyword: str, value: object, prefix: object) -> bool:
    """Return whether a keyword gives the length of a tuple, which a server that enforces `prefixItems` keeps."""
    return keyword in ("minItems", "maxItems") and isinstance(prefix, list) and value == len(prefix)


def _late_property(schema: Mapping[str, object]) -> str | None:
    """Return the first optional property that precedes a required one.

    >>> _late_property({"properties": {"a": {}, "b": {}}, "required": ["b"]})
    'a'
    """
    properties, required = schema.get("properties"), {*_names(schema.get("required"))}
    names = [*properties] if isinstance(properties, Mapping) else []
    last = max((number for number, name in enumerate(names) if name in required), default=0)
    return next((name for name in names[:last] if name not in required), None)


def _has_reference(members: object) -> bool:
    return isinstance(members, list) and any(isinstance(each, Mapping) and "$ref" in each for each in members)


def _names(required: object) -> list[str]:
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _is_recursive(root: Mapping[str, object]) -> bool:
    """Return whether a definition of a schema leads to itself."""
    calls: dict[str, set[str]] = {}
    for keyword in ("$defs", "definitions"):
        definitions = root.get(keyword)
        if isinstance(definitions, Mapping):
            calls |= {f"#/{keyword}/{name}": _references(each) for name, each in definitions.items()}
    if "#" in _references(root):
        return True
    remaining = {name: called & calls.keys() for name, called in calls.items()}
    while leaves := {name for name, called in remaining.items() if not called & remaining.keys()}:
        remaining = {name: called for name, called in remaining.items() if name not in leaves}
    return bool(remaining)


def _references(schema: object) -> set[str]:
    """Return the references of a schema."""
    found: set[str] = set()
    pending = [schema]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            reference = current.get("$ref")
            if isinstance(reference, str):
                found.add(reference)
            pending += current.values()
        elif isinstance(current, list):
            pending += current
    return found
