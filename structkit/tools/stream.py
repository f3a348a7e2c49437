"""Streams of a run: its events, and its result at the end."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, TypeVar, cast

from structkit.errors import GenerationError
from structkit.tools.drive import AsyncEvents, Events
from structkit.tools.events import AgentEvent, RunFinished
from structkit.tools.state import AgentResult

__all__ = ["AgentStream", "AsyncAgentStream"]

T_co = TypeVar("T_co", covariant=True)

_CLOSED = "the stream was closed before its end, so there is no result"


class AgentStream(Generic[T_co]):
    """An iterator of what happens in a run. The model works when the next event is asked for.

    Made by `Agent.stream`. Used as a context manager, or closed, it gives up what is left.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._result: AgentResult[T_co] | None = None
        self._error: Exception | None = None

    @property
    def result(self) -> AgentResult[T_co]:
        """The result; what is left of the stream is read for it.

        Raises:
            GenerationError: The stream was closed before its end.
            Exception: See `Agent.run`.
        """
        for _ in self:
            pass
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise GenerationError(_CLOSED)
        return self._result

    def __iter__(self) -> AgentStream[T_co]:
        return self

    def __next__(self) -> AgentEvent[T_co]:
        try:
            event = cast("AgentEvent[T_co]", next(self._events))
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise
        if isinstance(event, RunFinished):
            self._result = event.result
        return event

    def close(self) -> None:
        """Give up; the model lets go of the sequence."""
        self._events.close()

    def __enter__(self) -> AgentStream[T_co]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncAgentStream(Generic[T_co]):
    """A stream for async programs: the model works in a thread while the next event is awaited.

    Made by `Agent.astream`. Like `AgentStream`, with `async for` and `async with`.
    """

    def __init__(self, events: AsyncEvents) -> None:
        self._events = events
        self._result: AgentResult[T_co] | None = None
        self._error: Exception | None = None

    async def result(self) -> AgentResult[T_co]:
        """See `AgentStream.result`."""
        async for _ in self:
            pass
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise GenerationError(_CLOSED)
        return self._result

    def __aiter__(self) -> AsyncAgentStream[T_co]:
        return self

    async def __anext__(self) -> AgentEvent[T_co]:
        try:
            event = cast("AgentEvent[T_co]", await self._events.__anext__())
        except StopAsyncIteration:
            raise
        except Exception as error:
            self._error = error
            raise
        if isinstance(event, RunFinished):
            self._result = event.result
        return event

    async def aclose(self) -> None:
        """See `AgentStream.close`."""
        await self._events.aclose()

    async def __aenter__(self) -> AsyncAgentStream[T_co]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
