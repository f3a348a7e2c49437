"""A step as a response of pydantic-ai, complete or while it is generated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timezone

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    FinishReason,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.usage import RequestUsage

from structkit.agent.run.events import (
    PartialOutput,
    PreambleDelta,
    SingleStepEvent,
    StepEnd,
    ThinkingEvent,
    ToolCallDelta,
    ToolCallStart,
)
from structkit.agent.run.state import AgentStep
from structkit.agent.stream import AsyncStepStream
from structkit.errors import OutputValidationError
from structkit.generate.run.events import TextDelta
from structkit.integrations.pydantic_ai.language import StepLanguage
from structkit.messages import Calls

_PART_IDS: dict[type, str] = {ThinkingPart: "thinking", TextPart: "text"}
"""The ids of the parts that a response has at most once."""

__all__ = ["StepResponse", "finish_reason_of", "usage_of"]


def usage_of(step: AgentStep[object]) -> RequestUsage:
    """Return the usage of a step."""
    usage = step.usage
    details = {
        "forced_tokens": usage.forced_tokens,
        "discarded_tokens": usage.discarded_tokens,
        "thinking_tokens": usage.thinking_tokens,
    }
    return RequestUsage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.written_tokens,
        details={name: count for name, count in details.items() if count},
    )


def finish_reason_of(step: AgentStep[object]) -> FinishReason:
    """Return the finish reason of a step; `length` if a limit changed the result, which is complete and valid."""
    if step.finish_reason == "calls":
        return "tool_call"
    return "length" if step.finish_reason == "budget" else "stop"


class StepResponse(StreamedResponse):
    """The response of a step that is being generated.

    A delta is final. If the step can be retracted, its parts are sent when it is complete.
    """

    def __init__(
        self,
        parameters: ModelRequestParameters,
        *,
        model: str,
        system: str,
        language: StepLanguage,
        stream: AsyncStepStream[object],
    ) -> None:
        super().__init__(parameters)
        self._model = model
        self._system = system
        self._language = language
        self._stream = stream
        self._created_at = datetime.now(timezone.utc)
        self._sent: dict[str, str] = {}

    async def close_stream(self) -> None:
        """Stop the generation."""
        await self._stream.aclose()

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return self._model

    @property
    def provider_name(self) -> str:
        """`structkit`."""
        return self._system

    @property
    def provider_url(self) -> None:
        """`None`: the model runs in this process."""
        return

    @property
    def timestamp(self) -> datetime:
        """When the response was created."""
        return self._created_at

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        streams = not self._language.can_be_retracted
        try:
            async for event in self._stream:
                if isinstance(event, StepEnd):
                    for each in self._finish(event.step):
                        yield each
                elif streams:
                    for each in self._read(event):
                        yield each
        except OutputValidationError as error:
            raise UnexpectedModelBehavior(error.message, error.text) from error

    def _read(self, event: SingleStepEvent[object]) -> Iterator[ModelResponseStreamEvent]:
        results = self._language.result_tools
        match event:
            case ThinkingEvent(text):
                yield from self._add("thinking", ThinkingPart(text))
            case PreambleDelta(text) | TextDelta(_, text):
                yield from self._add("text", TextPart(text))
            case ToolCallStart(id, name):
                yield from self._add(id, ToolCallPart(name, ""))
            case ToolCallDelta(id, text):
                yield from self._add(id, ToolCallPart("", text))
            case PartialOutput(_, text) if not results:
                yield from self._add("text", TextPart(text))
            case PartialOutput(_, text) if len(results) == 1:
                yield from self._add("result", ToolCallPart(results[0].name, text))

    def _finish(self, step: AgentStep[object]) -> Iterator[ModelResponseStreamEvent]:
        """Send the parts of a step that have not been sent."""
        self._usage = usage_of(step)
        self.finish_reason = finish_reason_of(step)
        calls = iter(step.message.calls if isinstance(step.message, Calls) else ())
        for part in self._language.response_parts(step):
            id = _PART_IDS.get(type(part)) or next((call.id for call in calls), "result")
            sent, text = self._sent.get(id), _text_of(part)
            if sent is None or text.startswith(sent):
                yield from self._add(id, _with_text(part, text[len(sent or "") :]))
            else:
                yield self._parts_manager.handle_part(vendor_part_id=id, part=part)

    def _add(self, id: str, part: ModelResponsePart) -> Iterator[ModelResponseStreamEvent]:
        """Send a new part, or the text that is added to one."""
        is_new, text = id not in self._sent, _text_of(part)
        if not is_new and not text:
            return
        self._sent[id] = self._sent.get(id, "") + text
        parts = self._parts_manager
        match part:
            case ThinkingPart():
                yield from parts.handle_thinking_delta(vendor_part_id=id, content=text)
            case TextPart():
                yield from parts.handle_text_delta(vendor_part_id=id, content=text)
            case ToolCallPart(tool_name):
                name = tool_name if is_new else None
                event = parts.handle_tool_call_delta(vendor_part_id=id, tool_name=name, args=text)
                yield from [event] if event is not None else []


def _text_of(part: ModelResponsePart) -> str:
    match part:
        case ThinkingPart(content) | TextPart(content):
            return content
        case ToolCallPart(_, str(arguments)):
            return arguments
    raise TypeError(f"a step has no {type(part).__name__}")


def _with_text(part: ModelResponsePart, text: str) -> ModelResponsePart:
    match part:
        case ThinkingPart():
            return ThinkingPart(text)
        case TextPart():
            return TextPart(text)
        case ToolCallPart(tool_name):
            return ToolCallPart(tool_name, text)
    raise TypeError(f"a step has no {type(part).__name__}")
