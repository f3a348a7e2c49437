"""Incremental reader of a step: free text, arguments of calls, or the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from structkit.agent.formats.base import ArgumentsReader, Format
from structkit.agent.formats.preamble import PreambleReader, preamble_ends, starts_with_text
from structkit.agent.formats.text import text_ends
from structkit.generate.decode.field_budget import FieldLimits
from structkit.generate.output.json_reader import Field, JsonReader
from structkit.vocabulary.control_tokens import to_bytes, to_text

__all__ = ["OUTPUT", "Piece", "StepFieldLimits", "StepFieldReader", "StepReader"]

OUTPUT = ""
"""First element of paths in the output, in place of the name of a tool."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a step: text, the name of a tool, JSON of its arguments, or the start of an output that is not text."""

    kind: Literal["text", "call", "arguments", "between", "output"]
    text: str = ""


class StepReader:
    """Incremental reader of a step.

    Args:
        format: The format of calls.
        names: The available tools.
        multiple: Whether there may be several calls.
        allow_text: Whether text may precede the calls.
        is_text: Whether an output that starts with the given text is plain text; `None` if no output is.

    Attributes:
        position: Number of bytes read.
        start: Offset of the first call or the output, after the free text.
    """

    def __init__(
        self,
        format: Format,
        names: Sequence[str],
        *,
        multiple: bool,
        allow_text: bool,
        is_text: Callable[[str], bool] | None = None,
    ) -> None:
        self.position = 0
        self.start = 0
        self._format = format
        self._call_prefixes = {to_bytes(format.call_prefix(name)): name for name in names}
        self._start_delimiters = tuple(map(to_bytes, format.start_delimiters(multiple=multiple)))
        self._allow_text = allow_text
        self._is_text = is_text
        self._preamble: PreambleReader | None = None
        self._arguments: ArgumentsReader | None = None
        self._separator = b""
        self._is_output = False

    def next(self, text: bytearray) -> Piece | None:
        """Return the next part of the text so far; `None` if it is incomplete, or the output has started."""
        rest = bytes(text[self.position :])
        if not rest or self._is_output:
            return None
        if self._arguments is not None:
            return self._read_arguments(self._arguments, rest)
        if self._is_text is None and self._allow_text and not self.position and starts_with_text(rest):
            self._preamble = self._preamble or PreambleReader(preamble_ends(self._format))
        if self._preamble is not None:
            return self._read_preamble(self._preamble, rest)
        if self._separator:
            return self._read_separator(rest)
        for before in (b"",) if self.position > self.start else self._start_delimiters:
            for call_prefix, name in self._call_prefixes.items():
                prefix = before + call_prefix
                if rest.startswith(prefix):
                    self.position += len(prefix)
                    self._arguments = self._format.arguments_reader()
                    return Piece("call", name)
                if prefix.startswith(rest):
                    return None
        if self._is_text is not None and self._is_text(to_text(rest)):
            self._preamble = PreambleReader(text_ends(self._format) if self._allow_text else {})
            return self._read_preamble(self._preamble, rest)
        self._is_output = True
        return Piece("output")

    def finish(self, text: bytearray) -> Piece | None:
        """Return the end of a text output, which could have been the start of a call before the step was complete."""
        rest = bytes(text[self.position :])
        is_text = self._preamble is not None or (self._is_text is not None and not self.position)
        if not rest or self._is_output or not is_text:
            return None
        self.position = len(text)
        return Piece("text", rest.decode(errors="replace"))

    def _read_preamble(self, preamble: PreambleReader, rest: bytes) -> Piece | None:
        end, text = preamble.read(rest)
        if not end:
            return None
        self.position += end
        if preamble.is_complete:
            self.start, self._preamble = self.position, None
        return Piece("text", text)

    def _read_arguments(self, arguments: ArgumentsReader, rest: bytes) -> Piece:
        end, text = arguments.read(rest)
        self.position += end
        if arguments.is_complete:
            self._arguments = None
            # Unless another call follows.
            self._separator = to_bytes(self._format.call_suffix() + self._format.delimiters().between)
        return Piece("arguments", text)

    def _read_separator(self, rest: bytes) -> Piece | None:
        if not rest.startswith(self._separator):
            return None
        self.position, self._separator = self.position + len(self._separator), b""
        return Piece("between")


class StepFieldReader:
    """Reader of the values in a step; see `JsonReader`. Paths start with the name of the tool, or `OUTPUT`.

    Attributes:
        text: The bytes read.
    """

    def __init__(self, reader: StepReader) -> None:
        self.text = bytearray()
        self._reader = reader
        self._name: str | None = None
        self._fields = JsonReader()
        self._positions: list[int] = []

    @property
    def open_fields(self) -> list[Field]:
        """The values that have started and not ended, outermost first."""
        if self._name is None:
            return []
        return [
            replace(field, path=(self._name, *field.path), start=self._positions[field.start])
            for field in self._fields.open_fields
        ]

    def read(self, text: bytes) -> None:
        """Read further bytes."""
        for byte in text:  # one byte at a time, to record the start of each value
            self.text.append(byte)
            while (piece := self._reader.next(self.text)) is not None:
                if piece.kind == "call":
                    self._start(piece.text)
                elif piece.kind == "arguments":
                    self._take(piece.text.encode())
                elif piece.kind == "output":
                    self._start(OUTPUT)
                    for at in range(self._reader.position, len(self.text) - 1):
                        self._take(bytes(self.text[at : at + 1]), at)
            if self._name == OUTPUT:
                self._take(bytes((byte,)))

    def _start(self, name: str) -> None:
        self._name, self._fields, self._positions = name, JsonReader(), []

    def _take(self, text: bytes, at: int | None = None) -> None:
        self._positions += [len(self.text) - 1 if at is None else at] * len(text)
        self._fields.read(text)


@dataclass(frozen=True, slots=True)
class StepFieldLimits:
    """Token limits of the values in a step; see `FieldLimits`.

    Attributes:
        reader: A reader of a step.
        limits: The limits of each tool's arguments, and the limits of the output under the empty name.
    """

    reader: Callable[[], StepReader]
    limits: Mapping[str, FieldLimits]

    def __call__(self, path: Sequence[str | int]) -> int | None:
        """Return the maximum number of tokens of the value at a path."""
        limits = self.limits.get(f"{path[0]}")
        return None if limits is None else limits(tuple(path[1:]))

    def field_reader(self) -> StepFieldReader:
        """Return a reader of the values of a step."""
        return StepFieldReader(self.reader())
