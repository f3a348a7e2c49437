"""Drivers: they carry tokens and logits between a flow and a model, one generation at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

from structkit.errors import ModelFailed, StructkitError
from structkit.generate.flow import Decoded, Flow
from structkit.models.base import LogitsModel, Session

__all__ = ["TURNS", "Cancelled", "Driven", "Turns", "drive", "in_thread"]

R = TypeVar("R")


class Cancelled(Exception):
    """Nobody waits for the generation any more; it never leaves this module's drivers."""


@dataclass(frozen=True, slots=True)
class Driven:
    """What a flow returned, and the seconds that the model took."""

    decoded: Decoded
    model_seconds: float


class Turns:
    """One lock for each model: a model writes one sequence at a time, whatever threads ask."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[LogitsModel, threading.RLock] = WeakKeyDictionary()
        self._guard = threading.Lock()

    def of(self, model: LogitsModel) -> threading.RLock:
        """The lock of a model; the same thread may take it again."""
        with self._guard:
            return self._locks.setdefault(model, threading.RLock())


TURNS = Turns()
"""The turns of all models."""


def drive(flow: Flow, session: Session, cancelled: threading.Event | None = None) -> Driven:
    """Run a flow to its end on a session of a model.

    Args:
        flow: A fresh flow.
        session: A fresh session.
        cancelled: When it is set, the flow is given up before the model's next step.

    Raises:
        ModelFailed: The model broke.
        Cancelled: `cancelled` was set.
    """
    seconds = 0.0
    try:
        token_ids = next(flow)
        while True:
            if cancelled is not None and cancelled.is_set():
                raise Cancelled
            begin = time.perf_counter()
            try:
                logits = session.logits(token_ids)
            except StructkitError:
                raise
            except Exception as error:  # a model is anyone's code
                raise ModelFailed(
                    f"the model broke: {type(error).__name__}: {error}", place=f"position {session.length}"
                ) from error
            seconds += time.perf_counter() - begin
            token_ids = flow.send(logits)
    except StopIteration as end:
        decoded: Decoded = end.value
        return Driven(decoded, seconds)
    finally:
        flow.close()


async def in_thread(work: Callable[[threading.Event], R]) -> R:
    """Run blocking work in a worker thread, so that the event loop goes on.

    Args:
        work: Called with an event that is set when the waiting task is cancelled; it should then soon end.
    """
    cancelled = threading.Event()
    try:
        return await asyncio.to_thread(work, cancelled)
    except asyncio.CancelledError:
        cancelled.set()
        raise
