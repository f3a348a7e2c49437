"""The scheduler of a model: the flows of all callers run side by side, in whichever thread waits for one of them.

There is no thread of its own. Of the threads that wait, one leads: it runs steps for the rows of all, until its own job
has news, and then hands over to another that waits (the leader/followers pattern, Schmidt et al. 2000). A single call
therefore runs in the thread of its caller, without a switch of threads.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from structkit.errors import ModelError
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.schedule.job import Job
from structkit.generate.schedule.locks import MODEL_LOCKS
from structkit.generate.schedule.rows import Rows
from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop
from structkit.generate.threads.flows import FlowResult, check_cancelled
from structkit.models.protocols import Batch, LogitsModel
from structkit.models.single_row import new_batch
from structkit.rejected import Rejected

__all__ = ["SCHEDULERS", "Scheduler", "Schedulers"]

R = TypeVar("R")

_WAIT_SECONDS = 0.002
"""Maximum seconds to wait, before a batch starts, for calls that prepare their prompts: less than most steps."""


class Scheduler:
    """Runs the jobs of a model. Thread-safe.

    Args:
        new_batch: Returns a batch of the model without rows.
        lock: The lock of the model.
    """

    def __init__(self, new_batch: Callable[[], Batch], lock: threading.RLock | None = None) -> None:
        self._new_batch = new_batch
        self._lock = threading.RLock() if lock is None else lock
        self._guard = threading.Lock()
        self._leader: int | None = None
        self._followers: dict[Job[Any], None] = {}
        self._jobs: dict[Job[Any], None] = {}
        self._rows: Rows | None = None
        self._is_untidy = False
        self._can_batch: bool | None = None

    @property
    def is_led_here(self) -> bool:
        """Whether this thread leads: it is inside a step, so it cannot wait for another."""
        return self._leader == threading.get_ident()

    @property
    def active_rows(self) -> int:
        """Number of rows in the batch."""
        return 0 if self._rows is None else len(self._rows.active)

    @property
    def is_idle(self) -> bool:
        """Whether there are no jobs, and no memory is in use."""
        return not self._jobs and self._rows is None

    def can_batch(self) -> bool:
        """Return whether the model computes more than one sequence at once."""
        if self._can_batch is None:
            self._can_batch = self._new_batch().max_rows != 1
        return self._can_batch

    def run(self, job: Job[R]) -> Generator[FlowResult[R] | None, None, None]:
        """Run the flows of a job.

        Yields:
            The result of each flow when it ends; for a stepwise job also `None` before each step of the model.

        Raises:
            Cancelled: `job.cancelled` was set.
        """
        loop = EventLoopThread("structkit-validators")
        try:
            rows = self._open(job)
            while True:
                check_cancelled(job.cancelled)
                rows.submit(job.start_rows())
                job.is_preparing = False
                while job.asked:
                    row = job.asked[0]
                    if row.asked is not None:
                        row.send(_validate(row.asked, partial(_awaited, loop, job)))
                    job.asked.popleft()
                    rows.submit([row])
                finished = job.take_finished()
                yield from finished
                if finished:
                    continue
                if not job.has_rows:
                    return
                if job.is_stepwise:
                    job.has_advanced = False
                    yield None
                check_cancelled(job.cancelled)
                self._wait(job, rows)
        finally:
            job.close()
            self._jobs.pop(job, None)
            self._followers.pop(job, None)
            self._is_untidy = True
            self._tidy()
            loop.close()

    def _open(self, job: Job[Any]) -> Rows:
        """Add a job; return the rows, which exist while there are jobs."""
        with self._guard:
            self._jobs[job] = None
            rows = self._rows
        if rows is None:
            made = Rows(self._new_batch)
            with self._guard:
                if self._rows is None:
                    self._rows = made
                rows = self._rows
        if rows.max_rows is not None:
            job.max_rows = min(job.max_rows, rows.max_rows)
        return rows

    def _wait(self, job: Job[Any], rows: Rows) -> None:
        """Wait until a job has news: lead, or let another thread lead."""
        while True:
            job.signal.clear()
            if job.has_news():
                self._pass_on(job)
                return
            if self._lead(job):
                break
            job.signal.wait()
        try:
            job.thread = threading.get_ident()
            if not rows.active:
                self._await_prompts()
            while not job.has_news():
                with self._lock:
                    rows.drop_dead()
                    rows.turn()
        finally:
            job.thread = 0
            self._release()

    def _await_prompts(self) -> None:
        """Wait a moment for the prompts of calls that came at the same time: they are read together."""
        deadline = time.perf_counter() + _WAIT_SECONDS
        while any(job.is_preparing for job in list(self._jobs)) and time.perf_counter() < deadline:
            time.sleep(_WAIT_SECONDS / 10)

    def _lead(self, job: Job[Any]) -> bool:
        """Become the leader; if another thread is, let it hand over to this job."""
        with self._guard:
            if self._leader is not None:
                self._followers[job] = None
                return False
            self._followers.pop(job, None)
            self._leader = threading.get_ident()
            return True

    def _release(self) -> None:
        """Let another thread lead."""
        with self._guard:
            self._leader = None
            self._hand_over()
        if self._is_untidy:
            self._tidy()

    def _pass_on(self, job: Job[Any]) -> None:
        """Do not lead: the caller may take long to read the news, and others wait for a leader."""
        with self._guard:
            self._followers.pop(job, None)
            if self._leader is None:
                self._hand_over()
        if self._is_untidy:
            self._tidy()

    def _hand_over(self) -> None:
        """Wake the thread that has waited longest; the caller holds the guard, without which closed jobs leave."""
        for follower in list(self._followers):
            if self._followers.pop(follower, follower) is None:
                follower.signal.set()
                return

    def _tidy(self) -> None:
        """Remove the rows of closed jobs, unless a thread leads, which removes them itself.

        The garbage collector closes abandoned streams in any thread, at any line, so this never waits for the guard.
        """
        if not self._guard.acquire(blocking=False):
            return  # its holder reads `_is_untidy` later
        try:
            if self._leader is not None:
                return
            self._leader = threading.get_ident()
        finally:
            self._guard.release()
        try:
            self._is_untidy = False
            if self._rows is not None:
                self._rows.drop_dead()
                with self._guard:
                    if not self._jobs:
                        self._rows = None
        finally:
            self._release()


class Schedulers:
    """One scheduler for each model, kept as long as the model."""

    def __init__(self) -> None:
        self._schedulers: WeakKeyDictionary[LogitsModel, Scheduler] = WeakKeyDictionary()
        self._guard = threading.Lock()

    def of(self, model: LogitsModel) -> Scheduler:
        """Return the scheduler of a model; inside a step of the model, one that is used for this call only."""
        lock = MODEL_LOCKS.lock_of(model)
        with self._guard:
            found = self._schedulers.get(model)
            if found is None:
                found = self._schedulers[model] = Scheduler(partial(_batch_of, weakref.ref(model)), lock)
        return Scheduler(partial(new_batch, model), lock) if found.is_led_here else found


SCHEDULERS = Schedulers()
"""The schedulers of all models."""


def _batch_of(reference: weakref.ref[LogitsModel]) -> Batch:
    model = reference()
    if model is None:
        raise ModelError("the model was deleted while it was in use; keep a reference to it")
    return new_batch(model)


def _awaited(loop: EventLoopThread, job: Job[Any], work: Awaitable[R]) -> R:
    return await_on_loop(work, loop, job.cancelled)


def _validate(
    request: ValidateOutput, wait: Callable[[Awaitable[object]], object]
) -> Rejected | Exception | None:
    """Call a validator. It can run for long and use the model, so the thread does not lead."""
    try:
        return request.perform(wait)
    except Exception as error:  # code of the user
        return error
