"""Iterators across threads: a blocking one for async code, and an async one for code that is not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from typing import Generic, Protocol, TypeVar

from typing_extensions import Self

from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop, in_thread

__all__ = ["InThread", "read_async"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _Closable(Protocol[T_co]):
    """An iterator that can be closed, such as a generator."""

    def __iter__(self) -> Iterator[T_co]: ...

    def __next__(self) -> T_co: ...

    def close(self) -> None: ...


class InThread(Generic[T]):
    """An async iterator of the items of an iterator, each made in a thread.

    Args:
        items: The iterator; none of its items is `None`.
        cancel: Makes the iterator end soon, if it is at work in another thread.
    """

    def __init__(self, items: _Closable[T], cancel: Callable[[], None]) -> None:
        self._items = items
        self._cancel = cancel
        self._lock = threading.Lock()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        # StopIteration cannot cross a thread.
        item = await in_thread(lambda _: self._next())
        if item is None:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """Close the iterator, after a running step of the model has ended."""
        self._cancel()
        await asyncio.to_thread(self._close)

    def _next(self) -> T | None:
        with self._lock:
            return next(self._items, None)

    def _close(self) -> None:
        with self._lock:
            self._items.close()


def read_async(source: AsyncIterable[T], cancelled: threading.Event) -> Iterator[T]:
    """Yield the items of an async iterable, each awaited on the event loop of the async caller."""
    loop = EventLoopThread("structkit-prompts")
    items = aiter(source)
    try:
        while (item := await_on_loop(_next_item(items), loop, cancelled)) is not None:
            yield item[0]
    finally:
        loop.close()


async def _next_item(items: AsyncIterator[T]) -> tuple[T] | None:
    try:
        return (await anext(items),)
    except StopAsyncIteration:
        return None
