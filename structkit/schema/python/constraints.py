"""Constraints that pydantic checks with a function after validation: enforced, or rejected as unsupported.

`Annotated[int | float, Ge(3)]` is a union whose result pydantic checks. If the inner schemas support the constraint, it
moves there; if the values are enumerable, those that pass remain; otherwise it cannot be enforced.
"""

from __future__ import annotations

import datetime as dt
import re
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import SchemaError, SchemaValidator, core_schema, to_json

from structkit.schema.ir.keywords import STRIPPED_PATTERN, with_flags
from structkit.schema.python.core_schema import (
    JSON_SIDE,
    Core,
    base64_schema,
    branches_of,
    enum_members,
    function_of,
    inner_schema,
)
from structkit.schema.python.custom_types import is_of_user, is_predicate, is_value_of_enum
from structkit.schema.python.json_codec import enum_json_value
from structkit.schema.python.temporal import JsonObject, format_schema, unsupported

__all__ = [
    "bounds_of",
    "non_string_reason",
    "push_constraint",
    "satisfying_members",
    "string_constraints",
    "text_schema",
    "unenforceable_reason",
    "with_read_bounds",
]

_K = TypeVar("_K")
_C = TypeVar("_C", bound=Mapping[str, Any])

_LENGTHS = frozenset({"min_length", "max_length"})
_RANGES = frozenset({"ge", "gt", "le", "lt"})
_DIGITS = frozenset({"max_digits", "decimal_places"})
_NATIVE: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("int", "float"), _RANGES | {"allow_inf_nan", "multiple_of"}),
    "decimal": _RANGES | _DIGITS | {"allow_inf_nan", "multiple_of"},
    "fraction": _RANGES | {"allow_inf_nan"},
    **dict.fromkeys(("date", "time", "datetime", "timedelta"), _RANGES),
    **dict.fromkeys("bytes counter deque dict encoded frozendict frozenset generator list".split(), _LENGTHS),
    **dict.fromkeys(("ordered-dict", "set", "str", "tuple"), _LENGTHS),
}
"""The constraints that each type of core schema supports."""

_WITHOUT_LENGTH = frozenset(
    "bool complex date datetime decimal float fraction int none time timedelta uuid".split()
)
_LEAVES = _WITHOUT_LENGTH | frozenset(
    "any bytes counter dataclass deque dict frozendict frozenset generator list model multi-host-url named-tuple "
    "ordered-dict set str tuple typed-dict url".split()
)
"""Types that are not wrappers and that pydantic validates without functions, and those of them without a length."""

_CLASSES = frozenset({"dataclass", "model", "named-tuple", "typed-dict"})
"""Types with a definition that others refer to."""

_CONVERTED = "ByteSize EmailStr EncodedBytes EncodedStr IPvAnyAddress IPvAnyInterface IPvAnyNetwork NameEmail"
_OPAQUE: Mapping[str, str] = {
    **{name: name for name in (*_CONVERTED.split(), "Secret", "SecretBytes", "SecretStr")},
    **dict.fromkeys(("_BaseMultiHostUrl", "_BaseUrl"), "a URL"),
    **dict.fromkeys(("pattern_either_validator", "pattern_str_validator"), "Pattern"),
    "import_string": "ImportString",
    "validate_str_is_valid_iana_tz": "ZoneInfo",
}
"""The types of the classes and functions with which pydantic converts a value."""

_SUPPORTED: Mapping[str, frozenset[str]] = {
    "a URL": _LENGTHS,
    "ByteSize": _RANGES | {"allow_inf_nan", "multiple_of"},
    "EmailStr": _LENGTHS | {"pattern"},
}
"""The constraints that these types support; the others support none."""

_SAME_LENGTH: Mapping[str, str] = {"SecretStr": "str", "SecretBytes": "bytes"}
"""Classes of pydantic with the length of the wrapped text, and the type of the text."""

_TRANSPARENT = frozenset({"custom-error", "default", "json", "json-or-python", "lax-or-strict", "nullable"})
_PUSHABLE = _RANGES | {"multiple_of", "minLength", "maxLength", "minItems", "maxItems"}
"""The keywords of constraints in pydantic's own JSON Schema."""


