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

from structkit.agent.run.budget import least
from structkit.agent.run.run import Do, Due, Outcome, Wait
from structkit.errors import ToolError

__all__ = ["Executor", "answered"]

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

    def answer(self, asked: Do | Wait) -> list[Outcome] | bool:
        """Make calls, or wait for what is asked."""
        if isinstance(asked, Do):
            return self.execute(asked.calls)
        return asyncio.run_coroutine_threadsafe(_bool_of(asked), self._loop_of_all()).result()

    def execute(self, calls: Sequence[Due]) -> list[Outcome]:
        """Make calls.

        Returns:
            What came of each, in their order.
        """
        alone = len(calls) == 1
        if alone and not calls[0].ready.is_async and _seconds(calls[0]) is None:
            # In this thread, where a connection to a database may be at home.
            return [self._finished(calls[0])]
        begun = time.perf_counter()
        futures = [self._begin(each) for each in calls]
        return [self._wait(each, *future, begun) for each, future in zip(calls, futures, strict=True)]

    def _begin(self, due: Due) -> tuple[Future[Outcome], asyncio.AbstractEventLoop | None]:
        if not due.ready.is_async:
            return _in_thread(lambda: self._finished(due)), None
        loop = self._loop_of_all()
        return asyncio.run_coroutine_threadsafe(_awaited(due), loop), loop

    def _loop_of_all(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=_serve, args=(self._loop,), daemon=True, name="structkit-tools")
                self._thread.start()
            return self._loop

    def _finished(self, due: Due) -> Outcome:
        """The outcome of a function that does not look async, and may return what must be awaited."""
        outcome = _now(due)
        if not inspect.isawaitable(outcome.output):
            return outcome
        try:
            return asyncio.run_coroutine_threadsafe(
                _ended_of(outcome, due.context.ended), self._loop_of_all()
            ).result()
        except Cancelled:
            return Outcome(error=asyncio.CancelledError(), seconds=outcome.seconds)

    def _wait(
        self, due: Due, future: Future[Outcome], loop: asyncio.AbstractEventLoop | None, begun: float
    ) -> Outcome:
        timeout = _seconds(due)
        if timeout is not None:
            # An async tool ends itself, if it does not keep its event loop busy.
            grace = 0.0 if loop is None else _GRACE
            timeout = max(0.0, timeout + grace - (time.perf_counter() - begun))
        try:
            return future.result(timeout)
        except Late:
            due.context.ended.set()
            with self._lock:
                if self._loop is loop:  # a tool keeps it busy: it is left to itself, and others get another
                    self._loop = self._thread = None
            return Outcome(error=_late(due), seconds=time.perf_counter() - begun)

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(_ended(self._loop), self._loop)
            self._thread.join(1.0)


async def answered(asked: Do | Wait) -> list[Outcome] | bool:
    """`Executor.answer` for a run that is async: async tools as tasks, others in threads."""
    if isinstance(asked, Wait):
        return await _bool_of(asked)
    return list(await asyncio.gather(*(_awaited(each) for each in asked.calls)))


async def _bool_of(asked: Wait) -> bool:
    """Whether a tool is available; it is not if that is not known in time."""
    task = asyncio.ensure_future(_answer_of(asked.available))
    try:
        done, _ = await asyncio.wait({task}, timeout=asked.seconds)
    finally:
        task.cancel()
    return bool(done) and task.result()


async def _answer_of(available: Awaitable[bool]) -> bool:
    return bool(await available)


async def _awaited(due: Due) -> Outcome:
    begun = time.perf_counter()
    task = asyncio.ensure_future(_run(due))
    try:
        done, _ = await asyncio.wait({task}, timeout=_seconds(due))
    except asyncio.CancelledError:
        due.context.ended.set()
        task.cancel()
        await asyncio.wait({task}, timeout=_GRACE)
        raise
    if not done:
        due.context.ended.set()
        task.cancel()  # it may not heed that, so nobody waits for its end
        return Outcome(error=_late(due), seconds=time.perf_counter() - begun)
    if task.cancelled():
        return Outcome(error=asyncio.CancelledError(), seconds=time.perf_counter() - begun)
    return task.result()


async def _run(due: Due) -> Outcome:
    outcome = _now(due) if due.ready.is_async else await asyncio.wrap_future(_in_thread(lambda: _now(due)))
    ended = due.context.ended
    return await _ended_of(outcome, ended) if inspect.isawaitable(outcome.output) else outcome


async def _ended_of(outcome: Outcome, ended: Event) -> Outcome:
    """What came of awaiting what a call returned."""
    begun = time.perf_counter()
    try:
        with _nested():
            output = _whole(await cast("Awaitable[object]", outcome.output), ended)
            output = await output if inspect.isawaitable(output) else output
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # a tool is anyone's code, and the run judges, which knows what is fatal
        return Outcome(error=error, seconds=outcome.seconds + time.perf_counter() - begun)
    return Outcome(output, seconds=outcome.seconds + time.perf_counter() - begun)


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


def _now(due: Due) -> Outcome:
    begun = time.perf_counter()
    try:
        with _nested():
            output = _whole(due.ready.begin(due.call, due.context), due.context.ended)
    except (Exception, GeneratorExit, asyncio.CancelledError) as error:  # a tool is anyone's: the run judges
        return Outcome(error=error, seconds=time.perf_counter() - begun)
    return Outcome(output, seconds=time.perf_counter() - begun)


def _whole(output: object, ended: Event) -> object:
    """What a call returned; the items of an iterator, which is part of the call and can be read only once.

    It may have no end, so it is read no further when nobody waits for it.
    """
    if isinstance(output, Iterator):
        return list(takewhile(lambda _: not ended.is_set(), output))
    return _items(output) if isinstance(output, AsyncIterator) else output


async def _items(output: AsyncIterator[object]) -> list[object]:
    items = []
    async for item in output:
        items.append(item)
        await asyncio.sleep(0)  # it may never wait for anything, and be cancelled
    return items


def _seconds(due: Due) -> float | None:
    """For how long a call is waited for: as its tool says, or until the time of the run is over and a little longer."""
    own, left = due.ready.tool.timeout, due.context.seconds_left
    return left if left is None or left == own else least(own, left + _GRACE)


def _late(due: Due) -> ToolError:
    if due.context.seconds_left != due.ready.tool.timeout:
        return ToolError("there was no output before the time of the run was over")
    return ToolError(f"there was no output within {due.ready.tool.timeout:g} seconds")


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


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _ended(loop: asyncio.AbstractEventLoop) -> None:
    """End an event loop and what still runs on it."""
    others = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task(loop)]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop.stop()
