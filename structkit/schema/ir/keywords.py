"""JSON Schema keywords and formats, and how structkit treats each of them.

The keywords are those of draft 2020-12 (https://json-schema.org/draft/2020-12/schema) and their older spellings. A
keyword in none of the tables is unknown and ignored, as the specification requires.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

from structkit.schema.ir.nodes import Format

__all__ = [
    "ANNOTATIONS",
    "CHECKED",
    "COMBINING_KEYWORDS",
    "CONTENT",
    "DEPENDENT_KEYWORDS",
    "FORMAT",
    "FORMATS",
    "IGNORED_FORMAT",
    "IMPLEMENTED",
    "JSON_TYPES",
    "ORDER",
    "PYDANTIC_CONSTRAINTS",
    "PYTHON_FORMATS",
    "STRIPPED_PATTERN",
    "STR_METHODS",
    "TYPE_KEYWORDS",
    "UNSUPPORTED",
    "JsonType",
    "KeywordStatus",
    "keyword_status",
    "pattern_of",
    "with_flags",
    "written_pattern",
]

JsonType: TypeAlias = Literal["null", "boolean", "integer", "number", "string", "array", "object"]

JSON_TYPES: tuple[JsonType, ...] = ("null", "boolean", "number", "string", "array", "object")
"""The types of JSON values; integers are numbers."""

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
"""Implemented keywords that restrict values of one type only."""

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
"""Implemented keywords that restrict values of multiple types, or combine or reference other schemas."""

DEPENDENT_KEYWORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "contains": ("minContains", "maxContains"),
        "if": ("then", "else"),
        "patternProperties": ("additionalProperties",),
    }
)
"""By keyword, the keywords that depend on it: without it they are ignored or have another meaning."""

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
"""Private keyword of Python types: validators of the type that run after decoding."""

IGNORED_FORMAT = "structkit:ignored-format"
"""Private keyword of Python types: a format of a `str` that is not known, so that it is an annotation."""

ORDER = "structkit:order"
"""Private keyword of Python types: `"any"` if the keys of the object may have any order, whatever the call requests."""

UNSUPPORTED = "structkit:unsupported"
"""Private keyword of Python types: why the type is not supported."""

_SPACE = r"\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

STRIPPED_PATTERN = f"^([^{_SPACE}]([\\s\\S]*[^{_SPACE}])?)?$"
"""Pattern of strings that stripping does not change: no Unicode White_Space character at either end."""

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
"""The formats that the specification defines; all other formats are annotations."""

FORMAT = "structkit:format"
"""Private keyword of Python types: the `name` and the `arguments` of a format of a Python type."""

PYTHON_FORMATS: Mapping[str, Format | None] = MappingProxyType(
    {
        "base64": None,
        "base64url": None,
        "directory-path": None,
        "email": Format("python:email"),
        "file-path": None,
        "ipv4": Format("python:ip-address", (("version", 4),)),
        "ipv4interface": Format("python:ip-interface", (("version", 4),)),
        "ipv4network": Format("python:ip-network", (("version", 4),)),
        "ipv6": Format("python:ip-address", (("version", 6),)),
        "ipv6interface": Format("python:ip-interface", (("version", 6),)),
        "ipv6network": Format("python:ip-network", (("version", 6),)),
        "ipvanyaddress": Format("python:ip-address", (("version", 0),)),
        "ipvanyinterface": Format("python:ip-interface", (("version", 0),)),
        "ipvanynetwork": Format("python:ip-network", (("version", 0),)),
        "name-email": Format("python:name-email"),
        "password": None,
        "path": None,
        "regex": Format("regex"),
        "zoneinfo": Format("python:zone"),
        **{
            f"uuid{version}": Format("python:uuid", (("version", version),))
            for version in (1, 3, 4, 5, 6, 7, 8)
        },
    }
)
"""Formats that pydantic emits, and the formats that replace them.

`None` means that the format is ignored: it allows every string, or other keywords describe the type.
"""

STR_METHODS: tuple[str, ...] = (
    *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier"),
    *("islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper"),
)
"""Methods of `str` that are true for some texts; each is also a format of Python types, such as `python:isdigit`."""

_ENGINE = re.compile(r"\(\?#(python|rust)(?: (\d+))?\)")
"""The private beginning of a pattern of a Python type: the engine of pydantic that alone reads the pattern.

A pattern without one has the meaning on which both engines agree, such as one that a user adds to a schema. With a
number, the pattern as the user wrote it follows, of that length, and then what the engine reads.
"""

CONTENT = "structkit:content"
"""Private keyword of Python types: the schema of the JSON document inside a string."""

PYDANTIC_CONSTRAINTS = frozenset(
    ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "max_digits", "decimal_places")
)
"""Constraints that pydantic writes with their own names into a schema, next to validators; they are enforced."""

KeywordStatus: TypeAlias = Literal["enforced", "annotation", "unknown"]


def pattern_of(given: str) -> tuple[str, Literal["python", "rust"] | None]:
    r"""Return a pattern of a Python type, and the engine that reads it, if only one does.

    >>> pattern_of(r"(?#rust 9)\p{Ogham}[\x{1680}-\x{169c}]"), pattern_of("[a-z]")
    (('[\\x{1680}-\\x{169c}]', 'rust'), ('[a-z]', None))
    """
    found = _ENGINE.match(given)
    if found is None:
        return given, None
    return given[found.end() + int(found[2] or 0) :], cast("Literal['python', 'rust']", found[1])


def written_pattern(given: str) -> str:
    r"""Return a pattern as the user wrote it, for descriptions and messages.

    >>> written_pattern(r"(?#rust 9)\p{Ogham}[\x{1680}-\x{169c}]"), written_pattern("[a-z]")
    ('\\p{Ogham}', '[a-z]')
    """
    found = _ENGINE.match(given)
    if found is None:
        return given
    return given[found.end() :][: int(found[2]) if found[2] else None]


def with_flags(pattern: re.Pattern[str]) -> str:
    r"""Return the text of a compiled pattern with its flags.

    >>> with_flags(re.compile(r"a b  # two", re.VERBOSE))
    '(?x)a b  # two'
    """
    letters = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern


_FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}


def keyword_status(keyword: str) -> KeywordStatus:
    """Return how structkit treats a keyword.

    >>> keyword_status("minimum"), keyword_status("title"), keyword_status("minimun")
    ('enforced', 'annotation', 'unknown')
    """
    if keyword in IMPLEMENTED:
        return "enforced"
    return "annotation" if keyword in ANNOTATIONS else "unknown"
