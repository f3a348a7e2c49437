"""Alternatives of a Python type without values that Python holds to be equal: True is 1, and Decimal("1") is 1."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from structkit.schema.nodes import Boolean, Bound, Const, Integer, Number, Schema, String
from structkit.schema.numbers import meet_numbers

__all__ = ["apart"]


def apart(branches: Iterable[Schema], *, counted: bool) -> list[Schema]:
    """The alternatives, where each value is to be written by one of them only.

    Args:
        branches: The alternatives.
        counted: Whether equal values of different kinds matter too. Beside booleans no number is then 0 or 1.

    Returns:
        Those of a decimal without the number, for it is a string too.

    >>> apart([Boolean(), Integer(minimum=0, maximum=9)], counted=True)[1:]
    [Integer(note=None, minimum=2, maximum=9, multiple_of=None, not_multiple_of=())]
    """
    found = list(branches)
    if any(isinstance(each, String) and (each.format or "").startswith("python:decimal") for each in found):
        found = [each for each in found if not isinstance(each, Number)]
    truths = any(isinstance(each, Boolean) or each in _TRUTHS for each in found)
    if not (counted and truths):
        return found
    kept: list[Schema] = []
    for each in found:
        if isinstance(each, Integer | Number):
            kept += [node for gap in _GAPS if isinstance(node := meet_numbers(each, gap), Integer | Number)]
        elif each not in _NUMBERS:
            kept.append(each)
    return kept


_TRUTHS = (Const("true"), Const("false"))
_NUMBERS = (Const("0"), Const("1"), Const("0.0"), Const("1.0"))

_ZERO, _ONE = (Bound(Decimal(value), exclusive=True) for value in (0, 1))
_GAPS = (Number(maximum=_ZERO), Number(_ZERO, _ONE), Number(minimum=_ONE))
"""The numbers but for 0 and 1."""
