"""The event loop on which code of a run that is not async awaits async code of the user."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeAlias, TypeVar

__all__ = ["EventLoopThread", "await_on_loop", "in_thread", "start_thread", "using_event_loop"]

R = TypeVar("R")

EventLoopFactory: TypeAlias = "Callable[[], asyncio.AbstractEventLoop]"

_JOIN_SECONDS = 1.0
"""Maximum number of seconds to wait for the tasks of an event loop that are cancelled at its end."""

_POLL_SECONDS = 0.05
"""Seconds between two checks of whether the caller cancelled."""

_event_loop: ContextVar[EventLoopFactory | None] = ContextVar(
    "structkit.generate.threads.event_loop", default=None
)


class EventLoopThread:
    """An event loop in a daemon thread, which starts on first use. Thread-safe."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop, and start it if it does not run, as in a child that was forked."""
        with self._lock:
            is_alive = self._thread is not None and self._thread.is_alive()
            if self._loop is None or self._loop.is_closed() or not is_alive:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_loop, args=(self._loop,), daemon=True, name=self._name
                )
                self._thread.start()
            return self._loop

    def abandon(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Leave a blocked event loop to itself; the next use starts another."""
        with self._lock:
            if self._loop is loop:
                self._loop = self._thread = None

    def close(self) -> None:
        """Cancel the tasks of the event loop, and stop it; the next use starts another."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_stop_loop(loop), loop)
            thread.join(_JOIN_SECONDS)


@contextmanager
def using_event_loop(factory: EventLoopFactory) -> Iterator[None]:
    """Await async code of the user on a given event loop, in this thread and in those that copy its context."""
    token = _event_loop.set(factory)
    try:
        yield
    finally:
        _event_loop.reset(token)


def await_on_loop(
    awaitable: Awaitable[R], own: EventLoopThread, cancelled: threading.Event | None = None
) -> R:
    """Await async code from code that is not async.

    The event loop is that of the async caller, or the one that `using_event_loop` gives, so that objects that are bound
    to a loop work in tools and in validators. Without one, or if that loop runs in this thread, it is `own`.

    Args:
        awaitable: The code.
        own: The loop that is used if no other can be.
        cancelled: If set, the code is cancelled.

    Raises:
        CancelledError: The code was cancelled, or the event loop was closed before the code could end
            (`concurrent.futures.CancelledError`).
        BaseException: The code raised it; a `SystemExit` does not end the event loop.
    """
    factory = _event_loop.get()
    loop = None if factory is None else factory()
    if loop is None or loop is _running_loop():
        loop = own.loop()
    work = _awaited(awaitable)
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:  # the event loop is closed
        _close_coroutines(work, awaitable)
        raise
    while True:
        try:
            return future.result(_POLL_SECONDS)
        except _Exit as carried:
            raise carried.error from None
        except FutureTimeout:
            if future.done():  # the code itself raised a timeout
                raise
            if loop.is_closed():  # a loop that is closed drops what it has not started
                _close_coroutines(work, awaitable)
                raise CancelledError from None
            if cancelled is not None and cancelled.is_set():
                future.cancel()


async def in_thread(work: Callable[[threading.Event], R]) -> R:
    """Run blocking work in a thread of its own, so that the event loop is not blocked.

    The number of threads has no bound: most of them wait for the one that runs the model, and work that awaits code
    which itself calls `in_thread` would occupy all threads of a pool, and wait without end.

    Async code of the user that the work awaits runs on the event loop of the caller.

    Args:
        work: A function of an event. The event is set when the task is cancelled; the function should then return soon.
    """
    cancelled = threading.Event()
    loop = asyncio.get_running_loop()

    def run() -> R:
        with using_event_loop(lambda: loop):
            return work(cancelled)

    try:
        return await asyncio.wrap_future(start_thread(run, "structkit"))
    except asyncio.CancelledError:
        cancelled.set()
        raise


def start_thread(work: Callable[[], R], name: str) -> Future[R]:
    """Start work in a daemon thread with the context of the caller: work that hangs must not keep the process alive."""
    future: Future[R] = Future()
    future.set_running_or_notify_cancel()  # cancelling the future does not stop the thread
    context = copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # the waiting thread raises it again
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name=name).start()
    return future


class _Exit(Exception):
    """Carries an exception that would end the event loop, and with it what others await there."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


async def _awaited(awaitable: Awaitable[R]) -> R:
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        raise _Exit(error) from None


def _close_coroutines(*awaitables: Awaitable[object]) -> None:
    for awaitable in awaitables:
        if isinstance(awaitable, Coroutine):
            awaitable.close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _stop_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the running tasks of an event loop, and stop the loop."""
    others = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task(loop)]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop.stop()
