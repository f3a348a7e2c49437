"""Floats of 64 bits as `repr` and `json.dumps` write them, so that one number has one text."""

from __future__ import annotations

from functools import cache

from structkit.lowering.numbers.decimals import two_digits
from structkit.lowering.numbers.integers import digits, minus
from structkit.regex.charset import chars
from structkit.regex.nodes import EMPTY, Node, Repeat, Text, alt, seq

__all__ = ["ALL_FIGURES", "APART_FIGURES", "floats"]

ALL_FIGURES = 17
"""Digits with which every float can be written. Two such texts may still be one float, as 0.1 and 0.10000000000000001:
which of them `repr` writes is told by no automaton of a reasonable size (between 1 and 2, by one of 5**16 states)."""

APART_FIGURES = 15
"""Digits with which two texts are never one float; only sums such as 0.30000000000000004 need more."""

_FIXED_DIGITS = 16
"""Digits before the point; from 1e16 on there is an exponent."""

_LEADING_ZEROS = 3
"""Zeros behind the point before the first other digit; below 1e-4 there is an exponent."""

_LARGEST = 307
"""The largest power of ten, short of the 1.797...e+308 at which a float overflows."""

_SMALLEST = 324
"""The smallest float is 5e-324; near it there are fewer floats than digits could tell apart."""

_NOT_ZERO = chars([(0x31, 0x39)])


@cache
def floats(figures: int) -> Node:
    """Every float in the form of `repr`, but for -0.0, which equals 0.0.

    Args:
        figures: The most digits from the first to the last that is not 0, at least two. With `ALL_FIGURES` the `repr`
            of every float is there, with `APART_FIGURES` no two texts are the same float.

    >>> from structkit.automaton.construct.compile_rule import regular
    >>> [regular(floats(17)).accepts(text) for text in (b"1.0", b"0.5", b"1e-07", b"1", b"0.50", b"10e+21", b"-0.0")]
    [True, True, True, False, False, False, False]
    """
    return alt([Text("0.0"), minus(alt([*_whole(figures), *_fractions(figures), *_exponents(figures)]))])


def _whole(figures: int) -> list[Node]:
    """`120.0`: digits that count, and zeros up to the point."""
    counting = min(figures, _FIXED_DIGITS)
    zeros = Repeat(Text("0"), 0, _FIXED_DIGITS - counting) if counting < _FIXED_DIGITS else EMPTY
    return [seq(_NOT_ZERO, digits(0, counting - 1), zeros, Text(".0"))]


def _fractions(figures: int) -> list[Node]:
    """`12.05` and `0.0125`, without zeros at the end."""
    small = seq(Text("0."), Repeat(Text("0"), 0, _LEADING_ZEROS), _ending(figures))
    lengths = range(1, min(figures - 1, _FIXED_DIGITS) + 1)
    return [
        small,
        *(
            seq(_NOT_ZERO, digits(size - 1, size - 1), Text("."), digits(0, figures - size - 1), _NOT_ZERO)
            for size in lengths
        ),
    ]


def _exponents(figures: int) -> list[Node]:
    """`1.5e+22` and `1e-07`; the smallest floats with as few digits as tell them apart."""
    nearest = _SMALLEST + int(figures > APART_FIGURES)
    last = nearest - figures
    powers = alt([seq(Text("+"), two_digits(16, _LARGEST)), seq(Text("-"), two_digits(5, last))])
    fewer = [seq(_ending(nearest - power, "."), Text(f"e-{power}")) for power in range(last + 1, _SMALLEST)]
    return [seq(_ending(figures, "."), Text("e"), powers), *fewer, Text(f"5e-{_SMALLEST}")]


def _ending(figures: int, point: str = "") -> Node:
    """Digits, the first not 0, and if there are several, the last neither; the point is behind the first."""
    if figures == 1:
        return _NOT_ZERO
    return seq(_NOT_ZERO, Repeat(seq(Text(point), digits(0, figures - 2), _NOT_ZERO), 0, 1))