def push_constraint(schema: Core, definitions: Mapping[str, Core] = MappingProxyType({})) -> Core | None:
    """Move a constraint that pydantic checks with a function into the inner schemas.

    `Annotated[int | float, Ge(3)]` is a union whose result is checked; both branches support the constraint.

    Args:
        schema: A core schema.
        definitions: The referenced schemas, by their references.

    Returns:
        The inner schema with the constraint; `None` if there is no constraint, or the inner schema does not support it.
    """
    constrained = inner_schema(_resolved(schema, definitions, frozenset())) if _constraints(schema) else None
    for name, value in _constraints(schema).items():
        constrained = None if constrained is None else _constrained(constrained, name, value, schema)
    if constrained is None:
        return None
    metadata = cast("dict[str, object]", schema.get("metadata", {}))
    updates = cast("JsonObject", metadata.get("pydantic_js_updates", {}))
    others = {key: value for key, value in updates.items() if key not in _PUSHABLE}
    return {"type": "default", "schema": constrained, "metadata": {**metadata, "pydantic_js_updates": others}}


def bounds_of(schema: Core) -> JsonObject:
    """Return the bounds that pydantic checks with a function, as keywords that apply to numbers only."""
    return {
        _KEYWORDS[name]: value
        for name, value in _constraints(schema).items()
        if name in _KEYWORDS and isinstance(value, int | float | Decimal)
    }


_KEYWORDS = {
    "multiple_of": "multipleOf",
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}


def _constraints(schema: Core) -> Mapping[str, object]:
    function = function_of(schema)
    if getattr(function, "__name__", "") == "forbid_inf_nan_check" and not is_of_user(function):
        return {"allow_inf_nan": False}
    if schema.get("type") != "function-after" or not isinstance(function, partial):
        return {}
    return function.keywords if function.func.__module__.startswith("pydantic.") else {}


def _resolved(schema: Core, definitions: Mapping[str, Core], seen: frozenset[str]) -> Core:
    """Replace references to constrained schemas by the schemas; references to classes get the class instead."""
    name = schema.get("schema_ref")
    if isinstance(name, str):
        target = definitions.get(name)
        if target is None or name in seen:
            return schema
        if target["type"] in _CLASSES:
            return {**schema, "of": target["type"], "cls": target.get("cls")}
        return _resolved(_unnamed(target), definitions, seen | {name})
    if isinstance(choices := schema.get("choices"), (dict, list)):
        resolved = [_resolved(each, definitions, seen) for each in branches_of(schema)]
        tagged = dict(zip(choices, resolved, strict=True)) if isinstance(choices, dict) else resolved
        return {**schema, "choices": tagged}
    key = next((key for key in JSON_SIDE if key in schema), None)
    inner = schema.get(key or "")
    if not isinstance(inner, dict) or not (_is_transparent(schema) or _constraints(schema)):
        return schema
    return {**schema, str(key): _resolved(inner, definitions, seen)}


def _unnamed(schema: Core) -> Core:
    """Return a schema without its reference: a changed schema is not the referenced one."""
    return {key: value for key, value in schema.items() if key != "ref"}


def _is_transparent(schema: Core) -> bool:
    """Return whether a wrapper preserves the length and order of the inner values."""
    function = function_of(schema)
    wraps = schema["type"] == "function-wrap" and isinstance(function, partial) and not is_of_user(function)
    return wraps or schema["type"] in _TRANSPARENT or is_predicate(schema)


def _constrained(schema: Core, name: str, value: object, outer: Core) -> Core | None:
    """Return a schema with a constraint that `outer` checks; `None` if the schema does not support it."""
    schema = push_constraint(schema) or schema
    kind = "encoded" if base64_schema(schema) else str(schema.get("type"))
    if name in _NATIVE.get(kind, ()) and not _fails(schema, name, value):
        return {**_unnamed(schema), name: value} if name not in schema else None
    if name in _LENGTHS and (text := _secret(schema)):
        return {"type": text, name: value}
    if kind == "union":
        branches = _branches(dict(enumerate(branches_of(schema))), name, value, outer)
        return {**_unnamed(schema), "choices": list(branches.values())} if branches else None
    if kind == "tagged-union" and isinstance(choices := schema.get("choices"), dict):
        tagged = _branches(choices, name, value, outer)
        return {**_unnamed(schema), "choices": tagged} if tagged else None
    inner = inner_schema(schema) if _is_transparent(schema) else None
    if inner is None or kind == "nullable":  # `None` passes no constraint
        return None if inner is None else _constrained(inner, name, value, outer)
    constrained = _constrained(inner, name, value, outer)
    if constrained is None and name in _SUPPORTED.get(_converted(_leaf(inner)) or "", ()):
        constrained = {**_unnamed(outer), "schema": inner}
    key = next((key for key in JSON_SIDE if key in schema), "schema")
    return None if constrained is None else {**_unnamed(schema), key: constrained}


