"""Types that validate with methods of their own: types of pydantic, and of the package pydantic-extra-types.

Predicates, and formats that users add to a string, are read here too.

This module does not import that package. A core schema refers to a method of a class, so the module of the class is
already imported; it provides the allowed values (codes of countries, names of languages).
"""

from __future__ import annotations

import enum
import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from operator import attrgetter
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, TypeVar, cast

from pydantic_core import to_jsonable_python

from structkit.schema.ir.keywords import CHECKED, FORMATS, IGNORED_FORMAT, PYTHON_FORMATS, STR_METHODS
from structkit.schema.json_schema.unknown import near_format, report_format
from structkit.schema.python.core_schema import Core, encoder_of, function_of, inner_schema
from structkit.schema.python.temporal import JsonObject, format_schema, unsupported

__all__ = [
    "NO_FIELDS",
    "custom_core_schema",
    "is_of_user",
    "is_predicate",
    "is_value_of_enum",
    "predicate_schema",
    "report_parameters",
    "strict_text",
    "with_restrictions_of_both",
    "without_unknown_format",
]


_C = TypeVar("_C", bound=Mapping[str, Any])


def custom_core_schema(schema: Core) -> Core | None:
    """Return a core schema that is more precise than the JSON Schema of a custom type; `None` for other types.

    It keeps what users add to the JSON Schema of the type.

    >>> custom_core_schema({"type": "int"}) is None
    True
    """
    for function in _functions(schema):
        if (found := _known_owner(function)) is None:
            continue
        owner, known = found
        inner = _CORES[known](schema) if known in _CORES else _described_as(_TYPES[known](owner))
        return {"type": "default", "schema": inner, "metadata": _metadata_of_user(schema)}
    return None


def is_of_user(function: object) -> bool:
    """Return whether a core schema has a function of a user, rather than of pydantic or structkit, or none.

    >>> is_of_user(print), is_of_user(custom_core_schema), is_of_user(None)
    (True, False, False)
    """
    owner = getattr(function, "func", function)  # of a partial function
    return owner is not None and str(getattr(owner, "__module__", "")).partition(".")[0] not in _NOT_OF_USERS


def is_value_of_enum(schema: Core) -> bool:
    """Return whether a schema reads the value of a member, as `use_enum_values` does, which cannot fail."""
    inner = inner_schema(schema)
    return isinstance(function_of(schema), attrgetter) and inner is not None and inner["type"] == "enum"


def strict_text(schema: Core, config: object) -> Core | None:
    """Return the schema of the string from which a strict type reads a value, such as an address.

    The options of `config` for strings apply to it.
    """
    if schema["type"] != "lax-or-strict" or not schema.get("strict", getattr(config, "strict", False)):
        return None
    inner = schema.get("strict_schema")
    while isinstance(inner, dict) and inner["type"] in ("function-after", "json-or-python"):
        inner = inner_schema(inner)
    return inner if isinstance(inner, dict) and inner["type"] == "str" else None


_NOT_OF_USERS = {"ipaddress", "pydantic", "pydantic_core", "pydantic_extra_types", "structkit"}


def _known_owner(function: object) -> tuple[object, str] | None:
    """Return the object whose method a function is, and the known name of its class or of a base class."""
    plain = function.func if isinstance(function, partial) else function
    method = str(getattr(plain, "__qualname__", "")).partition(".<locals>")[0]
    name = f"{getattr(plain, '__module__', '')}.{method}".rpartition(".")[0]
    owner = getattr(plain, "__self__", None)
    classes = (owner if isinstance(owner, type) else type(owner)).__mro__
    names = [name, *(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)]
    found = next((each for each in names if each in _CORES or each in _TYPES), None)
    return None if found is None else (function if owner is None else owner, found)


def _functions(schema: Core) -> Iterator[object]:
    """Yield the functions of a schema: for validation, and for its JSON Schema."""
    yield function_of(schema)
    yield from _described_by(schema)
    if schema.get("type") == "json-or-python":
        # A type with a plain string as JSON has its class only in the schema of Python objects.
        python = schema.get("python_schema")
        for choice in _parts(python, "choices"):
            for step in _parts(choice, "steps"):
                yield function_of(step)


def _described_by(schema: Core) -> list[object]:
    metadata = _metadata(schema)
    return [each for key in _JSON_FUNCTIONS for each in cast("list[object]", metadata.get(key, []))]


