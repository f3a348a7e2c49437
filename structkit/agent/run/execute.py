"""Calls made: one in the caller's thread, several at once, async ones on an event loop."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import takewhile
from threading import Event, Lock, Thread
from types import TracebackType
from typing import TypeVar, cast

from structkit.agent.run.budget import min_limit
from structkit.agent.run.run import AwaitAvailability, CallOutcome, ExecuteCalls, PreparedCall
from structkit.errors import ToolError

__all__ = ["Executor", "perform_async"]

T = TypeVar("T")

_GRACE = 0.5
"""Seconds for what ends by itself: an async tool that is cancelled, an agent as a tool when the run's time is over."""

_DEEPEST = 8
"""Calls inside each other. Python's own limit does not end agents that call themselves through threads or tasks:
each of them starts with an empty stack."""

_depth: ContextVar[int] = ContextVar("structkit.agent.run.execute", default=0)


class Executor:
    """Makes calls for a run that is not async. Async tools share one event loop, which runs as long as the run does.

    A context manager.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._lock = Lock()

    def perform(self, action: ExecuteCalls | AwaitAvailability) -> list[CallOutcome] | bool:
        """Make calls, or wait for what is asked."""
        if isinstance(action, ExecuteCalls):
            return self.execute(action.calls)
        return asyncio.run_coroutine_threadsafe(_is_available(action), self._shared_loop()).result()

    def execute(self, calls: Sequence[PreparedCall]) -> list[CallOutcome]:
        """Make calls.

        Returns:
            What came of each, in their order.
        """
        alone = len(calls) == 1
        if alone and not calls[0].tool.is_async and _timeout_of(calls[0]) is None:
            # In this thread, where a connection to a database may be at home.
            return [self._execute(calls[0])]
        begun = time.perf_counter()
        futures = [self._submit(each) for each in calls]
        return [self._wait(each, *future, begun) for each, future in zip(calls, futures, strict=True)]

    def _submit(self, call: PreparedCall) -> tuple[Future[CallOutcome], asyncio.AbstractEventLoop | None]:
        if not call.tool.is_async:
            return _in_thread(lambda: self._execute(call)), None
        loop = self._shared_loop()
        return asyncio.run_coroutine_threadsafe(_execute_async(call), loop), loop

    def _shared_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(
                    target=_run_loop, args=(self._loop,), daemon=True, name="structkit-tools"
                )
                self._thread.start()
            return self._loop

    def _execute(self, call: PreparedCall) -> CallOutcome:
        """The outcome of a function that does not look async, and may return what must be awaited."""
        outcome = _invoke(call)
        if not inspect.isawaitable(outcome.result):
            return outcome
        try:
            return asyncio.run_coroutine_threadsafe(
                _await_result(outcome, call.context.cancelled), self._shared_loop()
            ).result()
        except Cancelled:
            return CallOutcome(error=asyncio.CancelledError(), seconds=outcome.seconds)

    def _wait(
        self,
        call: PreparedCall,
        future: Future[CallOutcome],
        loop: asyncio.AbstractEventLoop | None,
        started_at: float,
    ) -> CallOutcome:
        timeout = _timeout_of(call)
        if timeout is not None:
            # An async tool ends itself, if it does not keep its event loop busy.
            grace = 0.0 if loop is None else _GRACE
            timeout = max(0.0, timeout + grace - (time.perf_counter() - started_at))
        try:
            return future.result(timeout)
        except Late:
            call.context.cancelled.set()
            with self._lock:
                if self._loop is loop:  # a tool keeps it busy: it is left to itself, and others get another
                    self._loop = self._thread = None
            return CallOutcome(error=_timeout_error(call), seconds=time.perf_counter() - started_at)

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(_stop_loop(self._loop), self._loop)
            self._thread.join(1.0)


async def perform_async(action: ExecuteCalls | AwaitAvailability) -> list[CallOutcome] | bool:
    """`Executor.answer` for a run that is async: async tools as tasks, others in threads."""
    if isinstance(action, AwaitAvailability):
        return await _is_available(action)
    return list(await asyncio.gather(*(_execute_async(each) for each in action.calls)))


async def _is_available(action: AwaitAvailability) -> bool:
    """Whether a tool is available; it is not if that is not known in time."""
    task = asyncio.ensure_future(_await_bool(action.available))
    try:
        done, _ = await asyncio.wait({task}, timeout=action.seconds)
    finally:
        task.cancel()
    return bool(done) and task.result()


async def _await_bool(available: Awaitable[bool]) -> bool:
    return bool(await available)


async def _execute_async(call: PreparedCall) -> CallOutcome:
    begun = time.perf_counter()
    task = asyncio.ensure_future(_run(call))
    try:
        done, _ = await asyncio.wait({task}, timeout=_timeout_of(call))
    except asyncio.CancelledError:
        call.context.cancelled.set()
        task.cancel()
        await asyncio.wait({task}, timeout=_GRACE)
        raise
    if not done:
        call.context.cancelled.set()
        task.cancel()  # it may not heed that, so nobody waits for its end
        return CallOutcome(error=_timeout_error(call), seconds=time.perf_counter() - begun)
    if task.cancelled():
        return CallOutcome(error=asyncio.CancelledError(), seconds=time.perf_counter() - begun)
    return task.result()


async def _run(call: PreparedCall) -> CallOutcome:
    outcome = (
        _invoke(call) if call.tool.is_async else await asyncio.wrap_future(_in_thread(lambda: _invoke(call)))
    )
    ended = call.context.cancelled
    return await _await_result(outcome, ended) if inspect.isawaitable(outcome.result) else outcome


async def _await_result(outcome: CallOutcome, cancelled: Event) -> CallOutcome:
    """What came of awaiting what a call returned."""
    begun = time.perf_counter()
    try:
        with _nested():
            output = _collect(await cast("Awaitable[object]", outcome.result), cancelled)
            output = await output if inspect.isawaitable(output) else output
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # a tool is anyone's code, and the run judges, which knows what is fatal
        return CallOutcome(error=error, seconds=outcome.seconds + time.perf_counter() - begun)
    return CallOutcome(output, seconds=outcome.seconds + time.perf_counter() - begun)


@contextmanager
def _nested() -> Iterator[None]:
    """Count a call, in its thread or task and in those that it starts.

    Raises:
        RecursionError: The call is inside too many others.
    """
    before = _depth.set(_depth.get() + 1)
    try:
        if _depth.get() > _DEEPEST:
            raise RecursionError(
                f"agents run inside each other {_DEEPEST} deep: does a tool run its own agent, without an end?"
            )
        yield
    finally:
        _depth.reset(before)


def _invoke(call: PreparedCall) -> CallOutcome:
    begun = time.perf_counter()
    try:
        with _nested():
            output = _collect(call.tool.invoke(call.call, call.context), call.context.cancelled)
    except (Exception, GeneratorExit, asyncio.CancelledError) as error:  # a tool is anyone's: the run judges
        return CallOutcome(error=error, seconds=time.perf_counter() - begun)
    return CallOutcome(output, seconds=time.perf_counter() - begun)


def _collect(result: object, cancelled: Event) -> object:
    """What a call returned; the items of an iterator, which is part of the call and can be read only once.

    It may have no end, so it is read no further when nobody waits for it.
    """
    if isinstance(result, Iterator):
        return list(takewhile(lambda _: not cancelled.is_set(), result))
    return _items(result) if isinstance(result, AsyncIterator) else result


async def _items(output: AsyncIterator[object]) -> list[object]:
    items = []
    async for item in output:
        items.append(item)
        await asyncio.sleep(0)  # it may never wait for anything, and be cancelled
    return items


def _timeout_of(call: PreparedCall) -> float | None:
    """For how long a call is waited for: as its tool says, or until the time of the run is over and a little longer."""
    own, left = call.tool.tool.timeout, call.context.seconds_left
    return left if left is None or left == own else min_limit(own, left + _GRACE)


def _timeout_error(call: PreparedCall) -> ToolError:
    if call.context.seconds_left != call.tool.tool.timeout:
        return ToolError("there was no output before the time of the run was over")
    return ToolError(f"there was no output within {call.tool.tool.timeout:g} seconds")


def _in_thread(work: Callable[[], T]) -> Future[T]:
    """Begin work in a thread of its own, which does not keep the program alive: it may hang."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # whoever stops waiting for it does not stop it
    context = copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # raised again where somebody waits for it
            future.set_exception(error)

    Thread(target=run, daemon=True, name="structkit-tool").start()
    return future


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _stop_loop(loop: asyncio.AbstractEventLoop) -> None:
    """End an event loop and what still runs on it."""
    others = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task(loop)]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop.stop()
