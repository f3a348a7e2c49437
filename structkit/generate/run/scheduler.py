"""The scheduler: runs decode flows side by side on one batch of a model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from structkit.errors import ModelError
from structkit.generate.decode.config import Flow, FlowRequest, TextEnd
from structkit.generate.decode.speculate import AcceptanceRate
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.sample.select import select_tokens
from structkit.generate.sample.step import Draft, SampleRequest
from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop
from structkit.generate.threads.flows import FlowResult, check_cancelled, until_cancelled
from structkit.models.protocols import Batch, ChecksText, Logits, LogitsModel, SupportsLookahead
from structkit.models.single_row import call_model, checked_logits
from structkit.rejected import Rejected

__all__ = [
    "MODEL_LOCKS",
    "ModelLocks",
    "run_flows",
]

R = TypeVar("R")
T = TypeVar("T")

_NO_DRAFT = Draft()


class ModelLocks:
    """One lock for each model: a model runs one batch at a time."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[LogitsModel, threading.RLock] = WeakKeyDictionary()
        self._guard = threading.Lock()
        self._held = threading.local()

    def lock_of(self, model: LogitsModel) -> threading.RLock:
        """Return the lock of a model, which is reentrant."""
        if not callable(getattr(model, "session", None)):
            raise TypeError(
                f"a model is what structkit.load() gives, or what can encode and begin a session, not {model!r:.60}"
            )
        with self._guard:
            return self._locks.setdefault(model, threading.RLock())

    @contextmanager
    def acquire(self, *models: LogitsModel | None) -> Iterator[None]:
        """Hold the locks of multiple models; a fixed order avoids deadlocks."""
        locks = {id(lock): lock for lock in (self.lock_of(model) for model in models if model is not None)}
        held = self._locks_of_thread()
        with ExitStack() as stack:
            for _, lock in sorted(locks.items()):
                stack.enter_context(lock)
                held.append(lock)
                stack.callback(held.remove, lock)
            yield

    @contextmanager
    def released(self) -> Iterator[None]:
        """Release all locks that this thread holds, so that code of the user can use the models in any thread."""
        held = self._locks_of_thread()
        locks = held.copy()
        held.clear()
        for lock in locks:
            lock.release()
        try:
            yield
        finally:
            for lock in sorted(locks, key=id):
                lock.acquire()
            held.extend(locks)

    def _locks_of_thread(self) -> list[threading.RLock]:
        """Return the locks that this thread holds; a lock that is held twice occurs twice."""
        found: list[threading.RLock] | None = getattr(self._held, "locks", None)
        if found is None:
            found = self._held.locks = []
        return found


MODEL_LOCKS = ModelLocks()
"""The locks of all models."""


def run_flows(
    flows: Iterable[Flow[R]], rows: Batch, max_rows: int, cancelled: threading.Event | None = None
) -> Generator[FlowResult[R] | None, None, None]:
    """Run flows side by side. When a row ends, the next flow starts.

    Args:
        flows: Flows that have not started, numbered from 0. The iterable is read as rows become free.
        rows: A new batch of a model.
        max_rows: Maximum number of rows at once.
        cancelled: If set, all flows are closed before the next step of the model or the start of the next flow.

    Yields:
        The result of each flow when it ends, and `None` before each step of the model.

    Raises:
        Cancelled: `cancelled` was set.
    """
    batch: _Scheduler[R] = _Scheduler(
        rows, max_rows if rows.max_rows is None else min(max_rows, rows.max_rows), cancelled
    )
    waiting = enumerate(until_cancelled(flows, cancelled))
    try:
        while True:
            check_cancelled(cancelled)
            while batch.start_flows(waiting):  # flows of a single step have ended by then
                yield from batch.take_finished()
                check_cancelled(cancelled)
            yield from batch.take_finished()
            if not batch.active:
                return
            yield None
            check_cancelled(cancelled)
            batch.step()
            yield from batch.take_finished()
    finally:
        batch.close()


