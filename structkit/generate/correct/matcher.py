"""Reads one reply in all ways that can be meant, and chooses one."""

from __future__ import annotations

import re
from typing import NamedTuple

from structkit.generate.correct.reading import MAX_SPACES, Reading, advance_all, advance_byte
from structkit.guide.guide import Cursor

__all__ = ["ReplyMatcher"]

_CHUNK = 4_096
"""Characters of a reply that are read before the next decision."""

_MAX_PROSE = 400
"""Bytes that are searched for the value after prose begins, if the model continues the answer. Other models can explain
themselves first each time."""

_MAX_REPLY = 1 << 18
"""Bytes of a reply before it is cut, besides a multiple of the longest answer: reasoning can be long."""

_MIN_GAIN = 2
"""Bytes that a reading must add so that its end ends the reply; a single byte can be an accident of prose."""

_MAX_OVERLAP = 200
"""Length of the end of the answer that the start of a reply is compared with."""

_MIN_OVERLAP = 3
"""Length from which a repeated end of the answer is no accident, for a model that does not continue it."""

_MAX_ENDED = 8
"""Readings that ended and are kept: the best ones."""

_THOUGHT = re.compile(rb"\s*<(think|thinking|thought|reasoning)>")
_MAX_TAG = 12

_AFTER_THOUGHT = re.compile(rb"</(think|thinking|thought|reasoning)>\Z")

_MARK = "\ufeff".encode()
"""The mark that some programs put before a text in UTF-8."""

_LITERAL, _REPEATED, _RESTART = 1, 2, 3
"""Preference among readings that explain as much of a reply: it continues the answer, repeats the end of the answer, or
starts over."""


class _Ranked(NamedTuple):
    """A reading, and its rank among readings that explain as much; the lowest is preferred."""

    rank: int
    reading: Reading

    @property
    def key(self) -> tuple[bool, int, int, int]:
        """The order of readings, the best first."""
        reading = self.reading
        return reading.state != "complete", -reading.consumed, self.rank, reading.start


