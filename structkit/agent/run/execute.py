"""Execution of calls: one in the caller's thread, several in parallel, async calls on an event loop."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import takewhile
from threading import Event
from types import TracebackType
from typing import TypeVar, cast

from structkit.agent.run.actions import AwaitValue, CallOutcome, ExecuteCalls, PreparedCall
from structkit.agent.run.budget import min_limit
from structkit.agent.run.observe import observe, observe_async
from structkit.errors import AgentRecursionError, ToolError
from structkit.generate.threads.event_loop import EventLoopThread, start_thread

__all__ = ["Executor", "nested", "perform_async"]

T = TypeVar("T")

_GRACE = 0.5
"""Seconds to wait for work that ends by itself: a cancelled async tool, or a nested agent after the timeout."""

_DEEPEST = 8
"""Maximum depth of nested calls.

The recursion limit of Python does not stop agents that call themselves through threads or tasks: each starts with an
empty stack.
"""

_THREAD_NAME = "structkit-tool"

_depth: ContextVar[int] = ContextVar("structkit.agent.run.execute", default=0)


class Executor:
    """Executes the calls of a run that is not async; a context manager.

    Async tools share one event loop, which runs until the context exits.

    Attributes:
        event_loop: The event loop.
    """

    def __init__(self) -> None:
        self.event_loop = EventLoopThread("structkit-tools")

    def perform(self, action: ExecuteCalls | AwaitValue) -> list[CallOutcome] | CallOutcome | None:
        """Execute calls, or await a value."""
        if isinstance(action, ExecuteCalls):
            return self.execute(action.calls)
        return asyncio.run_coroutine_threadsafe(_await_value(action), self.event_loop.loop()).result()

    def execute(self, calls: Sequence[PreparedCall]) -> list[CallOutcome]:
        """Execute calls.

        Returns:
            The outcome of each call, in order.
        """
        alone = len(calls) == 1
        if alone and not calls[0].tool.is_async and _timeout_of(calls[0]) is None:
            # Use this thread: resources such as database connections can be bound to it.
            return [observe(calls[0], lambda: self._execute(calls[0]))]
        started = time.perf_counter()
        futures = [self._submit(each) for each in calls]
        return [self._wait(each, *future, started) for each, future in zip(calls, futures, strict=True)]

    def _submit(self, call: PreparedCall) -> tuple[Future[CallOutcome], asyncio.AbstractEventLoop | None]:
        if not call.tool.is_async:
            return start_thread(lambda: observe(call, lambda: self._execute(call)), _THREAD_NAME), None
        loop = self.event_loop.loop()
        return asyncio.run_coroutine_threadsafe(_execute_async(call), loop), loop

    def _execute(self, call: PreparedCall) -> CallOutcome:
        """Return the outcome of a function that is not declared async, but may return an awaitable."""
        outcome = _invoke(call)
        if not inspect.isawaitable(outcome.result):
            return outcome
        try:
            return asyncio.run_coroutine_threadsafe(
                _await_result(outcome, call.context.cancelled), self.event_loop.loop()
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
            # An async tool times out by itself unless it blocks its event loop.
            grace = 0.0 if loop is None else _GRACE
            timeout = max(0.0, timeout + grace - (time.perf_counter() - started_at))
        try:
            return future.result(timeout)
        except Late:
            call.context.cancelled.set()
            self.event_loop.abandon(loop)  # a tool may block it
            return CallOutcome(error=_timeout_error(call), seconds=time.perf_counter() - started_at)

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.event_loop.close()


async def perform_async(action: ExecuteCalls | AwaitValue) -> list[CallOutcome] | CallOutcome | None:
    """Async version of `Executor.perform`: async tools run as tasks, others in threads."""
    if isinstance(action, AwaitValue):
        return await _await_value(action)
    return list(await asyncio.gather(*(_execute_async(each) for each in action.calls)))


async def _await_value(action: AwaitValue) -> CallOutcome | None:
    """Return the outcome of an awaitable; `None` after the timeout."""
    task = asyncio.ensure_future(_awaited(action.value))
    try:
        done, _ = await asyncio.wait({task}, timeout=action.seconds)
    finally:
        task.cancel()
    return CallOutcome(task.result()) if done else None


async def _awaited(value: Awaitable[object]) -> object:
    with nested():
        return await value


async def _execute_async(call: PreparedCall) -> CallOutcome:
    started = time.perf_counter()
    task = asyncio.ensure_future(observe_async(call, _run(call)))
    try:
        done, _ = await asyncio.wait({task}, timeout=_timeout_of(call))
    except asyncio.CancelledError:
        call.context.cancelled.set()
        task.cancel()
        await asyncio.wait({task}, timeout=_GRACE)
        raise
    if not done:
        call.context.cancelled.set()
        task.cancel()  # the task may ignore the cancellation, so do not wait for it
        return CallOutcome(error=_timeout_error(call), seconds=time.perf_counter() - started)
    if task.cancelled():
        return CallOutcome(error=asyncio.CancelledError(), seconds=time.perf_counter() - started)
    return task.result()


async def _run(call: PreparedCall) -> CallOutcome:
    outcome = (
        _invoke(call)
        if call.tool.is_async
        else await asyncio.wrap_future(start_thread(lambda: _invoke(call), _THREAD_NAME))
    )
    ended = call.context.cancelled
    return await _await_result(outcome, ended) if inspect.isawaitable(outcome.result) else outcome


async def _await_result(outcome: CallOutcome, cancelled: Event) -> CallOutcome:
    """Await the return value of a call, and return the outcome."""
    started = time.perf_counter()
    try:
        with nested(_DEEPEST):
            output = _collect(await cast("Awaitable[object]", outcome.result), cancelled)
            output = await output if inspect.isawaitable(output) else output
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # a tool is user code; the run decides which errors are fatal
        return CallOutcome(error=error, seconds=outcome.seconds + time.perf_counter() - started)
    return CallOutcome(output, seconds=outcome.seconds + time.perf_counter() - started)


@contextmanager
def nested(deepest: int = _DEEPEST + 1) -> Iterator[None]:
    """Increment the depth in the thread or task that runs code of the user, and in those that the code starts.

    Args:
        deepest: Maximum depth. Calls have one less than other code, so that the deepest call can run an agent.

    Raises:
        AgentRecursionError: The depth exceeds the maximum.
    """
    before = _depth.set(_depth.get() + 1)
    try:
        if _depth.get() > deepest:
            raise AgentRecursionError(
                f"runs of agents are nested more than {_DEEPEST} deep, probably because a tool, an instruction or a "
                "validator runs its own agent again and again; let it return without a run in some case"
            )
        yield
    finally:
        _depth.reset(before)


def _invoke(call: PreparedCall) -> CallOutcome:
    started = time.perf_counter()
    try:
        with nested(_DEEPEST):
            output = _collect(call.tool.invoke(call.call, call.context), call.context.cancelled)
    except BaseException as error:  # a tool is user code; the run decides which errors are fatal
        return CallOutcome(error=error, seconds=time.perf_counter() - started)
    return CallOutcome(output, seconds=time.perf_counter() - started)


def _collect(result: object, cancelled: Event) -> object:
    """Return the output of a call; for an iterator, a list of its items.

    An iterator can be infinite, so reading stops when the call is cancelled.
    """
    if isinstance(result, Iterator):
        return list(takewhile(lambda _: not cancelled.is_set(), result))
    return _items(result) if isinstance(result, AsyncIterator) else result


async def _items(output: AsyncIterator[object]) -> list[object]:
    items = []
    async for item in output:
        items.append(item)
        await asyncio.sleep(0)  # an iterator that never waits must be cancellable
    return items


def _timeout_of(call: PreparedCall) -> float | None:
    """Return the timeout of a call in seconds: that of its tool, or the remaining time of the run plus `_GRACE`."""
    own, left = call.tool.tool.timeout, call.context.seconds_left
    return left if left is None or left == own else min_limit(own, left + _GRACE)


def _timeout_error(call: PreparedCall) -> ToolError:
    if call.context.seconds_left != call.tool.tool.timeout:
        return ToolError("the call did not return before the timeout of the run")
    return ToolError(f"the call did not return within {call.tool.tool.timeout:g} seconds")
