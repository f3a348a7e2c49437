"""Events: what happens while a value is written, as it becomes certain."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from structkit.generate.decode.choice_scores import Choices
from structkit.generate.decode.config import Written
from structkit.generate.output.json_reader import Field, JsonReader, Path, show_path
from structkit.generate.output.result import Result
from structkit.schema.python.validators import Part
from structkit.schema.view.choices import OTHER

__all__ = ["Event", "FieldDone", "FieldRefused", "FieldStarted", "Finished", "Observer", "TextGrown"]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class FieldStarted:
    """A value begins: its name and its kind are certain.

    Attributes:
        path: Where it is, such as `items[2].name`; `$` for the whole.
        kind: `object`, `array`, `string`, `number` or `literal` (true, false and null).
    """

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class TextGrown:
    """A string goes on.

    Attributes:
        path: Where it is.
        text: The characters that were added, without escapes.
    """

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class FieldDone:
    """A value is complete.

    Attributes:
        path: Where it is.
        value: It, validated as far as it can be without the rest: an instance of a model for an object, say.
    """

    path: str
    value: object


@dataclass(frozen=True, slots=True)
class FieldRefused:
    """The type's validators refused the complete value, so what was written from here on is taken back.

    It may come again for the same value, when the first tokens of another one led to nothing that is allowed.

    Attributes:
        path: The value that is written anew; what was told of it, and of what came after it, no longer holds.
    """

    path: str


@dataclass(frozen=True, slots=True)
class Finished(Generic[T_co]):
    """The value is complete and validated: always the last event.

    Attributes:
        result: What `generate` would have returned.
    """

    result: Result[T_co]


Event: TypeAlias = "FieldStarted | TextGrown | FieldDone | FieldRefused | Finished[T_co]"
"""What `stream` yields."""


class Observer:
    """Tells events from the text of a sequence that is being written.

    Args:
        written: The sequence.
        part: The validators of the target's parts, if it has any.
        choices: The values that are possible at a place, if they can be listed.
        is_json: Whether the text is JSON; other text only grows.
        start: The byte at which it begins; what comes before is somebody else's.
    """

    def __init__(
        self, written: Written, part: Part | None, choices: Choices, *, is_json: bool, start: int = 0
    ) -> None:
        self._written = written
        self._start = start
        self._part = part
        self._choices = choices
        self._is_json = is_json
        self._begin()

    def _begin(self) -> None:
        self._fields = JsonReader()
        self._open: list[Field] = []
        self._decoder = _Decoder(escaped=self._is_json)
        self._read = 0
        self._held: list[dict[str, object] | list[object]] = []
        self._text = ""
        self._whole: object = None
        if not self._is_json:
            self._open.append(Field((), "string", -1))

    def look(self) -> Iterator[FieldStarted | TextGrown | FieldDone | FieldRefused]:
        """What happened since the last time."""
        written = self._written
        kept = max(0, written.kept - self._start)
        if kept < self._read:
            self._go_back(kept)
            yield FieldRefused(show_path(written.refused))
        if self._is_json:
            self._fields.read(bytes(written.text[self._start + len(self._fields.text) :]))
        for field, ended in self._fields.take():
            yield from self._ended(field) if ended else self._started(field)
        length = len(written.text) - self._start
        yield from self._grown(length)
        self._read, written.kept = length, len(written.text)

    def finish(self) -> Iterator[FieldStarted | TextGrown | FieldDone | FieldRefused]:
        """The last of what happened: the text is complete."""
        yield from self.look()
        self._fields.finish()
        for field, _ in self._fields.take():
            yield from self._ended(field)

    @property
    def partial(self) -> object:
        """The value as far as it is certain."""
        if not self._open:
            return self._whole
        known = self._open[-1].kind == "string" and self._grows(self._open[-1].path)
        value: object = self._text if known else None
        for field, held in zip(reversed(self._containers()), reversed(self._held), strict=True):
            inside = _with(held, self._step_below(field), value) if known else held.copy()
            part = self._part_at(field.path)
            value = part.partial(inside) if part and isinstance(inside, dict) else inside
            known = True
        return value

    def _grows(self, path: Path) -> bool:
        """Whether the beginning of a string is shown: half a choice, or half a date, is none."""
        part = self._part_at(path)
        texts = self._choices(path)
        return (part is None or part.grows) and (texts is None or OTHER in texts)

    def _containers(self) -> list[Field]:
        return [field for field in self._open if field.kind in ("object", "array")]

    def _step_below(self, field: Field) -> str | int:
        """The name or position of the open value inside of an open one."""
        return self._open[self._open.index(field) + 1].path[-1]

    def _go_back(self, kept: int) -> None:
        """Read the text anew up to a byte."""
        kept_text = bytes(self._fields.text[:kept])
        self._begin()
        self._fields.read(kept_text)
        for field, ended in self._fields.take():
            list(self._ended(field) if ended else self._started(field))
        list(self._grown(kept))

    def _started(self, field: Field) -> Iterator[FieldStarted | TextGrown]:
        self._open.append(field)
        if field.kind == "object":
            self._held.append({})
        elif field.kind == "array":
            self._held.append([])
        elif field.kind == "string":
            self._decoder, self._text, self._read = _Decoder(escaped=True), "", field.start + 1
        yield FieldStarted(show_path(field.path), field.kind)

    def _ended(self, field: Field) -> Iterator[TextGrown | FieldDone]:
        if field.kind == "string":
            yield from self._more(field.path, field.end - 1)
            self._text = ""
        elif field.kind in ("object", "array"):
            self._held.pop()
        self._open.pop()
        value = self._value(field)
        if field.path:
            _put(self._held[-1], field.path[-1], value)
        else:
            self._whole = value
        yield FieldDone(show_path(field.path), value)

    def _grown(self, end: int) -> Iterator[TextGrown]:
        if self._open and self._open[-1].kind == "string":
            yield from self._more(self._open[-1].path, end)

    def _more(self, path: Path, end: int) -> Iterator[TextGrown]:
        text = self._decoder.read(bytes(self._written.text[self._start + self._read : self._start + end]))
        self._read = max(self._read, end)
        self._text += text
        if text:
            yield TextGrown(show_path(path), text)

    def _value(self, field: Field) -> object:
        text = self._fields.text[field.start : field.end].decode()
        part = self._part_at(field.path)
        if part is not None:
            try:
                return part.validate(text)
            except ValueError:
                pass  # it is refused when the whole is complete, with its place
        value: object = json.loads(text)
        return value

    def _part_at(self, path: Path) -> Part | None:
        part = self._part
        for step in path:
            part = None if part is None else part.child(step)
        return part


_ESCAPES = re.compile(
    r"(?:[^\\]|\\[^u]|\\u(?!d[89ab])[0-9a-fA-F]{4}|\\ud[89ab][0-9a-f]{2}\\u[0-9a-f]{4})*", re.I | re.S
)


class _Decoder:
    r"""The characters of a string whose bytes come piece by piece.

    >>> decoder = _Decoder(escaped=True)
    >>> decoder.read(b"a\xc3"), decoder.read(b"\xa9\\u00"), decoder.read(b"e9")
    ('a', 'é', 'é')
    """

    def __init__(self, *, escaped: bool) -> None:
        self._escaped = escaped
        self._bytes = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""

    def read(self, more: bytes) -> str:
        """The characters that are certain now."""
        text = self._rest + self._bytes.decode(more)
        if not self._escaped or "\\" not in text:
            self._rest = ""
            return text
        whole = _ESCAPES.match(text)
        end = whole.end() if whole else 0
        self._rest = text[end:]
        decoded: str = json.loads(f'"{text[:end]}"')
        return decoded


def _put(held: dict[str, object] | list[object], step: str | int, value: object) -> None:
    if isinstance(held, list):
        held.append(value)
    else:
        held[str(step)] = value


def _with(
    held: dict[str, object] | list[object], step: str | int, value: object
) -> dict[str, object] | list[object]:
    return [*held, value] if isinstance(held, list) else {**held, str(step): value}
