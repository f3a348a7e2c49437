"""Automata of the decimal multiples of a number."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.automaton.construct.optional_parts import Emitter

__all__ = ["multiples"]


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
    for remainder, state in enumerate(remainders):
        if remainder * 10**missing % len(remainders) == 0:
            emitter.link(state, end)


def _digit(emitter: Emitter, remainders: Sequence[int], following: Sequence[int]) -> None:
    """Add the edges of the digits: digit d leads from remainder r to 10 r + d."""
    for remainder, state in enumerate(remainders):
        for digit in range(10):
            emitter.edge(state, 0x30 + digit, following[(10 * remainder + digit) % len(following)])
