"""Streams of the events and the result of a run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Generic, TypeVar, cast

from structkit.agent.run.driver import AsyncEvents, Events
from structkit.agent.run.events import AgentEvent, RunEnd, SingleStepEvent, StepEnd
from structkit.agent.run.progress import RunProgress
from structkit.agent.run.state import AgentResult, AgentStep
from structkit.generate.output.token import Token
from structkit.generate.run.result_stream import AsyncResultStream, ResultStream

__all__ = ["AgentStream", "AsyncAgentStream", "AsyncStepStream", "StepStream"]

T_co = TypeVar("T_co", covariant=True)


class AgentStream(ResultStream["AgentEvent[T_co]", AgentResult[T_co]], Generic[T_co]):
    """An iterator over the events of a run. Each `next` runs the model until the next event.

    Created by `Agent.stream`. Closing it, or leaving its context manager, cancels the rest of the run.
    """

    def __init__(self, events: Events) -> None:
        self._events = cast("Generator[AgentEvent[T_co], None, None]", events)

    @staticmethod
    def _result_of(event: object) -> AgentResult[T_co] | None:
        return event.result if isinstance(event, RunEnd) else None


class AsyncAgentStream(AsyncResultStream["AgentEvent[T_co]", AgentResult[T_co]], Generic[T_co]):
    """An async iterator over the events of a run; the model runs in a thread.

    Created by `Agent.astream`. Like `AgentStream`, with `async for` and `async with`.
    """

    def __init__(self, events: AsyncEvents) -> None:
        self._events = cast("AsyncGenerator[AgentEvent[T_co], None]", events)

    @staticmethod
    def _result_of(event: object) -> AgentResult[T_co] | None:
        return event.result if isinstance(event, RunEnd) else None


class _StepTokens:
    """The tokens of the step that is being streamed."""

    _run: RunProgress

    @property
    def prompt_tokens(self) -> int:
        """The number of tokens that the model reads before the step; 0 until the first event is awaited."""
        return self._run.prompt_tokens

    def tokens(self, start: int = 0) -> tuple[Token, ...]:
        """Return the tokens so far, from a number on; none for a model that returns text."""
        return self._run.generated.tokens(start)


class StepStream(_StepTokens, ResultStream["SingleStepEvent[T_co]", AgentStep[T_co]], Generic[T_co]):
    """An iterator over the events of a step. Each `next` runs the model until the next event.

    Created by `Agent.stream_step`. Closing it, or leaving its context manager, cancels the rest of the step.
    """

    def __init__(self, events: Events, run: RunProgress) -> None:
        self._events = cast("Generator[SingleStepEvent[T_co], None, None]", events)
        self._run = run

    @staticmethod
    def _result_of(event: object) -> AgentStep[T_co] | None:
        return event.step if isinstance(event, StepEnd) else None


class AsyncStepStream(
    _StepTokens, AsyncResultStream["SingleStepEvent[T_co]", AgentStep[T_co]], Generic[T_co]
):
    """An async iterator over the events of a step; the model runs in a thread.

    Created by `Agent.astream_step`. Like `StepStream`, with `async for` and `async with`.
    """

    def __init__(self, events: AsyncEvents, run: RunProgress) -> None:
        self._events = cast("AsyncGenerator[SingleStepEvent[T_co], None]", events)
        self._run = run

    @staticmethod
    def _result_of(event: object) -> AgentStep[T_co] | None:
        return event.step if isinstance(event, StepEnd) else None
