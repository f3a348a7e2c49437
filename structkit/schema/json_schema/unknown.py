"""Keys of a schema that are no keywords: slips are errors, others are ignored, as the specification requires."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType
from typing import cast

from structkit.errors import SchemaError
from structkit.schema.ir.json_values import shorten_value
from structkit.schema.ir.keywords import ANNOTATIONS, IMPLEMENTED, PYDANTIC_CONSTRAINTS
from structkit.schema.ir.path import SchemaPath

__all__ = [
    "check_slips",
    "check_unknown",
    "describe_no_schema",
    "describe_unknown_type",
    "near_format",
    "refused_keys",
    "report_format",
]

_KNOWN: frozenset[str] = IMPLEMENTED | ANNOTATIONS
"""The keywords of the specification, of its drafts and of OpenAPI."""

_EDITS = ((9, 2), (6, 1), (0, 0))
"""By the minimum length of a keyword, how many letters a slip adds, omits or replaces.

Every slip may add or omit one, or swap two neighbours. Another letter makes another word of a short keyword (`then` and
`when`), and two make another one of `minimum` (`minimal`)."""

_OTHER_NAMES = {"choices": "enum", "max": "maximum", "min": "minimum", "regex": "pattern"}
"""What libraries of forms and of validation call keywords; a schema may have such keys of its own."""

_MAX_REPORTED = 512
"""Maximum number of unknown keywords and formats that are logged."""

_log = logging.getLogger("structkit")


def check_unknown(
    raw: Mapping[str, object], path: SchemaPath, pay: Callable[[int], object] = lambda keys: None
) -> None:
    """Check the keys of a schema that are no keywords; `pay` is called for each.

    Raises:
        SchemaError: A key looks like a misspelt keyword; or no key is a keyword, in the document or in an inner schema
            that names types.

    >>> check_unknown({"type": "object", "markdownDescription": "A person."}, SchemaPath())
    >>> check_unknown({"type": "object", "propertes": {}}, SchemaPath())
    Traceback (most recent call last):
    structkit.errors.SchemaError: at `$`:
      'propertes' is not a keyword of JSON Schema
      write 'properties', or ...
    """
    if raw.keys() <= _KNOWN:
        return
    unknown = [str(key) for key in raw if key not in _KNOWN]
    is_refused = len(unknown) == len(raw) or _is_function(raw)
    for key in unknown:
        pay(1)
        is_refused = is_refused or bool(_near_keywords(key))
    if is_refused:
        for _, message in refused_keys(raw, path):
            raise SchemaError(message, place=path.text)
    for key in unknown:
        if key in _OTHER_NAMES:
            _report_other(key)
        elif not _is_extension(key):
            _report("keyword of JSON Schema", key[:100])


def refused_keys(raw: Mapping[str, object], path: SchemaPath) -> Iterator[tuple[str, str]]:
    """Yield the keys that are refused, and why: slips of keywords, and the first key of a schema without any keyword.

    >>> [key for key, _ in refused_keys({"type": "object", "propertes": {}, "note": "x"}, SchemaPath())]
    ['propertes']
    """
    if raw.keys() <= _KNOWN:
        return
    unknown = [str(key) for key in raw if key not in _KNOWN]
    slips = 0
    referred: Set[str] | None = None
    for key in unknown:
        if (meant := _slip_of(key, raw.get(key), raw)) is None:
            continue
        referred = _referred_keys(raw) if referred is None else referred
        if key not in referred:
            slips += 1
            yield key, f"{key!r} is not a keyword of JSON Schema; write {meant!r}{_IGNORE}"
    if slips or all(map(_is_extension, unknown)) or not _is_meant(raw, path):
        return
    if len(unknown) < len(raw) and not _is_function(raw):
        return
    named = ", ".join(repr(key) for key in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
    known = "" if len(unknown) == len(raw) else " but 'description'"
    yield unknown[0], f"no key of the schema{known} is a keyword of JSON Schema: {named}; {_hint(raw)}"


def _is_function(raw: Mapping[str, object]) -> bool:
    """Return whether a schema is in what describes a function, whose `description` is the only keyword.

    >>> _is_function({"name": "f", "description": "A function.", "parameters": {"type": "object"}})
    True
    """
    return raw.keys() & _KNOWN <= {"description"} and _inner_schema(raw) is not None


def _is_meant(raw: Mapping[str, object], path: SchemaPath) -> bool:
    """Return whether keys without a keyword were meant to restrict values; inner schemas may have annotations only."""
    return path.text == "$" or any(
        isinstance(value, type) or (isinstance(value, str) and value in {*_TYPES, *_PYTHON_TYPES})
        for value in raw.values()
    )


def describe_no_schema(value: object) -> str:
    """Return the message about a value where a schema must be.

    >>> describe_no_schema("str")
    "a schema must be an object or a boolean, not 'str'; write {'type': 'string'}"
    >>> describe_no_schema(3)
    'a schema must be an object or a boolean, not 3; write {} to allow any value'
    """
    name = value.__name__ if isinstance(value, type) else value
    name = _PYTHON_TYPES.get(name, name) if isinstance(name, str) else name
    is_type = isinstance(name, str) and name in _TYPES
    remedy = f"{{'type': {name!r}}}" if is_type else "{} to allow any value"
    return f"a schema must be an object or a boolean, not {shorten_value(value)}; write {remedy}"


def describe_unknown_type(name: object, raw: Mapping[str, object]) -> str:
    """Return the message about a name in `type` that is no type.

    >>> describe_unknown_type("strng", {"type": "strng"})
    "unknown type 'strng'; write 'string'"
    """
    if (inner := _inner_schema(raw)) is not None:
        return f"{shorten_value(name)} is not a type of JSON Schema; pass the schema in it, {inner}"
    text = name.__name__ if isinstance(name, type) else name
    text = _PYTHON_TYPES.get(text, text) if isinstance(text, str) else ""
    close = get_close_matches(text, _TYPES, 1)
    remedy = f"write {close[0]!r}" if close else f"use one of {', '.join(sorted(_TYPES))}"
    return f"unknown type {shorten_value(name)}; {remedy}"


def near_format(name: str, formats: Iterable[str]) -> str | None:
    """Return the format that a misspelt name means.

    >>> near_format("emial", ["date", "email"])
    'email'
    """
    letters = set(name.lower())
    return next(
        (
            known
            for known in formats
            if name != known and _share_letters(letters, set(known.lower())) and _is_near(name, known)
        ),
        None,
    )


def check_slips(raw: Mapping[str, object], path: SchemaPath) -> None:
    """Check the keys that a Python type adds to its schema, as `json_schema_extra` does.

    Raises:
        SchemaError: A key looks like a misspelt keyword.
    """
    for key in () if raw.keys() <= _KNOWN else raw:
        if key in _KNOWN or key in PYDANTIC_CONSTRAINTS:
            continue
        if (meant := _slip_of(key, raw[key], raw)) is not None:
            raise SchemaError(
                f"{key!r} is not a keyword of JSON Schema; write {meant!r}, or 'x-{key}' for a key of your own",
                place=path.text,
            )


@lru_cache(maxsize=_MAX_REPORTED)
def report_format(name: str, formats: frozenset[str]) -> None:
    """Log once that a format is ignored, because it is not known; a slip of a known one as a warning."""
    meant = near_format(name, sorted(formats))
    if meant is None:
        _report("known format", name[:100])
    else:
        _log.warning("%r is not a known format and is ignored; write %r", name[:100], meant)


@lru_cache(maxsize=_MAX_REPORTED)
def _report(kind: str, name: str) -> None:
    _log.info("%r is not a %s and is ignored; structkit.explain shows where", name, kind)


@lru_cache(maxsize=len(_OTHER_NAMES))
def _report_other(name: str) -> None:
    _log.warning("%r is not a keyword of JSON Schema and is ignored; write %r", name, _OTHER_NAMES[name])


def _is_extension(key: str) -> bool:
    """Return whether a key is no keyword by its name: `x-order`, `$id`-like keys, `ns:key`, `_private`."""
    return key[:2].lower() == "x-" or key[:1] in ("$", "_", "@") or ":" in key


def _hint(raw: Mapping[str, object]) -> str:
    if {"openapi", "swagger", "components", "paths"} & raw.keys():
        return "this is a document of OpenAPI: pass one of its schemas"
    if (inner := _inner_schema(raw)) is not None:
        return f"pass the schema in it, {inner}"
    key, value = next(iter(raw.items()))
    if isinstance(value, type):
        return (
            f"keys and Python types are a TypedDict: TypedDict('Answer', {{{key!r}: {value.__name__}, ...}})"
        )
    if isinstance(value, str):
        name = _PYTHON_TYPES.get(value, value)
        inner = f"{{'type': {name!r}}}" if name in _TYPES else "{...}"
        return f"keys of an object are properties: {{'type': 'object', 'properties': {{{key!r}: {inner}}}}}"
    return f"keys of an object are properties: {{'type': 'object', 'properties': {{{key!r}: {{...}}}}}}"


def _inner_schema(raw: Mapping[str, object]) -> str | None:
    """Return where the schema is in what an API wraps around one; `None` for other objects.

    >>> _inner_schema({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})
    "target['function']['parameters']"
    """
    path, current = "target", raw
    while not _names_types(current.get("type")) and "properties" not in current:
        wrapper = next((key for key in _WRAPPERS if isinstance(current.get(key), Mapping)), None)
        if wrapper is None:
            break
        path, current = f"{path}[{wrapper!r}]", cast("Mapping[str, object]", current[wrapper])
    return None if current is raw else path


_WRAPPERS = (
    "response_format",
    "schema",
    "json_schema",
    "parameters",
    "input_schema",
    "inputSchema",
    "function",
)
"""Keys of the APIs of models under which a schema is."""


def _referred_keys(schema: object) -> Set[str]:
    """Return the keys of a document below which a `$ref` in a schema is: definitions may be kept under any key."""
    found: set[str] = set()
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/") and reference.count("/") > 1:
                found.add(reference.split("/", 2)[1])
            pending += value.values()
        elif isinstance(value, (list, tuple)):
            pending += value
    return found


def _slip_of(key: str, value: object, raw: Mapping[str, object]) -> str | None:
    """Return the keyword that a misspelt key means; its value must have the form that the keyword requires."""
    for keyword in _near_keywords(key):
        if keyword not in raw and _FORMS[keyword](value):
            return keyword
    return None


@lru_cache(maxsize=_MAX_REPORTED)
def _near_keywords(key: str) -> tuple[str, ...]:
    """Return the keywords that a key may misspell; documents repeat their unknown keys."""
    lower, length, is_extension = key.lower(), len(key), _is_extension(key)
    letters = set(lower)
    return tuple(
        [
            keyword
            for keyword, others in _LETTERS.items()
            if -3 < length - len(keyword) < 3
            and _share_letters(letters, others)
            and (lower == keyword.lower() or (not is_extension and _is_near(key, keyword)))
        ]
    )


def _share_letters(letters: set[str], others: Set[str]) -> bool:
    """Return whether two edits may make one word of the other: each letter of one alone is an edit."""
    shared = len(letters & others)
    return len(letters) - shared < 3 and len(others) - shared < 3


def _is_near(key: str, keyword: str) -> bool:
    """Return whether a key differs from a keyword by a letter, or from a long one by two.

    A name that puts a word before a keyword, such as `tsAdditionalProperties` or `xrequired`, marks an extension.
    """
    if len(key) > len(keyword) and key.endswith((keyword[:1].upper() + keyword[1:], f"x{keyword}")):
        return False
    if abs(len(key) - len(keyword)) > 2 or min(len(key), len(keyword)) < 3:
        return False
    if _without_one(key, keyword) or _without_one(keyword, key) or _is_swapped(key, keyword):
        return True
    edits = next(edits for length, edits in _EDITS if len(keyword) >= length)
    return _distance(key.lower(), keyword.lower()) <= edits


def _without_one(longer: str, shorter: str) -> bool:
    return len(longer) == len(shorter) + 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )


def _is_swapped(left: str, right: str) -> bool:
    return any(
        left[:at] + left[at + 1 : at + 2] + left[at : at + 1] + left[at + 2 :] == right
        for at in range(len(left) - 1)
    )


def _distance(left: str, right: str) -> int:
    """Return the number of letters to add, omit or replace."""
    row = list(range(len(right) + 1))
    for number, letter in enumerate(left, 1):
        previous, row[0] = row[0], number
        for at, other in enumerate(right, 1):
            previous, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, previous + (letter != other))
    return row[-1]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _is_schema(value: object) -> bool:
    return isinstance(value, (bool, Mapping))


def _maps_schemas(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_schema, value.values()))


def _lists_schemas(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(map(_is_schema, value))


def _names_types(value: object) -> bool:
    names = value if isinstance(value, (list, tuple)) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_IGNORE = ", or pass JsonSchema(schema, strict=False) to ignore it"

_PYTHON_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "str": "string",
        "int": "integer",
        "float": "number",
        "bool": "boolean",
        "list": "array",
        "dict": "object",
    }
)

_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})

_FORMS: Mapping[str, Callable[[object], bool]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _maps_schemas
        ),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _lists_schemas),
        **dict.fromkeys(("required", "enum"), _is_list),
        **dict.fromkeys(
            ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _is_number
        ),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_number),
        **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_number),
        **dict.fromkeys(("additionalProperties", "propertyNames", "items", "contains"), _is_schema),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), _is_schema),
        **dict.fromkeys(("pattern", "format"), _is_text),
        "$ref": lambda value: isinstance(value, str) and "#" in value,
        "uniqueItems": lambda value: isinstance(value, bool),
        "type": _names_types,
    }
)
"""By keyword, whether a value has the form that the keyword requires."""

_LETTERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {keyword: frozenset(keyword.lower()) for keyword in _FORMS}
)
"""The letters of the keywords."""
