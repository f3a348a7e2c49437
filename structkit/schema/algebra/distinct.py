"""Alternatives of a Python union without values that are equal in Python: True equals 1, and so does Decimal("1")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from types import MappingProxyType

from structkit.schema.algebra.ranges import intersect_numbers
from structkit.schema.ir.nodes import Boolean, Bound, Const, Integer, Number, Ref, Schema, String, Union

__all__ = ["disjoint_branches"]


def disjoint_branches(
    branches: Iterable[Schema], definitions: Mapping[str, Schema] = MappingProxyType({})
) -> list[Schema]:
    """Return the alternatives, restricted so that each value is written by one of them only.

    Args:
        branches: The alternatives.
        definitions: The targets of references.

    Returns:
        The alternatives with these restrictions: A decimal is written as a string, not as a number. With an integer
        alternative, floats without a fraction are written as integers, and decimals without a fraction are excluded.
        Numbers that equal a boolean of another alternative, 0 or 1, are excluded.

    >>> disjoint_branches([Boolean(), Integer(minimum=0, maximum=9)])[1:]
    [Integer(note=None, minimum=2, maximum=9, multiple_of=None, not_multiple_of=())]
    """
    found = list(_flat(branches, definitions, set()))
    booleans = [
        number
        for number, constant in enumerate(_BOOLEANS)
        if any(isinstance(each, Boolean) or each == constant for each in found)
    ]
    integers = any(isinstance(each, Integer) or _is_integral(each) for each in found)
    if any(map(_is_decimal, found)):
        found = [each for each in found if not isinstance(each, Number)]
        if booleans or integers:
            found = [_without_integral_decimals(each) for each in found]
    if integers:
        found = list(_without_integral_floats(found))
    if not booleans:
        return found
    bounds = [Bound(Decimal(number), exclusive=True) for number in booleans]
    gaps = [Number(low, high) for low, high in pairwise((None, *bounds, None))]
    equal = [Const(text) for number in booleans for text in (f"{number}", f"{number}.0")]
    result: list[Schema] = []
    for each in found:
        if isinstance(each, Integer | Number):
            result += _range_intersections(each, gaps)
        elif each not in equal:
            result.append(each)
    return result


def _flat(branches: Iterable[Schema], definitions: Mapping[str, Schema], seen: set[str]) -> Iterator[Schema]:
    """Iterate over the alternatives; nested unions are flattened and references to numbers and constants resolved."""
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
    return isinstance(schema, String) and schema.format is not None and schema.format.name == "python:decimal"


def _without_integral_decimals(schema: Schema) -> Schema:
    if not isinstance(schema, String) or not _is_decimal(schema):
        return schema
    # A canonically written decimal has a point if and only if it has a fraction.
    return replace(schema, patterns=(*schema.patterns, r"\."))


def _without_integral_floats(branches: Iterable[Schema]) -> Iterator[Schema]:
    for each in branches:
        if isinstance(each, Number):
            yield from _range_intersections(each, (Integer(minimum=-_EXACT, maximum=_EXACT), _NON_INTEGRAL))
        else:
            yield each


def _range_intersections(number: Integer | Number, parts: Iterable[Integer | Number]) -> list[Schema]:
    """Return the non-empty intersections of a range with each of `parts`."""
    return [node for part in parts if isinstance(node := intersect_numbers(number, part), Integer | Number)]


_EXACT = 2**53
"""All integers up to this magnitude are exact floats."""

_NON_INTEGRAL = Number(not_multiple_of=(Decimal(1),))

_BOOLEANS = (Const("false"), Const("true"))
"""In the order of the numbers that they equal."""