def _branches(choices: Mapping[_K, Core], name: str, value: object, outer: Core) -> dict[_K, Core]:
    """Return the branches of a union that can pass a constraint, with it or with the check of the union."""
    constrained = {
        key: _constrained(each, name, value, outer) or {**_unnamed(outer), "schema": each}
        for key, each in choices.items()
        if not _fails(each, name, value)
    }
    return {key: each for key, each in constrained.items() if _passing(each) != []}


def _fails(schema: Core, name: str, value: object) -> bool:
    """Return whether all values of a schema fail a constraint, because they have no length or numeric order."""
    kind, cls = schema.get("of", schema["type"]), schema.get("cls")
    if name in _DIGITS:
        return kind in _LEAVES and kind != "decimal"
    if name == "allow_inf_nan":
        return kind in _LEAVES - {"any"} and kind not in _COMPARABLE[0][1]
    if name in _LENGTHS:
        return kind in _WITHOUT_LENGTH or (kind in ("dataclass", "model") and not hasattr(cls, "__len__"))
    comparable = next((kinds for types, kinds in _COMPARABLE if isinstance(value, types)), None)
    if name not in (*_RANGES, "multiple_of") or comparable is None:
        return False
    if kind in ("dataclass", "model"):
        return cast("Any", cls).__ge__ is cast("Any", object).__ge__
    return kind in _LEAVES - {"any"} and kind not in comparable


_COMPARABLE: Sequence[tuple[Any, frozenset[str]]] = (
    ((int, float, Decimal), frozenset({"bool", "decimal", "float", "fraction", "int"})),
    (dt.datetime, frozenset({"datetime", "str"})),
    (dt.date, frozenset({"date", "str"})),
    (dt.time, frozenset({"str", "time"})),
    (dt.timedelta, frozenset({"str", "timedelta"})),
    (str, frozenset({"str"})),
)
"""The types of core schemas whose values may be compared with a bound. A text can also be a date, so it is no other."""


def _secret(schema: Core) -> str | None:
    """Return the type of the text inside a secret; `None` for other schemas."""
    inner: Core | None = schema
    while inner is not None:
        if (found := _SAME_LENGTH.get(getattr(function_of(inner), "__name__", ""))) is not None:
            return found
        inner = inner_schema(inner) if inner.get("type") in _TRANSPARENT else None
    return None


def unenforceable_reason(schema: Core, config: Any) -> str | None:
    """Return why a constraint cannot be enforced; `None` if it can, or is not pydantic's."""
    if config.str_to_upper and _converted(schema) == "EmailStr":
        return _UPPER_EMAIL
    names = list(_constraints(schema))
    return _reason(names[0], _leaf(schema)) if names else None


_UPPER_EMAIL = (
    "an EmailStr has its domain in lower case, so it cannot be in upper case; use to_lower, or "
    "AfterValidator(str.upper)"
)


def non_string_reason(schema: Core, texts: Sequence[Core]) -> str | None:
    """Return why the values of a schema cannot have the constraints of strings; `None` if this is unknown."""
    leaf = _leaf(schema)
    if _converted(leaf) == "EmailStr" and any(each.get("to_upper") for each in texts):
        return _UPPER_EMAIL
    if _secret(schema):
        return "`pattern` of a secret cannot be enforced; use str, or check it in a validator"
    return None if leaf["type"] in ("str", "bytes") else _reason("pattern", leaf)


