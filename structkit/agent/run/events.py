"""What happens in a run while it happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from structkit.agent.formats.reader import Piece
from structkit.agent.run.state import AgentResult, ToolCall
from structkit.agent.run.step import StepTarget
from structkit.generate.decode.config import GeneratedTokens
from structkit.generate.run.events import EventEmitter, FieldRetracted

__all__ = [
    "AgentEvent",
    "PartialOutput",
    "PreambleDelta",
    "RunEnd",
    "StepEventEmitter",
    "StepRetracted",
    "ThinkingEvent",
    "ToolCallDelta",
    "ToolCallStart",
    "ToolResult",
]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ThinkingEvent:
    """What the model thought before a step, with `thinking=...`."""

    text: str


@dataclass(frozen=True, slots=True)
class PreambleDelta:
    """The model says something before a call or the result, with `text=True`.

    Attributes:
        text: The characters that were added.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """The model has decided to call a tool; its arguments follow.

    Attributes:
        id: What names the call.
        name: The tool.
    """

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """The arguments of a call go on.

    Attributes:
        id: That of the call.
        text: The JSON that was added.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Something came of a call: it was made, or denied, or its arguments were refused for good.

    Attributes:
        call: It, with its output or error.
    """

    call: ToolCall


@dataclass(frozen=True, slots=True)
class PartialOutput:
    """The result goes on.

    Attributes:
        partial: The value as far as it is certain; see `structkit.Stream.partial`.
    """

    partial: object


@dataclass(frozen=True, slots=True)
class StepRetracted:
    """Validators refused what was written in this step: what was told of it no longer holds, and it is told anew."""


@dataclass(frozen=True, slots=True)
class RunEnd(Generic[T_co]):
    """The result is complete and validated: always the last event.

    Attributes:
        result: What `Agent.run` would have returned.
    """

    result: AgentResult[T_co]


AgentEvent: TypeAlias = (
    "ThinkingEvent | PreambleDelta | ToolCallStart | ToolCallDelta | ToolResult | PartialOutput | StepRetracted "
    "| RunEnd[T_co]"
)
"""What `Agent.stream` yields."""

StepEvent: TypeAlias = "PreambleDelta | ToolCallStart | ToolCallDelta | PartialOutput | StepRetracted"


class StepEventEmitter:
    """Tells events from the text of a step that is being written.

    Args:
        generated: The text.
        target: Its language.
        calls: How many calls there were before.
    """

    def __init__(self, generated: GeneratedTokens, target: StepTarget, calls: int) -> None:
        self._generated = generated
        self._target = target
        self._calls_before = calls
        self._reset()

    def _reset(self) -> None:
        self._reader = self._target.reader()
        self._number = self._calls_before
        self._result: EventEmitter | None = None
        self._partial: object = None
        self._read = 0

    def poll(self) -> Iterator[StepEvent]:
        """What happened since the last time."""
        written = self._generated
        if written.stable_length < (self._read if self._result is None else self._reader.start):
            self._reset()
            yield StepRetracted()
        while (piece := self._reader.next(written.text)) is not None:
            yield from self._piece_events(piece)
        if self._result is not None:
            yield from self._output_events(self._result)
        else:
            self._read = written.stable_length = len(written.text)

    def _piece_events(self, piece: Piece) -> Iterator[StepEvent]:
        if piece.kind == "call":
            self._number += 1
            yield ToolCallStart(self._id, piece.text)
        elif piece.kind == "arguments" and piece.text:
            yield ToolCallDelta(self._id, piece.text)
        elif piece.kind == "said" and piece.text:
            yield PreambleDelta(piece.text)
        elif piece.kind == "result":
            result, start = self._target.output, self._reader.start
            self._result = EventEmitter(
                self._generated, result.validators(), result.choices, is_json=result.is_json, start=start
            )

    @property
    def _id(self) -> str:
        return f"call_{self._number}"

    def _output_events(self, emitter: EventEmitter) -> Iterator[StepEvent]:
        looked = list(emitter.poll())  # to its end, whatever is found
        if any(isinstance(event, FieldRetracted) for event in looked):
            yield StepRetracted()
        partial = emitter.partial
        if partial is not None and partial != self._partial:
            self._partial = partial
            yield PartialOutput(partial)
