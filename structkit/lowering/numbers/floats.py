"""Floats of 64 bits as `repr` and `json.dumps` write them, so that one number has one text."""

from __future__ import annotations

from functools import cache

from structkit.lowering.numbers.decimals import two_digits
from structkit.lowering.numbers.integers import digits, with_optional_minus
from structkit.regex.charset import char_class
from structkit.regex.nodes import EMPTY, LiteralText, Node, Repeat, choice, seq

__all__ = ["DISTINCT_DIGITS", "ROUND_TRIP_DIGITS", "floats"]

ROUND_TRIP_DIGITS = 17
"""Digits with which every float can be written. Two such texts may still be one float, as 0.1 and 0.10000000000000001:
which of them `repr` writes is told by no automaton of a reasonable size (between 1 and 2, by one of 5**16 states)."""

DISTINCT_DIGITS = 15
"""Digits with which two texts are never one float; only sums such as 0.30000000000000004 need more."""

_FIXED_DIGITS = 16
"""Digits before the point; from 1e16 on there is an exponent."""

_LEADING_ZEROS = 3
"""Zeros behind the point before the first other digit; below 1e-4 there is an exponent."""

_MAX_EXPONENT = 307
"""The largest power of ten, short of the 1.797...e+308 at which a float overflows."""

_MIN_EXPONENT = 324
"""The smallest float is 5e-324; near it there are fewer floats than digits could tell apart."""

_NOT_ZERO = char_class([(0x31, 0x39)])


@cache
def floats(precision: int) -> Node:
    """Every float in the form of `repr`, but for -0.0, which equals 0.0.

    Args:
        precision: The most digits from the first to the last that is not 0, at least two. With `ALL_FIGURES` the `repr`
            of every float is there, with `APART_FIGURES` no two texts are the same float.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> [regular_dfa(floats(17)).accepts(text) for text in (b"1.0", b"0.5", b"1e-07", b"1", b"0.50", b"10e+21", b"-0.0")]
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
    """`120.0`: digits that count, and zeros up to the point."""
    counting = min(precision, _FIXED_DIGITS)
    zeros = Repeat(LiteralText("0"), 0, _FIXED_DIGITS - counting) if counting < _FIXED_DIGITS else EMPTY
    return [seq(_NOT_ZERO, digits(0, counting - 1), zeros, LiteralText(".0"))]


def _fractions(precision: int) -> list[Node]:
    """`12.05` and `0.0125`, without zeros at the end."""
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
    """`1.5e+22` and `1e-07`; the smallest floats with as few digits as tell them apart."""
    nearest = _MIN_EXPONENT + int(precision > DISTINCT_DIGITS)
    last = nearest - precision
    powers = choice(
        [seq(LiteralText("+"), two_digits(16, _MAX_EXPONENT)), seq(LiteralText("-"), two_digits(5, last))]
    )
    fewer = [
        seq(_ending(nearest - power, "."), LiteralText(f"e-{power}"))
        for power in range(last + 1, _MIN_EXPONENT)
    ]
    return [
        seq(_ending(precision, "."), LiteralText("e"), powers),
        *fewer,
        LiteralText(f"5e-{_MIN_EXPONENT}"),
    ]


def _ending(precision: int, point: str = "") -> Node:
    """Digits, the first not 0, and if there are several, the last neither; the point is behind the first."""
    if precision == 1:
        return _NOT_ZERO
    return seq(_NOT_ZERO, Repeat(seq(LiteralText(point), digits(0, precision - 2), _NOT_ZERO), 0, 1))