def _reason(name: str, leaf: Core) -> str | None:
    if name not in _LENGTHS and string_constraints(leaf) is not None:
        leaf = {"type": "str"}
    converted = _converted(leaf)
    type_name = converted or getattr(leaf.get("cls"), "__name__", str(leaf["type"]))
    unions = set() if name == "pattern" else {"tagged-union", "union"}  # without a member that can pass
    is_known = converted is not None or leaf["type"] in _LEAVES | {"is-instance"} | unions
    if not is_known or name in _SUPPORTED.get(converted or "", ()):
        return None
    return f"`{name}` of {type_name} cannot be enforced; remove it, or check it in a validator"


def _converted(leaf: Core) -> str | None:
    """Return the type of a class or function of pydantic that converts a value; `None` for other schemas."""
    function = function_of(leaf)
    owner = str(getattr(function, "__qualname__", "")).partition(".")[0]
    return _OPAQUE.get(owner) if not is_of_user(function) else None


def _candidates(schema: Core) -> list[object] | None:
    """Return the values of a constrained schema; `None` if they are not enumerable."""
    if not _constraints(schema):
        return None
    inner, values = schema, list[object]()
    while inner["type"] in _TRANSPARENT or _constraints(inner) or is_value_of_enum(inner):
        if inner["type"] == "json":
            return None
        values += [None] if inner["type"] == "nullable" else []
        inner = inner_schema(inner) or {"type": ""}
    match inner["type"]:
        case "none":
            return [*values, None]
        case "bool":
            return [*values, True, False]
        case "literal":
            return [*values, *cast("list[object]", inner["expected"])]
        case "enum":
            return [*values, *enum_members(inner)]
    return None


def _leaf(schema: Core) -> Core:
    """Return the constrained schema inside wrappers, or the schema of the class that pydantic instantiates."""
    while _is_transparent(schema) or _constraints(schema):
        strict = schema.get("strict_schema", schema.get("python_schema"))
        if isinstance(strict, dict) and strict["type"] in ("is-instance", "json-or-python"):
            schema = strict
            continue
        inner = inner_schema(schema)
        if inner is None:
            break
        schema = inner
    return schema


def string_constraints(schema: Core) -> list[Core] | None:
    """Return the string constraints of a chain, such as the pattern of a value that is not a plain string.

    Returns:
        Schemas of strings; `None` for other chains.
    """
    steps = schema.get("steps")
    others: list[Core] = steps[1:] if isinstance(steps, list) else []
    names = [str(getattr(function_of(each), "__qualname__", "")) for each in others]
    if not others or not all(name.startswith("apply_known_metadata.") for name in names):
        return None
    return [cast("Core", each["schema"]) for each in others]


def satisfying_members(schema: Core) -> JsonObject | None:
    """Return the enum of the values of a constrained schema that pass; `None` if they are not enumerable."""
    passing = _passing(schema)
    if passing == []:
        return unsupported(f"no value satisfies `{next(iter(_constraints(schema)))}`; remove it")
    return None if passing is None else {"enum": passing}


def _passing(schema: Core) -> list[object] | None:
    """Return the values of a constrained schema that pass, as JSON; `None` if they are not enumerable."""
    if (values := _candidates(schema)) is None:
        return None
    validator = SchemaValidator(cast("core_schema.CoreSchema", schema))
    passing: list[object] = []
    for value in values:
        with suppress(ValidationError, TypeError):
            validator.validate_json(to_json(enum_json_value(value)))
            passing.append(enum_json_value(value))
    return passing


# Strings


def text_schema(schema: Core, json_schema: JsonObject, config: Any, *, is_distinct: bool) -> JsonObject:
    """Return the schema of a string with the constraints that pydantic's JSON Schema omits.

    Args:
        schema: The core schema.
        json_schema: Pydantic's schema.
        config: The configuration of the enclosing class.
        is_distinct: Whether two texts must not have the same value, as in a set.
    """
    described = dict(json_schema)
    for keyword, length in (("minLength", config.str_min_length), ("maxLength", config.str_max_length)):
        if length:
            described.setdefault(keyword, length)
    pattern = schema.get("pattern")
    if isinstance(pattern, str | re.Pattern):
        engine = schema.get("regex_engine", config.regex_engine)
        described["pattern"] = _pattern_text(pattern, is_python=engine == "python-re")
    others: list[JsonObject] = []
    if schema.get("to_lower", config.str_to_lower):
        others.append(format_schema("lower"))
    elif schema.get("to_upper", config.str_to_upper):
        others.append(format_schema("upper"))
    if schema.get("ascii_only"):
        others.append(format_schema("isascii"))
    strips = schema.get("strip_whitespace", config.str_strip_whitespace)
    if strips and (others or len(described) > 1 or is_distinct):
        # Lengths, patterns and distinctness apply after stripping: allow no text that stripping changes.
        others.append({"type": "string", "pattern": STRIPPED_PATTERN})
    return {**described, "allOf": others} if others else described


