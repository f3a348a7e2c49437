"""A thread that writes files when a burst of jobs is over.

A job waits until no further job came for a while, so that a burst of compilations is not disturbed. Then the thread
takes a small share of the time, because Python runs one thread at a time: it rests after each part of a job. Many jobs
are done at once, without rests: a long burst is disturbed rarely, and its files are written. The thread ends when it
has nothing to do. It stops before the process forks, so that no lock is held in the child. At the exit of the
interpreter it finishes its jobs without rests, for a limited time.
"""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import Condition, Thread
from typing import TypeAlias

__all__ = ["WRITER", "Job", "Writer"]

Job: TypeAlias = Callable[[], Iterable[object]]
"""Returns an iterator whose steps do the work; each step takes at most about 0.1 ms of Python code."""

_MAX_JOBS = 128
"""Maximum number of waiting jobs, which keep their guides in memory.

Further jobs are refused, and their guides are saved after a later sequence.
"""

_QUIET_SECONDS = 0.2
"""Seconds without a new job after which the jobs are done: a file written during a compilation delays it by 0.5 ms."""

_REST = 20.0
"""Duration of the rest after a step, in durations of the step: the thread takes a twentieth of the time."""

_CROWD = 64
"""Number of waiting jobs that are done at once; each keeps its guide in memory, and takes about 0.6 ms. Fewer
at once would disturb more of the compilations of a burst."""

_LINGER_SECONDS = 5.0
"""Seconds that the thread waits for a job before it ends: starting a thread takes 0.1 ms."""

_MAX_WAIT_SECONDS = 1.0
"""Seconds that a fork waits for the current job, and that the exit of the interpreter waits for all jobs."""

_log = logging.getLogger("structkit")


class Writer:
    """Runs jobs one after the other in a daemon thread, which is started when there is a job."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop the jobs and the thread: in a forked child, because the parent does the jobs."""
        self._jobs: deque[Job] = deque()
        self._submitted = 0.0
        self._is_crowded = False
        self._changed = Condition()
        self._thread: Thread | None = None
        self._is_working = False
        self._hurries = False
        self._stops = False

    def submit(self, job: Job) -> bool:
        """Run a job soon; return whether it was accepted."""
        with self._changed:
            if self._stops or len(self._jobs) >= _MAX_JOBS:
                return False
            self._jobs.append(job)
            self._submitted = time.monotonic()
            self._is_crowded |= len(self._jobs) >= _CROWD
            # Otherwise the thread is awake, or wakes by itself.
            if self._thread is None or len(self._jobs) in (1, _CROWD):
                self._wake()
        return True

    def flush(self, seconds: float = _MAX_WAIT_SECONDS) -> bool:
        """Wait a limited time until all jobs are done, without rests; return whether they are."""
        with self._changed:
            self._hurries = True
            self._wake()
            done = self._changed.wait_for(lambda: not self._jobs and not self._is_working, seconds)
            self._hurries = False
        return done

    def stop(self, seconds: float = _MAX_WAIT_SECONDS) -> None:
        """End the thread after the current job, for which this waits a limited time; refuse jobs until `resume`."""
        with self._changed:
            self._stops = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def resume(self) -> None:
        """Accept jobs again; those that wait run when the next one is submitted."""
        with self._changed:
            self._stops = False

    def close(self, seconds: float = _MAX_WAIT_SECONDS) -> None:
        """Finish the jobs at the exit of the interpreter: wait a limited time, and refuse further jobs."""
        self.flush(seconds)
        self.stop(0.0)

    def _wake(self) -> None:
        """Start the thread, or notify it; called with the lock held."""
        self._changed.notify_all()
        if self._jobs and self._thread is None:
            self._thread = Thread(target=self._run, name="structkit-writer", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # there are too many threads
                self._thread = None
                self._jobs.clear()
                self._is_crowded = False

    def _run(self) -> None:
        while (job := self._next()) is not None:
            self._do(job)

    def _next(self) -> Job | None:
        """Return the next job; `None` if the thread is to end."""
        with self._changed:
            self._is_working = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._jobs or self._stops, _LINGER_SECONDS)
            while (
                not (self._stops or self._hurries or self._is_crowded) and (wait := self._until_quiet()) > 0
            ):
                self._changed.wait(wait)
            if self._stops or not self._jobs:
                self._thread = None
                return None
            self._is_working = True
            job = self._jobs.popleft()
            self._is_crowded &= len(self._jobs) > 0
            return job

    def _until_quiet(self) -> float:
        """Return the seconds until the jobs are to be done, if none comes; at most 0 without jobs."""
        return self._submitted + _QUIET_SECONDS - time.monotonic() if self._jobs else 0.0

    def _do(self, job: Job) -> None:
        try:
            begin = time.thread_time()
            for _ in job():
                worked = time.thread_time() - begin
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._stops or self._hurries or self._is_crowded, worked * _REST
                    )
                begin = time.thread_time()
        except Exception as error:  # a thread has no caller; the log has the error
            _log_once(f"{type(error).__name__}: {error}")


@lru_cache(maxsize=16)
def _log_once(error: str) -> None:
    _log.warning("the background thread could not save to the disk cache: %s", error, exc_info=True)


WRITER = Writer()
"""The thread of this process."""

atexit.register(WRITER.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=WRITER.stop, after_in_parent=WRITER.resume, after_in_child=WRITER.forget)