def _metadata(schema: Core) -> dict[str, object]:
    metadata = schema.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


_JSON_FUNCTIONS = ("pydantic_js_functions", "pydantic_js_annotation_functions")


def _metadata_of_user(schema: Core) -> dict[str, object]:
    """Return the metadata of a custom type without the functions that describe it."""
    return {
        key: [each for each in cast("list[object]", value) if _known_owner(each) is None or is_of_user(each)]
        if key in _JSON_FUNCTIONS
        else value
        for key, value in _metadata(schema).items()
    }


def _described_as(described: JsonObject) -> Core:
    """Return a core schema that pydantic describes by a JSON Schema."""
    return {"type": "any", "metadata": {"pydantic_js_functions": [lambda schema, handler: described]}}


def _parts(schema: object, key: str) -> Iterator[Core]:
    parts = schema.get(key) if isinstance(schema, dict) else None
    return (part for part in parts if isinstance(part, dict)) if isinstance(parts, list) else iter(())


# Predicates


def predicate_schema(schema: Core) -> JsonObject | None:
    """Return the schema of the values that a predicate of a type accepts.

    Returns:
        `None` if the schema is none of a predicate, or only calling the predicate shows what it accepts.
    """
    function = function_of(schema)
    negate = False
    while (inner := _predicate_in(function)) is not None:
        negate ^= inner[1]
        function = inner[0]
    name = getattr(function, "__name__", None)
    if function is function_of(schema) or not isinstance(name, str):
        return None
    leaf = _checked_value(schema)
    if name in STR_METHODS and function is getattr(str, name) and _is_text(leaf):
        return format_schema(name, negate=negate or None)
    if name in _ABOUT_INFINITY and function is getattr(math, name) and leaf["type"] in _NUMBERS:
        if (name == "isfinite") is negate:
            return unsupported("JSON has only finite numbers; remove the predicate")
        return {"type": ["number", "string"]}
    return None


_ABOUT_INFINITY = ("isfinite", "isinf", "isnan")
_NUMBERS = ("decimal", "float", "int")


def is_predicate(schema: Core) -> bool:
    """Return whether a schema calls a predicate, which does not change the value."""
    return schema["type"] == "function-after" and _predicate_in(function_of(schema)) is not None


def _predicate_in(function: object) -> tuple[object, bool] | None:
    """Return what a predicate calls, and whether it negates the result; `None` for other objects.

    Pydantic keeps a `Predicate` and a `Not` of annotated-types in the closure of its own function.
    """
    if getattr(function, "__qualname__", "") == PREDICATE_FUNCTION and isinstance(function, FunctionType):
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return (cells["annotation"].cell_contents, False) if "annotation" in cells else None
    cls = type(function)
    if cls.__module__ == "annotated_types" and cls.__name__ in ("Not", "Predicate"):
        return getattr(function, "func", None), cls.__name__ == "Not"
    return None


PREDICATE_FUNCTION = "apply_known_metadata.<locals>.val_func"
"""The name of the function with which pydantic calls a predicate."""


def _checked_value(schema: Core) -> Core:
    """Return the innermost schema of the value that a function gets, within what does not change the value."""
    while schema["type"] in _UNCHANGED or _only_checks(schema):
        steps = [*_parts(schema, "steps")]
        inner = inner_schema(schema) if not steps else steps[0]
        if inner is None:
            break
        schema = inner
    return schema


_UNCHANGED = frozenset({"default", "json-or-python", "lax-or-strict", "nullable"})


def _only_checks(schema: Core) -> bool:
    """Return whether the functions of a schema are checks of pydantic, which return the value that they get."""
    if schema["type"] == "chain":
        return all(map(_only_checks, [*_parts(schema, "steps")][1:]))
    function = function_of(schema)
    if schema["type"] == "function-wrap":  # a constraint of strings
        return getattr(function, "__qualname__", "").startswith("apply_known_metadata.")
    is_constraint = isinstance(function, partial) and not is_of_user(function)
    return (is_constraint and schema["type"] == "function-after") or is_predicate(schema)


def _is_text(schema: Core) -> bool:
    expected = schema.get("expected")
    if isinstance(expected, list):
        return all(isinstance(each, str) for each in expected)
    return schema["type"] == "str" or schema.get("sub_type") == "str"


# More precise core schemas


def _without_metadata(schema: Core) -> Core:
    return {key: value for key, value in schema.items() if key not in ("metadata", "ref")}


