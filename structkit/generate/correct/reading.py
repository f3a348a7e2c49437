"""One way to read a reply: its bytes, from some position on, continue some start of an answer."""

from __future__ import annotations

import json
import re
from typing import Literal, TypeAlias

from structkit.errors import TokenRejected
from structkit.generate.output.json_reader import MAX_DEPTH
from structkit.guide.guide import Cursor

__all__ = ["MAX_SPACES", "Reading", "advance_all", "advance_byte"]

MAX_SPACES = 256
"""Length of a run of whitespace at which a reading ends: models that loop write whitespace without end."""

_SPACES = frozenset(b" \t\n\r")
_SCALAR = re.compile(rb"[\w+.-]", re.A)
_ESCAPE = re.compile(rb"\\u[dD][89abAB]\w\w\\u\w{4}|\\u\w{4}|\\[^u]", re.A)
_MAX_ESCAPE = 12

_AFTER_VALUE = re.compile(rb"[.,;:!?*]*(?:[\s`]|\Z)")
"""What can follow a value that no bracket closes, in prose; a letter or a digit would belong to the same word."""

_OPENING = (b"{", b"[")
_CLOSING = (b"}", b"]")

_PUNCTUATION = frozenset(b".,;:!?*")

State: TypeAlias = Literal["open", "complete", "refused"]


class Reading:
    """A reply read from a position as the continuation of a text, byte by byte.

    Outside of JSON strings, whitespace of the reply is replaced by the whitespace of the target's style; inside,
    characters are spelled as the target spells them, such as `é` for an escape. All else must agree.

    Args:
        cursor: A cursor after `text`; it is moved.
        text: The bytes of the answer that the reply continues.
        start: The position in the reply.
        budget: The maximum number of bytes of the answer.
        repeats: Bytes at the end of `text` that the reply repeats first.

    Attributes:
        text: The bytes of the answer so far.
        begin: The first byte of the reply that may add to the answer, after those that repeat it.
        position: The first byte of the reply that is not read.
        is_shortened: Whether the budget refused a byte.
        state: `"complete"` if the value ends at `position`; `"refused"` if the byte there cannot follow.
    """

    def __init__(self, cursor: Cursor, text: bytes, start: int, budget: int, *, repeats: bytes = b"") -> None:
        self.cursor = cursor
        self.text = bytearray(text)
        self.start = start
        self.begin = start + len(repeats)
        self.position = start
        self.budget = budget
        self.repeats = repeats
        self.state: State = "open"
        self.is_shortened = False
        self.is_json = cursor.guide.is_json
        outside, self.in_string = _outside_strings(text) if self.is_json else (b"", False)
        self.depth = sum(outside.count(byte) for byte in b"{[") - sum(outside.count(byte) for byte in b"}]")
        self._after_space = False
        self._spaces = 0

    @property
    def consumed(self) -> int:
        """The number of bytes of the reply that were read."""
        return self.position - self.start

    def read(self, data: bytearray, end: int, *, is_last: bool = False) -> None:
        """Read the reply up to a position.

        Args:
            data: The reply.
            end: The position.
            is_last: Whether the reply ends there.
        """
        while self.state == "open" and self.position < end:
            if not self._step(data, end, is_last=is_last):
                return  # more of the reply decides
        if is_last and self.state == "open" and (self.cursor.is_accepting or self._drop_spaces()):
            self.state = "complete"

    def _step(self, data: bytearray, end: int, *, is_last: bool) -> bool:
        byte = data[self.position]
        if self.repeats:
            if byte == self.repeats[0]:
                self.repeats = self.repeats[1:]
                self.position += 1
            else:
                self.state = "refused"
            return True
        self._spaces = self._spaces + 1 if byte in _SPACES else 0
        if self._spaces > MAX_SPACES:
            self._cut_spaces()
            return True
        unit = bytes(data[self.position : self.position + 1])
        if self.in_string and byte == ord("\\"):
            escape = _ESCAPE.match(data, self.position, end)
            if not is_last and end - self.position < _MAX_ESCAPE and _may_grow(escape):
                return False
            unit = bytes(escape[0]) if escape else unit
        if self._take(unit):
            self.position += len(unit)
            if unit in _CLOSING and not self.in_string and self.is_json and self.cursor.is_finished:
                self.state = "complete"
        elif self.is_json and not self.in_string and byte in _SPACES:
            self._after_space = True
            self.position += 1
        else:
            return self._stop(data, end, is_last=is_last)
        return True

    def _take(self, unit: bytes) -> bool:
        """Append a character of the reply in the spelling of the target; return whether it can follow."""
        if not self.is_json:
            return self._append(unit)
        if self.in_string:
            if self._append(unit):
                self.in_string = unit != b'"'
                return True
            spelled = _spelled(unit)
            return spelled is not None and self._append(spelled)
        if self._after_space and self.text and _SCALAR.match(unit) and _SCALAR.match(self.text[-1:]):
            return False  # `1 2` is not 12
        if unit in _OPENING and self.depth >= MAX_DEPTH:
            return False
        if not (self._append(unit) or self._append(_leading_space(self.cursor.forced_bytes()) + unit)):
            return False
        self._after_space = False
        self.in_string = unit == b'"'
        self.depth += (unit in _OPENING) - (unit in _CLOSING)
        return True

    def _append(self, added: bytes) -> bool:
        """Append bytes to the text, all or none; return whether they can follow within the budget."""
        if not advance_all(self.cursor, added):
            return False
        if not self.cursor.fits(self.budget - len(self.text) - len(added)):
            self.cursor.rollback(len(added))
            self.is_shortened = True
            return False
        self.text += added
        return True

    def _drop_spaces(self) -> bool:
        """Take back whitespace after a complete value that is not JSON; return whether there is any."""
        spaces = len(self.text) - len(self.text.rstrip())
        if self.is_json or not 0 < spaces < self.consumed:
            return False
        before = self.cursor.fork()
        before.rollback(spaces)
        if not before.is_accepting:
            return False
        self.cursor = before
        del self.text[len(self.text) - spaces :]
        self.position -= spaces
        return True

    def _cut_spaces(self) -> None:
        """Refuse a run of whitespace."""
        length = min(len(self.text) - len(self.text.rstrip(b" \t\n\r")), MAX_SPACES)
        self.cursor.rollback(length)
        del self.text[len(self.text) - length :]
        self.position -= MAX_SPACES
        self.state = "refused"

    def _stop(self, data: bytearray, end: int, *, is_last: bool) -> bool:
        """End at a byte that cannot follow: the value is complete before the byte, or the byte is refused."""
        if self.cursor.is_accepting and self.consumed:
            is_closed = self.is_json and self.text.endswith(_CLOSING)
            if is_closed or self._after_space:
                self.state = "complete"
                return True
            rest = data[self.position : end]
            if not is_last and all(byte in _PUNCTUATION for byte in rest):
                return False
            if _AFTER_VALUE.match(rest):
                self.state = "complete"
                return True
        self.state = "complete" if self._drop_spaces() else "refused"
        return True


