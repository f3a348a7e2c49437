"""The jobs of a scheduler: the flows of one call, and the row that each of them has."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from structkit.errors import ModelError
from structkit.generate.decode.config import Flow, FlowRequest
from structkit.generate.decode.speculate import AcceptanceRate
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.sample.step import Draft, SampledToken, SampleRequest
from structkit.generate.schedule.locks import MODEL_LOCKS
from structkit.generate.schedule.prefix_cache import CachedRow
from structkit.generate.threads.flows import FlowResult, until_cancelled
from structkit.limits import Limits
from structkit.models.protocols import LogitsModel

__all__ = ["Job", "Row", "answer_of"]

R = TypeVar("R")

_DEFAULT_LIMITS = Limits()


class Job(Generic[R]):
    """The flows of one call. Its owner is the thread that waits for them; any thread may run them.

    Args:
        flows: Flows that have not started, numbered from 0. The iterable is read as rows become free.
        max_rows: Maximum number of rows at once.
        cancelled: If set, all flows are closed before the next step of the model or the start of the next flow.
        limits: The bounds on the batch that the rows enter.
        cached_row: The state of an earlier sequence, for a job of one flow; it receives the state of the row.
        prefix: Tokens that most sequences start with; read once. The caller may change them.
        assistant: The model that drafts.
        is_stepwise: Whether the owner waits for each step.

    Attributes:
        finished: The results that the owner has not taken.
        asked: The rows whose flows wait for a validator, which the owner calls.
        is_preparing: Whether the first flows have not been submitted.
        has_advanced: Whether a row was computed since the owner waited.
        signal: Set when the owner should look again.
        thread: The owner, while it runs the model itself; its flows then run in its own context.
    """

    def __init__(
        self,
        flows: Iterable[Flow[R]],
        max_rows: int,
        cancelled: threading.Event | None = None,
        *,
        limits: Limits = _DEFAULT_LIMITS,
        cached_row: CachedRow | None = None,
        prefix: list[int] | None = None,
        assistant: LogitsModel | None = None,
        is_stepwise: bool = False,
    ) -> None:
        self.max_rows = max_rows
        self.cancelled = cancelled
        self.limits = limits
        self.cached_row = cached_row
        self.prefix = [] if prefix is None else prefix
        self.is_stepwise = is_stepwise
        self.finished: deque[FlowResult[R]] = deque()
        self.asked: deque[Row[R]] = deque()
        self.is_preparing = True
        self.has_advanced = False
        self.signal = threading.Event()
        self.thread = 0
        self._waiting = enumerate(until_cancelled(flows, cancelled))
        self._is_closed = False
        self._open = 0
        self._context = copy_context()
        self._assistant = assistant

    @property
    def is_dead(self) -> bool:
        """Whether the caller cancelled the flows."""
        return self._is_closed or (self.cancelled is not None and self.cancelled.is_set())

    def has_news(self) -> bool:
        """Return whether the owner has something to do."""
        return bool(self.finished or self.asked) or (self.is_stepwise and self.has_advanced) or self.is_dead

    @property
    def has_rows(self) -> bool:
        """Whether flows have started and their results were not taken."""
        return self._open > 0

    def close(self) -> None:
        """Cancel the flows."""
        self._is_closed = True
        for row in self.asked:
            row.flow.close()

    def start_rows(self) -> list[Row[R]]:
        """Return rows of the next flows, if a quarter of the rows is free.

        Reading prompts together is faster, and adding rows moves the existing ones.
        """
        rows: list[Row[R]] = []
        if self.max_rows - self._open < max(1, self.max_rows // 4):
            return rows
        while self._open < self.max_rows:
            number, flow = next(self._waiting, (-1, None))
            if flow is None:
                break
            rows.append(Row(self, number, flow))
            self._open += 1
        return rows

    def take_finished(self) -> list[FlowResult[R]]:
        """Remove and return the results."""
        results = [self.finished.popleft() for _ in range(len(self.finished))]
        self._open -= len(results)
        return results

    def run(self, resume: Callable[[], FlowRequest]) -> FlowRequest:
        """Run code of a flow in the context of the owner."""
        if self.thread == threading.get_ident():
            return resume()
        return self._context.run(resume)

    def draft(self, request: SampleRequest, max_tokens: int) -> Draft | None:
        """Return the draft of a request; `None` without one, or if the assistant model is in use."""
        if request.draft is None:
            return None
        lock = None if self._assistant is None else MODEL_LOCKS.lock_of(self._assistant)
        # Waiting could be a deadlock, where two models draft for each other.
        if lock is not None and not lock.acquire(blocking=False):
            return None
        try:
            return request.draft(max_tokens)
        finally:
            if lock is not None:
                lock.release()


class Row(Generic[R]):
    """A flow, its current request, and the tokens that the model has not read.

    Attributes:
        job: The job of the flow.
        index: The index of the flow in the job.
        number: The number of the row in the batch; -1 outside.
        resume: What continues the flow; `None` while it has a request or waits for a validator.
        asked: The validator that the flow waits for.
        read_ids: The tokens that the model has read; outside of a batch, those that it reads again.
        draft: The draft that follows the request; `None` before it is made.
        draft_ids: The draft tokens that the model has read and the flow has not requested.
        is_guess: For each of `draft_ids`, whether it is a guess.
        forced_count: How many of the first of `draft_ids` spell forced text.
        logits_index: The position of the logits before `draft_ids` among those of the last step.
        has_started: Whether the flow has started.
        is_suspect: Whether a step with this row failed, so that it is read alone.
        cached_row: The state of the row while it is outside of a batch.
    """

    def __init__(self, job: Job[R], index: int, flow: Flow[R]) -> None:
        self.job = job
        self.index = index
        self.flow = flow
        self.number = -1
        self.request: SampleRequest | None = None
        self.resume: Callable[[], FlowRequest] | None = flow.__next__
        self.asked: ValidateOutput | None = None
        self.read_ids: list[int] = []
        self.unread: list[int] = []
        self.draft: Draft | None = None
        self.draft_ids: list[int] = []
        self.is_guess: list[bool] = []
        self.forced_count = 0
        self.logits_index = 0
        self.has_started = False
        self.is_suspect = False
        self.cached_row = job.cached_row
        self.seconds = 0.0
        self.fed_tokens = 0
        self.drafted_tokens = 0
        self.accepted_tokens = 0

    @property
    def all_ids(self) -> list[int]:
        """The tokens of the sequence up to the requested one."""
        return self.read_ids + self.unread

    def next_tokens(self, width: int) -> list[int]:
        """Return the next tokens to read; after the last of them, as much of the draft as `width` allows."""
        tokens, self.unread = self.unread[:width], self.unread[width:]
        if not self.unread and self.draft is not None:
            room = width - len(tokens)
            self.draft_ids, self.is_guess = self.draft.token_ids[:room], self.draft.is_guess[:room]
            self.forced_count = min(self.draft.forced_count, len(self.draft_ids))
            self.drafted_tokens += len(self.draft_ids) - self.forced_count
        tokens = tokens + self.draft_ids
        self.read_ids += tokens
        self.fed_tokens += len(tokens)
        return tokens

    def set_request(self, request: SampleRequest, acceptance: AcceptanceRate) -> int:
        """Set the request; return how many tokens the model must roll back."""
        same = 0
        if not request.rollback_count:
            pairs = zip(request.token_ids, self.draft_ids, strict=False)
            same = next(
                (at for at, (a, b) in enumerate(pairs) if a != b),
                min(len(request.token_ids), len(self.draft_ids)),
            )
        # A wrong token that is no guess is another spelling, which does not measure guesses.
        wrong = same < min(len(request.token_ids), len(self.draft_ids)) and self.is_guess[same]
        acceptance.update(sum(self.is_guess[:same]), int(wrong))
        forced = min(same, self.forced_count)
        self.accepted_tokens += same - forced
        self.forced_count -= forced
        self.logits_index += same
        self.request, self.unread, self.draft = request, request.token_ids[same:], None
        self.draft_ids, self.is_guess = self.draft_ids[same:], self.is_guess[same:]
        return request.rollback_count + (self.drop_draft() if self.unread else 0)

    def drop_draft(self) -> int:
        """Discard the draft tokens that were read; return their number."""
        dropped, self.draft_ids, self.is_guess = len(self.draft_ids), [], []
        return dropped

    def leave(self) -> None:
        """Note that the row has left its batch; the tokens that the model has read are read again."""
        self.number, self.draft = -1, None
        del self.read_ids[len(self.read_ids) - self.drop_draft() :]

    def send(self, answer: object) -> None:
        """Continue the flow with the answer of a validator, or with its error."""
        self.asked = None
        self.resume = (
            partial(self.flow.throw, answer)
            if isinstance(answer, Exception)
            else partial(self.flow.send, answer)  # type: ignore[arg-type]
        )


def answer_of(row: Row[R], token: SampledToken | ModelError) -> Callable[[], FlowRequest]:
    """Return what continues the flow of a row with a token, or with the error of its logits."""
    if isinstance(token, SampledToken) and row.draft_ids[:1] == [token.token_id] and not row.forced_count:
        token = replace(token, is_guessed=True)
    return partial(row.flow.throw, token) if isinstance(token, ModelError) else partial(row.flow.send, token)
