"""Constraints of pydantic's core schemas that its JSON Schema lacks: lengths in bytes, URLs, keys.

Core schemas are plain dicts here; this module does not import pydantic.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from enum import Enum, Flag
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from structkit.error_notes import SURROGATE_REMEDY, safe_str
from structkit.schema.ir.json_values import repr_of, shorten_repr
from structkit.schema.ir.keywords import UNSUPPORTED
from structkit.schema.python.temporal import JsonObject, format_schema, unsupported

__all__ = [
    "DIGITS_AS_KEYS",
    "HASHABLE",
    "JSON_SIDE",
    "NO_JSON",
    "Core",
    "base64_schema",
    "branches_of",
    "decimal_schema",
    "describe_error",
    "encoder_of",
    "enum_members",
    "float_schema",
    "fraction_schema",
    "function_of",
    "inner_schema",
    "invalid_message",
    "is_readable",
    "key_reason",
    "key_schema",
    "name_of",
    "url_schema",
]

Core: TypeAlias = Mapping[str, object]

NO_JSON = "has no JSON form"
"""Part of the message about a type whose values no JSON represents, so that a union drops it."""

JSON_SIDE = ("schema", "json_schema", "lax_schema")
"""Keys of the inner schema that a wrapper uses for JSON."""

_FAULT = re.compile(r"regex parse error:\n(?: {4}(.+)\n {4}( *)\^)?[^\0]*?\nerror: (.*)")
"""An error of pydantic's engine: the pattern, if it is one line, the characters before its fault, and the fault."""


def inner_schema(schema: Core) -> Core | None:
    """Return the inner schema of a wrapper for JSON; `None` for other schemas."""
    found = next((schema[key] for key in JSON_SIDE if key in schema), None)
    return found if isinstance(found, dict) else None


def branches_of(schema: Core) -> list[Core]:
    """Return the branches of a union or tagged union, without labels and tags."""
    choices = schema["choices"]
    listed = choices.values() if isinstance(choices, Mapping) else cast("list[object]", choices)
    return [cast("Core", each[0] if isinstance(each, tuple) else each) for each in listed]


def is_readable(schema: Core) -> bool:
    """Return whether a type has JSON values; pydantic describes some types that have none."""
    return getattr(function_of(schema), "__name__", "") != "pattern_bytes_validator"


def function_of(schema: Core) -> object:
    """Return the function that a schema calls."""
    wrapped = schema.get("function")
    return wrapped.get("function") if isinstance(wrapped, dict) else None


def encoder_of(schema: Core) -> object:
    """Return the encoder of `EncodedBytes` or `EncodedStr`; `None` for other schemas."""
    owner = getattr(function_of(schema), "__self__", None) if schema.get("type") == "function-after" else None
    is_encoded = type(owner).__name__ in ("EncodedBytes", "EncodedStr")
    return (
        getattr(owner, "encoder", None) if is_encoded and type(owner).__module__ == "pydantic.types" else None
    )


def base64_schema(schema: Core) -> JsonObject | None:
    """Return the schema of a Base64 string, with lengths in decoded bytes; `None` for other schemas."""
    described = getattr(encoder_of(schema), "get_json_format", str)()
    if described not in ("base64", "base64url"):
        return None
    url = True if described == "base64url" else None
    ascii_only = True if getattr(function_of(schema), "__name__", "") == "decode_str" else None
    min_length, max_length = schema.get("min_length"), schema.get("max_length")
    return {
        "type": "string",
        "allOf": [
            format_schema(
                "base64", min_bytes=min_length, max_bytes=max_length, url=url, ascii_only=ascii_only
            )
        ],
    }


# URLs


def url_schema(schema: Core, *, hosts: bool = False) -> JsonObject:
    """Return the schema of URLs of the allowed schemes; parts with a default are required, as pydantic writes them."""
    schemes = schema.get("allowed_schemes")
    default_host, path, port = (schema.get(f"default_{part}") for part in ("host", "path", "port"))
    return format_schema(
        "url",
        schemes=schemes,
        host_required=bool(schema.get("host_required") or default_host) or None,
        port_written=port is not None or None,
        path_written=path is not None or None,
        multiple_hosts=hosts or None,
        max_length=schema.get("max_length"),
    )


# Keys