def _coordinate(schema: Core) -> Core:
    """Return the schema of the dataclass, without its list and text forms."""
    union = schema.get("schema")
    chain = next(_parts(union, "choices"), None)
    return next(_parts(chain, "steps"), schema)


_EXTRA = "pydantic_extra_types"

_CORES: Mapping[str, Callable[[Core], Core]] = MappingProxyType(
    {
        f"{_EXTRA}.coordinate.Coordinate": _coordinate,
        f"{_EXTRA}.coordinate.Latitude": _without_metadata,
        f"{_EXTRA}.coordinate.Longitude": _without_metadata,
    }
)


# JSON Schemas of types


def _text(pattern: str) -> Callable[[object], JsonObject]:
    return lambda owner: {"type": "string", "pattern": f"^({pattern})$"}


def _checked(shape: str, reason: str) -> Callable[[object], JsonObject]:
    """Describe a type that checks more than the shape of its values.

    The language does not enforce check digits: enforcement would turn a miscopied number into a different valid one.
    """
    return lambda owner: {**_text(shape)(owner), CHECKED: reason}


def _codes(database: str, attribute: str) -> Callable[[object], JsonObject]:
    """Describe the codes or names of a database of the package pycountry."""

    def describe(owner: object) -> JsonObject:
        entries: Iterable[object] = getattr(sys.modules["pycountry"], database)
        codes = (getattr(entry, attribute, None) for entry in entries)
        return {"enum": list(dict.fromkeys(code for code in codes if code is not None))}

    return describe


def _module(owner: object) -> ModuleType:
    """Return the module of the class of the package; `owner` can be of a derived class."""
    classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
    return next(
        sys.modules[cls.__module__] for cls in classes if cls.__module__.startswith((_EXTRA, "pydantic."))
    )


def _color(owner: object) -> JsonObject:
    """Describe colors: the name if any, otherwise hex digits; short if possible, without an alpha of 1."""
    names: Mapping[tuple[int, int, int], str] = _module(owner).COLORS_BY_VALUE
    named = [bytes(value).hex() for value in names]
    twice = f"({'|'.join(digit * 2 for digit in _HEX)})"
    others = (f"{digit}[{_HEX.replace(digit, '')}]" for digit in _HEX)
    differs = f"({'|'.join(others)})"
    alpha = "([0-9a-e][0-9a-f]|f[0-9a-e])"
    forms = (
        "[0-9a-f]{3}[0-9a-e]?",
        f"({differs}[0-9a-f]{{4}}|{twice}{differs}[0-9a-f]{{2}}|{twice}{{2}}{differs})",
        f"({differs}[0-9a-f]{{4}}|{twice}{differs}[0-9a-f]{{2}}|{twice}{{2}}{differs}){alpha}",
        f"{twice}{{3}}{differs}",
    )
    taken = [f"#{code[::2] if code[::2] == code[1::2] else code}" for code in named]
    unnamed = {
        "type": "string",
        "pattern": f"^#({'|'.join(forms)})$",
        "not": {"pattern": f"^({'|'.join(taken)})$"},
    }
    return {"anyOf": [{"enum": sorted(set(names.values()))}, unnamed]}


_HEX = "0123456789abcdef"


def _mime_type(owner: object) -> JsonObject:
    families: Iterable[enum.EnumMeta] = (
        each for each in vars(_module(owner)).values() if isinstance(each, enum.EnumMeta)
    )
    values = (member.value for family in families for member in list[enum.Enum](family))
    return {"enum": [value for value in dict.fromkeys(values) if "/" in value]}


def _phone_number(owner: object) -> JsonObject:
    """Describe phone numbers in the format of the type."""
    kind = owner.args[1] if isinstance(owner, partial) else getattr(owner, "phone_format", None)
    return _checked(_PHONES.get(str(kind), _PHONES["RFC3966"]), "whether there is such a number")(owner)


_PHONES: Mapping[str, str] = MappingProxyType(
    {
        "E164": r"\+[1-9][0-9]{5,18}",
        "INTERNATIONAL": r"\+[1-9]([ -]?[0-9]){5,18}( ext[.] [0-9]{1,7})?",
        "NATIONAL": r"[(]?[0-9]([() -]{0,2}[0-9]){3,14}( ext[.] [0-9]{1,7})?",
        "RFC3966": r"tel:\+[1-9](-?[0-9]){5,18}(;ext=[0-9]{1,7})?",
    }
)

