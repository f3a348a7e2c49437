"""How far a text agrees with the reply of a script."""

from __future__ import annotations

__all__ = ["END_OF_THINKING", "ScriptedReply"]

END_OF_THINKING = b"</think>"
_SPACE = b" \t\n\r\v\f"


class ScriptedReply:
    """A reply, and how far the last text agreed with it, from where a longer text is compared."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._start()

    def _start(self) -> None:
        self._agreeing = b""
        self._position, self._depth, self._is_string, self._is_escaped = 0, 0, False, False
        self._is_start = self.text.lstrip().startswith((b"{", b"["))

    def after(self, text: bytes) -> bytes:
        """Return the part of the reply after the text; empty if the reply is complete or the text differs."""
        length, position = self.common_length(text)
        return self.text[position:] if length == len(text) else b""

    def common_length(self, text: bytes) -> tuple[int, int]:
        """Return the number of bytes of the text that agree with the reply, and the number of bytes of the reply.

        Whitespace of only one of them is skipped in and before brackets, outside of strings, and after thinking.

        >>> ScriptedReply(b'{"a":1}').common_length(b'{"a": 2}')
        (6, 5)
        """
        if not text.startswith(self._agreeing):
            self._start()
        length = len(self._agreeing)
        while length < len(text) and self._agrees(text[length]):
            length += 1
            if text.endswith(END_OF_THINKING, 0, length):
                self._is_start, self._is_string, self._depth = True, False, 0
        self._agreeing = text[:length]
        return length, self._position

    def _agrees(self, byte: int) -> bool:
        """Compare the next byte of the text, and go past it if it agrees."""
        is_loose = not self._is_string and (self._depth > 0 or self._is_start)
        is_space, found = byte in _SPACE, self._position
        while is_loose and not is_space and self.text[found : found + 1].isspace():
            found += 1
        if found < len(self.text) and self.text[found] == byte:
            self._position = found + 1
        elif not (is_loose and is_space):
            return False
        if not self._is_string:
            self._depth = max(0, self._depth + (byte in b"{[") - (byte in b"}]"))
        if byte == ord('"') and not self._is_escaped:
            self._is_string = not self._is_string
        self._is_escaped = byte == ord("\\") and not self._is_escaped
        self._is_start = self._is_start and is_space
        return True
