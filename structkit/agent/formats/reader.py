"""The text of a step, read as it is written: free text, the arguments of calls, or the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from structkit.agent.formats.base import Arguments, Format
from structkit.agent.formats.preamble import Saying, begins_text
from structkit.generate.decode.field_budget import FieldLimits
from structkit.generate.output.json_reader import Field, JsonReader
from structkit.vocabulary.control_tokens import to_bytes

__all__ = ["RESULT", "Piece", "StepFields", "StepLimits", "StepReader"]

RESULT = ""
"""What stands in a path where the name of a tool does, for the result."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that was read: free text, the name of a tool, JSON of its arguments, or that the result begins."""

    kind: Literal["said", "call", "arguments", "between", "result"]
    text: str = ""


class StepReader:
    """Reads a step.

    Args:
        format: How calls are written.
        names: The tools that can be called.
        several: Whether there may be several calls.
        text: Whether free text may stand before them.

    Attributes:
        at: How many bytes were read.
        start: The byte at which calls or the result begin, after the free text.
    """

    def __init__(self, format: Format, names: Sequence[str], *, several: bool, text: bool) -> None:
        self.at = 0
        self.start = 0
        self._format = format
        self._opened = {to_bytes(format.opened(name)): name for name in names}
        self._begins = tuple(map(to_bytes, format.begins(several=several)))
        self._text = text
        self._saying: Saying | None = None
        self._arguments: Arguments | None = None
        self._between = b""
        self._is_result = False

    def next(self, text: bytearray) -> Piece | None:
        """Read one thing more of the text so far; `None` if it is not there yet, or the result has begun."""
        rest = bytes(text[self.at :])
        if not rest or self._is_result:
            return None
        if self._arguments is not None:
            return self._more(self._arguments, rest)
        if self._text and not self.at and begins_text(rest):
            self._saying = self._saying or Saying(self._format)
        if self._saying is not None:
            return self._said(self._saying, rest)
        if self._between:
            return self._on(rest)
        for before in (b"",) if self.at > self.start else self._begins:
            for opened, name in self._opened.items():
                whole = before + opened
                if rest.startswith(whole):
                    self.at += len(whole)
                    self._arguments = self._format.arguments()
                    return Piece("call", name)
                if whole.startswith(rest):
                    return None
        self._is_result = True
        return Piece("result")

    def _said(self, saying: Saying, rest: bytes) -> Piece | None:
        end, text = saying.read(rest)
        if not end:
            return None
        self.at += end
        if saying.done:
            self.start, self._saying = self.at, None
        return Piece("said", text)

    def _more(self, arguments: Arguments, rest: bytes) -> Piece:
        end, text = arguments.read(rest)
        self.at += end
        if arguments.done:
            self._arguments = None
            # If another call follows.
            self._between = to_bytes(self._format.closed() + self._format.around().between)
        return Piece("arguments", text)

    def _on(self, rest: bytes) -> Piece | None:
        if not rest.startswith(self._between):
            return None
        self.at, self._between = self.at + len(self._between), b""
        return Piece("between")


class StepFields:
    """The values in a step; see `JsonReader`. Their paths begin with the name of the tool, or `RESULT`.

    Attributes:
        text: The bytes read.
    """

    def __init__(self, reader: StepReader) -> None:
        self.text = bytearray()
        self._reader = reader
        self._name: str | None = None
        self._fields = JsonReader()
        self._places: list[int] = []

    @property
    def open(self) -> list[Field]:
        """The values that have begun and not ended, the outermost first."""
        if self._name is None:
            return []
        return [
            replace(field, path=(self._name, *field.path), start=self._places[field.start])
            for field in self._fields.open
        ]

    def read(self, text: bytes) -> None:
        """Read on."""
        for byte in text:  # one by one, so that it is known where in the text each value begins
            self.text.append(byte)
            while (piece := self._reader.next(self.text)) is not None:
                if piece.kind == "call":
                    self._begin(piece.text)
                elif piece.kind == "arguments":
                    self._take(piece.text.encode())
                elif piece.kind == "result":
                    self._begin(RESULT)
                    for at in range(self._reader.at, len(self.text) - 1):
                        self._take(bytes(self.text[at : at + 1]), at)
            if self._name == RESULT:
                self._take(bytes((byte,)))

    def _begin(self, name: str) -> None:
        self._name, self._fields, self._places = name, JsonReader(), []

    def _take(self, text: bytes, at: int | None = None) -> None:
        self._places += [len(self.text) - 1 if at is None else at] * len(text)
        self._fields.read(text)


@dataclass(frozen=True, slots=True)
class StepLimits:
    """The tokens that values in a step may have; see `FieldLimits`.

    Attributes:
        reader: A reader of a step.
        limits: Those of each tool's arguments, and those of the result under the empty name.
    """

    reader: Callable[[], StepReader]
    limits: Mapping[str, FieldLimits]

    def __call__(self, path: Sequence[str | int]) -> int | None:
        """The tokens that the value at a place may have."""
        limits = self.limits.get(f"{path[0]}")
        return None if limits is None else limits(tuple(path[1:]))

    def fields(self) -> StepFields:
        """What reads the values of a step."""
        return StepFields(self.reader())
