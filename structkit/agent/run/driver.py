"""Drivers of runs: they perform the actions that a run requests, and send it the results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from threading import Event, Lock
from typing import TypeAlias, cast

from structkit.agent.run.actions import Action, ActionResult, Decisions, GenerateStep, Outcome
from structkit.agent.run.events import (
    AgentEvent,
    RunEnd,
    StepEnd,
    StepEventEmitter,
    StepRetracted,
    ThinkingEvent,
    ToolResult,
)
from structkit.agent.run.execute import Executor, nested, perform_async
from structkit.agent.run.run import Run
from structkit.agent.run.state import AgentStep, RunSuspended
from structkit.generate.decode.config import GeneratedTokens, TextView
from structkit.generate.input.request import Request
from structkit.generate.output.result import Result
from structkit.generate.run.batch import run_request, run_steps
from structkit.generate.run.request import Prepared, compile_request, encode_request, settle
from structkit.generate.schedule.prefix_cache import CachedRow
from structkit.generate.threads.event_loop import in_thread, using_event_loop
from structkit.models.text.protocol import AnyModel, TextModel

__all__ = ["AsyncEvents", "Events", "drive_async", "drive_events", "drive_events_async", "drive_sync"]

Events: TypeAlias = "Generator[AgentEvent[object] | StepEnd[object], None, None]"
AsyncEvents: TypeAlias = "AsyncGenerator[AgentEvent[object] | StepEnd[object], None]"


def drive_sync(
    run: Run,
    model: AnyModel,
    decisions: Decisions | None = None,
    *,
    reuse_prefix: bool = True,
    cancelled: Event | None = None,
) -> Outcome:
    """Run a run to its end.

    Args:
        run: The run.
        model: The model of the agent.
        decisions: The decisions about pending calls.
        reuse_prefix: Whether a step reuses the tokens that the model has read in earlier steps.
        cancelled: If set, the run stops before the next step of the model.
    """
    talk = _Driver(run, model, decisions, reuse_prefix=reuse_prefix)
    with Executor() as executor:
        while (asked := talk.action) is not None:
            if isinstance(asked, GenerateStep):
                with using_event_loop(executor.event_loop.loop):
                    talk.send_outcome(partial(_run_step, talk, asked, cancelled))
            else:
                talk.send_outcome(partial(executor.perform, asked))
    return talk.result


def _run_step(talk: _Driver, step: GenerateStep, cancelled: Event | None) -> Result[object]:
    with nested():
        return run_request(*talk.start(step), cancelled)


def _next_events(steps: _StepStream, _: Event) -> list[AgentEvent[object]] | None:
    return next(steps, None)  # StopIteration cannot cross a thread


async def drive_async(run: Run, model: AnyModel, decisions: Decisions | None = None) -> Outcome:
    """Run a run to its end; the model runs in a thread and does not block the event loop."""
    talk = _Driver(run, model, decisions)
    while (asked := talk.action) is not None:
        if isinstance(asked, GenerateStep):
            await talk.send_awaited(in_thread(partial(_run_step, talk, asked)))
        else:
            await talk.send_awaited(perform_async(asked))
    return talk.result


def drive_events(run: Run, model: AnyModel, decisions: Decisions | None = None) -> Events:
    """Run a run to its end, and yield its events."""
    talk = _Driver(run, model, decisions)
    yield from talk.new_results()
    with Executor() as executor:
        while (asked := talk.action) is not None:
            if isinstance(asked, GenerateStep):
                steps = _StepStream(talk, asked)
                while True:
                    with talk.faults(), using_event_loop(executor.event_loop.loop):
                        events = next(steps, None)
                    if events is None:
                        break
                    yield from events
                talk.send_outcome(steps.result)
            else:
                talk.send_outcome(partial(executor.perform, asked))
            yield from talk.new_results()
        yield _end_event(talk.result)


async def drive_events_async(run: Run, model: AnyModel, decisions: Decisions | None = None) -> AsyncEvents:
    """Async version of `drive_events`; each step of the model runs in a thread."""
    talk = _Driver(run, model, decisions)
    for each in talk.new_results():
        yield each
    while (asked := talk.action) is not None:
        if isinstance(asked, GenerateStep):
            steps = _StepStream(talk, asked)
            try:
                while True:
                    with talk.faults():
                        events = await in_thread(partial(_next_events, steps))
                    if events is None:
                        break
                    for event in events:
                        yield event
            finally:
                # Wait for a step of the model that a cancelled task left running.
                await asyncio.to_thread(steps.close)
            talk.send_outcome(steps.result)
        else:
            await talk.send_awaited(perform_async(asked))
        for each in talk.new_results():
            yield each
    yield _end_event(talk.result)


def _end_event(outcome: Outcome) -> RunEnd[object] | StepEnd[object]:
    return StepEnd(outcome) if isinstance(outcome, AgentStep) else RunEnd(outcome)


class _Driver:
    """A run, its requested action, and the cached row of its model.

    Attributes:
        run: The run.
        action: The requested action; `None` when the run has ended or is suspended.
    """

    def __init__(
        self, run: Run, model: AnyModel, decisions: Decisions | None, *, reuse_prefix: bool = True
    ) -> None:
        self.run = run
        self.action: Action | None = None
        self._model = model
        self._reuse_prefix = reuse_prefix
        self._row: CachedRow | None = None
        self._result: Outcome | RunSuspended | None = None
        self._reported = self._refused = 0
        self._flow = run.flow(decisions)
        self._advance(lambda: next(self._flow))

    @property
    def result(self) -> Outcome:
        """The result of the run.

        Raises:
            RunSuspended: The run awaits approval of calls.
        """
        if self._result is None:
            raise RuntimeError("the run has not ended")
        if isinstance(self._result, RunSuspended):
            raise self._result
        return self._result

    def new_results(self) -> list[ToolResult | StepRetracted]:
        """Return the calls that have an outcome, and the outputs that were refused, since the last call of this."""
        made, refused = self.run.results[self._reported :], len(self.run.refused) - self._refused
        self._reported += len(made)
        self._refused += refused
        return [*(ToolResult(call) for call in made), *(StepRetracted() for _ in range(refused))]

    def start(self, action: GenerateStep) -> tuple[Request, Prepared | Exception, CachedRow | None]:
        """Return the request of a step, the prepared request, and the state of the step before."""
        request = Request(
            model=self._model,
            prompt=action.prompt,
            target=action.target,
            settings=action.settings,
            number=action.step,
            own_vocabulary=self.run.vocabulary,
            requested_at=time.perf_counter(),
            parent_span=action.parent_span,
        )
        prepared = settle(compile_request, request)
        if isinstance(self._model, TextModel):
            return request, prepared, None
        prepared = settle(encode_request, prepared)
        if self._reuse_prefix and self._row is None:  # that of an earlier run, if there is one
            ids = () if isinstance(prepared, Exception) else prepared.prompt_ids
            self._row = self.run.prefix_cache.take(ids) or CachedRow()
        return request, prepared, self._row

    def send(self, answer: ActionResult) -> None:
        """Send the result of the requested action."""
        self._advance(lambda: self._flow.send(answer))

    def throw(self, error: BaseException) -> None:
        """Throw the error of the requested action into the run, which usually raises it again."""
        self._advance(lambda: self._flow.throw(error))

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Throw what ends the requested action, such as an interrupt or a cancellation, into the run."""
        try:
            yield
        except BaseException as error:  # the run records it, and raises it again
            self.throw(error)
            raise

    def send_outcome(self, work: Callable[[], ActionResult]) -> None:
        """Send the return value of `work`, or throw its error."""
        try:
            answer = work()
        except BaseException as error:  # of user code, or an interrupt; the run records it
            self.throw(error)
        else:
            self.send(answer)

    async def send_awaited(self, work: Awaitable[ActionResult]) -> None:
        """Async version of `send_outcome`."""
        try:
            answer = await work
        except BaseException as error:  # of user code, or an interrupt; the run records it
            self.throw(error)
        else:
            self.send(answer)

    def _advance(self, resume: Callable[[], Action]) -> None:
        try:
            with nested():
                self.action = resume()
        except StopIteration as end:
            self.action, self._result = None, cast("Outcome", end.value)
            self._store_row()
        except RunSuspended as paused:
            self.action, self._result = None, paused
            self._store_row()

    def _store_row(self) -> None:
        """Cache the row for a run that continues this one; after an error its contents are undefined."""
        if self._row is not None:
            self.run.prefix_cache.put(self._row)
            self._row = None