DIGITS_AS_KEYS = "structkit:digits"
"""Private keyword: the values of an enum as strings, which pydantic accepts as keys."""

_INT_KEY = r"^(0|-?[1-9][0-9]{0,17})$"
_FLOAT_KEY = r"^(0\.0|-?(0\.[0-9]{0,5}[1-9]|[1-9][0-9]{0,8}\.(0|[0-9]{0,5}[1-9])))$"
"""Floats in a union with other keys, with few digits, so that no two texts denote the same float."""

_RANGE = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt"}


def key_schema(names: JsonObject, *, distinct_values: bool = False) -> JsonObject | None:
    """Return the schema of the names that pydantic converts to keys of a schema; `None` if there is none.

    Args:
        names: The schema of the keys.
        distinct_values: Whether no two names may denote the same key.
    """
    kind = names.get("type")
    if kind == "string" or not names or UNSUPPORTED in names:
        return names
    values = [names["const"]] if "const" in names else names.get("enum")
    if isinstance(values, list):
        texts = names.get(DIGITS_AS_KEYS, [value for value in values if isinstance(value, str)])
        return names if texts == values else {"enum": texts} if texts else None
    if isinstance(branches := names.get("anyOf"), list):
        short_float: JsonObject = {"type": "string", "pattern": _FLOAT_KEY}
        multiple = sum(branch != {"type": "null"} for branch in branches) > 1
        converted = [
            short_float
            if multiple and branch == {"type": "number"}
            else key_schema(branch, distinct_values=distinct_values)
            for branch in branches
        ]
        found = [each for each in converted if each is not None]
        return {"type": "string"} if {"type": "string"} in found else {"anyOf": found} if found else None
    if kind == "boolean":
        return {"enum": ["true", "false"]}
    if kind == "integer" and names.keys() == {"type"}:
        return {"type": "string", "pattern": _INT_KEY}
    bounds = {name: f"{names[key]}" for key, name in _RANGE.items() if key in names}
    if kind == "integer" and names.keys() <= {"type", "multipleOf", *_RANGE}:
        of = f"{names['multipleOf']}" if "multipleOf" in names else None
        return format_schema("decimal", decimal_places=0, multiple_of=of, **bounds)
    if kind == "number" and names.keys() <= {"type", *_RANGE}:
        return format_schema("float-key", distinct_values=distinct_values or None, **bounds)
    return None


def key_reason(keys: Core) -> str:
    """Return why pydantic reads no key of a JSON object as a value of a type, with a remedy.

    >>> key_reason({"type": "literal", "expected": [1, 2]})
    "pydantic reads no key of a JSON object as 1; write Literal['1', '2'], or a list of pairs"
    """
    cls, expected = keys.get("cls"), keys.get("expected")
    if isinstance(cls, type) and issubclass(cls, Enum) and all(isinstance(each.value, int) for each in cls):
        first = next(iter(cls))
        return (
            f"pydantic reads no key of a JSON object as {first}, whose value is not a string; derive the enum from "
            f"int, class {cls.__name__}(int, Enum), or write a list of pairs"
        )
    if isinstance(expected, list) and all(type(value) is int for value in expected):
        texts = ", ".join(repr(str(value)) for value in expected)
        return f"pydantic reads no key of a JSON object as {expected[0]}; write Literal[{texts}], or a list of pairs"
    return "keys of this type are not supported; use dict[str, ...], or a list of pairs"


# Strings, numbers and choices

_MAX_TOLERATED = 4_000_000.0
"""Bound below which two rounding errors are within 1e-9, pydantic's tolerance for multiples."""


HASHABLE = {"anyOf": [{"type": kind} for kind in ("null", "boolean", "integer", "number", "string")]}
"""The JSON values that pydantic converts to hashable values."""


def float_schema(schema: Mapping[str, Any], json_schema: JsonObject) -> JsonObject:
    """Return the schema of a float, whose multiples are bounded to those that pydantic accepts in spite of rounding.

    Args:
        schema: The core schema.
        json_schema: Pydantic's schema, which leaves infinite bounds out.
    """
    infinite = {"ge": math.inf, "gt": math.inf, "le": -math.inf, "lt": -math.inf}
    if (name := next((name for name, end in infinite.items() if schema.get(name) == end), None)) is not None:
        return unsupported(
            f"JSON has no number that meets {name}={infinite[name]}; give a finite bound, or remove it"
        )
    of = schema.get("multiple_of")
    if of is None or of <= 0:
        return json_schema
    largest = _largest_multiple(of)
    if (
        schema.get("ge", schema.get("gt", -largest)) > largest
        or schema.get("le", schema.get("lt", largest)) < -largest
    ):
        return unsupported(f"floats cannot be multiples of {of} beyond {largest:g}; use Decimal")
    return {"allOf": [json_schema, {"type": "number", "minimum": -largest, "maximum": largest}]}