def _width(probabilities: Sequence[Sequence[float]], overhead: int) -> int:
    """Return the number of tokens to read per row that minimizes the time per useful token.

    A row with fewer tokens is padded; a row with more reads the others in the next step. Otherwise all rows would pay
    for the forced text of one.

    Args:
        probabilities: For each token of each row, the probability that it is used.
        overhead: See `Batch.overhead`.

    >>> forced = [[1.0], [1.0], [1.0], [1.0] * 9]
    >>> _width(forced, overhead=4), _width(forced, overhead=1_000)
    (1, 9)
    >>> _width([[1.0, 0.5, 0.1]], overhead=8), _width([[1.0, 0.5, 0.1]] * 8, overhead=8)
    (2, 1)
    """
    gains = np.zeros(max(map(len, probabilities)))
    for worth in probabilities:
        gains[: len(worth)] += worth
    rates = np.cumsum(gains) / (overhead + len(probabilities) * np.arange(1, len(gains) + 1))
    return int(rates.argmax()) + 1


def _without_reread(request: SampleRequest) -> SampleRequest:
    """Return a request that keeps tokens which it would otherwise remove and read again."""
    count = request.reread_count
    return replace(
        request,
        token_ids=request.token_ids[count:],
        rollback_count=request.rollback_count - count,
        reread_count=0,
    )


class _Row(Generic[R]):
    """A flow, its current request, and the tokens that the model has not read.

    Attributes:
        index: The index of the flow.
        draft: The draft that follows the request; `None` before it is made.
        draft_ids: The draft tokens that the model has read and the flow has not requested.
        is_guess: For each of `draft_ids`, whether it is a guess.
        logits_index: The position of the logits before `draft_ids` among those of the last step.
    """

    def __init__(self, number: int, flow: Flow[R]) -> None:
        self.index = number
        self.flow = flow
        self.request: SampleRequest | None = None
        self.unread: list[int] = []
        self.draft: Draft | None = None
        self.draft_ids: list[int] = []
        self.is_guess: list[bool] = []
        self.logits_index = 0
        self.seconds = 0.0
        self.drafted_tokens = 0
        self.accepted_tokens = 0

    def next_tokens(self, width: int | None) -> list[int]:
        """Return the next tokens to read; after the last of them, as much of the draft as `width` allows."""
        tokens, self.unread = self.unread[:width], [] if width is None else self.unread[width:]
        if not self.unread and self.draft is not None and width is not None:
            room = width - len(tokens)
            self.draft_ids, self.is_guess = self.draft.token_ids[:room], self.draft.is_guess[:room]
            self.drafted_tokens += len(self.draft_ids)
        return tokens + self.draft_ids

    def set_request(self, request: SampleRequest, acceptance: AcceptanceRate) -> int:
        """Set the request; return how many tokens the model must roll back."""
        same = 0
        if not request.rollback_count:
            pairs = zip(request.token_ids, self.draft_ids, strict=False)
            same = next(
                (at for at, (a, b) in enumerate(pairs) if a != b),
                min(len(request.token_ids), len(self.draft_ids)),
            )
        wrong = same < min(len(request.token_ids), len(self.draft_ids))
        acceptance.update(sum(self.is_guess[:same]), int(wrong))
        self.accepted_tokens += same
        self.logits_index += same
        self.request, self.unread, self.draft = request, request.token_ids[same:], None
        self.draft_ids, self.is_guess = self.draft_ids[same:], self.is_guess[same:]
        return request.rollback_count + (self.drop_draft() if self.unread else 0)

    def drop_draft(self) -> int:
        """Discard the draft tokens that were read; return their number."""
        dropped, self.draft_ids, self.is_guess = len(self.draft_ids), [], []
        return dropped


