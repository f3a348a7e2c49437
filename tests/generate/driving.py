"""Helpers that run flows."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from typing import TypeVar

from structkit.generate.decode.config import Decoded, Flow
from structkit.generate.schedule.job import Job
from structkit.generate.schedule.scheduler import Scheduler
from structkit.generate.threads.flows import FlowResult
from structkit.models.protocols import Batch

__all__ = ["drive", "run_flows"]

R = TypeVar("R")


def run_flows(
    flows: Iterable[Flow[R]], rows: Batch, max_rows: int, cancelled: threading.Event | None = None
) -> Generator[FlowResult[R] | None, None, None]:
    """Run flows on a batch of their own."""
    return Scheduler(lambda: rows).run(Job(flows, max_rows, cancelled))


def drive(flow: Flow[Decoded], rows: Batch) -> Decoded:
    """Run the flow; return its result or raise its error."""
    outcome = next(result.outcome for result in run_flows([flow], rows, 1) if result is not None)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
