"""What happens in a run while it happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from structkit.agent.formats.reader import Piece
from structkit.agent.run.state import AgentResult, ToolCall
from structkit.agent.run.step import StepTarget
from structkit.generate.decode.config import Written
from structkit.generate.run.events import FieldRefused, Observer

__all__ = [
    "AgentEvent",
    "ArgumentsGrown",
    "CallDone",
    "CallStarted",
    "ResultGrown",
    "RunFinished",
    "StepRefused",
    "Teller",
    "TextSaid",
    "Thought",
]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought before a step, with `thinking=...`."""

    text: str


@dataclass(frozen=True, slots=True)
class TextSaid:
    """The model says something before a call or the result, with `text=True`.

    Attributes:
        text: The characters that were added.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The model has decided to call a tool; its arguments follow.

    Attributes:
        id: What names the call.
        name: The tool.
    """

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsGrown:
    """The arguments of a call go on.

    Attributes:
        id: That of the call.
        text: The JSON that was added.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallDone:
    """Something came of a call: it was made, or denied, or its arguments were refused for good.

    Attributes:
        call: It, with its output or error.
    """

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ResultGrown:
    """The result goes on.

    Attributes:
        partial: The value as far as it is certain; see `structkit.Stream.partial`.
    """

    partial: object


@dataclass(frozen=True, slots=True)
class StepRefused:
    """Validators refused what was written in this step: what was told of it no longer holds, and it is told anew."""


@dataclass(frozen=True, slots=True)
class RunFinished(Generic[T_co]):
    """The result is complete and validated: always the last event.

    Attributes:
        result: What `Agent.run` would have returned.
    """

    result: AgentResult[T_co]


AgentEvent: TypeAlias = (
    "Thought | TextSaid | CallStarted | ArgumentsGrown | CallDone | ResultGrown | StepRefused "
    "| RunFinished[T_co]"
)
"""What `Agent.stream` yields."""

Told: TypeAlias = "TextSaid | CallStarted | ArgumentsGrown | ResultGrown | StepRefused"


class Teller:
    """Tells events from the text of a step that is being written.

    Args:
        written: The text.
        target: Its language.
        calls: How many calls there were before.
    """

    def __init__(self, written: Written, target: StepTarget, calls: int) -> None:
        self._written = written
        self._target = target
        self._calls = calls
        self._begin()

    def _begin(self) -> None:
        self._reader = self._target.reader()
        self._number = self._calls
        self._result: Observer | None = None
        self._partial: object = None
        self._read = 0

    def look(self) -> Iterator[Told]:
        """What happened since the last time."""
        written = self._written
        if written.kept < (self._read if self._result is None else self._reader.start):
            self._begin()
            yield StepRefused()
        while (piece := self._reader.next(written.text)) is not None:
            yield from self._told(piece)
        if self._result is not None:
            yield from self._grown(self._result)
        else:
            self._read = written.kept = len(written.text)

    def _told(self, piece: Piece) -> Iterator[Told]:
        if piece.kind == "call":
            self._number += 1
            yield CallStarted(self._id, piece.text)
        elif piece.kind == "arguments" and piece.text:
            yield ArgumentsGrown(self._id, piece.text)
        elif piece.kind == "said" and piece.text:
            yield TextSaid(piece.text)
        elif piece.kind == "result":
            result, start = self._target.result, self._reader.start
            self._result = Observer(
                self._written, result.part(), result.choices, is_json=result.is_json, start=start
            )

    @property
    def _id(self) -> str:
        return f"call_{self._number}"

    def _grown(self, result: Observer) -> Iterator[Told]:
        looked = list(result.look())  # to its end, whatever is found
        if any(isinstance(event, FieldRefused) for event in looked):
            yield StepRefused()
        partial = result.partial
        if partial is not None and partial != self._partial:
            self._partial = partial
            yield ResultGrown(partial)
