"""Ranges of numbers: construction and intersection in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from structkit.schema.ir.json_values import to_exact_decimal
from structkit.schema.ir.nodes import Bound, Integer, Never, Number, Schema

__all__ = ["are_separate", "intersect_numbers", "min_defined", "number_range", "tighter"]


def number_range(
    low: Bound | None,
    high: Bound | None,
    step: Fraction | None,
    *,
    integral: bool,
    not_multiple_of: Iterable[Decimal] = (),
) -> Schema:
    """Return the multiples of `step` between two bounds, or `Never`.

    Args:
        low: The lower bound.
        high: The upper bound.
        step: The numbers are multiples of it.
        integral: Whether the numbers are integers.
        not_multiple_of: The numbers are multiples of none of these.

    >>> number_range(Bound(Decimal("2.5")), Bound(Decimal(8), exclusive=True), Fraction(3, 2), integral=True)
    Integer(note=None, minimum=3, maximum=7, multiple_of=3, not_multiple_of=())
    >>> number_range(Bound(Decimal(5)), Bound(Decimal(3)), None, integral=True).reason
    'no integer is at least 5 and at most 3'
    """
    if integral and step is None and not not_multiple_of:  # the most frequent case
        first, last = _first_integer(low), _last_integer(high)
        if first is None or last is None or first <= last:
            return Integer(first, last)
    if integral:
        step = _lcm(step or Fraction(1), Fraction(1))
    if low is not None and high is not None and _empty(low, high, step):
        return Never(f"no {_describe_multiples(step, integral)} is {_low(low)} and {_high(high)}")
    excluded = tuple(dict.fromkeys(not_multiple_of))
    if excluded and _are_excluded(low, high, step, excluded):
        return Never(f"another keyword forbids every {_describe_multiples(step, integral)}")
    if not integral:
        return Number(low, high, None if step is None else to_exact_decimal(step), excluded)
    multiple = None if step is None or step == 1 else step.numerator
    return Integer(_first_integer(low), _last_integer(high), multiple, excluded)


def intersect_numbers(left: Integer | Number, right: Integer | Number) -> Schema:
    """Return the numbers in both ranges that are multiples of both steps.

    >>> intersect_numbers(Integer(multiple_of=4), Number(multiple_of=Decimal("0.6"), maximum=Bound(Decimal("9.5"))))
    Integer(note=None, minimum=None, maximum=9, multiple_of=12, not_multiple_of=())
    """
    (low, high, step), (other_low, other_high, other_step) = _parts(left), _parts(right)
    return number_range(
        tighter(low, other_low, 1),
        tighter(high, other_high, -1),
        step if other_step is None else other_step if step is None else _lcm(step, other_step),
        integral=isinstance(left, Integer) or isinstance(right, Integer),
        not_multiple_of=(*left.not_multiple_of, *right.not_multiple_of),
    )


def _parts(node: Integer | Number) -> tuple[Bound | None, Bound | None, Fraction | None]:
    step = None if node.multiple_of is None else Fraction(node.multiple_of)
    if isinstance(node, Number):
        return node.minimum, node.maximum, step
    low = None if node.minimum is None else Bound(Decimal(node.minimum))
    return low, None if node.maximum is None else Bound(Decimal(node.maximum)), step


def tighter(left: Bound | None, right: Bound | None, sign: Literal[1, -1]) -> Bound | None:
    """Return the greater of two lower bounds (`sign` 1), or the lesser of two upper bounds (-1)."""
    if left is None or right is None:
        return left or right
    # copy_negate is exact; unary minus rounds to the precision of the context.
    return max(
        left,
        right,
        key=lambda bound: (bound.value if sign > 0 else bound.value.copy_negate(), bound.exclusive),
    )


def _lcm(left: Fraction, right: Fraction) -> Fraction:
    """Return the smallest positive number that is a multiple of both."""
    return Fraction(math.lcm(left.numerator, right.numerator), math.gcd(left.denominator, right.denominator))


def _empty(low: Bound, high: Bound, step: Fraction | None) -> bool:
    first, last = Fraction(low.value), Fraction(high.value)
    if step is None:
        return first > last or (first == last and (low.exclusive or high.exclusive))
    min_multiple, max_multiple = math.ceil(first / step), math.floor(last / step)
    min_multiple += low.exclusive and min_multiple * step == first
    max_multiple -= high.exclusive and max_multiple * step == last
    return min_multiple > max_multiple


def _are_excluded(
    low: Bound | None, high: Bound | None, step: Fraction | None, excluded: Iterable[Decimal]
) -> bool:
    """Return whether each number is a multiple of an excluded one; long ranges have numbers that are not."""

    def is_excluded(number: Fraction) -> bool:
        return any((number / Fraction(other)).denominator == 1 for other in excluded)

    if step is None:
        return (
            low is not None
            and high is not None
            and low.value == high.value
            and is_excluded(Fraction(low.value))
        )
    if is_excluded(step):
        return True
    if low is None or high is None:
        return False
    first, last = math.ceil(Fraction(low.value) / step), math.floor(Fraction(high.value) / step)
    return last - first < _MAX_TRIED and all(
        is_excluded(number * step)
        or (low.exclusive and number * step == Fraction(low.value))
        or (high.exclusive and number * step == Fraction(high.value))
        for number in range(first, last + 1)
    )


_MAX_TRIED = 1000
"""Maximum length of a range whose numbers are tried one by one."""


def _first_integer(low: Bound | None) -> int | None:
    if low is None:
        return None
    return math.floor(low.value) + 1 if low.exclusive else math.ceil(low.value)


def _last_integer(high: Bound | None) -> int | None:
    if high is None:
        return None
    return math.ceil(high.value) - 1 if high.exclusive else math.floor(high.value)


def _describe_multiples(step: Fraction | None, integral: bool) -> str:
    if step is None or step == 1:
        return "integer" if integral else "number"
    return f"multiple of {to_exact_decimal(step)}"


def _low(bound: Bound) -> str:
    return f"{'more than' if bound.exclusive else 'at least'} {bound.value}"


def _high(bound: Bound) -> str:
    return f"{'less than' if bound.exclusive else 'at most'} {bound.value}"


def min_defined(bounds: Iterable[int | None]) -> int | None:
    """Return the smallest upper bound; `None` if no bound is defined.

    >>> min_defined([3, None, 2]), min_defined([None])
    (2, None)
    """
    return min((bound for bound in bounds if bound is not None), default=None)


def are_separate(left: Schema, right: Schema) -> bool:
    """Return whether two nodes are ranges of numbers that do not meet, which are frequent in a list of ranges.

    >>> are_separate(Integer(maximum=1), Integer(minimum=2)), are_separate(Integer(), Integer(minimum=2))
    (True, False)
    """
    if not (isinstance(left, Integer | Number) and isinstance(right, Integer | Number)):
        return False
    for below, above in ((left.maximum, right.minimum), (right.maximum, left.minimum)):
        if below is not None and above is not None and _value(below) < _value(above):
            return True
    return False


def _value(end: int | Bound) -> int | Decimal:
    return end.value if isinstance(end, Bound) else end
