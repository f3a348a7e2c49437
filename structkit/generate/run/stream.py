"""Streams: a value while it is written, as events and as the part of it that is certain."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator
from typing import Generic, TypeVar, cast

from structkit.generate.decode.config import GeneratedTokens
from structkit.generate.input.options import Settings
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.output.result import Result
from structkit.generate.run.batch import save_guides, start_batch
from structkit.generate.run.events import Event, EventEmitter, StreamEnd
from structkit.generate.run.outcome import Outcome, result_of
from structkit.generate.run.request import compile_request, settle, write
from structkit.generate.run.result_stream import AsyncResultStream, ResultStream
from structkit.generate.run.scheduler import MODEL_LOCKS, FlowResult, run_flows
from structkit.models.protocols import LogitsModel
from structkit.targets.targets import AnyTarget

__all__ = ["AsyncStream", "Stream"]

T_co = TypeVar("T_co", covariant=True)


class Stream(ResultStream["Event[T_co]", Result[T_co]], Generic[T_co]):
    """An iterator of events. The model works when the next event is asked for, and is free in between.

    Made by `structkit.stream`. Used as a context manager, or closed, it lets go of what the model remembers at once.
    """

    def __init__(self, model: LogitsModel, prompt: Prompt, target: AnyTarget, settings: Settings) -> None:
        self._request = Request(
            model=model, prompt=prompt, target=target, settings=settings, requested_at=time.perf_counter()
        )
        self._prepared = settle(compile_request, self._request)
        self._generated = GeneratedTokens()
        self._emitter: EventEmitter | None = None
        if not isinstance(self._prepared, Exception):
            read = self._prepared.target
            self._emitter = EventEmitter(
                self._generated, read.validators(), read.choices, is_json=read.is_json
            )
        self._events = self._run()

    @property
    def partial(self) -> object:
        """The value as far as it is certain, in the types of the target.

        A text is there as far as it goes. All else is there when it is complete: numbers, so that no 3 becomes 30,
        members of an `Enum` or a `Literal`, dates. A model is an instance that lacks the fields that have not begun,
        made without validation, until it is complete. `None` where nothing is certain. Each is a new object, which no
        later event changes.
        """
        if self._result is not None:
            return self._result.value
        return None if self._emitter is None else self._emitter.partial

    @property
    def text(self) -> str:
        """The text so far, but for a character that is not whole."""
        return self._generated.text.decode(errors="ignore")

    @staticmethod
    def _result_of(event: object) -> Result[T_co] | None:
        return event.result if isinstance(event, StreamEnd) else None

    def _run(self) -> Generator[Event[T_co], None, None]:
        steps = None
        try:
            while True:
                with MODEL_LOCKS.acquire(*self._request.models):  # others may use the model between two steps
                    if steps is None:
                        batch = start_batch(self._request.model, self._request.settings)
                        steps = run_flows([write(self._prepared, self._generated)], batch, 1)
                    step = next(steps)
                if step is not None:
                    yield from self._finish(step)
                    return
                if self._emitter is not None:
                    yield from self._emitter.poll()
        finally:
            if steps is not None:
                steps.close()

    def _finish(self, flow_result: FlowResult[Outcome]) -> Generator[Event[T_co], None, None]:
        outcome = result_of(flow_result)
        if isinstance(outcome, Exception):
            raise outcome
        if self._emitter is not None:
            yield from self._emitter.finish()
        save_guides([self._prepared])
        yield StreamEnd(cast("Result[T_co]", outcome))


class AsyncStream(AsyncResultStream["Event[T_co]", Result[T_co]], Generic[T_co]):
    """A stream for async programs: the model works in a thread while the next event is awaited.

    Made by `structkit.astream`. Like `Stream`, with `async for` and `async with`.
    """

    def __init__(self, stream: Stream[T_co]) -> None:
        self._stream = stream
        self._events = _InThread(stream)

    @property
    def partial(self) -> object:
        """See `Stream.partial`."""
        return self._stream.partial

    @property
    def text(self) -> str:
        """See `Stream.text`."""
        return self._stream.text

    @staticmethod
    def _result_of(event: object) -> Result[T_co] | None:
        return event.result if isinstance(event, StreamEnd) else None

    def _ended(self) -> Result[T_co]:
        # The last event may have gone to a task that was cancelled.
        return self._stream.result


class _InThread(Generic[T_co]):
    """The events of a stream, each made in a thread."""

    def __init__(self, stream: Stream[T_co]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    async def __anext__(self) -> Event[T_co]:
        # StopIteration cannot cross a thread.
        event = await asyncio.to_thread(self._next)
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Close the stream; a step of the model that a cancelled task has left behind is waited for."""
        await asyncio.to_thread(self._close)

    def _next(self) -> Event[T_co] | None:
        with self._lock:
            return next(self._stream, None)

    def _close(self) -> None:
        with self._lock:
            self._stream.close()
