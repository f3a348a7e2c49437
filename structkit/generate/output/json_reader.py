"""Where in a JSON value a text stands, read as it is written: which values have begun, grown and ended.

The text is known to be JSON (RFC 8259), or the beginning of it, because the guide lets nothing else through. A sequence
has one reader, which spans, confidence, repair, choices, budgets of fields and the bound on nesting share.
"""

from __future__ import annotations

import json
import re
from copy import copy
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Field", "JsonReader", "Path", "format_path", "read_values"]

Path: TypeAlias = "tuple[str | int, ...]"
"""The names and positions that lead to a value; empty for the whole."""

Kind: TypeAlias = Literal["object", "array", "string", "number", "literal"]

_WHITESPACE = frozenset(b" \t\n\r")
_KINDS: dict[int, Kind] = {ord("{"): "object", ord("["): "array", ord('"'): "string"}
_KINDS.update(dict.fromkeys(b"-0123456789", "number"))
_KINDS.update(dict.fromkeys(b"tfn", "literal"))

_NO_ESCAPES = re.compile(rb'[^"\\]+')
"""What goes on inside of a string, read at once."""

_MAX_DEPTH = 190
"""A value this deep is brought to its end, with some levels left for what must still be opened to end it: pydantic's
reader of JSON refuses arrays and objects in more than 200 others."""


@dataclass(slots=True)
class Field:
    """A value in the text.

    Attributes:
        path: Where it is.
        kind: What it is; true, false and null are literals.
        start: The byte it begins at.
        end: The byte after its last; -1 while it is open.
        size: How many values have begun directly inside of it.
    """

    path: Path
    kind: Kind
    start: int
    end: int = -1
    size: int = 0