def advance_byte(cursor: Cursor, byte: int) -> bool:
    """Advance by a byte; return whether the language allows the byte."""
    try:
        cursor.advance(byte)
    except TokenRejected:
        return False
    return True


def advance_all(cursor: Cursor, text: bytes) -> bool:
    """Advance by all bytes of a text, or by none; return whether the language allows the text."""
    for count, byte in enumerate(text):
        if not advance_byte(cursor, byte):
            cursor.rollback(count)
            return False
    return bool(text)


def _may_grow(escape: re.Match[bytes] | None) -> bool:
    r"""Return whether more bytes can belong to an escape: half of a pair like `\ud83d\ude00`, or an incomplete one."""
    return escape is None or (len(escape[0]) == 6 and escape[0][2:3] in b"dD" and escape[0][3:4] in b"89abAB")


def _spelled(unit: bytes) -> bytes | None:
    r"""Return the usual spelling of a character of a JSON string; `None` if it has no other.

    >>> _spelled(rb"\u00e9").decode(), _spelled(b"\n"), _spelled(rb"\/")
    ('é', b'\\n', b'/')
    """
    try:
        text = json.loads(b'"%s"' % unit, strict=False)
        spelled = json.dumps(text, ensure_ascii=False)[1:-1].encode()
    except ValueError:
        return None
    return None if spelled == unit else spelled


def _leading_space(forced: bytes) -> bytes:
    return forced[: len(forced) - len(forced.lstrip(b" \t\n\r"))]


def _outside_strings(text: bytes) -> tuple[bytes, bool]:
    r"""Return the start of a JSON text without its strings, and whether it ends inside a string.

    >>> _outside_strings(rb'{"a": "b\"'), _outside_strings(rb'{"a": "b\\"')
    ((b'{: ', True), (b'{: ', False))
    """
    parts = re.sub(rb"\\.", b"", text, flags=re.S).split(b'"')
    return b"".join(parts[::2]), len(parts) % 2 == 0
