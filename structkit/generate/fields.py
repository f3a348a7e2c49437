"""Where in a JSON value a text stands, read as it is written: which values have begun, grown and ended.

The text is known to be JSON (RFC 8259), or the beginning of it, for the guide let nothing else through. So this reads
it once, keeps no more than the values that are open, and never has to look back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Field", "Fields", "Path", "show_path"]

Path: TypeAlias = "tuple[str | int, ...]"
"""The names and positions that lead to a value; empty for the whole."""

Kind: TypeAlias = Literal["object", "array", "string", "number", "literal"]

_SPACE = frozenset(b" \t\n\r")
_KINDS: dict[int, Kind] = {ord("{"): "object", ord("["): "array", ord('"'): "string"}
_KINDS.update(dict.fromkeys(b"-0123456789", "number"))
_KINDS.update(dict.fromkeys(b"tfn", "literal"))


@dataclass(slots=True)
class Field:
    """A value in the text.

    Attributes:
        path: Where it is.
        kind: What it is; true, false and null are literals.
        start: The byte it begins at.
        end: The byte after its last; -1 while it is open.
    """

    path: Path
    kind: Kind
    start: int
    end: int = -1


class Fields:
    """The values of a text, as far as it was read.

    Attributes:
        text: The bytes read.
        open: The values that have begun and not ended, the outermost first.
        changes: The values that began or ended since they were last taken, in order; whether they ended.

    >>> fields = Fields()
    >>> fields.read(b'{"a": [1, "x')
    >>> [(show_path(field.path), field.kind) for field in fields.open]
    [('$', 'object'), ('a', 'array'), ('a[1]', 'string')]
    >>> [show_path(field.path) for field, ended in fields.take() if ended]
    ['a[0]']
    """

    def __init__(self) -> None:
        self.text = bytearray()
        self.open: list[Field] = []
        self.changes: list[tuple[Field, bool]] = []
        self._key: str | None = None
        self._key_start = -1
        self._escaped = False
        self._items: list[int] = []

    def read(self, text: bytes) -> None:
        """Read on."""
        for byte in text:
            self._read(byte)
            self.text.append(byte)

    def finish(self) -> None:
        """The text is complete: a number at its end has ended too."""
        if self.open and self.open[-1].kind == "number":
            self._end(len(self.text))

    @property
    def name_start(self) -> int:
        """The byte at which the name begins that is open; -1 outside of names."""
        return self._key_start

    @property
    def in_name(self) -> bool:
        """Whether the text stands inside the name of a field."""
        return self._key_start >= 0

    def here(self) -> tuple[Path, int] | None:
        """The value that is being written, or begins next, unless it is an object or array: its path and first byte."""
        if self._key_start >= 0:
            return None
        if self.open and self.open[-1].kind not in ("object", "array"):
            return self.open[-1].path, self.open[-1].start
        if bytes(self.text.rstrip()[-1:]) not in (b"", b"[", b",", b":"):
            return None
        if not self.open:
            return (), len(self.text)
        step = self._items[-1] if self.open[-1].kind == "array" else self._key
        return None if step is None else ((*self.open[-1].path, step), len(self.text))

    def take(self) -> list[tuple[Field, bool]]:
        """What changed since the last time."""
        changes, self.changes = self.changes, []
        return changes

    def _read(self, byte: int) -> None:
        at = len(self.text)
        if self._key_start >= 0:  # inside of a name
            if self._ends_string(byte):
                name: str = json.loads(self.text[self._key_start :].decode() + '"')
                self._key, self._key_start = name, -1
            return
        if self.open and self.open[-1].kind not in ("object", "array"):
            field = self.open[-1]
            if field.kind == "string":
                if self._ends_string(byte):
                    self._end(at + 1)
                return
            if field.kind == "literal":
                if at + 1 - field.start == (5 if self.text[field.start] == ord("f") else 4):
                    self._end(at + 1)
                return
            if byte in b"0123456789+-.eE":
                return
            self._end(at)
        self._between(byte, at)

    def _between(self, byte: int, at: int) -> None:
        """A byte that is inside of no name, string, number or literal."""
        if byte in _SPACE or byte in b",:":
            return
        if byte in b"]}":
            self._end(at + 1)
        elif byte == ord('"') and self.open and self.open[-1].kind == "object" and self._key is None:
            self._key_start = at
        else:
            self._begin(byte, at)

    def _begin(self, byte: int, at: int) -> None:
        path: Path = ()
        if self.open:
            step: str | int | None = self._key
            if step is None:
                step = self._items[-1]
                self._items[-1] += 1
            path = (*self.open[-1].path, step)
        self._key = None
        field = Field(path, _KINDS[byte], at)
        if field.kind in ("object", "array"):
            self._items.append(0)
        self.open.append(field)
        self.changes.append((field, False))

    def _end(self, at: int) -> None:
        field = self.open.pop()
        if field.kind in ("object", "array"):
            self._items.pop()
        field.end = at
        self.changes.append((field, True))

    def _ends_string(self, byte: int) -> bool:
        if self._escaped:
            self._escaped = False
        elif byte == ord("\\"):
            self._escaped = True
        else:
            return byte == ord('"')
        return False


def show_path(path: Path) -> str:
    """A path as people write it.

    >>> show_path(("items", 2, "unit price")), show_path(())
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