_LABEL = "[a-z0-9]([a-z0-9-]{{0,{max_inner}}}[a-z0-9])?"
_TOP = r"([a-z]{2,63}|xn--[a-z0-9]{2,59})"
_DOMAIN = "|".join(
    rf"({_LABEL.format(max_inner=max_inner)}\.){{{min_count},{max_count}}}{_TOP}"
    for max_inner, min_count, max_count in ((61, 1, 2), (28, 3, 6))
)
"""At most 253 characters: 3 labels of 63, or 7 labels of 30 (the last of 63)."""

_NUMBER = "(0|[1-9][0-9]{0,17})"
_WORD = f"({_NUMBER}|[0-9]{{0,9}}[A-Za-z-][0-9A-Za-z-]{{0,30}})"
_VERSION = (
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD}){{0,9}})?"
    r"(\+[0-9A-Za-z-]{1,30}(\.[0-9A-Za-z-]{1,30}){0,9})?"
)
"""Semantic Versioning 2.0.0, with numbers of at most 18 digits and at most 10 identifiers."""

_DATE = (
    "([1-9][0-9]{0,2}Y([1-9][0-9]?M)?([1-9][0-9]{0,4}D)?|[1-9][0-9]?M([1-9][0-9]{0,4}D)?|[1-9][0-9]{0,4}D)"
)
_SECONDS_OF = r"(([1-9]|[1-5][0-9])(\.[0-9]{3}([0-9]{3})?)?|0\.[0-9]{3}([0-9]{3})?)S"
_MINUTES = f"([1-9]|[1-5][0-9])M({_SECONDS_OF})?"
_CLOCK = f"T(([1-9]|1[0-9]|2[0-3])H({_MINUTES}|{_SECONDS_OF})?|{_MINUTES}|{_SECONDS_OF})"

_SECONDS = {"minimum": -62_135_596_800, "maximum": 253_402_300_799}
"""Years 1 to 9999, in seconds since 1970."""

_MICROSECOND = 1e-6

_TIMES = r"(\*|[0-9]{1,2}(-[0-9]{1,2})?)(/[0-9]{1,2})?"
_TIMES_LISTED = f"{_TIMES}(,{_TIMES}){{0,59}}"
_CRON = f"{_TIMES_LISTED}( {_TIMES_LISTED}){{4}}"
"""Minutes, hours, days of the month, months and days of the week, numeric as in crontab(5)."""

_IMPORTED = r"[^\s.:][^\s:]*(:[^\s:]+)?"
"""A module, with an optional attribute; no leading dot, which would be a relative import."""

_CARD = _checked("[0-9]{12,19}", "check digit, and the length that a brand has")

_TYPES: Mapping[str, Callable[[object], JsonObject]] = MappingProxyType(
    {
        "pydantic.color.Color": _color,
        "pydantic.types.ByteSize": lambda owner: {"type": "integer", "minimum": 0},
        "pydantic.types.ImportString": _checked(_IMPORTED, "whether it can be imported"),
        "pydantic.types.PaymentCardNumber": _CARD,
        f"{_EXTRA}.color.Color": _color,
        f"{_EXTRA}.country.CountryAlpha2": _codes("countries", "alpha_2"),
        f"{_EXTRA}.country.CountryAlpha3": _codes("countries", "alpha_3"),
        f"{_EXTRA}.country.CountryNumericCode": _codes("countries", "numeric"),
        f"{_EXTRA}.country.CountryShortName": _codes("countries", "name"),
        f"{_EXTRA}.cron.CronStr": _checked(_CRON, "whether there are such times"),
        f"{_EXTRA}.domain.DomainStr": _text(_DOMAIN),
        f"{_EXTRA}.epoch.Integer": lambda owner: {"type": "integer", **_SECONDS},
        f"{_EXTRA}.epoch.Number": lambda owner: {"type": "number", **_SECONDS, "multipleOf": _MICROSECOND},
        f"{_EXTRA}.iban.IBAN": _checked("[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}", "country, length, check digits"),
        f"{_EXTRA}.isbn.ISBN": _checked("97[89][0-9]{10}|[0-9]{9}[0-9X]", "check digit"),
        f"{_EXTRA}.language_code.LanguageAlpha2": _codes("languages", "alpha_2"),
        f"{_EXTRA}.language_code.LanguageName": _codes("languages", "name"),
        f"{_EXTRA}.mac_address.MacAddress": _text(
            "[0-9a-f]{2}((:[0-9a-f]{2}){5}|(:[0-9a-f]{2}){7}|(:[0-9a-f]{2}){19})"
        ),
        f"{_EXTRA}.mime_types.MimeType": _mime_type,
        f"{_EXTRA}.mongo_object_id.MongoObjectId": _text("[0-9A-Fa-f]{24}"),
        f"{_EXTRA}.payment.PaymentCardNumber": _CARD,
        f"{_EXTRA}.pendulum_dt.Duration": _text(f"P0D|P{_DATE}({_CLOCK})?|P{_CLOCK}"),
        f"{_EXTRA}.phone_numbers.PhoneNumber": _phone_number,
        f"{_EXTRA}.phone_numbers.PhoneNumberValidator": _phone_number,
        f"{_EXTRA}.routing_number.ABARoutingNumber": _checked("[0-9]{9}", "check digit"),
        f"{_EXTRA}.semantic_version.SemanticVersion": _text(_VERSION),
        f"{_EXTRA}.semver._VersionPydanticAnnotation": _text(_VERSION),
        f"{_EXTRA}.ulid.ULID": _text("[0-7][0-9A-HJKMNP-TV-Z]{25}"),
    }
)
"""By the qualified name of the class."""


