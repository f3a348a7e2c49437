"""Incremental JSON reader: the values of a text that is being generated, their paths and their bytes.

The text must be a prefix of valid JSON (RFC 8259), in which `true`, `false` and `null` may have their names in Python;
the guide ensures it, and nothing is validated. Spans, confidence,
repair, choices, field budgets and the nesting limit share one reader per sequence.
"""

from __future__ import annotations

import json
import re
from copy import copy
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias, TypeVar

from structkit.arguments.names import closest_name

__all__ = ["MAX_DEPTH", "ByPath", "Field", "JsonReader", "Path", "format_path", "read_values"]

T = TypeVar("T")

Path: TypeAlias = "tuple[str | int, ...]"
"""Keys and indices from the root to a value; empty for the root."""

Kind: TypeAlias = Literal["object", "array", "string", "number", "literal"]

_WHITESPACE = frozenset(b" \t\n\r")
_KINDS: dict[int, Kind] = {ord("{"): "object", ord("["): "array", ord('"'): "string"}
_KINDS.update(dict.fromkeys(b"-0123456789", "number"))
_KINDS.update(dict.fromkeys(b"tfnTFN", "literal"))

_NO_ESCAPES = re.compile(rb'[^"\\]+')
"""Bytes inside a string that change no state; read in one step."""

MAX_DEPTH = 190
"""Depth from which the shortest completion is written. pydantic's JSON parser rejects a depth above 200; the difference
leaves levels for containers that the completion must open."""


@dataclass(slots=True)
class Field:
    """A value in the text.

    Attributes:
        path: Path from the root.
        kind: JSON type; `"literal"` is true, false or null.
        start: Offset of the first byte.
        end: Offset after the last byte; -1 while the value is open.
        size: Number of direct children that have started.
    """

    path: Path
    kind: Kind
    start: int
    end: int = -1
    size: int = 0


