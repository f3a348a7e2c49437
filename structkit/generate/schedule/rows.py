"""The rows of a model: which sequences are in its batch, and what one step does."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from queue import SimpleQueue
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError, StructkitError
from structkit.generate.decode.config import FlowRequest, ScoreRequest, TextEnd
from structkit.generate.decode.decode import common_length
from structkit.generate.decode.speculate import AcceptanceRate, DraftPace, best_width
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.sample.select import select_tokens
from structkit.generate.sample.step import Draft, SampleRequest
from structkit.generate.schedule.job import Row, answer_of
from structkit.generate.schedule.prefix_cache import CachedRow
from structkit.generate.schedule.prefixes import (
    Source,
    Start,
    common_prefix,
    fork_rows,
    group_by_source,
    nearest_source,
)
from structkit.generate.threads.flows import FlowResult
from structkit.models.protocols import Batch, ChecksText, Logits, SupportsLookahead, SupportsTransfer
from structkit.models.single_row import call_model, checked_logits

__all__ = ["Rows"]

AnyRow: TypeAlias = "Row[Any]"
"""A row of any caller; the scheduler does not use the result of its flow."""

_NO_DRAFT = Draft()

_MARGIN = 64
"""Tokens by which rows may grow before a row that enters would have to leave again."""


class Rows:
    """The rows of a model: those in its batch, and those that wait to enter.

    One thread at a time may use them, and any thread may call `submit`.

    Args:
        new_batch: Returns a batch of the model without rows.

    Attributes:
        active: The rows of the batch, in its order.
        max_rows: Maximum number of rows of the batch, if bounded.
    """

    def __init__(self, new_batch: Callable[[], Batch]) -> None:
        self.active: list[AnyRow] = []
        self._new_batch = new_batch
        self._set_batch(new_batch())
        self.max_rows = self._batch.max_rows
        self._submitted: SimpleQueue[AnyRow] = SimpleQueue()
        self._waiting: deque[AnyRow] = deque()
        self._entering: list[AnyRow] = []
        self._has_entered = False
        self._acceptance = AcceptanceRate()
        self._pace = DraftPace()
        self._prefix: tuple[list[int], Batch] | None = None
        self._ended: list[tuple[AnyRow, FlowResult[Any]]] = []
        self._asked: list[AnyRow] = []

    def _set_batch(self, batch: Batch) -> None:
        """Set the batch; what it supports is asked once, because that takes as long as a mask."""
        self._batch = batch
        self._lookahead = batch if isinstance(batch, SupportsLookahead) else None
        self._transfer = batch if isinstance(batch, SupportsTransfer) else None
        self._text_check = batch if isinstance(batch, ChecksText) else None

    def submit(self, rows: Sequence[AnyRow]) -> None:
        """Let rows wait for a place in the batch: new ones behind all others, and those that were in it before them."""
        for row in rows:
            self._submitted.put(row)

    def turn(self) -> None:
        """Let rows enter the batch, or else run one step of the model."""
        try:
            # Rows that enter do not keep the others waiting for more than one turn.
            self._has_entered = not (self._has_entered and self.active) and self._enter()
            if not self._has_entered and self.active:
                self._step()
        except Exception as error:  # a fault of the scheduler itself
            for row in self._present():
                self._fail(row, error)
            self.active, self._entering = [], []
            self._set_batch(self._new_batch())
        except BaseException:  # it is for the thread that runs the model, and not for the other rows
            self._displace(self._present())
            raise
        finally:
            self._report()

    def drop_dead(self) -> None:
        """Remove the rows of cancelled jobs."""
        self._take_submitted()
        # Asked once for each row: another thread may cancel the job meanwhile.
        dead = {row for row in (*self.active, *self._waiting) if row.job.is_dead}
        if not dead:
            return
        for row in dead:
            row.flow.close()
            row.request = row.resume = None
            row.job.signal.set()
        self._waiting = deque(row for row in self._waiting if row not in dead)
        self._drop_ended()

    def _present(self) -> list[AnyRow]:
        """Return the rows whose flows wait for a token, and that are in the batch or enter it."""
        return [row for row in (*self.active, *self._entering) if row.request is not None]

    def _take_submitted(self) -> None:
        continuing: list[AnyRow] = []
        while not self._submitted.empty():
            row = self._submitted.get()
            (continuing if row.has_started else self._waiting).append(row)
        self._waiting.extendleft(reversed(continuing))

    def _report(self) -> None:
        """Report to the owners of the jobs what happened."""
        for row, flow_result in self._ended:
            row.job.finished.append(flow_result)
        for row in self._asked:
            row.job.asked.append(row)
        told = [row for row, _ in self._ended] + self._asked
        self._ended, self._asked = [], []
        for row in self.active:
            if row.job.is_stepwise:
                row.job.has_advanced = True
                told.append(row)
        for row in told:
            row.job.signal.set()

    def _enter(self) -> bool:
        """Let waiting rows enter; return whether any did."""
        if not self._waiting:
            return False
        most = self._most_rows()
        free = most - len(self.active)
        # Reading prompts together is faster, and adding rows moves the existing ones.
        if free < min(len(self._waiting), max(1, most // 4)):
            return False
        while len(self._entering) < free and self._waiting:
            row = self._waiting[0]
            if row.job.is_dead:  # the next turn removes it
                break
            if row.resume is not None:
                self._advance(row, row.resume)
            if row.request is not None and not self._fits(row):
                break
            self._waiting.popleft()
            if row.request is not None:
                self._entering.append(row)
        has_entered = bool(self._entering)
        for group, source in self._groups():
            self._read(group, source)
        self._drop_ended()
        return has_entered

    def _most_rows(self) -> int:
        jobs = [row.job for rows in (self.active, self._waiting) for row in rows]
        most = max(max(job.max_rows, job.limits.batch_rows) for job in jobs)
        return most if self.max_rows is None else min(most, self.max_rows)

    def _fits(self, row: AnyRow) -> bool:
        """Return whether the batch with another row stays within the limit on its tokens; one row always does."""
        rows = [*self._present(), row]
        return len(rows) == 1 or self._count_tokens(rows, _MARGIN) <= _most_tokens(rows)

    def _count_tokens(self, rows: Sequence[AnyRow], margin: int = 0) -> int:
        """Return the tokens that the key-value cache has room for."""
        prefix = 0 if self._prefix is None else len(self._prefix[0])
        return prefix + len(rows) * (max(len(row.read_ids) + len(row.unread) for row in rows) + margin)

    def _groups(self) -> Iterator[tuple[list[AnyRow], Start | None]]:
        """Yield the entering rows in groups that are read together, each with the start that is not read again.

        The start is that of an active row or of the last common prefix: a batch, the number of its row, and a length.
        """
        rest = []
        for row in self._entering.copy():
            if row.is_suspect or (row.cached_row is not None and row.cached_row.token_ids):
                yield [row], None
            else:
                rest.append(row)
        if not rest or self._transfer is None:
            if rest:
                yield rest, None
            return
        sources = self._sources()
        source: Start | None = None
        known = 0  # this number of first tokens is never read
        if sources:
            at, known = nearest_source(common_prefix([row.all_ids for row in rest]), sources)
            source = (*sources[at][1:], known) if known else None
        found = group_by_source([row.all_ids for row in rest], sources)
        for group, (batch, number, length) in [([rest[at] for at in group], start) for group, start in found]:
            if len(group) < len(rest) and self._pays_off((length - known) * len(group)):
                rest = [row for row in rest if row not in group]
                yield group, (batch, number, length)
        if not rest:
            return
        yield rest, self._read_prefix(rest, known) or source

    def _pays_off(self, saved_tokens: int) -> bool:
        """Return whether a pass of its own, with a new row in the batch, takes less time than reading some tokens."""
        return saved_tokens > 4 * self._batch.overhead

    def _sources(self) -> list[Source]:
        """Return the tokens that the batch has read, sorted, and where they are."""
        sources: list[Source] = [(row.read_ids, self._batch, row.number) for row in self.active]
        if self._prefix is not None:
            sources.append((*self._prefix, 0))
        return sorted(sources, key=itemgetter(0))

    def _read_prefix(self, rows: list[AnyRow], known: int) -> Start | None:
        """Read the common prefix of rows, if more of it than `known` pays off; it is kept for rows that enter later."""
        ids, others = common_prefix([row.all_ids for row in rows]), len(rows) - 1
        if not others:
            ids, others = rows[0].job.prefix[: common_length(rows[0].job.prefix, rows[0].all_ids)], 1
        if not self._pays_off((len(ids) - known) * others):
            return None
        batch = self._new_batch()
        try:
            checked_logits(lambda: batch.add([ids]), 1)
        except StructkitError:  # if a row causes the error, reading this row raises it again
            return None
        self._prefix = ids, batch
        return batch, 0, len(ids)

    def _read(self, rows: list[AnyRow], source: Start | None) -> None:
        """Read all tokens of rows that enter the batch."""
        begin = time.perf_counter()
        try:
            logits = self._read_new(rows, [row.all_ids for row in rows], source)
        except StructkitError as error:
            for row in rows:
                if len(rows) > 1:
                    self._read([row], None)
                else:
                    self._entering.remove(row)
                    self._fail(row, error)
            return
        seconds = (time.perf_counter() - begin) / len(rows)
        for row in rows:
            row.read_ids, row.unread, row.is_suspect = row.all_ids, [], False
            row.number, row.logits_index = len(self.active), 0
            row.seconds += seconds
            self.active.append(row)
            self._entering.remove(row)
        self._sample_all(rows, logits[:, None])

    def _read_new(self, rows: list[AnyRow], token_ids: list[list[int]], source: Start | None) -> Logits:
        """Append rows to the batch; return float[rows, width]."""
        main, cached = self._transfer, rows[0].cached_row
        read: tuple[Batch, Logits] | None = None
        if main is not None:
            if source is not None:
                read = call_model(lambda: fork_rows(source, token_ids))
            elif cached is not None and len(rows) == 1:
                read = call_model(lambda: cached.enter(token_ids[0]))
        if read is None or main is None:
            return checked_logits(lambda: self._batch.add(token_ids), len(token_ids))
        batch, logits = read
        call_model(lambda: main.merge(batch))
        return checked_logits(lambda: logits, len(token_ids))

    def _step(self) -> None:
        """Run one step of the model, and send the chosen tokens to the flows whose tokens were all read."""
        has_drafted = self._draft()
        while len(self.active) > 1 and self._count_tokens(self.active) > _most_tokens(self.active):
            self._displace(self.active[-1:])
        if not self.active:
            return
        worths = [
            [1.0] * len(row.unread) + self._acceptance.probabilities(row.draft or _NO_DRAFT)
            for row in self.active
        ]
        width = best_width(worths, self._batch.overhead)
        if len(self.active) > 1:  # drafts, too, stay within the limit
            free = _most_tokens(self.active) - self._count_tokens(self.active)
            width = min(width, 1 + free // len(self.active))
        begin = time.perf_counter()
        token_ids = [row.next_tokens(width) for row in self.active]
        if has_drafted:
            self._pace.update(len(self.active), is_read=any(any(row.is_guess) for row in self.active))
        try:
            logits = self._feed(token_ids, max(len(row.draft_ids) for row in self.active))
        except StructkitError as error:
            self._recover(error)
            return
        seconds = (time.perf_counter() - begin) / len(self.active)
        for row in self.active:
            row.logits_index = logits.shape[1] - 1 - len(row.draft_ids)
            row.seconds += seconds
        self._sample_all(self.active, logits)
        self._drop_ended()

    def _draft(self) -> bool:
        """Draft tokens for the rows: forced text always, guesses if they pay off; return whether they do."""
        if self._lookahead is None:
            return False
        rows = len(self.active)
        pays_off = self._acceptance.pays_off(rows, self._batch.overhead) and self._pace.is_due(rows)
        for row in self.active:
            ask = row.request
            if ask is None or row.draft is not None or not (pays_off or ask.forced_ids):
                continue
            try:
                row.draft = row.job.draft(ask, self._batch.overhead) if pays_off else None
            except Exception as error:  # an error of a drafter ends only its flow
                self._fail(row, error)
                continue
            row.draft = row.draft or _forced_draft(ask)
            row.seconds += 0.0 if row.draft is None else row.draft.seconds
        self._drop_ended()
        return pays_off

    def _feed(self, token_ids: Sequence[Sequence[int]], ahead: int) -> Logits:
        """Return float[rows, 1 + ahead, width], the logits after the last tokens of each row."""
        batch = self._lookahead
        if ahead and batch is not None:
            return call_model(lambda: batch.feed_multi(token_ids, 1 + ahead))
        return checked_logits(lambda: self._batch.feed(token_ids), len(token_ids))[:, None]

    def _recover(self, error: StructkitError) -> None:
        """After a failed step, let each row be read again, alone; the row at fault fails alone."""
        if len(self.active) == 1:
            self._fail(self.active[0], error)
            self._drop_ended()
            return
        for row in self.active:
            row.is_suspect = True
        self._displace(self.active)

    def _displace(self, rows: Sequence[AnyRow]) -> None:
        """Remove rows from the batch; they enter again, before those that wait, and are read again."""
        kept = [row for row in self.active if row not in rows]
        self._entering = []
        if kept:
            self._batch.select([row.number for row in kept])
        else:
            self._set_batch(self._new_batch())
        self._set_active(kept)
        for row in rows:
            row.leave()
        self._waiting.extendleft(reversed(rows))

    def _sample_all(self, rows: Sequence[AnyRow], logits: Logits) -> None:
        """Choose the tokens for which there are logits, with those of drafts."""
        ready = [position for position, row in enumerate(rows) if not row.unread]
        while ready:
            ready = self._sample(rows, ready, logits)

    def _sample(self, rows: Sequence[AnyRow], ready: list[int], logits: Logits) -> list[int]:
        """Choose tokens for `ready` rows; return those whose next request was read already, in the draft."""
        begin = time.perf_counter()
        places = [rows[position].logits_index for position in ready]
        if len(ready) == len(rows) and logits.shape[1] == 1:
            chosen = logits[:, 0]
        elif len(ready) == 1:
            chosen = logits[ready[0], places[0]][None]
        else:
            chosen = logits[ready, places]
        selected = select_tokens(
            chosen, [ask for position in ready if (ask := rows[position].request) is not None]
        )
        seconds = (time.perf_counter() - begin) / len(ready)
        for position, each in zip(ready, selected, strict=True):
            row = rows[position]
            row.seconds += seconds
            self._advance(row, answer_of(row, each))
        return [
            position for position in ready if rows[position].request is not None and not rows[position].unread
        ]

    def _advance(self, row: AnyRow, resume: Callable[[], FlowRequest]) -> None:
        """Resume a flow until it requests a token, waits for a validator, or ends."""
        row.request = row.resume = None
        row.has_started = True
        try:
            ask = row.job.run(resume)
            while not isinstance(ask, SampleRequest):
                if isinstance(ask, ValidateOutput):
                    row.asked = ask
                    self._asked.append(row)
                    return
                if isinstance(ask, TextEnd):
                    self._check_end(row, ask)
                answer = None if isinstance(ask, TextEnd) else self._score(row, ask)
                ask = row.job.run(partial(row.flow.send, answer))
            if ask.reread_count and self._lookahead is not None:  # rolling back costs little
                ask = _without_reread(ask)
            self._rollback(row, row.set_request(ask, self._acceptance))
        except StopIteration as end:
            self._finish(row, end.value)
        except Exception as error:  # the other flows continue
            self._fail(row, error)
        except BaseException:
            self._finish(row, ModelError("the thread that ran the model was interrupted; call again"))
            raise

    def _score(self, row: AnyRow, request: ScoreRequest) -> list[NDArray[np.float32]]:
        self._rollback(row, row.drop_draft())
        begin = time.perf_counter()
        scores = call_model(lambda: self._batch.score(row.number, request.branches))
        row.seconds += time.perf_counter() - begin
        return scores

    def _check_end(self, row: AnyRow, end: TextEnd) -> None:
        self._rollback(row, end.rollback_count)
        batch = self._text_check
        if batch is not None:
            call_model(lambda: batch.check_text(end.token_ids, is_complete=True))

    def _rollback(self, row: AnyRow, count: int) -> None:
        if count:
            if row.number >= 0:
                call_model(lambda: self._batch.rollback(row.number, count))
            del row.read_ids[len(row.read_ids) - count :]

    def _fail(self, row: AnyRow, error: Exception) -> None:
        """End a flow with an error, from which the flow may still return an outcome."""
        try:
            row.job.run(partial(row.flow.throw, error))
        except StopIteration as end:
            self._finish(row, end.value)
        except Exception as raised:  # an error of the flow is the outcome of its row
            self._finish(row, raised)
        else:
            row.flow.close()
            self._finish(row, error)

    def _finish(self, row: AnyRow, outcome: object) -> None:
        row.request = None
        self._ended.append(
            (row, FlowResult(row.index, outcome, row.seconds, row.drafted_tokens, row.accepted_tokens))
        )

    def _drop_ended(self) -> None:
        """Remove the rows from the batch whose flows have ended or wait for a validator."""
        rows = self.active.copy()
        if all(row.request is not None for row in rows):
            return
        if self._transfer is not None:
            for number in reversed(range(len(rows))):
                row = rows[number]
                if row.request is None and (row.asked is not None or row.job.cached_row is not None):
                    row.cached_row = row.job.cached_row or CachedRow()
                    row.cached_row.store(self._transfer.take(number), row.read_ids, row.fed_tokens)
                    row.fed_tokens = 0
                    row.leave()
                    del rows[number]
        kept = [number for number, row in enumerate(rows) if row.request is not None]
        if len(kept) < len(rows):
            self._batch.select(kept)
        for row in rows:
            if row.request is None:
                row.leave()
        self._set_active([rows[number] for number in kept])

    def _set_active(self, rows: list[AnyRow]) -> None:
        self.active = rows
        for number, row in enumerate(rows):
            row.number = number


def _forced_draft(request: SampleRequest) -> Draft | None:
    ids = list(request.forced_ids)
    return Draft(ids, [False] * len(ids), forced_count=len(ids)) if ids else None


def _most_tokens(rows: Sequence[AnyRow]) -> int:
    return max(row.job.limits.batch_tokens for row in rows)


def _without_reread(request: SampleRequest) -> SampleRequest:
    """Return a request that keeps tokens which it would otherwise remove and read again."""
    count = request.reread_count
    return replace(
        request,
        token_ids=request.token_ids[count:],
        rollback_count=request.rollback_count - count,
        reread_count=0,
    )
