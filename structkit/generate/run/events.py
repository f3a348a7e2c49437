"""Events of a value that is being generated, each emitted once its content is final."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from structkit.generate.decode.choice_scores import ChoicesAt
from structkit.generate.decode.config import TextView
from structkit.generate.output.json_reader import Field, JsonReader, Path, format_path
from structkit.generate.output.result import Result
from structkit.schema.python.validators import PartValidator
from structkit.schema.view.choices import OTHER
from structkit.vocabulary.control_tokens import CONTROL_BYTE

__all__ = ["Event", "EventEmitter", "FieldEnd", "FieldRetracted", "FieldStart", "StreamEnd", "TextDelta"]

T_co = TypeVar("T_co", covariant=True)


class Event:
    """An event of a stream."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the attributes of this event: events of other classes have others."""
            own: Any = self
            names = ", ".join(each.name for each in fields(own)) or "no attributes"
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}; it has {names}, and events of other classes have "
                "others: write isinstance(event, structkit.TextDelta)",
                name=name,
                obj=self,
            )


@dataclass(frozen=True, slots=True)
class FieldStart(Event):
    """A value started: its path and its kind are known.

    Attributes:
        path: The path of the value, such as `items[2].name`; `$` for the complete value.
        kind: `object`, `array`, `string`, `number` or `literal` (true, false and null).
    """

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class TextDelta(Event):
    """Text was added to a string, or to a rule of a grammar.

    Attributes:
        path: The path of the string or of the rule; `$` for text outside of the named rules.
        text: The added characters, with escapes decoded.
    """

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class FieldEnd(Event):
    """A value is complete.

    Attributes:
        path: The path of the value.
        value: The value, with the validation that does not need the rest, e.g. an instance of a model for an object.
    """

    path: str
    value: object


@dataclass(frozen=True, slots=True)
class FieldRetracted(Event):
    """A part is discarded and generated again: validators rejected the complete value, or a text model writes it again.

    The event can repeat for the same value, if the first tokens of the new value lead to rejected texts only.

    Attributes:
        path: The path of the value that is generated again. Discard its events and those of all later values.
    """

    path: str


@dataclass(frozen=True, slots=True)
class StreamEnd(Event, Generic[T_co]):
    """The value is complete and validated; always the last event.

    Attributes:
        result: The result that `generate` returns for the same call.
    """

    result: Result[T_co]