class _Scheduler(Generic[R]):
    """The active rows, in the order of the rows of the batch."""

    def __init__(self, batch: Batch, max_rows: int, cancelled: threading.Event | None) -> None:
        self.active: list[_Row[R]] = []
        self._batch = batch
        self._max_rows = max_rows
        self._finished: list[FlowResult[R]] = []
        self._acceptance = AcceptanceRate()
        self._cancelled = cancelled
        self._event_loop = EventLoopThread("structkit-validators")

    def take_finished(self) -> list[FlowResult[R]]:
        """Return and clear the results of flows that ended."""
        ended, self._finished = self._finished, []
        return ended

    def close(self) -> None:
        """Close the flows that have not ended."""
        for row in self.active:
            row.flow.close()
        self.active = []
        self._batch.select([])
        self._event_loop.close()

    def start_flows(self, waiting: Iterator[tuple[int, Flow[R]]]) -> bool:
        """Start flows until the batch is full, if a quarter of it is free; return whether any started."""
        # Reading prompts together is faster, and adding rows moves the existing ones.
        if self._max_rows - len(self.active) < max(1, self._max_rows // 4):
            return False
        entering = self._start_rows(waiting)
        if entering:
            here = len(self.active)
            self.active += entering
            self._compute(entering, here, self._batch.add)
        return bool(entering)

    def step(self) -> None:
        """Run one step of the model, and send the chosen tokens to the flows whose tokens were all read."""
        self._draft()
        if not self.active:
            return
        worths = [
            [1.0] * len(row.unread) + self._acceptance.probabilities(row.draft or _NO_DRAFT)
            for row in self.active
        ]
        self._compute(self.active, 0, self._batch.feed, _width(worths, self._batch.overhead))

    def _draft(self) -> None:
        """Draft tokens for the rows, if that pays off."""
        if isinstance(self._batch, SupportsLookahead) and self._acceptance.pays_off(
            len(self.active), self._batch.overhead
        ):
            for row in self.active:
                if row.request is not None and row.request.draft is not None and row.draft is None:
                    try:
                        row.draft = row.request.draft(self._batch.overhead)
                        row.seconds += row.draft.seconds
                    except Exception as error:  # an error of a drafter ends only its flow
                        self._fail(row, error)
            self._drop_finished()

    def _start_rows(self, waiting: Iterator[tuple[int, Flow[R]]]) -> list[_Row[R]]:
        entering: list[_Row[R]] = []
        while len(self.active) + len(entering) < self._max_rows:
            number, flow = next(waiting, (-1, None))
            if flow is None:
                break
            row = _Row(number, flow)
            self._advance(row, 0, flow.__next__)
            if row.request is not None:
                entering.append(row)
        return entering

    def _compute(
        self,
        rows: list[_Row[R]],
        first: int,
        read: Callable[[Sequence[Sequence[int]]], Logits],
        width: int | None = None,
    ) -> None:
        """Run one step of the model for rows that start at row `first` of the batch."""
        begin = time.perf_counter()
        try:
            logits = self._feed(
                [row.next_tokens(width) for row in rows], max(len(row.draft_ids) for row in rows), read
            )
        except ModelError as error:
            self._fail_all(error)
            return
        seconds = (time.perf_counter() - begin) / len(rows)
        for row in rows:
            row.logits_index = logits.shape[1] - 1 - len(row.draft_ids)
            row.seconds += seconds
        ready = [number for number, row in enumerate(rows) if not row.unread]
        while ready:
            ready = self._sample(rows, first, ready, logits)
        self._drop_finished()

    def _drop_finished(self) -> None:
        """Remove the rows that have ended."""
        kept = [number for number, row in enumerate(self.active) if row.request is not None]
        if len(kept) < len(self.active):
            self.active = [self.active[number] for number in kept]
            self._batch.select(kept)

    def _feed(
        self,
        token_ids: Sequence[Sequence[int]],
        ahead: int,
        read: Callable[[Sequence[Sequence[int]]], Logits],
    ) -> Logits:
        """Return float[rows, 1 + ahead, width], the logits after the last tokens of each row."""
        rows = self._batch
        if ahead and isinstance(rows, SupportsLookahead):
            return call_model(lambda: rows.feed_multi(token_ids, 1 + ahead))
        return checked_logits(lambda: read(token_ids), len(token_ids))[:, None]

    def _sample(self, rows: list[_Row[R]], first: int, complete: list[int], logits: Logits) -> list[int]:
        """Choose tokens for `complete` rows; return those whose next request was read already, in the draft."""
        begin = time.perf_counter()
        places = [rows[number].logits_index for number in complete]
        if len(complete) == len(rows) and logits.shape[1] == 1:
            chosen = logits[:, 0]
        elif len(complete) == 1:
            chosen = logits[complete[0], places[0]][None]
        else:
            chosen = logits[complete, places]
        selected = select_tokens(
            chosen, [ask for number in complete if (ask := rows[number].request) is not None]
        )
        seconds = (time.perf_counter() - begin) / len(complete)
        for number, each in zip(complete, selected, strict=True):
            row = rows[number]
            row.seconds += seconds
            go_on = (
                partial(row.flow.throw, each)
                if isinstance(each, ModelError)
                else partial(row.flow.send, each)
            )
            self._advance(row, first + number, go_on)
        return [number for number in complete if rows[number].request is not None and not rows[number].unread]

    def _advance(self, row: _Row[R], number: int, resume: Callable[[], FlowRequest]) -> None:
        """Resume a flow until it requests a token or ends."""
        row.request = None
        try:
            ask = resume()
            while not isinstance(ask, SampleRequest):
                if isinstance(ask, ValidateOutput):
                    ask = row.flow.send(self._validate(ask))
                    continue
                if isinstance(ask, TextEnd):
                    self._check_end(number, ask)
                    ask = row.flow.send(None)
                    continue
                self._rollback(number, row.drop_draft())
                begin = time.perf_counter()
                scores = call_model(partial(self._batch.score, number, ask.branches))
                row.seconds += time.perf_counter() - begin
                ask = row.flow.send(scores)
            if ask.reread_count and isinstance(self._batch, SupportsLookahead):  # rolling back costs little
                ask = _without_reread(ask)
            self._rollback(number, row.set_request(ask, self._acceptance))
        except StopIteration as end:
            self._finish(row, end.value)
        except Exception as error:  # the other flows continue
            self._fail(row, error)

    def _validate(self, request: ValidateOutput) -> Rejected | None:
        """Call a validator. It can run for long and use the models, so it holds no locks."""
        with MODEL_LOCKS.released():
            return request.perform(lambda work: await_on_loop(work, self._event_loop, self._cancelled))

    def _check_end(self, number: int, end: TextEnd) -> None:
        self._rollback(number, end.rollback_count)
        batch = self._batch
        if isinstance(batch, ChecksText):
            call_model(lambda: batch.check_text(end.token_ids, is_complete=True))

    def _rollback(self, number: int, count: int) -> None:
        if count:
            call_model(lambda: self._batch.rollback(number, count))

    def _fail(self, row: _Row[R], error: Exception) -> None:
        """End a flow with an error, from which the flow may still return an outcome."""
        try:
            row.flow.throw(error)
        except StopIteration as end:
            self._finish(row, end.value)
        except Exception as raised:
            self._finish(row, raised)
        else:
            row.flow.close()
            self._finish(row, error)

    def _finish(self, row: _Row[R], outcome: R | Exception) -> None:
        row.request = None
        self._finished.append(
            FlowResult(row.index, outcome, row.seconds, row.drafted_tokens, row.accepted_tokens)
        )

    def _fail_all(self, error: ModelError) -> None:
        """End all rows after an error of the model, each with an error of its own, which gets the trace of the row."""
        for row in self.active:
            own = copy(error).with_traceback(error.__traceback__)
            own.__cause__ = error.__cause__
            self._fail(row, own)
        self.active = []
        self._batch.select([])
