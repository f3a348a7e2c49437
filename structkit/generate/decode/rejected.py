"""Texts that were refused: what a sequence must not write again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.guide.guide import Cursor

__all__ = ["Bans"]

_AFTER_NUMBER = b",]} \n\r\t"


class Bans:
    """Texts that must not be written again, and where the values begin for which they were refused.

    A text is banned from its first byte on, not from that of the value: a token may write the first byte of a value
    and what is before it, and elsewhere the same value may be right.

    >>> bans = Bans()
    >>> bans.add(b"[10, 34, 5]", 5, 7)
    >>> bans.hits(b"[10, 3", b"4"), bans.hits(b"[10,", b"34, ")
    (False, False)
    >>> bans.hits(b"[10, 3", b"4, ")
    True
    """

    def __init__(self) -> None:
        self._refused: list[tuple[int, bytes]] = []
        self._ends: set[bytes] = set()
        self._ways: list[tuple[int, bytes]] = []

    def __bool__(self) -> bool:
        return bool(self._refused or self._ends)

    def again(self) -> Bans:
        """The bans of another attempt: what was refused; ways that led to nothing else may have room there."""
        bans = Bans()
        bans._refused, bans._ends = self._refused.copy(), self._ends.copy()
        return bans

    def add(self, text: bytes, start: int, end: int) -> None:
        """Ban a value, after what is before it.

        Args:
            text: The text that was refused.
            start: The byte at which the value begins.
            end: The byte after it.
        """
        value = text[start:end]
        if value[-1:] not in (b'"', b"}", b"]") and value[:1] in (b"-", *(bytes([d]) for d in b"0123456789")):
            # A number may be the beginning of another, so it is banned with what ends it.
            self._refused += [(start, text[:end] + bytes([byte])) for byte in _AFTER_NUMBER]
            if end == len(text):
                self._ends.add(text)
        else:
            self._refused.append((start, text[:end]))

    def add_beginning(self, start: int, text: bytes) -> None:
        """Ban all that begins with a text, a way to banned ones alone; its value begins at the byte `start`."""
        self._ways.append((start, text))

    def hits(self, text: bytes | bytearray, more: bytes) -> bool:
        """Whether a text that goes on with `more` would write a banned one."""
        whole = bytes(text) + more
        return any(whole.startswith(banned) for _, banned in self._all())

    def start_of(self, text: bytes | bytearray) -> int | None:
        """Where the innermost value begins with which a text would become a banned one; `None` if there is none."""
        starts = [start for start, _ in self._open(text)]
        starts += [0 for banned in self._ends if banned.startswith(text)]
        return max(starts, default=None)

    def may_end(self, text: bytes | bytearray) -> bool:
        """Whether a text may end here."""
        return bytes(text) not in self._ends

    def forbid(self, mask: NDArray[np.uint32], text: bytes | bytearray, cursor: Cursor) -> None:
        """Take the tokens out of a mask that would write a banned text after a text."""
        guide = cursor.guide
        tokens = guide.vocabulary.tokens
        for _, banned in self._open(text):
            rest = cursor.pending + banned[len(text) :]
            for token in guide.index.along(rest):
                if tokens[token].startswith(rest):
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        if not self.may_end(text):
            mask &= ~guide.end_mask

    def _open(self, text: bytes | bytearray) -> list[tuple[int, bytes]]:
        """The bans that a text is the beginning of."""
        begun = bytes(text)
        return [(start, banned) for start, banned in self._all() if banned.startswith(begun)]

    def _all(self) -> list[tuple[int, bytes]]:
        return self._refused + self._ways
