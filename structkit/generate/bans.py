"""Texts that were refused: what a sequence must not write again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.guide.guide import Cursor

__all__ = ["Bans"]

_AFTER_NUMBER = b",]} \n\r\t"


class Bans:
    """Values that must not be written again, by where they begin.

    >>> bans = Bans()
    >>> bans.add(4, b"34")
    >>> bans.hits(b"[10, 3", b"4, "), bans.hits(b"[10,34", b"5, ")
    (False, False)
    >>> bans.hits(b"[10,3", b"4, ")
    True
    """

    def __init__(self) -> None:
        self._starts: list[tuple[int, bytes]] = []
        self._ends: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._starts or self._ends)

    def add(self, start: int, value: bytes, whole: bool = False) -> None:
        """Ban a value.

        Args:
            start: The byte at which it begins.
            value: Its text.
            whole: Whether the text ends with it.
        """
        if value[-1:] not in (b'"', b"}", b"]") and value[:1] in (b"-", *(bytes([d]) for d in b"0123456789")):
            # A number may be the beginning of another, so it is banned with what ends it.
            self._starts += [(start, value + bytes([byte])) for byte in _AFTER_NUMBER]
            if whole:
                self._ends.add(value)
        else:
            self._starts.append((start, value))

    def add_beginning(self, start: int, text: bytes) -> None:
        """Ban all values that begin with a text."""
        self._starts.append((start, text))

    def hits(self, text: bytes | bytearray, more: bytes) -> bool:
        """Whether a text that goes on with `more` would write a banned value."""
        return any(
            text[start:] + more[: len(banned) + start - len(text)] == banned
            for start, banned in self._open(text)
            if len(text) + len(more) >= start + len(banned)
        )

    def start_of(self, text: bytes | bytearray) -> int | None:
        """Where the innermost banned value begins that the text is the beginning of; `None` if there is none."""
        starts = [start for start, _ in self._open(text)]
        starts += [0 for banned in self._ends if banned.startswith(text)]
        return max(starts, default=None)

    def may_end(self, text: bytes | bytearray) -> bool:
        """Whether a text may end here."""
        return bytes(text) not in self._ends

    def forbid(self, mask: NDArray[np.uint32], text: bytes | bytearray, cursor: Cursor) -> None:
        """Take the tokens out of a mask that would write a banned value after a text."""
        guide = cursor.guide
        tokens = guide.vocabulary.tokens
        for start, banned in self._open(text):
            rest = banned[len(text) - start :]
            for token in guide.index.along(rest):
                if tokens[token].startswith(rest):
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        if not self.may_end(text):
            mask &= ~guide.end_mask

    def _open(self, text: bytes | bytearray) -> list[tuple[int, bytes]]:
        """The bans that the end of a text is the beginning of."""
        return [
            (start, banned)
            for start, banned in self._starts
            if start <= len(text) < start + len(banned) and banned.startswith(bytes(text[start:]))
        ]
