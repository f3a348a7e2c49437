"""UTF-8 encoding of code point ranges as sequences of byte ranges (RFC 3629, section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

__all__ = ["byte_sequences"]

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