def _largest_multiple(of: float) -> float:
    """Return the bound up to which pydantic accepts every multiple in spite of rounding."""
    if Decimal(repr(of)) == Decimal(of):
        return 2.0**53 / of.as_integer_ratio()[1]
    return max(_MAX_TOLERATED, of)


def enum_members(schema: Core) -> list[object]:
    """Return the values of the members of an enum, and combinations of flags."""
    given, cls = schema["members"], schema["cls"]
    members = [member.value for member in given] if isinstance(given, list) else []
    if not (isinstance(cls, type) and issubclass(cls, Flag)) or len(members) > _MAX_COMBINED_FLAGS:
        return members
    combined = [0]
    for value in members:
        combined += [each | value for each in combined]
    return list(dict.fromkeys(combined))


_MAX_COMBINED_FLAGS = 10
"""Maximum number of members of a flag whose combinations are enumerated."""


def fraction_schema(schema: Core, json_schema: JsonObject) -> JsonObject:
    """Return the schema of a fraction: a string such as `22/7`, or a number if it has bounds other than 0.

    Args:
        schema: The core schema.
        json_schema: The schema of the numbers within the bounds.
    """
    bounds = {
        key: value for key in (*_RANGE.values(), "multiple_of") if (value := schema.get(key)) is not None
    }
    if not bounds:
        return format_schema("fraction")
    excluded = {
        "-": bounds.keys() & {"ge", "gt"},
        "0": bounds.keys() & {"gt", "lt"},
        "+": bounds.keys() & {"le", "lt"},
    }
    signs = "".join(sign for sign, keys in excluded.items() if not keys)
    if not signs or "multiple_of" in bounds or any(bounds.values()):
        return json_schema
    return format_schema("fraction", signs=signs)


def decimal_schema(schema: Core, json_schema: JsonObject) -> JsonObject:
    """Return the schema of a decimal: a number if a float can represent its digits, or a string.

    Args:
        schema: The core schema.
        json_schema: The schema of the numbers within the bounds.
    """
    digits, places = (
        value if isinstance(value := schema.get(key), int) else None
        for key in ("max_digits", "decimal_places")
    )
    of = schema.get("multiple_of")
    bounds = {key: str(value) for key, value in schema.items() if key in _RANGE.values()}
    step = None if of is None else str(of)
    text = format_schema("decimal", max_digits=digits, decimal_places=places, multiple_of=step, **bounds)
    if (
        (digits or 0) > _EXACT_DIGITS
        or (places or 0) > _EXACT_DIGITS
        or (places is None and digits is not None)
    ):
        return text
    # By default, half of the digits are after the point; decimals with more digits are strings.
    after = _EXACT_DIGITS // 2 if places is None else places if digits is None else min(digits, places)
    before = _EXACT_DIGITS - after if digits is None or places is None else max(digits - places, 0)
    limit = _power_of_ten(before)
    fixed: JsonObject = {
        "type": "number",
        "multipleOf": _power_of_ten(-after),
        "exclusiveMinimum": -limit,
        "exclusiveMaximum": limit,
    }
    if digits is not None and before == 0:  # the digit of 0 is before the point, where none is allowed
        fixed |= {"not": {"const": 0}}
    return {"anyOf": [{"allOf": [json_schema, fixed]}, text]}


_EXACT_DIGITS = 15
"""Decimal digits that survive the float to which pydantic converts a JSON number."""


def _power_of_ten(exponent: int) -> Decimal:
    """Return the exact power of ten."""
    return Decimal(10**exponent) if exponent >= 0 else Decimal((0, (1,), exponent))


