"""Arguments of calls in Python notation, read as JSON."""

from __future__ import annotations

import codecs

__all__ = ["PythonArgumentsReader"]

_WORDS = {ord("T"): (b"t", 0), ord("F"): (b"f", 0), ord("N"): (b"null", 3), ord("'"): (b'"', 0)}
"""First byte of a word or a string: the JSON replacement, and the number of following bytes to skip."""


class PythonArgumentsReader:
    r"""Incremental reader of the literal arguments of a Python call as JSON.

    >>> PythonArgumentsReader().read(b'a=[None, "None)"], b=True)]')
    (25, '{"a": [null, "None)"], "b": true}')
    >>> PythonArgumentsReader().read(b'**{"a b": False})')
    (16, '{"a b": false}')
    >>> print(PythonArgumentsReader().read(rb"a='\'b\'\\', b='\"')")[1])
    {"a": "'b'\\", "b": "\""}
    """

    def __init__(self) -> None:
        self.is_complete = False
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._name: bytearray | None = bytearray()
        self._started = False
        self._depth = 0
        self._quote = 0
        self._escaped = False
        self._passed = 0
        self._dict = False

    def read(self, text: bytes) -> tuple[int, str]:
        """Read further bytes; return the number of bytes in the arguments, and the JSON that is final now.

        The closing parenthesis of the call is not consumed.
        """
        found = bytearray()
        end = 0
        while end < len(text) and not self.is_complete:
            if not self._read_byte(text[end], found):
                break
            end += 1
        return end, self._decoder.decode(bytes(found))

    def _read_byte(self, byte: int, json_text: bytearray) -> bool:
        """Read one byte; return whether it is part of the arguments."""
        if self._name is not None:
            return self._read_name_byte(self._name, byte, json_text)
        if self._passed:
            self._passed -= 1
        elif self._quote:
            self._read_string_byte(byte, json_text)
        elif byte == ord(")"):
            self._end(json_text)
            return False
        elif byte == ord(",") and not self._depth:
            self._name = bytearray()
        else:
            self._depth += (byte in b"[{") - (byte in b"]}")
            self._quote = byte if byte in b"\"'" else 0
            replacement, self._passed = _WORDS.get(byte, (bytes([byte]), 0))
            json_text += replacement
        return True

    def _read_string_byte(self, byte: int, json_text: bytearray) -> None:
        """Read one byte of a string or its closing quote. In single quotes, JSON escapes the other kind of quotes."""
        if self._escaped:
            self._escaped = False
            json_text += b"'" if byte == ord("'") else bytes((ord("\\"), byte))
        elif byte == ord("\\"):
            self._escaped = True
        elif byte == self._quote:
            self._quote = 0
            json_text += b'"'
        else:
            json_text += b'\\"' if byte == ord('"') else bytes((byte,))

    def _read_name_byte(self, name: bytearray, byte: int, json_text: bytearray) -> bool:
        """Read one byte of the name of an argument."""
        if byte == ord(")"):
            self._end(json_text)
            return False
        if byte == ord("*"):
            self._dict = True
        elif byte == ord("="):
            json_text += (b", " if self._started else b"{") + b'"' + name + b'": '
            self._started, self._name = True, None
        elif self._dict:
            self._name = None
            return self._read_byte(byte, json_text)
        elif byte != ord(" "):
            name.append(byte)
        return True

    def _end(self, json_text: bytearray) -> None:
        if not self._dict:
            json_text += b"}" if self._started else b"{}"
        self.is_complete = True
