"""Reads one reply in all ways that can be meant, and chooses one."""

from __future__ import annotations

import re

from structkit.generate.correct.reading import Reading, advance_byte
from structkit.guide.guide import Cursor

__all__ = ["ReplyMatcher"]

_MAX_SPACES = 256
"""Length of a run of white space after which a reply is cut: models that loop write white space without end."""

_MAX_PROSE = 400
"""Bytes before the value, or after an isolated byte that could belong to the value, that are searched for the value."""

_MAX_REPLY = 1 << 18
"""Bytes of a reply before it is cut, if most of them do not belong to the value."""

_MIN_PROGRESS = 2
"""Bytes that a reading must add before its end cuts the reply; a single byte can be an accident of prose."""

_MAX_OVERLAP = 200
"""Length of the end of the answer that the start of a reply is compared with."""

_MIN_OVERLAP = 3
"""Length from which a repeated end of the answer is no accident, for a model that does not continue it."""

_THOUGHT = re.compile(rb"\s*<(think|thinking|thought|reasoning)>")
_MAX_TAG = 200


class ReplyMatcher:
    """Reads the pieces of one reply.

    The reply may continue the answer, repeat all or the end of it first, or start over. The value may follow prose, the
    opening of a code fence, or reasoning in `<think>` tags. All readings that fit are followed side by side; the one
    that explains most of the reply is chosen, and a complete value comes first. Prose is skipped only where the value
    is recognizable: at the start of a line, or at a bracket.

    Args:
        cursor: A cursor after the answer so far; it is not moved.
        text: The answer so far.
        shown: How many bytes of `text` the model was shown; white space at the end is not, since it would split a
            token.
        budget: The maximum number of bytes of the answer.
        continues: Whether the model continues the answer if it can.
    """

    def __init__(self, cursor: Cursor, text: bytes, shown: int, budget: int, *, continues: bool) -> None:
        self._cursor = cursor
        self._text = text
        self._hidden = text[shown:]
        self._budget = budget
        self._continues = continues
        self._data = bytearray()
        self._scanned = 0
        self._skips_thought = not advance_byte(cursor.guide.cursor(), ord("<"))
        self._readings: list[tuple[int, Reading]] = []
        self._first_ended = -1
        self._at_line_start = True
        self._restart_bytes = frozenset(
            byte for byte in b"{[" if cursor.guide.is_json and advance_byte(cursor.guide.cursor(), byte)
        )

    @property
    def data(self) -> bytes:
        """The reply so far."""
        return bytes(self._data)

    def feed(self, piece: str) -> bool:
        """Read the next piece; return whether the rest of the reply is not needed."""
        self._data += piece.encode(errors="surrogatepass")
        self._read(is_last=False)
        return self._is_decided()

    def finish(self) -> None:
        """Read the end of the reply."""
        self._read(is_last=True)

    @property
    def current(self) -> Reading | None:
        """The only reading that may go on, if there is one."""
        live = [reading for _, reading in self._readings if reading.state == "open"]
        return live[0] if len(live) == 1 and len(self._readings) == 1 else None

    def best(self) -> Reading | None:
        """Return the reading that explains most of the reply; `None` if none adds to the answer."""
        ranked = sorted(
            self._readings,
            key=lambda each: (each[1].state != "complete", -each[1].consumed, each[0], each[1].start),
        )
        for _, reading in ranked:
            if reading.state == "complete" or len(reading.text) > len(self._text):
                starts_over = not reading.text.startswith(self._text)
                if reading.state == "complete" or not (starts_over and self._continues):
                    return reading
            elif self._text.startswith(reading.text) and reading.consumed >= _MIN_OVERLAP:
                return None  # the reply only repeats the answer
        return None

    def _is_decided(self) -> bool:
        states = {reading.state for _, reading in self._readings}
        if "complete" in states:
            return True
        length = len(self._data)
        if self._cut_spaces() or length > _MAX_REPLY + 4 * self._budget:
            return True
        if "open" in states or not self._readings:
            return False
        gain = max(
            min(reading.consumed, len(reading.text) - len(self._text))
            if reading.text.startswith(self._text)
            else reading.consumed
            for _, reading in self._readings
        )
        return gain >= _MIN_PROGRESS or length - self._first_ended > _MAX_PROSE

    def _cut_spaces(self) -> bool:
        """Cut a reply that ends in a long run of white space; return whether it does."""
        stripped = len(self._data.rstrip(b" \t\n\r"))
        if len(self._data) - stripped <= _MAX_SPACES:
            return False
        for _, reading in self._readings:
            spaces = len(reading.text) - max(len(self._text), len(reading.text.rstrip(b" \t\n\r")))
            if reading.state == "open" and spaces > 1:
                reading.cut(spaces)
        return True

    def _read(self, *, is_last: bool) -> None:
        data = bytes(self._data)
        if self._skips_thought and not self._skip_thought(data, is_last=is_last):
            return
        self._skips_thought = False
        while self._scanned < len(data):
            byte, at_line_start = data[self._scanned], self._at_line_start
            if byte == ord("\n"):
                self._at_line_start = True
            elif byte not in b" \t\r":
                self._at_line_start = False
                if at_line_start:
                    self._start(data, self._scanned)
                elif byte in self._restart_bytes:
                    self._start_over(data, self._scanned)
            self._scanned += 1
        self._advance(data, len(data), is_last=is_last)

    def _skip_thought(self, data: bytes, *, is_last: bool) -> bool:
        """Skip reasoning before the answer; return whether the rest of the reply can be read."""
        if not self._data.lstrip().startswith(b"<"):
            return bool(self._data.strip()) or is_last
        opening = _THOUGHT.match(data)
        if opening is None:
            return is_last or len(data) > 20
        end = data.find(b"</%s>" % opening[1])
        if end >= 0:
            self._scanned = data.index(b">", end) + 1
        return end >= 0

    def _advance(self, data: bytes, end: int, *, is_last: bool = False) -> bool:
        """Let all readings read up to a position; return whether any goes on."""
        for _, reading in self._readings:
            reading.read(data, end, is_last=is_last)
        live = any(reading.state == "open" for _, reading in self._readings)
        if not live and self._readings and self._first_ended < 0:
            self._first_ended = max(reading.position for _, reading in self._readings)
        return live

    def _start(self, data: bytes, position: int) -> None:
        """Start all readings at the start of a line, unless others go on."""
        if self._advance(data, position):
            if data[position] in self._restart_bytes:
                self._start_over(data, position)
            return
        text, ahead = self._text, data[position : position + _MAX_OVERLAP]
        if not self._readings and not self._cursor.guide.is_json:
            self._add(0, Reading(self._cursor.fork(), text, 0, self._budget))
        spaced = bool(self._hidden) and not self._readings and data[:1].isspace()
        if spaced and data.startswith(self._hidden):  # the reply repeats the white space that was not shown
            self._add(1, Reading(self._cursor.fork(), text, 0, self._budget, repeats=self._hidden))
        else:
            self._add(1, Reading(self._cursor.fork(), text, position, self._budget))
        if not text:
            return
        self._restart(position)
        for length in range(min(len(text), _MAX_OVERLAP), 0, -1):
            repeated = text[-length:]
            if repeated.startswith(ahead) or ahead.startswith(repeated):
                rank = 0 if not self._continues and length >= _MIN_OVERLAP else 2
                self._add(rank, Reading(self._cursor.fork(), text, position, self._budget, repeats=repeated))

    def _start_over(self, data: bytes, position: int) -> None:
        """Start a reading at a bracket that may start the value, unless one goes on from such a bracket."""
        self._advance(data, position)
        if not any(rank == 3 and reading.state == "open" for rank, reading in self._readings):
            self._restart(position)

    def _restart(self, position: int) -> None:
        self._add(3, Reading(self._cursor.guide.cursor(), b"", position, self._budget))

    def _add(self, rank: int, reading: Reading) -> None:
        """Add a reading, in place of the least of those that ended if there are many."""
        self._readings.append((rank, reading))
        if len(self._readings) > 2 * _MAX_OVERLAP:
            ended = [each for each in self._readings if each[1].state == "refused"]
            self._readings.remove(min(ended, key=lambda each: each[1].consumed, default=self._readings[0]))