_READ_BY_ONE = re.compile(
    r"\[\^?-|\[.*(?:\[|&&|--|~~)|\(\?[a-zA-Z]*x|\(\?#|\{(?![0-9]+,?[0-9]*\})|\\[0-9NpP<>]", re.DOTALL
)
"""What `re` and Rust's `regex` may read differently, and the properties of characters, which only Rust has."""

_PROPERTY = re.compile(r"\\(?:([pP])\{([^{}]*)\}|.)", re.DOTALL)


def _pattern_text(pattern: str | re.Pattern[str], *, is_python: bool) -> str:
    """Return the pattern of a string, with the engine that reads it if engines may differ.

    >>> _pattern_text("^[a-z]+$", is_python=False), _pattern_text("[[:alpha:]]", is_python=False)
    ('^[a-z]+$', '(?#rust)[[:alpha:]]')
    >>> _pattern_text(re.compile("a b  # two", re.VERBOSE), is_python=False)
    '(?#python)(?x)a b  # two'
    """
    if isinstance(pattern, re.Pattern):
        pattern, is_python = with_flags(pattern), True
    if not _READ_BY_ONE.search(pattern):
        return pattern
    read = pattern if is_python else _PROPERTY.sub(_with_ranges, pattern)
    engine = "python" if is_python else "rust"
    return f"(?#{engine}){pattern}" if read == pattern else f"(?#{engine} {len(pattern)}){pattern}{read}"


def _with_ranges(found: re.Match[str]) -> str:
    """Return a property of characters that Python has no table of, such as a script, as ranges."""
    letter, name = found.groups()
    if letter is None or (ranges := _property_ranges(name)) is None:
        return found[0]
    listed = "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)
    return f"[{'^' if letter == 'P' else ''}{listed}]"


@lru_cache(maxsize=32)
def _property_ranges(name: str) -> tuple[tuple[int, int], ...] | None:
    """Return the characters of a property as pydantic's engine knows them; `None` if they have too many ranges.

    >>> _property_ranges("Script=Ogham"), _property_ranges("Lu")
    (((5760, 5788),), None)
    """
    try:
        inside, outside = (
            SchemaValidator(core_schema.str_schema(pattern=f"^[{negate}\\p{{{name}}}]*$"))
            for negate in ("", "^")
        )
    except SchemaError:
        return None
    ranges: list[tuple[int, int]] = []
    every = array("I", range(0x110000)).tobytes().decode("utf-32", "surrogatepass")
    pending = [(0xE000, 0x10FFFF), (0, 0xD7FF)]
    while pending and len(ranges) <= _MAX_RANGES:
        low, high = pending.pop()
        text = every[low : high + 1]
        if inside.isinstance_python(text):
            if ranges and ranges[-1][1] == low - 1:
                low = ranges.pop()[0]
            ranges.append((low, high))
        elif not outside.isinstance_python(text):
            middle = (low + high) // 2
            pending += [(middle + 1, high), (low, middle)]
    return tuple(ranges) if len(ranges) <= _MAX_RANGES else None


_MAX_RANGES = 200
"""Maximum number of ranges of a property. The letters have more; they are a general category, which Python knows."""


def with_read_bounds(schema: _C) -> _C:
    """Return the core schema of a date or the like with bounds as pydantic reads them, such as 0 for a timedelta."""
    read = SchemaValidator(cast("core_schema.CoreSchema", {"type": schema["type"]})).validate_python
    return cast("_C", {**schema, **{name: read(schema[name]) for name in _RANGES if name in schema}})
