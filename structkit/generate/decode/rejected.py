"""Texts that were refused: what a sequence must not write again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.guide.guide import Cursor

__all__ = ["RejectedTexts"]

_NUMBER_TERMINATORS = b",]} \n\r\t"


class RejectedTexts:
    """Texts that must not be written again, and where the values begin for which they were refused.

    A text is banned from its first byte on, not from that of the value: a token may write the first byte of a value
    and what is before it, and elsewhere the same value may be right.

    >>> bans = RejectedTexts()
    >>> bans.add(b"[10, 34, 5]", 5, 7)
    >>> bans.matches(b"[10, 3", b"4"), bans.matches(b"[10,", b"34, ")
    (False, False)
    >>> bans.matches(b"[10, 3", b"4, ")
    True
    """

    def __init__(self) -> None:
        self._rejected: list[tuple[int, bytes]] = []
        self._rejected_complete: set[bytes] = set()
        self._dead_ends: list[tuple[int, bytes]] = []

    def __bool__(self) -> bool:
        return bool(self._rejected or self._rejected_complete)

    def for_retry(self) -> RejectedTexts:
        """The bans of another attempt: what was refused; ways that led to nothing else may have room there."""
        bans = RejectedTexts()
        bans._rejected, bans._rejected_complete = self._rejected.copy(), self._rejected_complete.copy()
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
            self._rejected += [(start, text[:end] + bytes([byte])) for byte in _NUMBER_TERMINATORS]
            if end == len(text):
                self._rejected_complete.add(text)
        else:
            self._rejected.append((start, text[:end]))

    def add_prefix(self, start: int, text: bytes) -> None:
        """Ban all that begins with a text, a way to banned ones alone; its value begins at the byte `start`."""
        self._dead_ends.append((start, text))

    def matches(self, text: bytes | bytearray, more: bytes) -> bool:
        """Whether a text that goes on with `more` would write a banned one."""
        whole = bytes(text) + more
        return any(whole.startswith(banned) for _, banned in self._all())

    def value_start(self, text: bytes | bytearray) -> int | None:
        """Where the innermost value begins with which a text would become a banned one; `None` if there is none."""
        starts = [start for start, _ in self._started(text)]
        starts += [0 for banned in self._rejected_complete if banned.startswith(text)]
        return max(starts, default=None)

    def may_stop(self, text: bytes | bytearray) -> bool:
        """Whether a text may end here."""
        return bytes(text) not in self._rejected_complete

    def apply_to(self, mask: NDArray[np.uint32], text: bytes | bytearray, cursor: Cursor) -> None:
        """Take the tokens out of a mask that would write a banned text after a text."""
        guide = cursor.guide
        tokens = guide.vocabulary.tokens
        for _, banned in self._started(text):
            rest = cursor.pending_prompt + banned[len(text) :]
            for token in guide.index.prefix_and_extension_tokens(rest):
                if tokens[token].startswith(rest):
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        if not self.may_stop(text):
            mask &= ~guide.eos_mask

    def _started(self, text: bytes | bytearray) -> list[tuple[int, bytes]]:
        """The bans that a text is the beginning of."""
        begun = bytes(text)
        return [(start, banned) for start, banned in self._all() if banned.startswith(begun)]

    def _all(self) -> list[tuple[int, bytes]]:
        return self._rejected + self._dead_ends
