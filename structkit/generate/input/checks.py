"""Checks of keyword arguments."""

from __future__ import annotations

import math
import os
from numbers import Integral
from pathlib import Path
from typing import cast

from structkit.generate.sample.sample import check_int

__all__ = ["check_count", "check_type", "read_path"]


def check_count(name: str, value: object, minimum: int, maximum: float = math.inf) -> None:
    """Check that a value is an integer between `minimum` and `maximum`.

    Raises:
        TypeError: The value is not an integer.
        ValueError: The value is out of range.
    """
    check_type(name, value, Integral, "an integer")
    check_int(name, cast("int", value), minimum)
    if cast("int", value) > maximum:
        raise ValueError(f"{name} must be at most {maximum:,}, not {value!r}")


def check_type(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Check that a value is an instance of some types.

    Raises:
        TypeError: It is not; the message says what is `expected`.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {expected}, not {value!r}")


def read_path(name: str, value: object) -> Path | None:
    """Return a path that a caller gave, or `None`.

    Raises:
        TypeError: The value is neither a path nor `None`.
    """
    if not isinstance(value, (str, os.PathLike, type(None))):
        raise TypeError(f"{name} must be a path or None, not {value!r}")
    return None if value is None else Path(value)
