"""UTF-8 encoding of code point ranges as sequences of byte ranges (RFC 3629, section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["byte_sequences", "class_edges"]

ByteRange = tuple[int, int]

_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)


@lru_cache(maxsize=512)
def byte_sequences(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[ByteRange, ...], ...]:
    """Return the UTF-8 encodings of code point ranges as sequences of byte ranges.

    Surrogates have no encoding and are left out.

    >>> byte_sequences(((0x20, 0x7E), (0xE9, 0xE9)))
    (((32, 126),), ((195, 195), (169, 169)))
    """
    return tuple(sequence for low, high in ranges for sequence in _split(low, high))


def _split(low: int, high: int) -> Iterator[tuple[ByteRange, ...]]:
    """Split a range into pieces whose first and last code point differ only in full trailing bytes."""
    pending = [(low, high)]
    while pending:
        low, high = pending.pop()
        if low > high:
            continue
        if low <= 0xDFFF and high >= 0xD800:
            pending += [(0xE000, high), (low, 0xD7FF)]
            continue
        boundary = next((last for last in _LAST_OF_LENGTH if low <= last < high), None)
        if boundary is None and high > 0x7F:
            boundary = _first_piece_end(low, high)
        if boundary is not None:
            pending += [(boundary + 1, high), (low, boundary)]
            continue
        yield tuple(zip(chr(low).encode(), chr(high).encode(), strict=True))


def _first_piece_end(low: int, high: int) -> int | None:
    """Return the last code point of the first piece of a range, or `None` if the range is one byte sequence."""
    for bits in (6, 12, 18):
        trailing = (1 << bits) - 1
        if low & ~trailing != high & ~trailing:
            if low & trailing:
                return low | trailing
            if high & trailing != trailing:
                return (high & ~trailing) - 1
    return None


@lru_cache(maxsize=256)
def class_edges(ranges: tuple[tuple[int, int], ...]) -> tuple[int, NDArray[np.int32]]:
    """Return the number of inner states of the automaton of a character class, and its edges.

    An edge is `(source, first byte, last byte, target, 0)`; state -1 is the start, state -2 the end. Encodings with
    equal suffixes share states, so that large classes stay small.

    >>> class_edges(((0x20, 0x7E), (0xE9, 0xE9)))[1].tolist()
    [[-1, 32, 126, -2, 0], [0, 169, 169, -2, 0], [-1, 195, 195, 0, 0]]
    """
    states: dict[tuple[tuple[int, int], ...], int] = {(): -2}
    edges: list[tuple[int, int, int, int, int]] = []
    for sequence in byte_sequences(ranges):
        target = -2
        for position in range(len(sequence) - 1, 0, -1):
            rest = sequence[position:]
            if rest not in states:
                states[rest] = len(states) - 1
                edges.append((states[rest], *rest[0], target, 0))
            target = states[rest]
        edges.append((-1, *sequence[0], target, 0))
    return len(states) - 1, np.array(edges, np.int32)
