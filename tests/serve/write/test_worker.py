"""Work in a thread, whose items an event loop reads."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any, cast

from structkit.serve.bounds.admission import Lease
from structkit.serve.write.worker import Put, in_worker


def test_work_is_cancelled_when_nobody_can_read_its_items() -> None:
    read, done = threading.Event(), threading.Event()
    held: list[str] = []
    found: list[bool] = []
    lease = SimpleNamespace(hold=lambda: held.append("held"), drop=lambda: held.append("dropped"))

    def work(put: Put, cancelled: threading.Event) -> None:
        put(1)
        read.wait(20)
        found.append(cancelled.is_set())
        put(2)
        found.append(cancelled.is_set())
        done.set()

    loop = asyncio.new_event_loop()
    items: Any = in_worker(work, cast("Lease", lease))
    assert loop.run_until_complete(anext(items)) == 1
    loop.close()
    read.set()
    assert done.wait(20) and found == [False, True] and held == ["held"]