class EventEmitter:
    """Derives events from the text of a sequence that is being generated.

    Args:
        generated: The generated text, which the caller updates.
        part: The validators of the parts of the target, if it has any.
        choices: Returns the possible values at a path, if they can be listed.
        is_json: Whether the text is JSON; other text is one string.
        start: The byte at which the value starts; earlier bytes are ignored.
    """

    def __init__(
        self,
        generated: TextView,
        part: PartValidator | None,
        choices: ChoicesAt,
        *,
        is_json: bool,
        start: int = 0,
    ) -> None:
        self._generated = generated
        self._start = start
        self._part = part
        self._choices = choices
        self._is_json = is_json
        self._reset()

    def _reset(self) -> None:
        self._fields = JsonReader()
        self._open: list[Field] = []
        self._decoder = _StringDecoder(escaped=self._is_json)
        self._read = 0
        self._partials: list[dict[str, object] | list[object]] = []
        self._text = ""
        self._complete_value: object = None
        if not self._is_json:
            self._open.append(Field((), "string", -1))

    def poll(self) -> Iterator[FieldStart | TextDelta | FieldEnd | FieldRetracted]:
        """Yield the events since the last call."""
        written = self._generated
        kept = max(0, written.stable_length - self._start)
        if kept < self._read:
            self._rewind(kept)
            yield FieldRetracted(format_path(written.rejected_path))
        if self._is_json:
            self._fields.read(bytes(written.text[self._start + len(self._fields.text) :]))
        for field, ended in self._fields.take_changes():
            yield from self._field_ended(field) if ended else self._field_started(field)
        length = len(written.text) - self._start
        yield from self._text_added(length)
        self._read, written.stable_length = length, len(written.text)

    def finish(self) -> Iterator[FieldStart | TextDelta | FieldEnd | FieldRetracted]:
        """Yield the last events; the text is complete."""
        yield from self.poll()
        self._fields.finish()
        for field, _ in self._fields.take_changes():
            yield from self._field_ended(field)

    @property
    def partial(self) -> object:
        """The part of the value that is final."""
        if not self._open:
            return self._complete_value
        known = self._open[-1].kind == "string" and self._streams_text(self._open[-1].path)
        value: object = self._text if known else None
        for field, held in zip(reversed(self._containers()), reversed(self._partials), strict=True):
            inside = _with_item(held, self._open_key(field), value) if known else held.copy()
            part = self._part_at(field.path)
            value = part.build_partial(inside) if part and isinstance(inside, dict) else inside
            known = True
        return value

    def _streams_text(self, path: Path) -> bool:
        """Return whether a prefix of the string is a valid partial value; a prefix of a choice or of a date is not."""
        part = self._part_at(path)
        texts = self._choices(path)
        return (part is None or part.accepts_prefix) and (texts is None or OTHER in texts)

    def _containers(self) -> list[Field]:
        return [field for field in self._open if field.kind in ("object", "array")]

    def _open_key(self, field: Field) -> str | int:
        """Return the key or index of the open value in an open container."""
        return self._open[self._open.index(field) + 1].path[-1]

    def _rewind(self, length: int) -> None:
        """Reset, and read the first `length` bytes of the text again."""
        kept_text = bytes(self._fields.text[:length])
        self._reset()
        self._fields.read(kept_text)
        for field, ended in self._fields.take_changes():
            list(self._field_ended(field) if ended else self._field_started(field))
        list(self._text_added(length))

    def _field_started(self, field: Field) -> Iterator[FieldStart | TextDelta]:
        self._open.append(field)
        if field.kind == "object":
            self._partials.append({})
        elif field.kind == "array":
            self._partials.append([])
        elif field.kind == "string":
            self._decoder, self._text, self._read = _StringDecoder(escaped=True), "", field.start + 1
        yield FieldStart(format_path(field.path), field.kind)

    def _field_ended(self, field: Field) -> Iterator[TextDelta | FieldEnd]:
        if field.kind == "string":
            yield from self._read_text(field.path, field.end - 1)
            self._text = ""
        elif field.kind in ("object", "array"):
            self._partials.pop()
        self._open.pop()
        value = self._value(field)
        if field.path:
            _add_item(self._partials[-1], field.path[-1], value)
        else:
            self._complete_value = value
        yield FieldEnd(format_path(field.path), value)

    def _text_added(self, end: int) -> Iterator[TextDelta]:
        if self._open and self._open[-1].kind == "string":
            yield from self._read_text(self._open[-1].path, end)

    def _read_text(self, path: Path, end: int) -> Iterator[TextDelta]:
        text = self._decoder.read(bytes(self._generated.text[self._start + self._read : self._start + end]))
        self._read = max(self._read, end)
        self._text += text
        if text:
            yield TextDelta(format_path(path), text)

    def _value(self, field: Field) -> object:
        text = self._fields.text[field.start : field.end].decode()
        part = self._part_at(field.path)
        if part is not None:
            try:
                return part.validate(text)
            except ValueError:
                pass  # validation of the complete value rejects it, with its path
        value: object = json.loads(text)
        return value

    def _part_at(self, path: Path) -> PartValidator | None:
        part = self._part
        for step in path:
            part = None if part is None else part.child(step)
        return part


_ESCAPES = re.compile(
    r"(?:[^\\]|\\[^u]|\\u(?!d[89ab])[0-9a-fA-F]{4}|\\ud[89ab][0-9a-f]{2}\\u[0-9a-f]{4})*", re.I | re.S
)


class _StringDecoder:
    r"""An incremental decoder of the bytes of a string.

    >>> decoder = _StringDecoder(escaped=True)
    >>> decoder.read(b"a\xc3"), decoder.read(b"\xa9\\u00"), decoder.read(b"e9")
    ('a', 'é', 'é')
    """

    def __init__(self, *, escaped: bool) -> None:
        self._escaped = escaped
        self._bytes = codecs.getincrementaldecoder("utf-8")()
        self._undecoded = ""

    def read(self, more: bytes) -> str:
        """Return the characters that the added bytes complete."""
        text = self._undecoded + self._bytes.decode(more.replace(CONTROL_BYTE, b""))
        if not self._escaped or "\\" not in text:
            self._undecoded = ""
            return text
        whole = _ESCAPES.match(text)
        end = whole.end() if whole else 0
        self._undecoded = text[end:]
        decoded: str = json.loads(f'"{text[:end]}"')
        return decoded


def _add_item(container: dict[str, object] | list[object], step: str | int, value: object) -> None:
    if isinstance(container, list):
        container.append(value)
    else:
        container[str(step)] = value


def _with_item(
    container: dict[str, object] | list[object], step: str | int, value: object
) -> dict[str, object] | list[object]:
    return [*container, value] if isinstance(container, list) else {**container, str(step): value}