class ReplyMatcher:
    """Reads the pieces of one reply.

    The reply may continue the answer, repeat all or the end of it first, or start over. The value may follow prose, the
    opening of a code fence, or reasoning in `<think>` tags. All readings that fit are followed side by side; the one
    that explains most of the reply is chosen, and a complete value comes first. Prose is skipped only where the value
    is recognizable: at the start of a line, or at a bracket. How the reply is divided into pieces does not matter.

    Args:
        cursor: A cursor after the answer so far; it is not moved.
        text: The answer so far.
        shown: How many bytes of `text` the model was shown; see `shown_length`.
        budget: The maximum number of bytes of the answer.
        continues: Whether the model continues the answer if it can.

    Attributes:
        data: The reply, as far as it was read.
    """

    def __init__(self, cursor: Cursor, text: bytes, shown: int, budget: int, *, continues: bool) -> None:
        self.data = bytearray()
        self._half = ""
        self._cursor = cursor
        self._text = text
        self._hidden = text[shown:]
        self._budget = budget
        self._continues = continues
        self._max_prose = _MAX_PROSE if continues else _MAX_REPLY
        self._is_json = cursor.guide.is_json
        self._scanned = 0
        self._start = 0
        self._skips_thought = not advance_byte(cursor.guide.cursor(), ord("<"))
        self._reads_thought = self._skips_thought
        self._skips_mark = self._is_json or not advance_all(cursor.fork(), _MARK)
        self._live: list[_Ranked] = []
        self._ended: list[_Ranked] = []
        self._first_end = -1
        self._is_line_start = True
        self._brackets = frozenset(
            byte for byte in b"{[" if self._is_json and advance_byte(cursor.guide.cursor(), byte)
        )

    def feed(self, piece: str) -> bool:
        """Read the next piece; return whether the rest of the reply is not needed."""
        piece = self._half + piece
        # A server that counts characters in UTF-16 can send the halves of one in two pieces.
        self._half = piece[-1:] if "\ud800" <= piece[-1:] < "\udc00" else ""
        piece = piece[: len(piece) - len(self._half)]
        return any(self._feed(piece[start : start + _CHUNK]) for start in range(0, len(piece), _CHUNK))

    def finish(self) -> None:
        """Read the end of the reply."""
        self.data += self._half.encode(errors="surrogatepass")
        self._read(is_last=True)

    @property
    def current(self) -> Reading | None:
        """The only reading that continues, if no other explains more of the reply."""
        if len(self._live) != 1:
            return None
        reading = self._live[0].reading
        return reading if all(each.reading.consumed < reading.consumed for each in self._ended) else None

    def best(self) -> Reading | None:
        """Return the reading that explains most of the reply; `None` if none adds to the answer."""
        for _, reading in sorted([*self._live, *self._ended], key=lambda each: each.key):
            if reading.state == "complete":
                return reading
            if reading.text.startswith(self._text):
                if len(reading.text) > len(self._text):
                    return reading
            elif self._text.startswith(reading.text):
                if reading.consumed >= _MIN_OVERLAP:
                    return None  # the reply only repeats the answer
            elif not self._continues and len(reading.text) > len(self._text):
                return reading
        return None

    def _feed(self, piece: str) -> bool:
        self.data += _utf8(piece)
        return self._read(is_last=False)

    def _read(self, *, is_last: bool) -> bool:
        """Read the reply as far as it is known; return whether the rest is not needed."""
        data = self.data
        if len(data) > _MAX_REPLY + 4 * self._budget:
            return True
        if self._skips_mark:
            if _MARK.startswith(data) and not is_last and len(data) < len(_MARK):
                return False
            self._skips_mark = False
            if data.startswith(_MARK):
                self._scanned = self._start = len(_MARK)
        if self._skips_thought:
            if not self._skip_thought(is_last=is_last):
                return False
            self._skips_thought = False
        while self._scanned < len(data):
            byte, is_line_start = data[self._scanned], self._is_line_start
            if byte == ord("\n"):
                self._is_line_start = True
            elif byte not in b" \t\r":
                self._is_line_start = False
                if is_line_start or byte in self._brackets:
                    self._advance(self._scanned)
                    if self._is_decided(self._scanned):
                        return True
                    self._start_readings(self._scanned, is_line_start=is_line_start)
                if byte == ord(">") and self._reads_thought:  # as a line, the answer follows
                    start = max(self._start, self._scanned + 1 - _MAX_TAG)
                    self._is_line_start = _AFTER_THOUGHT.search(data, start, self._scanned + 1) is not None
            self._scanned += 1
        self._advance(len(data), is_last=is_last)
        return self._is_decided(len(data))

    def _skip_thought(self, *, is_last: bool) -> bool:
        """Skip reasoning before the answer; return whether the rest of the reply can be read."""
        begin = self._start
        stripped = self.data[begin : begin + MAX_SPACES + _MAX_TAG].lstrip()
        if not stripped or (len(stripped) < _MAX_TAG and stripped.startswith(b"<")):
            return is_last or len(self.data) - begin >= MAX_SPACES + _MAX_TAG
        opening = _THOUGHT.match(self.data, begin)
        if opening is None:
            return True
        closing = b"</%s>" % opening[1]
        end = self.data.find(closing)
        if end >= 0:
            self._scanned = self._start = end + len(closing)
        return end >= 0

    def _is_decided(self, end: int) -> bool:
        """Return whether the reply after a position is not needed."""
        complete = [each.reading.consumed for each in self._ended if each.reading.state == "complete"]
        if self._live:  # a bracket inside the rest of the answer can start a value of its own
            return bool(complete) and all(each.reading.consumed <= max(complete) for each in self._live)
        if complete:
            return True
        if not self._ended:
            return end - self._start > MAX_SPACES
        gain = max(self._gain(each.reading) for each in self._ended)
        return gain >= _MIN_GAIN or end - self._first_end > self._max_prose

    def _gain(self, reading: Reading) -> int:
        """Return the number of bytes of the reply by which a reading differs from the answer."""
        if reading.text.startswith(self._text):
            return min(reading.consumed, len(reading.text) - len(self._text))
        return reading.consumed

    def _advance(self, end: int, *, is_last: bool = False) -> None:
        """Let all readings read up to a position."""
        live = []
        for each in self._live:
            each.reading.read(self.data, end, is_last=is_last)
            if each.reading.state == "open":
                live.append(each)
            else:
                self._ended.append(each)
                if self._first_end < 0:
                    self._first_end = each.reading.position
        self._live = live
        if len(self._ended) > _MAX_ENDED:
            self._ended = sorted(self._ended, key=lambda each: each.key)[:_MAX_ENDED]

    def _start_readings(self, position: int, *, is_line_start: bool) -> None:
        """Start readings at a position where the value, or its rest, may start."""
        is_bracket = self.data[position] in self._brackets
        if is_line_start and not self._live:
            self._start_literal(position)
            if self._text:
                self._start_repeated(position)
        elif not is_bracket or any(rank == _RESTART for rank, _ in self._live):
            return
        if self._text or not is_line_start:
            self._add(_RESTART, Reading(self._cursor.guide.cursor(), b"", position, self._budget))

    def _start_literal(self, position: int) -> None:
        """Start a reading of the reply as the continuation of the answer."""
        is_first = not self._ended
        if is_first and self._start < position:
            hidden = self._hidden
            if hidden and self.data.startswith(hidden, self._start):  # what was not shown
                self._add(_LITERAL, self._literal(self._start, hidden))
                return
            if not self._is_json:  # whitespace may belong to the value
                self._add(_LITERAL, self._literal(self._start))
                if not self._text:  # or precede it, as in the first token of many answers
                    self._add(_LITERAL, self._literal(position))
            # Spaces may belong to a string that the answer ends in, lines do not.
            position = max(self._start, self.data.rfind(b"\n", self._start, position) + 1)
        self._add(_LITERAL, self._literal(position))

    def _start_repeated(self, position: int) -> None:
        """Start readings of the reply as the continuation of the answer, of which it first repeats the end."""
        ahead, hidden = self.data[position : position + _MAX_OVERLAP], self._hidden.lstrip()
        for length in range(min(len(self._text), _MAX_OVERLAP), 0, -1):
            repeated = self._text[-length:]
            if repeated.startswith(ahead) or ahead.startswith(repeated):
                is_meant = repeated == hidden or (not self._continues and length >= _MIN_OVERLAP)
                self._add(_LITERAL - 1 if is_meant else _REPEATED, self._literal(position, repeated))

    def _literal(self, position: int, repeats: bytes = b"") -> Reading:
        return Reading(self._cursor.fork(), self._text, position, self._budget, repeats=repeats)

    def _add(self, rank: int, reading: Reading) -> None:
        self._live.append(_Ranked(rank, reading))


def _utf8(piece: str) -> bytes:
    r"""Return a text as UTF-8, with the halves of a character joined.

    >>> _utf8("\ud83d\ude00").decode()
    '😀'
    """
    try:
        return piece.encode()
    except UnicodeEncodeError:
        joined = piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode(errors="surrogatepass")
