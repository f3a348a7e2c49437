"""JSON values in schemas: types, exact numbers, canonical text. Invalid values raise `SchemaError`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from json.encoder import encode_basestring
from marshal import dumps

from structkit.error_notes import SURROGATE_REMEDY
from structkit.errors import LimitExceeded, SchemaError
from structkit.limits import Limits
from structkit.schema.ir.keywords import JsonType
from structkit.schema.ir.path import SchemaPath

__all__ = [
    "as_fraction",
    "canonical_key",
    "exact_bytes",
    "is_integer",
    "json_text",
    "json_type_of",
    "repr_of",
    "shorten_repr",
    "shorten_value",
    "to_count",
    "to_exact_decimal",
    "to_number",
]

_MAX_NUMBER_DIGITS = 1_000
"""Maximum digits of a number in a schema: more than any float has, few enough for exact arithmetic."""


def json_type_of(value: object) -> JsonType | None:
    """Return the JSON type of a value, `None` if it is not a JSON value.

    >>> json_type_of(2.0), json_type_of(True), json_type_of({1, 2})
    ('number', 'boolean', None)
    """
    if isinstance(value, str):  # the most frequent one
        return "string"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else None


def is_integer(value: object) -> bool:
    """Return whether a JSON value is an integer; 2.0 is one (JSON Schema 2020-12 validation, section 6.1.1).

    >>> is_integer(2.0), is_integer(2.5), is_integer(True)
    (True, False, False)
    """
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def to_number(value: object, keyword: str, path: SchemaPath) -> Decimal:
    """Return a number of a schema as an exact decimal; a float has the value of its shortest spelling.

    >>> to_number(0.1, "multipleOf", SchemaPath())
    Decimal('0.1')

    Raises:
        SchemaError: `value` is not a number, not finite, or has more than a thousand digits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise SchemaError(
            f"{keyword} must be a number, not {shorten_value(value)}; write {_number_in(value)}",
            place=path.text,
        )
    return _to_decimal(value, keyword, path)


def _to_decimal(value: float | Decimal, description: str, path: SchemaPath) -> Decimal:
    """Return the exact decimal of a number, or raise `SchemaError` if it is not finite or too long."""
    if isinstance(value, int):
        if value.bit_length() > _MAX_NUMBER_DIGITS * 3:
            raise SchemaError(
                f"{description} has more than about {_MAX_NUMBER_DIGITS} digits; use a smaller number",
                place=path.text,
            )
        return Decimal(value)
    number = value if isinstance(value, Decimal) else Decimal(repr(value))
    if not number.is_finite():
        raise SchemaError(f"{description} must be finite, not {value}; leave it out", place=path.text)
    if abs(number.adjusted()) > _MAX_NUMBER_DIGITS or len(number.as_tuple().digits) > _MAX_NUMBER_DIGITS:
        raise SchemaError(
            f"{description} has more than about {_MAX_NUMBER_DIGITS} digits; use a smaller number",
            place=path.text,
        )
    return number


def _number_in(value: object) -> str:
    """Return what is meant by a value that must be a number."""
    is_number = isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value)
    return str(value) if is_number else "one, such as 1"


def to_count(value: object, keyword: str, path: SchemaPath) -> int:
    """Return a length or a count as an integer.

    >>> to_count(2.0, "maxItems", SchemaPath())
    2

    Raises:
        SchemaError: `value` is not an integer, or is negative.
    """
    if not is_integer(value):
        raise SchemaError(
            f"{keyword} must be an integer, not {shorten_value(value)}; write {_number_in(value)}",
            place=path.text,
        )
    count = int(to_number(value, keyword, path))
    if count < 0:
        raise SchemaError(f"{keyword} must not be negative, but is {count}; write 0", place=path.text)
    return count


def to_exact_decimal(fraction: Fraction) -> Decimal:
    """Return the decimal that equals a fraction; the denominator must divide a power of ten.

    >>> to_exact_decimal(Fraction(3, 40))
    Decimal('0.075')
    """
    shift = 0
    while 10**shift % fraction.denominator:
        shift += 1
    digits = fraction.numerator * 10**shift // fraction.denominator
    return Decimal((int(digits < 0), Decimal(digits).as_tuple().digits, -shift))


