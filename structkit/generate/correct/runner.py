"""Runs correction flows: one at a time, or several in threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from structkit.generate.correct.effects import NextPiece, OpenReply, TextFlow
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop, start_thread
from structkit.generate.threads.flows import Cancelled, FlowResult, check_cancelled
from structkit.generate.threads.reply import CLOSE_SECONDS, Reply
from structkit.models.text.protocol import TextModel

__all__ = ["run_text_flows"]

R = TypeVar("R")


def run_text_flows(
    model: TextModel,
    flows: Iterable[TextFlow[R]],
    max_flows: int,
    cancelled: threading.Event | None = None,
) -> Generator[FlowResult[R] | None, None, None]:
    """Run flows of a text model, several at once in threads.

    Args:
        model: The model.
        flows: Flows that have not started, numbered from 0.
        max_flows: Maximum number of flows at once.
        cancelled: If set, all flows are closed.

    Yields:
        The result of each flow when it ends; with one flow at a time, also `None` after each piece of a reply.

    Raises:
        Cancelled: `cancelled` was set.
    """
    waiting = iter(enumerate(flows))
    if max_flows == 1:
        for number, flow in waiting:
            check_cancelled(cancelled)
            yield from _run_flow(model, number, flow, cancelled)
    else:
        yield from _run_in_threads(model, waiting, max_flows, cancelled)


def _run_in_threads(
    model: TextModel,
    waiting: Iterator[tuple[int, TextFlow[R]]],
    max_flows: int,
    cancelled: threading.Event | None,
) -> Generator[FlowResult[R], None, None]:
    finished: SimpleQueue[FlowResult[R] | BaseException] = SimpleQueue()
    stopped = threading.Event()
    threads: set[Future[None]] = set()

    def work(number: int, flow: TextFlow[R]) -> None:
        try:
            for flow_result in _run_flow(model, number, flow, stopped):
                if flow_result is not None:
                    finished.put(flow_result)
        except BaseException as error:  # raised again in the thread of the caller
            finished.put(error)

    active = 0
    try:
        while True:
            while active < max_flows:
                number, flow = next(waiting, (-1, None))
                if flow is None:
                    break
                threads.add(start_thread(partial(work, number, flow), "structkit-value"))
                active += 1
            if not active:
                return
            check_cancelled(cancelled)
            try:
                flow_result = finished.get(timeout=None if cancelled is None else 0.05)
            except Empty:
                continue
            if isinstance(flow_result, BaseException):
                raise flow_result
            active -= 1
            threads = {each for each in threads if not each.done()}
            yield flow_result
    finally:
        stopped.set()
        wait(threads, CLOSE_SECONDS)


def _run_flow(
    model: TextModel, number: int, flow: TextFlow[R], cancelled: threading.Event | None
) -> Generator[FlowResult[R] | None, None, None]:
    """Run one flow; yield `None` after each piece, and last its result, when all that it opened is closed."""
    reply: Reply | None = None
    loop = EventLoopThread("structkit-validators")
    seconds = 0.0
    resume = partial(next, flow)
    try:
        while True:
            try:
                effect = resume()
            except StopIteration as end:
                outcome = end.value
                break
            except Exception as error:  # an error of the flow is its outcome
                outcome = error
                break
            if reply is not None and not isinstance(effect, NextPiece):
                reply.close()
                reply = None
            started = time.perf_counter()
            try:
                if isinstance(effect, ValidateOutput):
                    resume = partial(
                        flow.send, effect.perform(lambda work: await_on_loop(work, loop, cancelled))
                    )
                    continue
                if isinstance(effect, OpenReply):
                    reply = Reply(model, effect.request, effect.deadline, cancelled)
                if reply is None:
                    raise RuntimeError("no reply is open")
                resume = partial(flow.send, reply.next())
            except InterruptedError:
                raise Cancelled from None
            except Exception as error:  # the flow decides what a failed reply means
                resume = partial(flow.throw, error)
            seconds += time.perf_counter() - started
            yield None
    finally:
        if reply is not None:
            reply.close()
        flow.close()
        loop.close()
    yield FlowResult(number, outcome, seconds)
