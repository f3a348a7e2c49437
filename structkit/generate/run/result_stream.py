"""Base classes of streams: iterators of events that end with a result, sync and async."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from html import escape
from inspect import GEN_RUNNING, getgeneratorstate
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from typing_extensions import Self

from structkit.arguments.names import missing_attribute
from structkit.errors import GenerationError

__all__ = ["AsyncEvents", "AsyncResultStream", "ResultStream"]

E_co = TypeVar("E_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)

_OF_RESULTS = {
    "value": "value",
    "output": "value",
    "data": "value",
    "get_output": "value",
    "final_output": "value",
    "messages": "messages",
    "usage": "usage",
    "finish_reason": "finish_reason",
}
"""Attributes that a stream is expected to have, and those of its result."""

_OF_STREAMS = dict.fromkeys(
    ("stream_output", "stream_responses", "stream_text", "text_deltas", "stream_events", "events"),
    "a loop over the stream: its events have the text and the values",
)
"""What other libraries call the iteration of a stream, and what to write here."""


class _Outcome(ABC, Generic[E_co, R_co]):
    """The outcome of the events: a result, an error, or `None` before the end."""

    _result: R_co | None = None
    _error: Exception | None = None

    @staticmethod
    @abstractmethod
    def _result_of(event: object) -> R_co | None:
        """Return the result in an event; `None` for all events except the last."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._progress()}>"

    def _progress(self) -> str:
        if self._error is not None:
            return f"failed with {type(self._error).__name__}"
        return "not at its end" if self._result is None else f"ended with {self._result!r:.200}"

    def _repr_html_(self) -> str:
        """Draw the result, once the stream has ended."""
        draw = getattr(self._result, "_repr_html_", None)
        return f"<p>{escape(repr(self))}</p>" if draw is None else str(draw())

    def _note(self, event: object) -> None:
        found = self._result_of(event)
        if found is not None:
            self._result = found

    def _ended(self) -> R_co:
        """Return the result of a stream that was read to its end."""
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise GenerationError(
                "the stream was closed before its end, so there is no result; read `result` before closing it"
            )
        return self._result


class AsyncEvents(Protocol[E_co]):
    """The source of an `AsyncResultStream`, such as an async generator."""

    async def __anext__(self) -> E_co:
        """Return the next event."""
        ...

    async def aclose(self) -> None:
        """Discard the remaining events."""
        ...


class ResultStream(_Outcome[E_co, R_co]):
    """An iterator of events, the last of which contains a result."""

    _events: Generator[E_co, None, None]

    @property
    def result(self) -> R_co:
        """The result; access reads the rest of the stream.

        Raises:
            GenerationError: The stream was closed before its end.
            Exception: The error that ended the stream.
        """
        for _ in self:
            pass
        return self._ended()

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Say that an attribute is one of the result."""
            others = {each: f".result.{own}" for each, own in _OF_RESULTS.items()}
            raise missing_attribute(self, name, {**others, **_OF_STREAMS, "cancel": ".close()"})

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> E_co:
        try:
            event = next(self._events)
        except StopIteration:
            raise
        except Exception as error:
            self._check_unused()
            self._error = error
            raise
        self._note(event)
        return event

    def close(self) -> None:
        """Stop the generation, and free the sequence of the model.

        Raises:
            GenerationError: Another thread waits for the next event.
        """
        try:
            self._events.close()
        except ValueError:
            self._check_unused()
            raise

    def _check_unused(self) -> None:
        """Check that an error is not that of a generator which another thread executes: the stream goes on."""
        if getgeneratorstate(self._events) == GEN_RUNNING:
            raise GenerationError(
                "another thread reads this stream; read and close it in one thread, or make one stream for each"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncResultStream(_Outcome[E_co, R_co]):
    """Async version of `ResultStream`, with `async for` and `async with`."""

    _events: AsyncEvents[E_co]

    async def result(self) -> R_co:
        """See `ResultStream.result`."""
        async for _ in self:
            pass
        return self._ended()

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Say that an attribute is one of the result."""
            others = {each: f"(await stream.result()).{own}" for each, own in _OF_RESULTS.items()}
            raise missing_attribute(self, name, {**others, **_OF_STREAMS, "cancel": ".aclose()"})

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E_co:
        try:
            event = await self._events.__anext__()
        except StopAsyncIteration:
            raise
        except Exception as error:
            self._check_unused()
            self._error = error
            raise
        self._note(event)
        return event

    async def aclose(self) -> None:
        """See `ResultStream.close`; waits for a step of the model that a cancelled task left running."""
        try:
            await self._events.aclose()
        except RuntimeError:
            self._check_unused()
            raise

    def _check_unused(self) -> None:
        """See `ResultStream._check_unused`."""
        if getattr(self._events, "ag_running", False):
            raise GenerationError(
                "another task reads this stream; cancel that task, or read and close the stream in one task"
            ) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
