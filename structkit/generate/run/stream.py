"""Streams: events and partial values while a value is generated."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import closing
from typing import Generic, TypeVar, cast

from structkit.errors import GenerationError
from structkit.generate.decode.config import GeneratedTokens, TextView
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import Result
from structkit.generate.run.batch import run_steps
from structkit.generate.run.events import EventEmitter, StreamEnd
from structkit.generate.run.request import compile_request, settle
from structkit.generate.run.result_stream import AsyncResultStream, ResultStream
from structkit.generate.run.rule_events import Event, RuleEmitter
from structkit.generate.threads.flows import Cancelled
from structkit.generate.threads.iterate import InThread
from structkit.models.text.protocol import AnyModel
from structkit.targets.targets import AnyTarget, Target
from structkit.trace.table import draw_table

__all__ = ["AsyncStream", "Stream"]

T_co = TypeVar("T_co", covariant=True)


class Stream(ResultStream["Event[T_co]", Result[T_co]], Generic[T_co]):
    """An iterator of events. The model runs only while the next event is computed.

    Returned by `structkit.stream`. `close`, or the end of a `with` block, frees the state of the model at once.
    """

    def __init__(
        self,
        model: AnyModel,
        prompt: Prompt,
        target: AnyTarget,
        settings: Settings,
        cancelled: threading.Event | None = None,
    ) -> None:
        self._request = Request(
            model=model, prompt=prompt, target=target, settings=settings, requested_at=time.perf_counter()
        )
        self._prepared = settle(compile_request, self._request)
        self._generated = GeneratedTokens()
        self._view = TextView(self._generated)
        self._cancelled = cancelled or threading.Event()
        self._emitter: EventEmitter | RuleEmitter | None = None
        if not isinstance(self._prepared, Exception):
            self._emitter = _emitter(self._prepared.target, settings, self._view)
        self._events = self._run()

    def cancel(self) -> None:
        """Stop the generation before its next step, and a validator that another thread awaits."""
        self._cancelled.set()

    @property
    def partial(self) -> object:
        """The part of the value that is final, in the types of the target.

        A string is included as far as it is generated. Numbers (3 may become 30), members of an `Enum` or a `Literal`,
        dates and other values are included once they are complete. A model that is not complete is an instance
        without validation that lacks the fields that have not started. `None` if nothing is final. Each access
        returns a new object, which later events do not change.
        """
        if self._result is not None:
            return self._result.value
        return None if self._emitter is None else self._emitter.partial

    @property
    def text(self) -> str:
        """The text so far, without an incomplete character at the end."""
        return self._view.text.decode(errors="ignore")

    def __repr__(self) -> str:
        name = "an invalid target" if isinstance(self._prepared, Exception) else self._prepared.target.name
        return f"<Stream of {name} from {self._request.model.name}, {self._progress()}>"

    def _repr_html_(self) -> str:
        """Draw the result; before the end, the part of the value that is final, and the text."""
        if self._result is not None:
            return self._result._repr_html_()
        return draw_table(repr(self), ["", ""], [["partial", repr(self.partial)], ["text", self.text]])

    def _progress(self) -> str:
        if self._result is not None:
            return f"ended with {self._result.value!r:.60}"
        return super()._progress() if self._error is not None else f"{len(self.text)} characters so far"

    @staticmethod
    def _result_of(event: object) -> Result[T_co] | None:
        return event.result if isinstance(event, StreamEnd) else None

    def _run(self) -> Generator[Event[T_co], None, None]:
        try:
            yield from self._emit()
        except Cancelled:
            what = "the stream was cancelled before its end, so there is no result; stream the prompt again"
            raise GenerationError(what) from None

    def _emit(self) -> Generator[Event[T_co], None, None]:
        with closing(
            run_steps(self._request, self._prepared, None, self._cancelled, self._generated)
        ) as steps:
            for outcome in steps:
                if isinstance(outcome, Exception):
                    raise outcome
                self._view.update()
                if self._emitter is not None:
                    yield from self._emitter.poll() if outcome is None else self._emitter.finish()
                if outcome is not None:
                    yield StreamEnd(cast("Result[T_co]", outcome))


def _emitter(target: Target[object], settings: Settings, generated: TextView) -> EventEmitter | RuleEmitter:
    if settings.rules:
        style = settings.compile_settings
        reader = target.rule_reader(
            settings.rules, whitespace=style.whitespace, order=style.order, limits=style.limits
        )
        return RuleEmitter(generated, reader)
    part = target.validators()
    if part is not None:
        part = part.with_context(settings.context)
    return EventEmitter(generated, part, target.choices, is_json=target.is_json)


class AsyncStream(AsyncResultStream["Event[T_co]", Result[T_co]], Generic[T_co]):
    """An async stream: the model runs in a thread while the next event is awaited.

    Returned by `structkit.astream`. Like `Stream`, with `async for` and `async with`.
    """

    def __init__(self, stream: Stream[T_co]) -> None:
        self._stream = stream
        self._events = InThread(stream, stream.cancel)

    def __repr__(self) -> str:
        return f"<Async{repr(self._stream)[1:]}"

    def _repr_html_(self) -> str:
        return self._stream._repr_html_()

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
        # The task that received the last event may have been cancelled.
        return self._stream.result
