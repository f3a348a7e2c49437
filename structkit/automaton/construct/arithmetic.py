"""Automata of the decimal multiples of a number."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from structkit.automaton.construct.optional_parts import Emitter

__all__ = ["multiples"]

_DIGITS = np.arange(0x30, 0x3A, dtype=np.int32)


def multiples(emitter: Emitter, of: int, places: int, start: int) -> int:
    """Emit the multiples with one state per remainder and number of decimal places; return the end.

    See `structkit.regex.nodes.MultipleOf`.
    """
    end, zero = emitter.state(), emitter.state()
    integers = [emitter.state() for _ in range(of)]
    emitter.edge(start, 0x30, zero)
    for digit in range(1, 10):
        emitter.edge(start, 0x30 + digit, integers[digit % of])
    _digit(emitter, integers, integers)
    emitter.link(zero, end)
    _end(emitter, integers, places, end)
    last = integers
    if places:
        last = [emitter.state() for _ in range(of)]
        for before, after in zip((zero, *integers), (last[0], *last), strict=True):
            emitter.edge(before, 0x2E, after)
    for missing in range(places - 1, -1, -1):
        following = [emitter.state() for _ in range(of)]
        _digit(emitter, last, following)
        _end(emitter, following, missing, end)
        last = following
    return end


def _end(emitter: Emitter, remainders: Sequence[int], missing: int, end: int) -> None:
    """Link to the end the remainders that are 0 after `missing` more zeros."""
    of = len(remainders)
    for remainder in range(0, of, of // gcd(of, 10**missing)):
        emitter.link(remainders[remainder], end)


def _digit(emitter: Emitter, remainders: Sequence[int], following: Sequence[int]) -> None:
    """Add the edges of the digits: digit d leads from remainder r to 10 r + d."""
    values = np.arange(10 * len(remainders)).reshape(-1, 10)
    sources = np.repeat(np.array(remainders, np.int32), 10)
    targets = np.array(following, np.int32)[values % len(following)]
    emitter.edges(sources, np.tile(_DIGITS, len(remainders)), targets.ravel())
