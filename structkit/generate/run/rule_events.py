"""Events of the rules of a grammar in a text that is being generated."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from structkit.generate.decode.config import TextView
from structkit.generate.run.events import FieldEnd, FieldRetracted, FieldStart, StreamEnd, TextDelta
from structkit.targets.rule_reader import RuleReader

if TYPE_CHECKING:
    from lark import Tree

__all__ = ["Event", "RuleEmitter", "RuleEnd", "RuleStart"]


@dataclass(frozen=True, slots=True)
class RuleStart:
    """A rule of the grammar started.

    Attributes:
        path: The rule with its number and the named rules around it, such as `query[0].filter[1]`.
        rule: The name of the rule.
    """

    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class RuleEnd:
    """A rule of the grammar is complete.

    Attributes:
        path: The path of its `RuleStart`.
        rule: The name of the rule.
        tree: Lark's tree of the text of the rule, with the values of holes.
    """

    path: str
    rule: str
    tree: Tree[Any]


_Event: TypeAlias = "RuleStart | TextDelta | RuleEnd | FieldRetracted"
T_co = TypeVar("T_co", covariant=True)

Event: TypeAlias = (
    "FieldStart | TextDelta | FieldEnd | FieldRetracted | RuleStart | RuleEnd | StreamEnd[T_co]"
)
"""The events that `stream` yields."""


@dataclass
class _Progress:
    """What was emitted: the boundaries, the open rules with the rules counted in them, and the bytes of the text."""

    emitted: list[tuple[str, int, bool]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    counts: list[Counter[str]] = field(default_factory=lambda: [Counter()])
    end: int = 0
    decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))


class RuleEmitter:
    """Derives events from the text of a sequence that is being generated.

    Text that may yet belong to another rule waits until this is decided.

    Args:
        generated: The generated text, which the caller updates.
        reader: Finds the rules.
    """

    def __init__(self, generated: TextView, reader: RuleReader) -> None:
        self._generated = generated
        self._reader = reader
        self._read = 0
        self._progress = _Progress()

    def poll(self) -> Iterator[_Event]:
        """Yield the events since the last call."""
        yield from self._update(is_whole=False)

    def finish(self) -> Iterator[_Event]:
        """Yield the last events; the text is complete."""
        yield from self._update(is_whole=True)

    @property
    def partial(self) -> object:
        """The text so far."""
        return self._generated.text.decode(errors="ignore")

    def _update(self, *, is_whole: bool) -> Iterator[_Event]:
        generated = self._generated
        if generated.stable_length < self._read:
            self._reader.clear()
            self._read = 0
            yield from self._retract()
        self._reader.read(bytes(generated.text[self._read :]))
        self._read = generated.stable_length = len(generated.text)
        boundaries, end = self._reader.boundaries(is_whole=is_whole)
        found = [(each.rule, each.at, each.tree is None) for each in boundaries]
        if found[: len(self._progress.emitted)] != self._progress.emitted:
            yield from self._retract()
        for boundary in boundaries[len(self._progress.emitted) :]:
            yield from self._text(boundary.at)
            yield self._started(boundary.rule) if boundary.tree is None else self._ended(boundary.tree)
        self._progress.emitted = found
        yield from self._text(end)

    def _retract(self) -> Iterator[_Event]:
        self._progress = _Progress()
        yield FieldRetracted("$")

    def _text(self, end: int) -> Iterator[TextDelta]:
        progress = self._progress
        text = progress.decoder.decode(bytes(self._generated.text[progress.end : end]))
        progress.end = max(progress.end, end)
        if text:
            yield TextDelta(progress.paths[-1] if progress.paths else "$", text)

    def _started(self, rule: str) -> RuleStart:
        progress = self._progress
        outer = f"{progress.paths[-1]}." if progress.paths else ""
        path = f"{outer}{rule}[{progress.counts[-1][rule]}]"
        progress.counts[-1][rule] += 1
        progress.counts.append(Counter())
        progress.paths.append(path)
        return RuleStart(path, rule)

    def _ended(self, tree: Tree[Any]) -> RuleEnd:
        progress = self._progress
        progress.counts.pop()
        path = progress.paths.pop()
        return RuleEnd(path, path.rpartition(".")[2].partition("[")[0], tree)
