"""Blocking work in a thread, as an async iterator of its items."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TypeAlias

from structkit.generate.threads.event_loop import start_thread
from structkit.serve.bounds.admission import Lease

__all__ = ["Put", "Work", "in_worker", "join_workers"]

_THREAD_NAME = "structkit-serve"

Put: TypeAlias = "Callable[[object], None]"

Work: TypeAlias = "Callable[[Put, threading.Event], None]"
"""Work that passes its items to a function, and ends soon when the event is set."""


def join_workers(seconds: float) -> bool:
    """Wait until no work runs in a thread, for at most some seconds; return whether none does."""
    last = time.monotonic() + seconds
    workers = [thread for thread in threading.enumerate() if thread.name == _THREAD_NAME]
    for thread in workers:
        thread.join(max(0.0, last - time.monotonic()))
    return not any(thread.is_alive() for thread in workers)


async def in_worker(work: Work, lease: Lease) -> AsyncGenerator[object, None]:
    """Yield the items of work in a thread.

    The thread never waits for the reader of the items, so a client that does not read delays no other; what waits here
    is bounded by the answer.

    Args:
        work: The work. When the generator is closed, its event is set.
        lease: The places of the request, which the thread holds until it ends.
    """
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[tuple[object, BaseException | None, bool]] = asyncio.Queue()
    cancelled = threading.Event()

    def send(item: object, error: BaseException | None = None, *, is_end: bool = False) -> None:
        try:
            loop.call_soon_threadsafe(items.put_nowait, (item, error, is_end))
        except RuntimeError:  # the event loop is closed, so no caller waits
            cancelled.set()

    def run() -> None:
        error: BaseException | None = None
        try:
            work(send, cancelled)
        except BaseException as raised:  # the receiver raises it in its own thread
            error = raised
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lease.drop)
        send(None, error, is_end=True)

    lease.hold()
    start_thread(run, _THREAD_NAME)
    try:
        while True:
            item, error, is_end = await items.get()
            if error is not None:
                raise error
            if is_end:
                return
            yield item
    finally:
        cancelled.set()
