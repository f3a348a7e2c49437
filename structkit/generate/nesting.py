"""How deep a value is nested: pydantic's reader of JSON refuses arrays and objects in more than 200 others."""

from __future__ import annotations

from copy import copy

__all__ = ["Nesting"]

_DEEPEST = 190
"""So deep a value is brought to its end, with some levels left for what must still be opened to end it."""

_QUOTE, _ESCAPE = b'"\\'


class Nesting:
    """How deep the beginning of a JSON text is nested, read as it is written: each byte once, however long it grows.

    >>> [Nesting().is_deep(bytearray(text)) for text in (b"[" * 200, b'["' + b"[" * 200, b"[]" * 200)]
    [True, False, False]
    """

    def __init__(self) -> None:
        self._length = self._depth = 0
        self._quoted = self._escaped = False

    @property
    def deep(self) -> bool:
        """Whether what was read is nested as deep as it should be."""
        return self._depth >= _DEEPEST

    def is_deep(self, text: bytearray) -> bool:
        """Whether a text, which goes on from the one before, is nested as deep as it should be."""
        self.read(text[self._length :])
        return self.deep

    def read(self, piece: bytes | bytearray) -> None:
        """Read what follows."""
        for byte in piece:
            if self._escaped:
                self._escaped = False
            elif self._quoted:
                self._quoted, self._escaped = byte != _QUOTE, byte == _ESCAPE
            elif byte == _QUOTE:
                self._quoted = True
            else:
                self._depth += (byte in b"[{") - (byte in b"]}")
        self._length += len(piece)

    def fork(self) -> Nesting:
        """Another that has read the same."""
        return copy(self)

    def forget(self, length: int) -> None:
        """All but so many bytes were taken back: they are read again."""
        if length < self._length:
            self._length = self._depth = 0
            self._quoted = self._escaped = False
