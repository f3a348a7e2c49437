"""64-bit floats in the form of `repr` and `json.dumps`, where each number has one text."""

from __future__ import annotations

from functools import cache

from structkit.lowering.numbers.decimals import two_digits
from structkit.lowering.numbers.integers import digits, with_optional_minus
from structkit.regex.charset import char_class
from structkit.regex.nodes import EMPTY, LiteralText, Node, Repeat, choice, seq

__all__ = ["DISTINCT_DIGITS", "ROUND_TRIP_DIGITS", "floats"]

ROUND_TRIP_DIGITS = 17
"""Digits that can write every float.

Two such texts can denote one float, such as 0.1 and 0.10000000000000001. The automaton of the texts that `repr` writes
is too large (5**16 states between 1 and 2 alone).
"""

DISTINCT_DIGITS = 15
"""Digits with which two texts never denote one float; results such as 0.30000000000000004 need more."""

_FIXED_DIGITS = 16
"""Maximum number of digits before the point; numbers from 1e16 have an exponent."""

_LEADING_ZEROS = 3
"""Maximum number of zeros between the point and the first other digit; numbers below 1e-4 have an exponent."""

_MAX_EXPONENT = 307
"""The largest power of ten; floats overflow at 1.797...e+308."""

_MIN_EXPONENT = 324
"""The smallest float is 5e-324; near it floats have fewer significant digits."""

_NOT_ZERO = char_class([(0x31, 0x39)])


@cache
def floats(precision: int) -> Node:
    """Return the floats in the form of `repr`, except -0.0, which equals 0.0.

    Args:
        precision: Maximum number of significant digits, at least two. `ROUND_TRIP_DIGITS` includes the `repr` of every
            float; with `DISTINCT_DIGITS` no two texts denote the same float.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> dfa = regular_dfa(floats(17))
    >>> [dfa.accepts(text) for text in (b"1.0", b"0.5", b"1e-07", b"1", b"0.50", b"10e+21", b"-0.0")]
    [True, True, True, False, False, False, False]
    """
    return choice(
        [
            LiteralText("0.0"),
            with_optional_minus(
                choice([*_integral(precision), *_fractions(precision), *_exponents(precision)])
            ),
        ]
    )


def _integral(precision: int) -> list[Node]:
    """Return floats such as `120.0`: significant digits, and zeros up to the point."""
    significant = min(precision, _FIXED_DIGITS)
    zeros = Repeat(LiteralText("0"), 0, _FIXED_DIGITS - significant) if significant < _FIXED_DIGITS else EMPTY
    return [seq(_NOT_ZERO, digits(0, significant - 1), zeros, LiteralText(".0"))]


def _fractions(precision: int) -> list[Node]:
    """Return floats such as `12.05` and `0.0125`, without trailing zeros."""
    small = seq(LiteralText("0."), Repeat(LiteralText("0"), 0, _LEADING_ZEROS), _ending(precision))
    lengths = range(1, min(precision - 1, _FIXED_DIGITS) + 1)
    return [
        small,
        *(
            seq(
                _NOT_ZERO,
                digits(size - 1, size - 1),
                LiteralText("."),
                digits(0, precision - size - 1),
                _NOT_ZERO,
            )
            for size in lengths
        ),
    ]


def _exponents(precision: int) -> list[Node]:
    """Return floats such as `1.5e+22` and `1e-07`; the smallest floats have fewer digits."""
    min_exponent = _MIN_EXPONENT + int(precision > DISTINCT_DIGITS)
    last = min_exponent - precision
    powers = choice(
        [seq(LiteralText("+"), two_digits(16, _MAX_EXPONENT)), seq(LiteralText("-"), two_digits(5, last))]
    )
    smallest = [
        seq(_ending(min_exponent - power, "."), LiteralText(f"e-{power}"))
        for power in range(last + 1, _MIN_EXPONENT)
    ]
    return [
        seq(_ending(precision, "."), LiteralText("e"), powers),
        *smallest,
        LiteralText(f"5e-{_MIN_EXPONENT}"),
    ]


def _ending(precision: int, point: str = "") -> Node:
    """Return significant digits, the first and the last not 0, with the point after the first."""
    if precision == 1:
        return _NOT_ZERO
    return seq(_NOT_ZERO, Repeat(seq(LiteralText(point), digits(0, precision - 2), _NOT_ZERO), 0, 1))