# Models without fields, and generic ones without types


NO_FIELDS = (
    "BaseModel itself has no fields; write a class of it, such as class Person(BaseModel), or Page[Person] where it is "
    "the bound of a parameter"
)


def report_parameters(cls: type) -> None:
    """Log once that a generic model has no types for its parameters, which pydantic then reads as `Any`."""
    parameters: tuple[TypeVar, ...] = getattr(cls, "__pydantic_generic_metadata__", {}).get("parameters", ())
    anything = [
        each.__name__
        for each in parameters
        if not (each.__bound__ or each.__constraints__ or getattr(each, "has_default", bool)())
    ]
    if anything:
        _report_parameters(cls.__name__, ", ".join(anything))


@lru_cache(maxsize=1000)
def _report_parameters(name: str, parameters: str) -> None:
    _log.warning("%s has no type for %s, so any JSON is a value of it; write %s[...]", name, parameters, name)


_log = logging.getLogger("structkit")


# Restrictions and formats that users add

_LIMITS = frozenset("maxItems maxLength maxProperties minItems minLength minProperties".split())
_BOUNDS = frozenset("exclusiveMaximum exclusiveMinimum maximum minimum multipleOf".split())
_RESTRICTIONS = _LIMITS | _BOUNDS | {"const", "enum", "pattern"}


def with_restrictions_of_both(schema: _C) -> _C:
    """Return a core schema whose `json_schema_extra` does not replace the restrictions of the type: both hold."""
    extra = schema.get("metadata", {}).get("pydantic_js_extra")
    if not isinstance(extra, dict) or _RESTRICTIONS.isdisjoint(extra):
        return schema
    added: JsonObject = to_jsonable_python(extra)

    def add(json_schema: JsonObject) -> None:
        known = {key: json_schema[key] for key in added if key in json_schema and key in _RESTRICTIONS}
        if own := {key: value for key, value in known.items() if value != added[key]}:
            json_schema["allOf"] = [*cast("list[object]", json_schema.get("allOf", [])), own]
        json_schema.update(added)

    return cast("_C", {**schema, "metadata": {**schema["metadata"], "pydantic_js_extra": add}})


_HOLDERS = frozenset({"dataclass-field", "default", "model-field", "nullable", "typed-dict-field"})


def without_unknown_format(schema: Core, json_schema: JsonObject) -> JsonObject:
    """Return the schema of a plain or encoded string without a format that is not known, such as `markdown`.

    A format of another type, whose validator decides about it, is kept and refused.
    """
    name = json_schema.get("format")
    if not isinstance(name, str) or name in {*FORMATS, *PYTHON_FORMATS}:
        return json_schema
    while schema["type"] in _HOLDERS:
        schema = cast("Core", schema["schema"])
    is_text = schema["type"] == "str" or encoder_of(schema) is not None
    if not is_text or near_format(name, sorted({*FORMATS, *PYTHON_FORMATS})) is not None:
        return json_schema
    report_format(name, FORMATS)
    return {**{key: value for key, value in json_schema.items() if key != "format"}, IGNORED_FORMAT: name}