class JsonReader:
    """The values of the text read so far.

    Each byte is read once; a rewind reads at most one value again.

    Attributes:
        text: The bytes read. A fork keeps only its last bytes.
        open_fields: Values that have started and not ended, outermost first.

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
        self._text_start = 0  # the offset of text[0]: above 0 only in a fork
        self.open_fields: list[Field] = []
        # For each start and end of a value: the value, whether it ended, the number of bytes read.
        self._changes: list[tuple[Field, bool, int]] = []
        self._reported = 0
        self._value_state: tuple[int, str | None, int, bool] = (0, None, -1, False)
        self._key: str | None = None
        self._key_start = -1
        self._escaped = False

    def read(self, text: bytes) -> None:
        """Read the next bytes."""
        position = 0
        while position < len(text):
            plain = None if self._escaped or not self.in_string else _NO_ESCAPES.match(text, position)
            if plain:
                self.text += plain[0]
                position = plain.end()
            else:
                self._read(text[position])
                self.text.append(text[position])
                position += 1

    def follow(self, text: bytearray) -> JsonReader:
        """Read the bytes that a text adds to those already read; return the reader."""
        self.read(bytes(text[self._length :]))
        return self

    def finish(self) -> None:
        """Mark the text as complete, which ends a trailing number. Only `rewind` may follow."""
        if self.open_fields and self.open_fields[-1].kind == "number":
            self._end_value(self._length, self._length + 1)

    def rewind(self, length: int) -> None:
        """Return to the state after the first `length` bytes.

        Raises:
            ValueError: The reader is a fork, created after more bytes than that.
        """
        if length < self._value_state[0]:
            raise ValueError("a fork cannot be rewound past the byte at which it was created")
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
        offset, self._key, self._key_start, self._escaped = state
        self._reported = min(self._reported, len(self._changes))
        rest = bytes(self.text[offset - self._text_start : length - self._text_start])
        del self.text[offset - self._text_start :]
        self.read(rest)

    def fork(self) -> JsonReader:
        """Return a copy that has only the open values and cannot be rewound past the current byte.

        The time is linear in the depth and the length of an open key, not in the length of the text.
        """
        other = JsonReader()
        start = self._needed_from()
        other.text, other._text_start = self.text[start:], self._text_start + start
        other.open_fields = [copy(field) for field in self.open_fields]
        other._key, other._key_start, other._escaped = self._key, self._key_start, self._escaped
        other._value_state = (self._length, self._key, self._key_start, self._escaped)
        return other

    @property
    def values(self) -> list[Field]:
        """The values that have started, in order."""
        return [field for field, ended, _ in self._changes if not ended]

    @property
    def depth(self) -> int:
        """Number of open arrays and objects."""
        return len(self.open_fields) - (self._scalar is not None)

    @property
    def is_deep(self) -> bool:
        """Whether the nesting limit is reached."""
        return self.depth >= MAX_DEPTH

    @property
    def key_start(self) -> int:
        """Offset of the opening quote of the current key; -1 outside keys."""
        return self._key_start

    @property
    def in_key(self) -> bool:
        """Whether the text ends inside a key."""
        return self._key_start >= 0

    @property
    def in_string(self) -> bool:
        """Whether the text ends inside a string or a key."""
        return self._key_start >= 0 or bool(self.open_fields and self.open_fields[-1].kind == "string")

    def current(self) -> tuple[Path, int] | None:
        """Return path and first byte of the open scalar, or of the value that starts next; `None` without either."""
        if self._key_start >= 0:
            return None
        scalar = self._scalar
        if scalar is not None:
            return scalar.path, scalar.start
        end = self._stripped_length()
        if end and self.text[end - 1] not in b"[,:":
            return None
        if not self.open_fields:
            return (), self._length
        parent = self.open_fields[-1]
        step = parent.size if parent.kind == "array" else self._key
        return None if step is None else ((*parent.path, step), self._length)

    def take_changes(self) -> list[tuple[Field, bool]]:
        """Return the starts and ends of values since the last call, in order: the value, and whether it ended."""
        changes = [(field, ended) for field, ended, _ in self._changes[self._reported :]]
        self._reported = len(self._changes)
        return changes

    @property
    def _length(self) -> int:
        """Number of bytes read."""
        return self._text_start + len(self.text)

    def _stripped_length(self) -> int:
        """Return the length of `text` without trailing whitespace."""
        end = len(self.text)
        while end and self.text[end - 1] in _WHITESPACE:
            end -= 1
        return end

    def _needed_from(self) -> int:
        """Return the index in `text` of the first byte that a fork needs.

        It is the start of the open key or literal, or else the last byte before trailing whitespace.
        """
        if self._key_start >= 0:
            return self._key_start - self._text_start
        scalar = self._scalar
        if scalar is not None and scalar.kind == "literal":
            return scalar.start - self._text_start
        return max(0, self._stripped_length() - 1)

    @property
    def _scalar(self) -> Field | None:
        """The open string, number or literal."""
        inner = self.open_fields[-1] if self.open_fields else None
        return None if inner is None or inner.kind in ("object", "array") else inner

    def _read(self, byte: int) -> None:
        position = self._length
        if self._key_start >= 0:
            if self._ends_string(byte):
                name: str = json.loads(self.text[self._key_start - self._text_start :].decode() + '"')
                self._key, self._key_start = name, -1
            return
        field = self._scalar
        if field is not None:
            if field.kind == "string":
                if self._ends_string(byte):
                    self._end_value(position + 1, position + 1)
                return
            if field.kind == "literal":
                length = 5 if self.text[field.start - self._text_start] in b"fF" else 4
                if position + 1 - field.start == length:
                    self._end_value(position + 1, position + 1)
                return
            if byte in b"0123456789+-.eE":
                return
            self._end_value(position, position + 1)
        self._read_structure(byte, position)

    def _read_structure(self, byte: int, position: int) -> None:
        """Read a byte outside keys, strings, numbers and literals."""
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

    def _start_value(self, byte: int, position: int) -> None:
        path: Path = ()
        if self.open_fields:
            parent = self.open_fields[-1]
            path = (*parent.path, parent.size if self._key is None else self._key)
            parent.size += 1
        self._key = None
        field = Field(path, _KINDS[byte], position)
        self.open_fields.append(field)
        self._changes.append((field, False, position + 1))

    def _end_value(self, end: int, bytes_read: int) -> None:
        field = self.open_fields.pop()
        field.end = end
        self._changes.append((field, True, bytes_read))

    def _ends_string(self, byte: int) -> bool:
        if self._escaped:
            self._escaped = False
        elif byte == ord("\\"):
            self._escaped = True
        else:
            return byte == ord('"')
        return False


def read_values(text: bytes) -> list[Field]:
    """Return the values of a complete text, in the order of their first bytes.

    >>> [(format_path(field.path), field.start, field.end) for field in read_values(b"[7, 8]")]
    [('$', 0, 6), ('[0]', 1, 2), ('[1]', 4, 5)]
    """
    reader = JsonReader()
    reader.read(text)
    reader.finish()
    return reader.values


def format_path(path: Path) -> str:
    """Format a path in Python notation, `$` for the root.

    >>> format_path(("items", 2, "unit price")), format_path(())
    ('items[2]["unit price"]', '$')
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text or "$"


class ByPath(dict[str, T]):
    """What belongs to values, by path. The error of a path that no value has names the one that was probably meant.

    >>> ByPath({"$": 1, "items[2].age": 2})["$.items[2].age"]
    Traceback (most recent call last):
    KeyError: "no value has the path '$.items[2].age'; write 'items[2].age'"
    """

    def __missing__(self, path: object) -> NoReturn:
        written = format_path(path) if isinstance(path, tuple) else str(path)
        close = closest_name(re.sub(r"^\$?[./]?", "", written), self)
        few = ", ".join(map(repr, list(self)[:8])) + (", ..." if len(self) > 8 else "")
        remedy = (
            f"write {close!r}"
            if close
            else f"the paths are {few or 'none, without confidence=True or a Quote'}"
        )
        raise KeyError(f"no value has the path {path!r:.60}; {remedy}")
