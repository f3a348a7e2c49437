"""Cancelling at every await, streams that are dropped half read, interrupts: the model is free, and nothing is left."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import time
import types
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

import structkit as sk
from structkit.generate.schedule.locks import MODEL_LOCKS
from structkit.testing import RandomModel

OPTIONS: dict[str, Any] = {"max_tokens": 40, "include_schema": False}


@types.coroutine
def cancelled_at(work: Coroutine[Any, Any, Any], step: int) -> Generator[Any, Any, bool]:
    """Cancel the task at an await of some work, counted from 1; return `False` if the work has fewer."""
    number = 0
    go_on: Callable[[], Any] = partial(work.send, None)
    while True:
        try:
            awaited = go_on()
        except StopIteration:
            return number >= step
        number += 1
        if number == step:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        try:
            go_on = partial(work.send, (yield awaited))
        except BaseException as error:
            go_on = partial(work.throw, error)


class Counted(RandomModel):
    """A model that knows which of its sessions are alive."""

    def __init__(self) -> None:
        super().__init__(1)
        self.alive: weakref.WeakSet[object] = weakref.WeakSet()

    def session(self) -> Any:
        session = super().session()
        self.alive.add(session)
        return session


async def _one(model: Any) -> None:
    await sk.aextract(model, "x", list[str], **OPTIONS)


async def _many(model: Any) -> None:
    await sk.aextract_many(model, ["x"] * 5, list[str], return_exceptions=True, **OPTIONS)


async def _stream(model: Any) -> None:
    async with sk.astream(model, "x", list[str], **OPTIONS) as stream:
        async for _ in stream:
            pass


async def _agent(model: Any) -> None:
    def look(word: str) -> str:
        """Look a word up."""
        return word

    with suppress(sk.StructkitError):  # a random model may not come to an answer
        await sk.Agent(model, tools=[look], output_type=int, max_steps=2).arun("x")


@pytest.mark.parametrize("work", [_one, _many, _stream, _agent], ids=lambda work: work.__name__)
def test_a_call_can_be_cancelled_at_every_await(work: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    model = Counted()

    async def cancel(step: int) -> bool:
        """Return whether the work has so many awaits."""
        task = asyncio.ensure_future(cancelled_at(work(model), step))
        try:
            return await asyncio.wait_for(task, 60)
        except asyncio.CancelledError:
            return True

    async def main() -> int:
        step = 1
        while await cancel(step):
            assert await asyncio.wait_for(sk.aextract(model, "x", bool, include_schema=False), 60) in (
                True,
                False,
            )
            # What a random model awaits 200 times, it awaits in a loop.
            step += 1 if step < 20 else step // 4
            if step > 200:
                break
        return step

    assert asyncio.run(main()) > 1
    lock = MODEL_LOCKS.lock_of(model)
    assert lock.acquire(timeout=60)
    lock.release()
    gc.collect()
    assert len(model.alive) <= 1  # the prompt that an agent keeps


@pytest.mark.long(every=2)
@pytest.mark.parametrize("read", [0, 1, 5])
def test_streams_that_are_dropped_half_read_leave_nothing(read: int) -> None:
    model = Counted()
    for _ in range(20):
        stream = iter(sk.stream(model, "x", list[str], **OPTIONS))
        for _, _event in zip(range(read), stream, strict=False):
            pass
        del stream
    assert sk.extract(model, "x", bool, include_schema=False) in (True, False)
    lock = MODEL_LOCKS.lock_of(model)
    assert lock.acquire(timeout=60)
    lock.release()
    gc.collect()
    assert not model.alive


async def _nothing_left(work: Coroutine[Any, Any, Any]) -> None:
    """Await work, whose error does not matter here; check that no task is left when it ends."""
    with suppress(sk.ModelError):
        await work
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("count", [1, 3])
def test_replies_are_closed_before_their_values_are_returned(count: int) -> None:
    closed = 0

    async def reply(text: str) -> AsyncIterator[str]:
        nonlocal closed
        try:
            yield "1, 2] and"
            yield "more"
        finally:
            await asyncio.sleep(0.05)
            closed += 1

    asyncio.run(_nothing_left(sk.aextract_many(sk.from_function(reply), ["x"] * count, list[int])))
    assert closed == count


def test_a_reply_that_is_awaited_too_long_is_cancelled() -> None:
    async def reply(text: str) -> str:
        await asyncio.sleep(60)
        return "[1]"

    model = sk.from_function(reply, timeout=0.1)
    asyncio.run(_nothing_left(sk.aextract(model, "x", list[int])))


def test_the_error_of_one_value_ends_the_replies_of_the_others() -> None:
    async def reply(text: str) -> str:
        if text.startswith("bad"):
            raise OSError("no line")
        await asyncio.sleep(60)
        return "[1]"

    model = sk.from_function(reply)
    started = time.monotonic()
    asyncio.run(_nothing_left(sk.aextract_many(model, ["good", "bad", "good"], list[int])))
    assert time.monotonic() - started < 30


_BATCH = """
import signal, threading
from typing import Annotated
from annotated_types import MinLen
import structkit as sk
from structkit.testing import RandomModel

model = RandomModel(1)
options = {"max_tokens": 100_000, "include_schema": False}
sk.extract(model, "x", bool)
sk.extract_many(model, ["x"] * 40, Annotated[list[str], MinLen(2)], max_tokens=50)  # loads what is loaded once
try:
    print("ready", flush=True)
    sk.extract_many(model, ["x"] * 40, Annotated[list[str], MinLen(5_000)], **options)
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("interrupted", flush=True)
    print(sk.extract(model, "x", bool, include_schema=False) in (True, False), flush=True)
    print(len([each for each in threading.enumerate() if not each.daemon]), flush=True)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a process on Windows")
def test_an_interrupt_ends_a_batch_and_the_model_goes_on() -> None:
    process = subprocess.Popen([sys.executable, "-c", _BATCH], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        assert output.split("\n") == ["interrupted", "True", "1", ""]
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
