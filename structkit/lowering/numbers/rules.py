"""Numbers of a document: in place, or as rules that targets share."""

from __future__ import annotations

from typing import Protocol

from structkit.limits import Limits
from structkit.lowering.numbers.floats import DISTINCT_DIGITS, ROUND_TRIP_DIGITS
from structkit.lowering.numbers.numbers import integral_numbers, numbers, without_multiples
from structkit.regex.nodes import Node, RuleRef
from structkit.regex.walk import exceeds_size
from structkit.schema.ir.nodes import Bound, Integer, Number

__all__ = ["NumberLowerer", "is_small_range"]

_MAX_BOUND_DIGITS = 60
"""Largest number of digits, before or after the point, of the bounds of a small range."""

_MAX_INLINE_RANGE = 8
"""Largest number, in nodes, that does not become a rule."""

_ANY_INTEGER, _ANY_NUMBER = Integer(), Number()


class NumberLowering(Protocol):
    """The part of the lowering of a document that numbers use."""

    bounded_numbers: bool
    integral_floats: bool
    canonical: bool
    limits: Limits
    rules: dict[str, Node]

    def rule(self, node: Node, path: str, *, small: bool | None = None) -> Node:
        """Add `node` as a rule with a new name, and return the call."""

    def add(self, name: str, node: Node, *, small: bool | None = None) -> None:
        """Add a rule."""


class NumberLowerer:
    """Lower the numbers of one document."""

    __slots__ = ("_lowering",)

    def __init__(self, lowering: NumberLowering) -> None:
        self._lowering = lowering

    def integer(self, schema: Integer, path: str) -> Node:
        """Lower an integer. Unbounded integers and large ranges are rules, so that targets share their masks."""
        lowering = self._lowering
        is_any = not lowering.canonical and schema == _ANY_INTEGER
        if is_any and "integer" in lowering.rules:
            return RuleRef("integer")
        node = integral_numbers(
            schema,
            bounded=lowering.bounded_numbers,
            canonical=lowering.canonical or not lowering.integral_floats,
            limits=lowering.limits,
            path=path,
        )
        if not is_any:
            return self._range_rule(node, schema, path)
        lowering.add("integer", node, small=True)
        return RuleRef("integer")

    def number(self, schema: Number, path: str) -> Node:
        """Lower a number; unbounded numbers are a rule, like unbounded integers."""
        lowering = self._lowering
        if lowering.canonical or schema != _ANY_NUMBER:
            canonical = lowering.canonical or (lowering.bounded_numbers and bool(schema.not_multiple_of))
            # Where items must differ, no two texts may denote the same float.
            precision = DISTINCT_DIGITS if lowering.canonical else ROUND_TRIP_DIGITS
            node = numbers(
                schema,
                bounded=lowering.bounded_numbers,
                canonical=canonical,
                precision=precision,
                limits=lowering.limits,
                path=path,
            )
            node = without_multiples(node, schema.not_multiple_of, lowering.limits, path)
            return self._range_rule(node, schema, path)
        if "number" not in lowering.rules:
            lowering.add(
                "number",
                numbers(schema, bounded=lowering.bounded_numbers, limits=lowering.limits),
                small=True,
            )
        return RuleRef("number")

    def _range_rule(self, node: Node, schema: Integer | Number, path: str) -> Node:
        """Make numbers a rule, unless they are the root or small: equal ranges are then built once."""
        lowering = self._lowering
        if lowering.canonical or path == "$" or not exceeds_size(node, _MAX_INLINE_RANGE):
            return node
        return lowering.rule(node, path, small=is_small_range(schema))


def is_small_range(schema: Integer | Number) -> bool:
    """Return whether a range has no multiples, and no bounds of many digits, so that its automaton is small.

    >>> is_small_range(Integer(minimum=10**9)), is_small_range(Integer(minimum=10**400))
    (True, False)
    """
    if schema.multiple_of is not None or schema.not_multiple_of:
        return False
    low, high = schema.minimum, schema.maximum
    return (low is None or _is_short(low)) and (high is None or _is_short(high))


def _is_short(bound: Bound | int) -> bool:
    """Return whether a bound has few digits, written without an exponent."""
    if isinstance(bound, int):
        return abs(bound) < int(10**_MAX_BOUND_DIGITS)
    exponent = bound.value.as_tuple().exponent
    if not isinstance(exponent, int):
        return False
    return exponent >= -_MAX_BOUND_DIGITS and bound.value.adjusted() <= _MAX_BOUND_DIGITS
