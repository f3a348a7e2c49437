"""Iterators across threads: their items, their ends, and what closes them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from structkit.generate.threads.iterate import InThread, read_async


class Items:
    """Numbers, made in some thread, that can be closed."""

    def __init__(self, count: int) -> None:
        self.left, self.threads, self.is_closed = count, set[int](), False

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self.threads.add(threading.get_ident())
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_item_is_made_in_another_thread_and_the_end_ends_the_iterator(count: int) -> None:
    items, cancelled = Items(count), threading.Event()

    async def read() -> list[int]:
        stream = InThread(items, cancelled.set)
        found = [item async for item in stream]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        assert not items.is_closed and not cancelled.is_set()
        await stream.aclose()
        return found

    assert asyncio.run(read()) == [*range(count - 1, -1, -1)]
    assert items.is_closed and cancelled.is_set() and threading.get_ident() not in items.threads


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_async_iterable_is_read_to_its_end_also_with_items_that_are_false(count: int) -> None:
    async def numbers() -> AsyncIterator[int | None]:
        for number in range(count):
            await asyncio.sleep(0)
            yield number or None

    assert [*read_async(numbers(), threading.Event())] == [None, 1, 2][:count]


def test_an_error_of_an_async_iterable_is_raised_where_it_is_read() -> None:
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise ValueError("no more")

    items = read_async(broken(), threading.Event())
    assert next(items) == 1
    with pytest.raises(ValueError, match="no more"):
        next(items)
    assert not [each for each in threading.enumerate() if each.name == "structkit-prompts"]
