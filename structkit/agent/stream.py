"""Streams of a run: its events, and its result at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Generic, TypeVar, cast

from structkit.agent.run.driver import AsyncEvents, Events
from structkit.agent.run.events import AgentEvent, RunEnd
from structkit.agent.run.state import AgentResult
from structkit.generate.run.result_stream import AsyncResultStream, ResultStream

__all__ = ["AgentStream", "AsyncAgentStream"]

T_co = TypeVar("T_co", covariant=True)


class AgentStream(ResultStream["AgentEvent[T_co]", AgentResult[T_co]], Generic[T_co]):
    """An iterator of what happens in a run. The model works when the next event is asked for.

    Made by `Agent.stream`. Used as a context manager, or closed, it gives up what is left.
    """

    def __init__(self, events: Events) -> None:
        self._events = cast("Generator[AgentEvent[T_co], None, None]", events)

    @staticmethod
    def _result_of(event: object) -> AgentResult[T_co] | None:
        return event.result if isinstance(event, RunEnd) else None


class AsyncAgentStream(AsyncResultStream["AgentEvent[T_co]", AgentResult[T_co]], Generic[T_co]):
    """A stream for async programs: the model works in a thread while the next event is awaited.

    Made by `Agent.astream`. Like `AgentStream`, with `async for` and `async with`.
    """

    def __init__(self, events: AsyncEvents) -> None:
        self._events = cast("AsyncGenerator[AgentEvent[T_co], None]", events)

    @staticmethod
    def _result_of(event: object) -> AgentResult[T_co] | None:
        return event.result if isinstance(event, RunEnd) else None
