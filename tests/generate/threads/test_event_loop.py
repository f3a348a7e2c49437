"""Awaiting code on an event loop of another thread."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager

import pytest

import structkit as sk
from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop, using_event_loop


async def _one() -> int:
    return 1


def test_code_is_awaited_on_the_loop_of_its_own() -> None:
    own = EventLoopThread("test")
    try:
        assert await_on_loop(_one(), own) == 1
    finally:
        own.close()


def test_a_loop_of_its_own_can_be_closed_again_and_used_again() -> None:
    own = EventLoopThread("test")
    try:
        for _ in range(2):
            assert await_on_loop(_one(), own) == 1
            with _no_coroutine_is_lost():
                own.close()
                own.close()
    finally:
        own.close()


def test_a_closed_loop_is_refused_and_the_code_closed() -> None:
    closed = asyncio.new_event_loop()
    closed.close()
    with (
        _no_coroutine_is_lost(),
        using_event_loop(lambda: closed),
        pytest.raises(RuntimeError, match="closed"),
    ):
        await_on_loop(_one(), EventLoopThread("test"))


def test_a_loop_that_is_closed_before_it_starts_the_code_cancels_it() -> None:
    loop = asyncio.new_event_loop()
    timer = threading.Timer(0.1, loop.close)
    timer.start()
    with (
        _no_coroutine_is_lost(),
        using_event_loop(lambda: loop),
        pytest.raises(CancelledError),
    ):
        await_on_loop(_one(), EventLoopThread("test"))
    timer.join()


@contextmanager
def _no_coroutine_is_lost() -> Iterator[None]:
    """Fail if a coroutine of the block is released without being awaited or closed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_is_forked_awaits_code_on_a_loop_of_its_own() -> None:
    """The loop that the parent has started does not run in the child."""

    async def answer(prompt: str) -> str:
        await asyncio.sleep(0)
        return "12"

    model = sk.from_function(answer)
    assert sk.extract(model, "x", int) == 12
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)  # a deadlock; the machine may be slow
        try:
            os._exit(0 if sk.extract(model, "x", int) == 12 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sk.extract(model, "x", int) == 12