class _StepStream:
    """A step that is being generated: an iterator of the events after each step of the model."""

    def __init__(self, driver: _Driver, action: GenerateStep) -> None:
        self._request, self._prepared, self._cached_row = driver.start(action)
        self._generated = driver.run.generated = GeneratedTokens()
        if not isinstance(self._prepared, Exception):
            driver.run.prompt_tokens = len(self._prepared.prompt_ids)
        self._view = TextView(self._generated)
        self._emitter = StepEventEmitter(
            self._view, action.target, driver.run.calls_before, action.settings.context
        )
        self._outcome: Result[object] | Exception | None = None
        self._events = self._run()
        self._lock = Lock()
        self._cancelled = Event()

    def __iter__(self) -> _StepStream:
        return self

    def __next__(self) -> list[AgentEvent[object]]:
        with self._lock, nested():
            return next(self._events)

    def close(self) -> None:
        """Stop the generation, and a validator that another thread awaits."""
        self._cancelled.set()
        with self._lock:
            self._events.close()

    def result(self) -> Result[object]:
        """Return the result of the step, or raise the error that ended it."""
        if not isinstance(self._outcome, Result):
            raise cast("Exception", self._outcome)
        return self._outcome

    def _run(self) -> Generator[list[AgentEvent[object]], None, None]:
        steps = run_steps(self._request, self._prepared, self._cached_row, self._cancelled, self._generated)
        with closing(steps):
            for self._outcome in steps:
                thoughts, self._generated.thinking = self._generated.thinking, ""
                self._view.update()
                events = self._emitter.poll() if self._outcome is None else self._emitter.finish()
                yield [*([ThinkingEvent(thoughts)] if thoughts else []), *events]
