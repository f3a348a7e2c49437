"""Alternatives of a Python type without values that Python holds to be equal: True is 1, and Decimal("1") is 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

from structkit.schema.algebra.ranges import intersect_numbers
from structkit.schema.ir.nodes import Boolean, Bound, Const, Integer, Number, Ref, Schema, String, Union

__all__ = ["disjoint_branches"]


def disjoint_branches(
    branches: Iterable[Schema], definitions: Mapping[str, Schema] = MappingProxyType({})
) -> list[Schema]:
    """The alternatives, where each value is to be written by one of them only.

    Args:
        branches: The alternatives.
        definitions: What they may refer to.

    Returns:
        Those of a decimal without the number, for it is a string too. Beside integers a float that is whole is written
        as an integer, and a decimal that is whole not at all. Beside booleans no number is 0 or 1.

    >>> disjoint_branches([Boolean(), Integer(minimum=0, maximum=9)])[1:]
    [Integer(note=None, minimum=2, maximum=9, multiple_of=None, not_multiple_of=())]
    """
    found = list(_flat(branches, definitions, set()))
    truths = any(isinstance(each, Boolean) or each in _TRUTHS for each in found)
    whole = any(isinstance(each, Integer) or _is_integral(each) for each in found)
    if any(map(_is_decimal, found)):
        found = [each for each in found if not isinstance(each, Number)]
        if truths or whole:
            found = [_without_integral_decimals(each) for each in found]
    if whole:
        found = list(_without_integral_floats(found))
    if not truths:
        return found
    kept: list[Schema] = []
    for each in found:
        if isinstance(each, Integer | Number):
            kept += _range_intersections(each, _GAPS)
        elif each not in _NUMBERS:
            kept.append(each)
    return kept


def _flat(branches: Iterable[Schema], definitions: Mapping[str, Schema], seen: set[str]) -> Iterator[Schema]:
    """The alternatives, with numbers and further alternatives in the place of what refers to them."""
    for branch in branches:
        target = definitions.get(branch.name) if isinstance(branch, Ref) else branch
        if isinstance(branch, Ref) and isinstance(target, Union) and branch.name not in seen:
            seen.add(branch.name)
            yield from _flat(target.branches, definitions, seen)
        elif isinstance(target, Union) and target is branch:
            yield from _flat(target.branches, definitions, seen)
        else:
            yield target if isinstance(target, Integer | Number | Boolean | Const) else branch


def _is_integral(schema: Schema) -> bool:
    return isinstance(schema, Const) and schema.text.lstrip("-").isdigit()


def _is_decimal(schema: Schema) -> bool:
    return isinstance(schema, String) and (schema.format or "").startswith("python:decimal")


def _without_integral_decimals(schema: Schema) -> Schema:
    if not isinstance(schema, String) or not _is_decimal(schema):
        return schema
    # One that is written in one way has a point if and only if it is not whole.
    return replace(schema, patterns=(*schema.patterns, r"\."))


def _without_integral_floats(branches: Iterable[Schema]) -> Iterator[Schema]:
    for each in branches:
        if isinstance(each, Number):
            yield from _range_intersections(each, (Integer(minimum=-_EXACT, maximum=_EXACT), _NON_INTEGRAL))
        else:
            yield each


def _range_intersections(number: Integer | Number, parts: Iterable[Integer | Number]) -> list[Schema]:
    """What of a range lies in each of some others."""
    return [node for part in parts if isinstance(node := intersect_numbers(number, part), Integer | Number)]


_EXACT = 2**53
"""Up to here each whole number is a float."""

_NON_INTEGRAL = Number(not_multiple_of=(Decimal(1),))

_TRUTHS = (Const("true"), Const("false"))
_NUMBERS = (Const("0"), Const("1"), Const("0.0"), Const("1.0"))

_ZERO, _ONE = (Bound(Decimal(value), exclusive=True) for value in (0, 1))
_GAPS = (Number(maximum=_ZERO), Number(_ZERO, _ONE), Number(minimum=_ONE))
"""The numbers but for 0 and 1."""