def name_of(target: object) -> str:
    """Return the name of a type without modules and `Annotated`: `list[Person]`."""
    origin, arguments = get_origin(target), get_args(target)
    if origin is Annotated:
        return name_of(arguments[0])
    if origin in (Union, UnionType):
        return " | ".join(map(name_of, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(str(value) if isinstance(value, Enum) else repr_of(value) for value in arguments)}]"
    if target is Ellipsis:
        return "..."
    if target is None or target is NoneType:  # an `==` of the user may raise
        return "None"
    name = getattr(target if origin is None else origin, "__name__", None) or repr_of(target)
    return f"{name}[{', '.join(map(name_of, arguments))}]" if arguments and isinstance(origin, type) else name


def describe_error(target: object, error: Exception, undefined: str | None = None) -> str:
    """Return pydantic's message in one line, with a remedy.

    Args:
        target: The type.
        error: The error of pydantic.
        undefined: The name that the type refers to and that is not defined, if it is known.
    """
    name = name_of(target)
    message = " ".join(safe_str(error).split("\n\nFor further information")[0].split())
    if isinstance(error, NameError) or "not fully defined" in message:
        which = "a name" if undefined is None else repr(undefined)
        return f"{name} refers to {which}, which is not defined; define it where {name} is defined, or correct it"
    if "should have length > 0" in message or 'literal "expected" cannot be empty' in message:
        return f"{name} has an Enum or a Literal without values; add one"
    if marker := re.match(r"(MaxTokens|Quote)\.__get_pydantic", message):
        example = f"Annotated[str, structkit.{marker[1]}({'20' if marker[1] == 'MaxTokens' else ''})]"
        return f"{name} has the class {marker[1]} as an annotation; write {example}"
    unknown = re.match(r"Unable to generate pydantic-core schema for (.+?)\. Set `arbitrary_types", message)
    if unknown is not None:
        if (remedy := _builtin_remedy(_class_at(target, unknown[1]))) is not None:
            return (
                f"pydantic does not read {_bare(unknown[1])}, a class derived from a built-in one; {remedy}"
            )
        if _bare(unknown[1]).partition("[")[0] == name.partition("[")[0]:
            return f"pydantic cannot read {_shown(unknown[1])}"
        return f"{name} has a part that pydantic cannot read, {_shown(unknown[1])}"
    inner = re.match(r"Unable to infer a default factory for values of type (\S.*?)\. Only ", message)
    if inner is not None:
        return f"pydantic knows no default of {_bare(inner[1])} in a defaultdict; write dict[...] for the outer one"
    if "`typing.Self` is invalid" in message:
        return f"{name} stands for a class that is not known here; write the class"
    if "typing_extensions.TypedDict" in message:
        return (
            f"{name} has a TypedDict of typing, which pydantic reads from Python 3.12 on; "
            "write from typing_extensions import TypedDict"
        )
    constraint = re.match(r'Error building "[\w-]+" validator: (?:\w+: )?(.*)', message)
    if constraint is not None:
        if (fault := _FAULT.search(safe_str(error))) is not None:
            shown = f" {shorten_repr(repr(fault[1]))}, column {len(fault[2]) + 1}," if fault[1] else ""
            meant = "write re.compile(pattern)" if "not supported" in fault[3] else "correct it"
            return f"the pattern{shown} of {name} is not valid: {fault[3]}; {meant}"
        if "exceeds size limit" in constraint[1]:
            return f"the pattern of {name} is too large for pydantic: {constraint[1]}; write smaller counts"
        if "error extracting str" in constraint[1]:
            what = "contains a lone surrogate, which UTF-8 cannot encode"
            return f"a Literal or Enum value of {name} {what}; {SURROGATE_REMEDY}"
        return f"a constraint of {name} is not valid: {constraint[1]}; correct it"
    tag = re.match(r"Model '(.+)' needs a discriminator field for key '(.+)'", message)
    if tag is not None:
        return (
            f"{tag[1]} has no field {tag[2]!r}, which is the discriminator of {name}; add {tag[2]}: Literal[...] to "
            "it, or name a field that all members have"
        )
    return f"pydantic cannot describe {name}: {message}; use a type that pydantic can validate from JSON"


