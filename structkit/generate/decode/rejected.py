"""Rejected texts, which a sequence must not contain again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.guide.guide import Cursor

__all__ = ["RejectedTexts"]

_NUMBER_TERMINATORS = b",]} \n\r\t"


class RejectedTexts:
    """Rejected texts and the start of the rejected value in each.

    A text is banned from its first byte, not from the start of the value: one token may contain the first byte of a
    value and bytes before it, and the same value may be valid elsewhere.

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
        """Return the bans of the next attempt, without dead ends: its budget may differ."""
        bans = RejectedTexts()
        bans._rejected, bans._rejected_complete = self._rejected.copy(), self._rejected_complete.copy()
        return bans

    def add(self, text: bytes, start: int, end: int, *, is_json: bool = True) -> None:
        """Ban a value after the text before it.

        Args:
            text: The rejected text.
            start: The byte offset of the value.
            end: The byte offset of its end.
            is_json: Whether the text is JSON. A whole text that is not may be the start of another one.
        """
        value = text[start:end]
        if not is_json and end == len(text):
            self._rejected_complete.add(text)
        elif value[-1:] not in (b'"', b"}", b"]") and value[:1] in (
            b"-",
            *(bytes([d]) for d in b"0123456789"),
        ):
            # A number may be the prefix of another, so it is banned with its terminators.
            self._rejected += [(start, text[:end] + bytes([byte])) for byte in _NUMBER_TERMINATORS]
            if end == len(text):
                self._rejected_complete.add(text)
        else:
            self._rejected.append((start, text[:end]))

    def add_prefix(self, start: int, text: bytes) -> None:
        """Ban a text that only banned texts can extend; the rejected value starts at byte `start`."""
        self._dead_ends.append((start, text))

    def matches(self, text: bytes | bytearray, more: bytes) -> bool:
        """Return whether `text` followed by `more` starts with a banned text."""
        extended = bytes(text) + more
        return any(extended.startswith(banned) for _, banned in self._all())

    def value_start(self, text: bytes | bytearray) -> int | None:
        """Return the start of the innermost value that would complete a banned text; `None` without one."""
        starts = [start for start, _ in self._extensions(text)]
        starts += [0 for banned in self._rejected_complete if banned.startswith(text)]
        return max(starts, default=None)

    def may_stop(self, text: bytes | bytearray) -> bool:
        """Return whether the text may end here."""
        return bytes(text) not in self._rejected_complete

    def apply_to(self, mask: NDArray[np.uint32], text: bytes | bytearray, cursor: Cursor) -> None:
        """Clear the tokens in a mask that would complete a banned text."""
        guide = cursor.guide
        tokens = guide.vocabulary.tokens
        for _, banned in self._extensions(text):
            rest = cursor.pending_prompt + banned[len(text) :]
            for token in guide.index.texts.prefix_and_extension_tokens(rest):
                if tokens[token].startswith(rest):
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        if not self.may_stop(text):
            mask &= ~guide.eos_mask

    def _extensions(self, text: bytes | bytearray) -> list[tuple[int, bytes]]:
        """Return the banned texts that start with `text`."""
        prefix = bytes(text)
        return [(start, banned) for start, banned in self._all() if banned.startswith(prefix)]

    def _all(self) -> list[tuple[int, bytes]]:
        return self._rejected + self._dead_ends
