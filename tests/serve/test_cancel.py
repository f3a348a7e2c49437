"""A request that is cancelled at any await frees its places, also while it ends or fails."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs the extra serve")
pytest.importorskip("prometheus_client", reason="needs the extra serve")

from structkit.generate.threads.event_loop import start_thread
from structkit.serve import ServerConfig
from structkit.serve.app import _Server
from structkit.serve.read.fields import Fields
from structkit.serve.read.requests import read_chat
from structkit.serve.write import worker
from structkit.serve.write.replies import Reply
from structkit.serve.write.worker import join_workers
from structkit.testing import RandomModel
from tests.generate.test_cancel import cancelled_at

CONFIG = ServerConfig(name="demo")
MESSAGES = [{"role": "user", "content": "Ana is 34."}]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("regex", ["[ab]{3,9}", "(", "[ab]{900}"], ids=["valid", "malformed", "too long"])
def test_places_are_free_after_a_cancellation_at_every_await(stream: bool, answers: int, regex: str) -> None:
    fields: dict[str, Any] = {"n": answers, "temperature": 1, "seed": 1, "max_tokens": 40, "stream": stream}
    fields |= {"model": "demo", "messages": MESSAGES, "structured_outputs": {"regex": regex}}

    async def answer(server: _Server) -> None:
        ask = read_chat(Fields(fields), CONFIG)
        if stream:
            async for _ in server._chunks(ask, Reply(ask)):
                pass
        else:
            await server._collect(ask)

    async def main(step: int) -> bool:
        server = _Server(RandomModel(seed=1), CONFIG)
        task = asyncio.ensure_future(cancelled_at(answer(server), step))
        [outcome] = await asyncio.gather(task, return_exceptions=True)
        deadline = time.monotonic() + 20
        while server._admission.running and time.monotonic() < deadline:
            await asyncio.sleep(0.001)
        assert server._admission.running == 0
        return outcome is False or not isinstance(outcome, asyncio.CancelledError)

    steps = 1
    while not asyncio.run(main(steps)):
        steps += 1
    assert steps > 1


@pytest.mark.long(every=3)
@pytest.mark.parametrize("regex", ["[ab]{3,9}", "(", "[ab]{900}"], ids=["valid", "malformed", "too long"])
def test_requests_leave_no_objects(regex: str, few_objects: None) -> None:
    """Memory grows with new targets until the caches are full, and not with requests."""
    fields: dict[str, Any] = {"model": "demo", "messages": MESSAGES, "max_tokens": 40, "seed": 1}
    fields["structured_outputs"] = {"regex": regex}

    async def main() -> list[int]:
        server, counts = _Server(RandomModel(seed=1), CONFIG), []
        for _ in range(5):
            for step in range(30):  # every third is cancelled
                ask = read_chat(Fields(fields), CONFIG)
                request = server._collect(ask) if step % 3 else cancelled_at(server._collect(ask), step // 3)
                await asyncio.gather(asyncio.ensure_future(request), return_exceptions=True)
            while server._admission.running:
                await asyncio.sleep(0.001)
            gc.collect()
            counts.append(len(gc.get_objects()))
        return counts

    counts = asyncio.run(main())
    # Threads of other tests may end, or make objects, meanwhile; a request that leaves one does so in each round.
    assert min(after - before for before, after in pairwise(counts)) < 10, counts


def test_the_end_of_a_server_waits_for_the_work_in_threads() -> None:
    assert join_workers(10)
    released = threading.Event()
    start_thread(released.wait, worker._THREAD_NAME)
    assert not join_workers(0.05)
    released.set()
    assert join_workers(10)