def _builtin_remedy(cls: object) -> str | None:
    """Return what to write instead of a class that is derived from a built-in one; `None` for other classes.

    >>> _builtin_remedy(type("UserId", (str,), {}))
    'write Annotated[str, pydantic.AfterValidator(UserId)] instead of UserId'
    """
    if not isinstance(cls, type) or cls.__module__ == "builtins":
        return None
    base = next((each for each in _BUILTIN if issubclass(cls, each)), None)
    if base is None or issubclass(cls, Enum):
        return None
    given = (each for each in getattr(cls, "__orig_bases__", ()) if get_origin(each) is base)
    inner, name = name_of(next(given, base)), cls.__name__
    return f"write Annotated[{inner}, pydantic.AfterValidator({name})] instead of {name}"


_BUILTIN = (str, int, float, bytes, dict, list, set, frozenset)


def _class_at(target: object, part: str) -> object:
    """Return the class in a type that pydantic names, such as `<class 'app.UserId'>`; `None` if it is not found."""
    pending, seen = [target], set[int]()
    while pending and len(seen) < _MAX_SEARCHED:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, type) and repr(each) == part:
            return each
        pending += [*get_args(each), getattr(each, "_type", None)]
        with suppress(Exception):  # annotations are code of the user
            pending += get_type_hints(each, include_extras=True).values()
    return None


_MAX_SEARCHED = 1000
"""Maximum number of parts of a type in which the class of an error is searched."""


def invalid_message(schema: Core) -> str:
    """Return why a schema of pydantic has no JSON form, with a remedy."""
    if schema.get("type") == "function-plain":
        owner = getattr(function_of(schema), "__self__", None)
        if hasattr(owner, "parse_obj") and hasattr(owner, "__fields__"):
            return f"{name_of(owner)} is a model of pydantic 1; derive it from the BaseModel of pydantic 2"
        return "pydantic does not know the JSON of a plain validator; define __get_pydantic_json_schema__ of its class"
    cls = schema.get("cls")
    name = getattr(cls, "__name__", str(schema.get("type")))
    remedy = _shown(f"<class '{getattr(cls, '__module__', '')}.{name}'>").partition("; ")[2]
    return f"{name} {NO_JSON}; {_builtin_remedy(cls) or remedy}"


_USE_ANOTHER = "use a type that can be written as JSON"

_WRITE: Mapping[str, str] = MappingProxyType(
    {
        name: remedy
        for names, remedy in (
            ("AsyncIterable AsyncIterator AsyncGenerator Iterator Collection Container", "write list[...]"),
            ("Reversible KeysView ValuesView Sized UserList array", "write list[...]"),
            ("ndarray", "write list[float] or list[list[float]]"),
            ("ChainMap UserDict mappingproxy", "write dict[...]"),
            ("bytearray memoryview BytesIO", "write bytes"),
            ("LiteralString UserString StringIO IO TextIO Match", "write str"),
            ("Number Real Rational", "write int | float"),
            ("int8 int16 int32 int64 uint8", "write int"),
            ("timezone tzinfo", "write zoneinfo.ZoneInfo"),
            ("range slice", "write tuple[int, int]"),
            ("*tuple", "write list[...], or a tuple of a fixed length"),
            ("Awaitable Coroutine", "write the type of its result"),
            ("ClassVar NotRequired Required", "write the type inside of it"),
        )
        for name in names.split()
    }
)
"""What to write in place of types that pydantic does not read."""


def _bare(part: str) -> str:
    """Return a part of a type that pydantic names, without its modules.

    >>> _bare("<class 'app.Money'>"), _bare("typing.Iterator[app.Money]")
    ('Money', 'Iterator[Money]')
    """
    found = re.fullmatch(r"<class '([^']+)'>", part)
    return re.sub(r"\b(?:\w+\.)+", "", part if found is None else found[1])


def _shown(part: str) -> str:
    """Return a part of a type that pydantic names, with a remedy.

    >>> _shown("<class 'app.Money'>")
    'the class Money; make it a pydantic.BaseModel or a dataclass, or use another type'
    >>> _shown("typing.Iterator[int]")
    'Iterator[int]; write list[...]'
    """
    shown = _bare(part)
    remedy = _WRITE.get(shown.partition("[")[0])
    if not part.startswith("<class"):
        return f"{shown}; {remedy or 'write a type'}"
    module = part[8:-2].rpartition(".")[0].partition(".")[0]
    is_fixed = not module or module in sys.stdlib_module_names - {"__main__"}  # nobody can change it
    own = _USE_ANOTHER if is_fixed else "make it a pydantic.BaseModel or a dataclass, or use another type"
    return f"the class {shown}; {remedy or own}"