def as_fraction(value: object) -> Fraction:
    """Return the exact value of a JSON number.

    >>> as_fraction(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, float):
        return Fraction(Decimal(repr(value)))
    return Fraction(value) if isinstance(value, int | Decimal) else Fraction(0)


_SMALL_INTEGER = 10**15
"""Magnitude of integers that need no check."""


def canonical_key(value: object) -> object:
    """Return a hashable key; keys are equal if and only if JSON Schema considers the values equal.

    1 equals 1.0 and differs from true.

    >>> canonical_key([1.0, {"b": 1, "a": True}]) == canonical_key([1, {"a": True, "b": 1}])
    True
    """
    if isinstance(value, str):  # the most frequent type
        return "string", value
    if type(value) is int:
        return "number", value  # equal to the fraction of a float, and so is its hash
    if isinstance(value, Mapping):
        return "object", tuple(sorted((key, canonical_key(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return "array", tuple(canonical_key(item) for item in value)
    kind = json_type_of(value)
    return kind, as_fraction(value) if kind == "number" else value


def json_text(value: object, description: str, path: SchemaPath, limits: Limits) -> str:
    """Return the compact JSON of a value in a schema.

    >>> json_text({"a": [1, "é"]}, "const", SchemaPath(), Limits())
    '{"a":[1,"é"]}'

    Raises:
        SchemaError: The value contains a NaN, a key that is not a string, a lone surrogate, or a non-JSON object.
        LimitExceeded: The value is nested deeper than `limits.schema_depth`.
    """
    if type(value) is int and -_SMALL_INTEGER < value < _SMALL_INTEGER:
        return str(value)
    if type(value) is str and value.isascii():
        return encode_basestring(value)
    _check(value, description, path, limits)
    return _ENCODER.encode(value)


def _json_default(value: object) -> object:
    """Convert a `Mapping` or a `Decimal` for `json.dumps`."""
    if isinstance(value, Mapping):
        return dict(value)
    return int(value) if is_integer(value) and isinstance(value, Decimal) else float(str(value))


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_json_default)


def _check(value: object, description: str, path: SchemaPath, limits: Limits) -> None:
    stack: list[tuple[object, int]] = [(value, 0)]
    count = 0
    while stack:
        item, depth = stack.pop()
        count += 1
        if count > limits.schema_nodes:
            raise LimitExceeded(
                "schema_nodes", limits.schema_nodes, f"a value in {description}", place=path.text
            )
        if depth > limits.schema_depth:
            raise LimitExceeded(
                "schema_depth",
                limits.schema_depth,
                f"the nesting of a value in {description}",
                place=path.text,
            )
        if isinstance(item, str):
            if not item.isascii() and any("\ud800" <= c <= "\udfff" for c in item):
                raise SchemaError(
                    f"{description} contains a lone surrogate, which UTF-8 cannot encode; {SURROGATE_REMEDY}",
                    place=path.text,
                )
        elif isinstance(item, Mapping):
            stack.extend((key, depth + 1) for key in item)
            stack.extend((inner, depth + 1) for inner in item.values())
            if not all(isinstance(key, str) for key in item):
                raise SchemaError(
                    f"the keys of an object in {description} must be strings; quote them", place=path.text
                )
        elif isinstance(item, list | tuple):
            stack.extend((inner, depth + 1) for inner in item)
        elif isinstance(item, int | float | Decimal):
            _to_decimal(item, f"a number in {description}", path)
        elif item is not None:
            raise SchemaError(
                f"{description} must contain only JSON values, not {shorten_value(item)}; "
                "use strings, numbers, booleans, None, lists and dicts",
                place=path.text,
            )


def shorten_value(value: object) -> str:
    """Return the `repr` of a value for an error message, at most 60 characters."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return shorten_repr(repr(value) if isinstance(value, str | int | float | None) else type(value).__name__)


def repr_of(value: object) -> str:
    """Return the `repr` of a value, or a substitute if its `__repr__` raises an exception.

    >>> repr_of([1, "a"])
    "[1, 'a']"
    """
    try:
        return repr(value)
    except Exception:  # code of the user may raise anything, and an error message must not fail
        return f"<unprintable {type(value).__name__} object>"


def shorten_repr(text: str, length: int = 60) -> str:
    """Return the beginning of a `repr`, with its closing quotation mark.

    >>> shorten_repr(repr("a long text"), 9)
    "'a lo...'"
    """
    if len(text) <= length:
        return text
    end = f"...{text[-1]}" if text[0] in "'\"" else "..."
    return text[: length - len(end)] + end


def exact_bytes(value: object) -> bytes:
    """Return bytes that are equal for values of equal types with keys in equal order, also in another process.

    The second version of the format depends on no identity of objects.

    >>> exact_bytes({"a": 1}) == exact_bytes({"a": 1}), exact_bytes(1) == exact_bytes(True)
    (True, False)

    Raises:
        ValueError: The value has an object that is not of a built-in type, or is too deep.
    """
    return dumps(value, 2)  # type: ignore[arg-type]  # it raises for what it cannot write
