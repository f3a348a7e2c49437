"""Streams: a value while it is written, as events and as the part of it that is certain."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator
from types import TracebackType
from typing import Generic, TypeVar, cast

from structkit.errors import GenerationError
from structkit.generate.drive import TURNS, Driven, drive_all
from structkit.generate.events import Event, Finished, Observer
from structkit.generate.generation import begin_rows
from structkit.generate.job import Job
from structkit.generate.prompt import Prompt
from structkit.generate.result import Result
from structkit.generate.settings import Settings
from structkit.models.base import LogitsModel
from structkit.targets import AnyTarget

__all__ = ["AsyncStream", "Stream"]

T_co = TypeVar("T_co", covariant=True)


class Stream(Generic[T_co]):
    """An iterator of events. The model works when the next event is asked for, and is free in between.

    Made by `structkit.stream`. Used as a context manager, or closed, it lets go of what the model remembers at once.
    """

    def __init__(self, model: LogitsModel, prompt: Prompt, target: AnyTarget, settings: Settings) -> None:
        self._job = Job(0, model, prompt, target, settings, asked=time.perf_counter())
        self._model = model
        self._settings = settings
        self._observer: Observer | None = None
        self._result: Result[T_co] | None = None
        self._error: Exception | None = None
        read = self._job.target
        if read is not None:
            self._observer = Observer(self._job.written, read.part(), read.choices, is_json=read.is_json)
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
        return None if self._observer is None else self._observer.partial

    @property
    def text(self) -> str:
        """The text so far, but for a character that is not whole."""
        return self._job.written.text.decode(errors="ignore")

    @property
    def result(self) -> Result[T_co]:
        """The result; what is left of the stream is read for it.

        Raises:
            GenerationError: The stream was closed before its end.
            StructkitError: See `structkit.generate`.
        """
        for _ in self:
            pass
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise GenerationError("the stream was closed before its end, so there is no result")
        return self._result

    def __iter__(self) -> Stream[T_co]:
        return self

    def __next__(self) -> Event[T_co]:
        return next(self._events)

    def close(self) -> None:
        """Give up; the model lets go of the sequence."""
        self._events.close()

    def __enter__(self) -> Stream[T_co]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> Generator[Event[T_co], None, None]:
        steps = None
        try:
            while True:
                with TURNS.held(
                    self._model, self._settings.draft
                ):  # others may use the model between two steps
                    if steps is None:
                        steps = drive_all([self._job.flow()], begin_rows(self._model, self._settings), 1)
                    step = next(steps)
                if step is not None:
                    yield from self._end(step)
                    return
                if self._observer is not None:
                    yield from self._observer.look()
        finally:
            if steps is not None:
                steps.close()

    def _end(self, driven: Driven) -> Generator[Event[T_co], None, None]:
        outcome = self._job.outcome(driven)
        if isinstance(outcome, Exception):
            self._error = outcome
            raise outcome
        if self._observer is not None:
            yield from self._observer.finish()
        if self._job.guide is not None:
            self._job.guide.save()
        self._result = cast("Result[T_co]", outcome)
        yield Finished(self._result)


class AsyncStream(Generic[T_co]):
    """A stream for async programs: the model works in a thread while the next event is awaited.

    Made by `structkit.astream`. Like `Stream`, with `async for` and `async with`.
    """

    def __init__(self, stream: Stream[T_co]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    @property
    def partial(self) -> object:
        """See `Stream.partial`."""
        return self._stream.partial

    @property
    def text(self) -> str:
        """See `Stream.text`."""
        return self._stream.text

    async def result(self) -> Result[T_co]:
        """See `Stream.result`."""
        async for _ in self:
            pass
        return self._stream.result

    def __aiter__(self) -> AsyncStream[T_co]:
        return self

    async def __anext__(self) -> Event[T_co]:
        # StopIteration cannot cross a thread.
        event = await asyncio.to_thread(self._next)
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """See `Stream.close`; a step of the model that a cancelled task has left behind is waited for."""
        await asyncio.to_thread(self._close)

    def _next(self) -> Event[T_co] | None:
        with self._lock:
            return next(cast("Generator[Event[T_co], None, None]", self._stream), None)

    def _close(self) -> None:
        with self._lock:
            self._stream.close()

    async def __aenter__(self) -> AsyncStream[T_co]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
