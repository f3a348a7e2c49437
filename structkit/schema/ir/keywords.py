"""The keywords of JSON Schema, each in exactly one place: implemented, or an annotation.

The vocabulary is that of draft 2020-12 (https://json-schema.org/draft/2020-12/schema) and the older spellings of the
same ideas. A keyword that is in no table is unknown, and the specification says that it is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

__all__ = [
    "ANNOTATIONS",
    "CHECKED",
    "COMBINING_KEYWORDS",
    "CONTENT",
    "DEPENDENT_KEYWORDS",
    "FORMATS",
    "IMPLEMENTED",
    "JSON_TYPES",
    "OPTIONAL",
    "ORDER",
    "PYTHON_FORMATS",
    "STRIPPED_PATTERN",
    "TYPE_KEYWORDS",
    "UNSUPPORTED",
    "JsonType",
    "KeywordStatus",
    "keyword_status",
]

JsonType: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

JSON_TYPES: tuple[JsonType, ...] = ("null", "boolean", "number", "string", "array", "object")
"""The kinds of JSON values, whole numbers being numbers."""

TYPE_KEYWORDS: Mapping[str, JsonType] = MappingProxyType(
    {
        "additionalItems": "array",
        "additionalProperties": "object",
        "contains": "array",
        "exclusiveMaximum": "number",
        "exclusiveMinimum": "number",
        "format": "string",
        "items": "array",
        "maxItems": "array",
        "maxLength": "string",
        "maxProperties": "object",
        "maximum": "number",
        "minItems": "array",
        "minLength": "string",
        "minProperties": "object",
        "minimum": "number",
        "multipleOf": "number",
        "pattern": "string",
        "patternProperties": "object",
        "prefixItems": "array",
        "properties": "object",
        "propertyNames": "object",
        "required": "object",
        "uniqueItems": "array",
    }
)
"""Implemented keywords that say something about one kind of value and nothing about the others."""

IMPLEMENTED: frozenset[str] = frozenset(TYPE_KEYWORDS) | {
    "$anchor",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$schema",
    "allOf",
    "anyOf",
    "const",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "if",
    "maxContains",
    "minContains",
    "not",
    "nullable",
    "oneOf",
    "then",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
}

_SINGLE_TYPE_KEYWORDS = frozenset(TYPE_KEYWORDS) | {
    "$anchor",
    "$defs",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$schema",
    "definitions",
    "else",
    "maxContains",
    "minContains",
    "then",
    "type",
}

COMBINING_KEYWORDS: frozenset[str] = IMPLEMENTED - _SINGLE_TYPE_KEYWORDS
"""Implemented keywords that say more than what the values of the type beside them are, and where others are found."""

DEPENDENT_KEYWORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "contains": ("minContains", "maxContains"),
        "if": ("then", "else"),
        "patternProperties": ("additionalProperties",),
    }
)
"""Keywords that mean something else, or nothing, without the keyword that stands first."""

ANNOTATIONS: frozenset[str] = frozenset(
    {
        "$comment",
        "$vocabulary",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "deprecated",
        "description",
        "discriminator",
        "example",
        "examples",
        "externalDocs",
        "id",
        "readOnly",
        "title",
        "writeOnly",
        "xml",
    }
)

CHECKED = "structkit:checked"
"""A private keyword of `output.py`: what only the type itself checks, when its value is written."""

OPTIONAL = "structkit:optional"
"""A private keyword of `output.py`: the properties that may be left out even if fields with a default are written."""

ORDER = "structkit:order"
"""A private keyword of `output.py`: `"any"` where the keys of an object come in any order, whatever the call says."""

UNSUPPORTED = "structkit:refused"
"""A private keyword of `output.py`: why the type that stands here is not supported."""

_SPACE = r"\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

STRIPPED_PATTERN = f"^([^{_SPACE}]([\\s\\S]*[^{_SPACE}])?)?$"
"""The pattern of a text from which stripping removes nothing: no character of Unicode's White_Space at its ends."""

FORMATS: frozenset[str] = frozenset(
    {
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "idn-email",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "iri",
        "iri-reference",
        "json-pointer",
        "regex",
        "relative-json-pointer",
        "time",
        "uri",
        "uri-reference",
        "uri-template",
        "uuid",
    }
)
"""The formats that the specification defines; any other is an annotation."""

PYTHON_FORMATS: Mapping[str, str | None] = MappingProxyType(
    {
        "base64": None,
        "base64url": None,
        "directory-path": None,
        "email": "python:email",
        "file-path": None,
        "ipv4": 'python:ip-address {"version": 4}',
        "ipv4interface": 'python:ip-interface {"version": 4}',
        "ipv4network": 'python:ip-network {"version": 4}',
        "ipv6": 'python:ip-address {"version": 6}',
        "ipv6interface": 'python:ip-interface {"version": 6}',
        "ipv6network": 'python:ip-network {"version": 6}',
        "ipvanyaddress": 'python:ip-address {"version": 0}',
        "ipvanyinterface": 'python:ip-interface {"version": 0}',
        "ipvanynetwork": 'python:ip-network {"version": 0}',
        "name-email": "python:name-email",
        "password": None,
        "path": None,
        "regex": "regex",
        "zoneinfo": "python:zone",
        **{f"uuid{version}": f'python:uuid {{"version": {version}}}' for version in (1, 3, 4, 5, 6, 7, 8)},
    }
)
"""The formats that pydantic emits, and what they become: `None` where every string is accepted, or more is said of
the type than its format. Those of `output.py` itself begin with `python:`."""

CONTENT = "structkit:content"
"""A private keyword of `output.py`: what the JSON says that a string holds."""

KeywordStatus: TypeAlias = Literal["enforced", "annotation", "unknown"]


def keyword_status(keyword: str) -> KeywordStatus:
    """What becomes of a keyword.

    >>> keyword_status("minimum"), keyword_status("title"), keyword_status("minimun")
    ('enforced', 'annotation', 'unknown')
    """
    if keyword in IMPLEMENTED:
        return "enforced"
    return "annotation" if keyword in ANNOTATIONS else "unknown"
