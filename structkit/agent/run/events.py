"""Events of a run of an agent."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from structkit.agent.formats.reader import Piece
from structkit.agent.formats.step import StepTarget
from structkit.agent.formats.text import TextOutput
from structkit.agent.run.state import AgentResult, AgentStep, ToolCall
from structkit.generate.decode.config import TextView
from structkit.generate.run.events import Event, EventEmitter, TextDelta

__all__ = [
    "AgentEvent",
    "PartialOutput",
    "PreambleDelta",
    "RunEnd",
    "SingleStepEvent",
    "StepEnd",
    "StepEventEmitter",
    "StepRetracted",
    "ThinkingEvent",
    "ToolCallDelta",
    "ToolCallStart",
    "ToolResult",
]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ThinkingEvent(Event):
    """The thoughts of the model before a step, with `thinking=...`."""

    text: str


@dataclass(frozen=True, slots=True)
class PreambleDelta(Event):
    """Text was added before a call or the result, with `allow_text=True`; plain text output is a `TextDelta`.

    Attributes:
        text: The added characters.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart(Event):
    """A call started: the name of its tool is known, and its arguments follow.

    Attributes:
        id: The id of the call.
        name: The name of the tool.
    """

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta(Event):
    """Text was added to the arguments of a call.

    Attributes:
        id: The id of the call.
        text: The added JSON.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolResult(Event):
    """A call has an outcome: it was executed or denied, or its arguments were rejected in every attempt.

    Attributes:
        call: The call, with its output or error.
    """

    call: ToolCall


@dataclass(frozen=True, slots=True)
class PartialOutput(Event):
    """The result has grown.

    Attributes:
        partial: The part of the value that is final; see `structkit.Stream.partial`.
        text: The characters that the model added since the last event of this type, such as a part of the JSON.
    """

    partial: object
    text: str = ""


@dataclass(frozen=True, slots=True)
class StepRetracted(Event):
    """Validators or an output function rejected the text of the step: discard its events; new ones replace them."""


@dataclass(frozen=True, slots=True)
class RunEnd(Event, Generic[T_co]):
    """The result is complete and validated; always the last event.

    Attributes:
        result: The result that `Agent.run` returns for the same run.
    """

    result: AgentResult[T_co]


@dataclass(frozen=True, slots=True)
class StepEnd(Event, Generic[T_co]):
    """The step is complete and validated; always the last event of `Agent.stream_step`.

    Attributes:
        step: The step that `Agent.step` returns for the same messages.
    """

    step: AgentStep[T_co]


AgentEvent: TypeAlias = (
    "ThinkingEvent | PreambleDelta | TextDelta | ToolCallStart | ToolCallDelta | ToolResult | PartialOutput "
    "| StepRetracted | RunEnd[T_co]"
)
"""The events that `Agent.stream` yields."""

SingleStepEvent: TypeAlias = (
    "ThinkingEvent | PreambleDelta | TextDelta | ToolCallStart | ToolCallDelta | PartialOutput | StepRetracted "
    "| StepEnd[T_co]"
)
"""The events that `Agent.stream_step` yields."""

StepEvent: TypeAlias = (
    "PreambleDelta | TextDelta | ToolCallStart | ToolCallDelta | PartialOutput | StepRetracted"
)


class StepEventEmitter:
    """Derives events from the text of a step that is being generated.

    Args:
        generated: The generated text, which the caller updates.
        target: The target of the step.
        calls: Number of calls before the step.
        context: The `context` of `pydantic.ValidationInfo` in validators.
    """

    def __init__(self, generated: TextView, target: StepTarget, calls: int, context: object = None) -> None:
        self._generated = generated
        self._target = target
        self._calls_before = calls
        self._is_text = isinstance(target.output, TextOutput)
        self._context = context
        self._reset()

    def _reset(self) -> None:
        self._reader = self._target.reader()
        self._number = self._calls_before
        self._result: EventEmitter | None = None
        self._partial: object = None
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._decoded = self._read = 0

    def poll(self) -> Iterator[StepEvent]:
        """Yield the events since the last call."""
        written = self._generated
        if written.stable_length < self._read:
            # A text model can write a call in place of an output that it has begun, so the output has no start to keep.
            self._reset()
            yield StepRetracted()
        while (piece := self._reader.next(written.text)) is not None:
            yield from self._piece_events(piece)
        if self._result is not None:
            yield from self._output_events(self._result)
        self._read = written.stable_length = len(written.text)

    def finish(self) -> Iterator[StepEvent]:
        """Yield the last events of a complete step."""
        yield from self.poll()
        if (piece := self._reader.finish(self._generated.text)) is not None:
            yield from self._piece_events(piece)

    def _piece_events(self, piece: Piece) -> Iterator[StepEvent]:
        if piece.kind == "call":
            self._number += 1
            yield ToolCallStart(self._id, piece.text)
        elif piece.kind == "arguments" and piece.text:
            yield ToolCallDelta(self._id, piece.text)
        elif piece.kind == "text" and piece.text:
            yield TextDelta("$", piece.text) if self._is_text else PreambleDelta(piece.text)
        elif piece.kind == "output":
            result, start = self._target.output, self._reader.start
            self._decoded = start
            if isinstance(result, TextOutput) and result.json is not None:
                result = result.json
            part = result.validators()
            part = None if part is None else part.with_context(self._context)
            self._result = EventEmitter(
                self._generated, part, result.choices, is_json=result.is_json, start=start
            )

    @property
    def _id(self) -> str:
        return f"call_{self._number}"

    def _output_events(self, emitter: EventEmitter) -> Iterator[StepEvent]:
        list(emitter.poll())  # all events must be consumed
        partial = emitter.partial
        if partial is not None and partial != self._partial:
            self._partial = partial
            added = self._decoder.decode(bytes(self._generated.text[self._decoded :]))
            self._decoded = len(self._generated.text)
            yield PartialOutput(partial, added)
