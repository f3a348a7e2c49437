"""Checks of the types and ranges of arguments."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from difflib import get_close_matches
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from types import GenericAlias, UnionType
from typing import cast

__all__ = [
    "check_annotation",
    "check_choice",
    "check_count",
    "check_function",
    "check_int",
    "check_number",
    "check_type",
    "read_path",
]


def check_annotation(name: str, value: object) -> None:
    """Check that a value can be the annotation of a type.

    Raises:
        TypeError: It cannot.

    >>> check_annotation("deps_type", list[int] | None)
    >>> check_annotation("deps_type", 3)
    Traceback (most recent call last):
    TypeError: deps_type must be a type, not 3; write deps_type=int
    """
    kinds = (type, GenericAlias, UnionType, type(None))
    if isinstance(value, kinds) or type(value).__module__ in ("typing", "typing_extensions"):
        return
    meant = "it without quotation marks" if isinstance(value, str) else f"{name}={type(value).__name__}"
    raise TypeError(f"{name} must be a type, not {value!r:.60}; write {meant}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Check that a value is one of some strings.

    Raises:
        ValueError: It is not; the error names the one that is close to it.

    >>> check_choice("syntax", "larck", ("lark", "gbnf", "kbnf"))
    Traceback (most recent call last):
    ValueError: syntax must be 'lark', 'gbnf' or 'kbnf', not 'larck'; write syntax='lark'
    """
    *others, last = choices
    if value in (*others, last):
        return
    close = get_close_matches(value.lower(), (*others, last), 1) if isinstance(value, str) else []
    remedy = f"; write {name}={close[0]!r}" if close else ""
    raise ValueError(f"{name} must be {', '.join(map(repr, others))} or {last!r}, not {value!r:.60}{remedy}")


def check_count(name: str, value: object, minimum: int, maximum: float = math.inf) -> None:
    """Check that a value is an integer between `minimum` and `maximum`.

    Raises:
        TypeError: The value is not an integer.
        ValueError: The value is out of range.

    >>> check_count("n", 3, 1, 2)
    Traceback (most recent call last):
    ValueError: n must be at most 2, not 3
    """
    if value is None:
        raise TypeError(f"{name} must be an integer, not None")
    check_int(name, cast("int", value), minimum)
    if cast("int", value) > maximum:
        raise ValueError(f"{name} must be at most {maximum:,}, not {value!r}")


def check_int(name: str, value: int | None, minimum: int) -> None:
    """Check that a value is `None` or an integer of at least `minimum`.

    Raises:
        TypeError: The value is neither.
        ValueError: The value is too small.

    >>> check_int("n", None, 1)
    >>> check_int("n", "2", 1)
    Traceback (most recent call last):
    TypeError: n must be an integer, not '2'; write n=2
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, not {value!r}{_unquoted(name, value, int)}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {value!r}")


def check_number(name: str, value: float, minimum: float, maximum: float, *, exclusive: bool = False) -> None:
    """Check that a value is a finite number between `minimum` and `maximum`.

    Args:
        name: Name of the value, for messages.
        value: The value.
        minimum: Lower bound.
        maximum: Upper bound, inclusive.
        exclusive: Whether the lower bound is excluded.

    Raises:
        TypeError: The value is not a number.
        ValueError: The value is out of range.

    >>> check_number("top_p", 0.0, 0, 1, exclusive=True)
    Traceback (most recent call last):
    ValueError: top_p must be above 0 and at most 1, not 0.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}{_unquoted(name, value, float)}")
    if not (minimum < value if exclusive else minimum <= value) or not value <= maximum or math.isinf(value):
        lower = f"above {minimum}" if exclusive else f"at least {minimum}"
        upper = f" and at most {maximum}" if maximum < math.inf else " and finite"
        raise ValueError(f"{name} must be {lower}{upper}, not {value!r}")


def _unquoted(name: str, value: object, kind: type[float]) -> str:
    """Return the remedy for a number that is a string."""
    if not isinstance(value, str):
        return ""
    try:
        kind(value)
    except ValueError:
        return ""
    return f"; write {name}={value}"


def check_type(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Check that a value is an instance of some types.

    Raises:
        TypeError: It is not; the message says what is `expected`.

    >>> check_type("source", 1, (str, type(None)), "a string or None")
    Traceback (most recent call last):
    TypeError: source must be a string or None, not 1
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {expected}, not {value!r:.60}")


def read_path(name: str, value: object) -> Path | None:
    """Return a path that a caller gave, or `None`.

    Raises:
        TypeError: The value is neither a path nor `None`.

    >>> read_path("file", None)
    """
    if not isinstance(value, (str, os.PathLike, type(None))):
        raise TypeError(f"{name} must be a path or None, not {value!r}")
    return None if value is None else Path(value)


def check_function(name: str, value: object, *parameters: str) -> None:
    """Check that a value can be called with these arguments by position.

    Raises:
        TypeError: It cannot; the error shows its parameters.

    >>> check_function("keep", lambda tool, number: True, "tool")
    Traceback (most recent call last):
    TypeError: keep must be a function of (tool), not <lambda>(tool, number)
    """
    shown = f"{value!r:.60}"
    if callable(value):
        try:
            taken = signature(value)
        except (TypeError, ValueError):  # a builtin without a signature
            return
        try:
            taken.bind(*parameters)
        except TypeError:
            shown = f"{getattr(value, '__name__', shown)}{taken}"
        else:
            return
    raise TypeError(f"{name} must be a function of ({', '.join(parameters)}), not {shown}")