class JsonReader:
    """The values of a text, as far as it was read. Each byte is read once; a rewind reads no more than one value again.

    Attributes:
        text: The bytes read.
        open_fields: The values that have begun and not ended, the outermost first.

    >>> reader = JsonReader()
    >>> reader.read(b'{"a": [1, "x')
    >>> [(format_path(field.path), field.kind) for field in reader.open_fields]
    [('$', 'object'), ('a', 'array'), ('a[1]', 'string')]
    >>> [format_path(field.path) for field, ended in reader.take_changes() if ended]
    ['a[0]']
    >>> reader.rewind(7)
    >>> [format_path(field.path) for field in reader.open_fields], reader.depth
    (['$', 'a'], 2)
    """

    def __init__(self) -> None:
        self.text = bytearray()
        self.open_fields: list[Field] = []
        # The values that began or ended, whether they ended, and how many bytes were read then.
        self._changes: list[tuple[Field, bool, int]] = []
        self._reported = 0
        self._value_state: tuple[int, str | None, int, bool] = (0, None, -1, False)
        self._key: str | None = None
        self._key_start = -1
        self._escaped = False

    def read(self, text: bytes) -> None:
        """Read on."""
        at = 0
        while at < len(text):
            plain = None if self._escaped or not self.in_string else _NO_ESCAPES.match(text, at)
            if plain:
                self.text += plain[0]
                at = plain.end()
            else:
                self._read(text[at])
                self.text.append(text[at])
                at += 1

    def follow(self, text: bytearray) -> JsonReader:
        """Read what a text has more than was read; it goes on from that."""
        self.read(bytes(text[len(self.text) :]))
        return self

    def finish(self) -> None:
        """The text is complete: a number at its end has ended too. After this it can only be rewound."""
        if self.open_fields and self.open_fields[-1].kind == "number":
            self._end_value(len(self.text), len(self.text) + 1)

    def rewind(self, length: int) -> None:
        """Forget all but the first bytes of the text.

        Raises:
            ValueError: This is a fork, and was made past them.
        """
        if length < self._value_state[0]:
            raise ValueError("a fork cannot be rewound past the byte at which it was made")
        while self._changes and self._changes[-1][2] > length:
            field, ended, _ = self._changes.pop()
            if ended:
                field.end = -1
                self.open_fields.append(field)
            else:
                self.open_fields.pop()
                if self.open_fields:
                    self.open_fields[-1].size -= 1
        state = (self._changes[-1][2], None, -1, False) if self._changes else self._value_state
        known, self._key, self._key_start, self._escaped = state
        self._reported = min(self._reported, len(self._changes))
        rest = bytes(self.text[known:length])
        del self.text[known:]
        self.read(rest)

    def fork(self) -> JsonReader:
        """Another reader at the same byte, which cannot be rewound past it and knows only the values that are open."""
        other = JsonReader()
        other.text = self.text.copy()
        other.open_fields = [copy(field) for field in self.open_fields]
        other._key, other._key_start, other._escaped = self._key, self._key_start, self._escaped
        other._value_state = (len(self.text), self._key, self._key_start, self._escaped)
        return other

    @property
    def values(self) -> list[Field]:
        """The values that have begun, in order."""
        return [field for field, ended, _ in self._changes if not ended]

    @property
    def depth(self) -> int:
        """How many arrays and objects are open."""
        return len(self.open_fields) - (self._scalar is not None)

    @property
    def is_deep(self) -> bool:
        """Whether the text is nested as deep as it should be."""
        return self.depth >= _MAX_DEPTH

    @property
    def key_start(self) -> int:
        """The byte at which the name begins that is open; -1 outside of names."""
        return self._key_start

    @property
    def in_key(self) -> bool:
        """Whether the text stands inside the name of a field."""
        return self._key_start >= 0

    @property
    def in_string(self) -> bool:
        """Whether the text stands inside a string or a name."""
        return self._key_start >= 0 or bool(self.open_fields and self.open_fields[-1].kind == "string")

    def current(self) -> tuple[Path, int] | None:
        """The value that is being written, or begins next, unless it is an object or array: its path and first byte."""
        if self._key_start >= 0:
            return None
        scalar = self._scalar
        if scalar is not None:
            return scalar.path, scalar.start
        if bytes(self.text.rstrip()[-1:]) not in (b"", b"[", b",", b":"):
            return None
        if not self.open_fields:
            return (), len(self.text)
        holder = self.open_fields[-1]
        step = holder.size if holder.kind == "array" else self._key
        return None if step is None else ((*holder.path, step), len(self.text))

    def take_changes(self) -> list[tuple[Field, bool]]:
        """The values that began or ended since the last time, in order, and whether they ended."""
        changes = [(field, ended) for field, ended, _ in self._changes[self._reported :]]
        self._reported = len(self._changes)
        return changes

    @property
    def _scalar(self) -> Field | None:
        """The string, number or literal that is open."""
        inner = self.open_fields[-1] if self.open_fields else None
        return None if inner is None or inner.kind in ("object", "array") else inner

    def _read(self, byte: int) -> None:
        at = len(self.text)
        if self._key_start >= 0:  # inside of a name
            if self._ends_string(byte):
                name: str = json.loads(self.text[self._key_start :].decode() + '"')
                self._key, self._key_start = name, -1
            return
        field = self._scalar
        if field is not None:
            if field.kind == "string":
                if self._ends_string(byte):
                    self._end_value(at + 1, at + 1)
                return
            if field.kind == "literal":
                if at + 1 - field.start == (5 if self.text[field.start] == ord("f") else 4):
                    self._end_value(at + 1, at + 1)
                return
            if byte in b"0123456789+-.eE":
                return
            self._end_value(at, at + 1)
        self._read_structure(byte, at)

    def _read_structure(self, byte: int, position: int) -> None:
        """A byte that is inside of no name, string, number or literal."""
        if byte in _WHITESPACE or byte in b",:":
            return
        if byte in b"]}":
            self._end_value(position + 1, position + 1)
        elif (
            byte == ord('"')
            and self.open_fields
            and self.open_fields[-1].kind == "object"
            and self._key is None
        ):
            self._key_start = position
        else:
            self._start_value(byte, position)

    def _start_value(self, byte: int, at: int) -> None:
        path: Path = ()
        if self.open_fields:
            holder = self.open_fields[-1]
            path = (*holder.path, holder.size if self._key is None else self._key)
            holder.size += 1
        self._key = None
        field = Field(path, _KINDS[byte], at)
        self.open_fields.append(field)
        self._changes.append((field, False, at + 1))

    def _end_value(self, at: int, read: int) -> None:
        field = self.open_fields.pop()
        field.end = at
        self._changes.append((field, True, read))

    def _ends_string(self, byte: int) -> bool:
        if self._escaped:
            self._escaped = False
        elif byte == ord("\\"):
            self._escaped = True
        else:
            return byte == ord('"')
        return False


def read_values(text: bytes) -> list[Field]:
    """The values of a complete text, in the order in which they begin.

    >>> [(format_path(field.path), field.start, field.end) for field in read_values(b"[7, 8]")]
    [('$', 0, 6), ('[0]', 1, 2), ('[1]', 4, 5)]
    """
    reader = JsonReader()
    reader.read(text)
    reader.finish()
    return reader.values


def format_path(path: Path) -> str:
    """A path as people write it.

    >>> format_path(("items", 2, "unit price")), format_path(())
    ('items[2]["unit price"]', '$')
    """
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        elif step.isidentifier():
            shown += f".{step}" if shown else step
        else:
            shown += f"[{json.dumps(step, ensure_ascii=False)}]"
    return shown or "$"
