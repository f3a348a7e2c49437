"""How deep a value is nested: pydantic's reader of JSON refuses arrays and objects in more than 200 others."""

from __future__ import annotations

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
        self._read = self._depth = 0
        self._quoted = self._escaped = False

    def is_deep(self, text: bytearray) -> bool:
        """Whether a text, which goes on from the one before, is nested as deep as it should be."""
        for byte in text[self._read :]:
            if self._escaped:
                self._escaped = False
            elif self._quoted:
                self._quoted, self._escaped = byte != _QUOTE, byte == _ESCAPE
            elif byte == _QUOTE:
                self._quoted = True
            else:
                self._depth += (byte in b"[{") - (byte in b"]}")
        self._read = len(text)
        return self._depth >= _DEEPEST

    def forget(self, length: int) -> None:
        """All but so many bytes were taken back: they are read again."""
        if length < self._read:
            self._read = self._depth = 0
            self._quoted = self._escaped = False
