"""The driver: it carries tokens and choices between flows and a model, any number of them side by side."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from structkit.errors import ModelFailed
from structkit.generate.decode.config import Decoded, Flow, Score
from structkit.generate.sample.select import choose
from structkit.generate.sample.step import Ask, Draft
from structkit.models.protocols import Logits, LogitsModel, ReadsAhead, Rows
from structkit.models.single_row import asked, logits_of

__all__ = [
    "TURNS",
    "Cancelled",
    "Driven",
    "Turns",
    "check_cancelled",
    "drive_all",
    "in_thread",
    "until_cancelled",
]

R = TypeVar("R")
T = TypeVar("T")

_TRUE, _ALL = 1.2, 2.0
"""What is thought of guesses before there were any: so many of so many came true."""

_FORGET = 0.97
"""What is left of that at each look at a draft."""

_SOME = 4
"""Tokens of a draft that is worth something."""

_NO_DRAFT = Draft()


class Cancelled(Exception):
    """Nobody waits for the generation any more; it never leaves this module's drivers."""


@dataclass(frozen=True, slots=True)
class Driven:
    """How a flow ended.

    Attributes:
        number: That of the flow.
        outcome: What it returned, or the error that ended it.
        model_seconds: Its share of the time that the model took.
        drafted: The tokens that the model read as a draft.
        accepted: Those of them that were chosen.
    """

    number: int
    outcome: Decoded | Exception
    model_seconds: float
    drafted: int = 0
    accepted: int = 0


class Turns:
    """One lock for each model: a model writes one batch at a time, whatever threads ask."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[LogitsModel, threading.RLock] = WeakKeyDictionary()
        self._guard = threading.Lock()

    def of(self, model: LogitsModel) -> threading.RLock:
        """The lock of a model; the same thread may take it again."""
        if not callable(getattr(model, "session", None)):
            raise TypeError(
                f"a model is what structkit.load() gives, or what can encode and begin a session, not {model!r:.60}"
            )
        with self._guard:
            return self._locks.setdefault(model, threading.RLock())

    @contextmanager
    def held(self, *models: LogitsModel | None) -> Iterator[None]:
        """Hold the locks of several models, in an order that is the same for all."""
        locks = {id(lock): lock for lock in (self.of(model) for model in models if model is not None)}
        with ExitStack() as stack:
            for _, lock in sorted(locks.items()):
                stack.enter_context(lock)
            yield


TURNS = Turns()
"""The turns of all models."""


def drive_all(
    flows: Iterable[Flow], rows: Rows, most: int, cancelled: threading.Event | None = None
) -> Generator[Driven | None, None, None]:
    """Run flows side by side. A row that ends makes room for the next flow.

    Args:
        flows: Fresh flows, numbered from 0. They are asked for one by one as there is room.
        rows: A fresh batch of a model.
        most: Rows at once.
        cancelled: When it is set, all is given up before the model's next step, or before the next flow is begun.

    Yields:
        How each flow ended, when it does; and `None` after each step of the model.

    Raises:
        Cancelled: `cancelled` was set.
    """
    batch = _Batch(rows, most if rows.most is None else min(most, rows.most))
    waiting = enumerate(until_cancelled(flows, cancelled))
    try:
        while True:
            check_cancelled(cancelled)
            while batch.admit(waiting):  # what takes but one step has ended then, and makes room again
                yield from batch.ended()
                check_cancelled(cancelled)
            yield from batch.ended()
            if not batch.active:
                return
            yield None
            check_cancelled(cancelled)
            batch.step()
            yield from batch.ended()
    finally:
        batch.close()


def check_cancelled(cancelled: threading.Event | None) -> None:
    """Raise `Cancelled` if that was set."""
    if cancelled is not None and cancelled.is_set():
        raise Cancelled


def until_cancelled(items: Iterable[T], cancelled: threading.Event | None) -> Iterator[T]:
    """The items, as long as somebody waits for what is made of them.

    Raises:
        Cancelled: `cancelled` was set.
    """
    for item in items:
        check_cancelled(cancelled)
        yield item


def _width(worths: Sequence[Sequence[float]], overhead: int) -> int:
    """How many tokens of each row to read at once, so that those that are there take the least time each.

    A row that has fewer is padded, and one that has more waits: text that one row alone is forced to write would else
    be paid for by all.

    Args:
        worths: For each token of each row how likely it is to be needed.
        overhead: See `Rows.overhead`.

    >>> forced = [[1.0], [1.0], [1.0], [1.0] * 9]
    >>> _width(forced, overhead=4), _width(forced, overhead=1_000)
    (1, 9)
    >>> _width([[1.0, 0.5, 0.1]], overhead=8), _width([[1.0, 0.5, 0.1]] * 8, overhead=8)
    (2, 1)
    """
    gains = np.zeros(max(map(len, worths)))
    for worth in worths:
        gains[: len(worth)] += worth
    rates = np.cumsum(gains) / (overhead + len(worths) * np.arange(1, len(gains) + 1))
    return int(rates.argmax()) + 1


class _Hopes:
    """How often guesses came true, of late: what a draft is worth."""

    def __init__(self) -> None:
        self._true, self._all = _TRUE, _ALL

    @property
    def chance(self) -> float:
        """That of a guess, if those before it came true."""
        return self._true / self._all

    def learn(self, true: int, false: int) -> None:
        """Count guesses, and forget old ones by and by."""
        self._true = _FORGET * self._true + (1 - _FORGET) * _TRUE + true
        self._all = _FORGET * self._all + (1 - _FORGET) * _ALL + true + false

    def worth(self, draft: Draft) -> list[float]:
        """How likely each token of a draft is to come."""
        return [self.chance**guesses for guesses in accumulate(draft.guessed)]

    def pay(self, rows: int, overhead: int) -> bool:
        """Whether drafts of some tokens may be worth reading in a batch of so many rows."""
        return (1 + _SOME * self.chance) * (overhead + rows) > overhead + (1 + _SOME) * rows


class _Row:
    """A flow, what it asks for now, the tokens of that which are still to be read, and the time it took.

    Attributes:
        number: That of the flow.
        draft: What may follow what it asks for; `None` if it was not drafted yet.
        ahead: The tokens of a draft that the model has read, and the row was not asked for yet.
        guessed: For each of them whether it was a guess.
        at: With `ahead`, the position of the logits before it among those of the last step.
    """

    def __init__(self, number: int, flow: Flow) -> None:
        self.number = number
        self.flow = flow
        self.ask: Ask | None = None
        self.unread: list[int] = []
        self.draft: Draft | None = None
        self.ahead: list[int] = []
        self.guessed: list[bool] = []
        self.at = 0
        self.seconds = 0.0
        self.drafted = 0
        self.accepted = 0

    def take(self, width: int | None) -> list[int]:
        """The next tokens to read, and if these are all, as much of the draft as there is room for."""
        tokens, self.unread = self.unread[:width], [] if width is None else self.unread[width:]
        if not self.unread and self.draft is not None and width is not None:
            room = width - len(tokens)
            self.ahead, self.guessed = self.draft.token_ids[:room], self.draft.guessed[:room]
            self.drafted += len(self.ahead)
        return tokens + self.ahead

    def follow(self, ask: Ask, hopes: _Hopes) -> int:
        """Take what is asked for; how many tokens that the model has read are to be taken back."""
        same = 0
        if not ask.back:
            pairs = zip(ask.token_ids, self.ahead, strict=False)
            same = next(
                (at for at, (a, b) in enumerate(pairs) if a != b), min(len(ask.token_ids), len(self.ahead))
            )
        wrong = same < min(len(ask.token_ids), len(self.ahead))
        hopes.learn(sum(self.guessed[:same]), int(wrong))
        self.accepted += same
        self.at += same
        self.ask, self.unread, self.draft = ask, ask.token_ids[same:], None
        self.ahead, self.guessed = self.ahead[same:], self.guessed[same:]
        return ask.back + (self.drop() if self.unread else 0)

    def drop(self) -> int:
        """Give up what was read ahead; how many tokens these are."""
        dropped, self.ahead, self.guessed = len(self.ahead), [], []
        return dropped


class _Batch:
    """The rows that are being written, in the order of the model's."""

    def __init__(self, rows: Rows, most: int) -> None:
        self.active: list[_Row] = []
        self._rows = rows
        self._most = most
        self._ended: list[Driven] = []
        self._hopes = _Hopes()

    def ended(self) -> list[Driven]:
        """What ended since the last time."""
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """Give up what was not finished."""
        for row in self.active:
            row.flow.close()
        self.active = []
        self._rows.keep([])

    def admit(self, waiting: Iterator[tuple[int, Flow]]) -> bool:
        """Begin flows until the batch is full, if there is room for several; whether there was one."""
        # To read prompts together is quicker, and to add rows moves those that are there.
        if self._most - len(self.active) < max(1, self._most // 4):
            return False
        entering = self._entering(waiting)
        if entering:
            here = len(self.active)
            self.active += entering
            self._compute(entering, here, self._rows.add)
        return bool(entering)

    def step(self) -> None:
        """Let the model read what the flows ask for, and tell those whose tokens were all read what was chosen."""
        self._draft()
        if not self.active:
            return
        worths = [[1.0] * len(row.unread) + self._hopes.worth(row.draft or _NO_DRAFT) for row in self.active]
        self._compute(self.active, 0, self._rows.feed, _width(worths, self._rows.overhead))

    def _draft(self) -> None:
        """Have the flows say what may follow, if it can be of use."""
        if isinstance(self._rows, ReadsAhead) and self._hopes.pay(len(self.active), self._rows.overhead):
            for row in self.active:
                if row.ask is not None and row.ask.draft is not None and row.draft is None:
                    try:
                        row.draft = row.ask.draft(self._rows.overhead)
                        row.seconds += row.draft.seconds
                    except Exception as error:  # what drafts break ends one flow, and is raised for it
                        row.flow.close()
                        self._end(row, error)
            self._keep()

    def _entering(self, waiting: Iterator[tuple[int, Flow]]) -> list[_Row]:
        entering: list[_Row] = []
        while len(self.active) + len(entering) < self._most:
            number, flow = next(waiting, (-1, None))
            if flow is None:
                break
            row = _Row(number, flow)
            self._advance(row, 0, flow.__next__)
            if row.ask is not None:
                entering.append(row)
        return entering

    def _compute(
        self,
        rows: list[_Row],
        first: int,
        read: Callable[[Sequence[Sequence[int]]], Logits],
        width: int | None = None,
    ) -> None:
        """One step of the model for rows, the first of which is the model's row `first`."""
        begin = time.perf_counter()
        try:
            logits = self._read([row.take(width) for row in rows], max(len(row.ahead) for row in rows), read)
        except ModelFailed as error:
            self._give_up(error)
            return
        seconds = (time.perf_counter() - begin) / len(rows)
        for row in rows:
            row.at = logits.shape[1] - 1 - len(row.ahead)
            row.seconds += seconds
        ready = [number for number, row in enumerate(rows) if not row.unread]
        while ready:
            ready = self._tell(rows, first, ready, logits)
        self._keep()

    def _keep(self) -> None:
        """Let go of rows that have ended."""
        kept = [number for number, row in enumerate(self.active) if row.ask is not None]
        if len(kept) < len(self.active):
            self.active = [self.active[number] for number in kept]
            self._rows.keep(kept)

    def _read(
        self,
        token_ids: Sequence[Sequence[int]],
        ahead: int,
        read: Callable[[Sequence[Sequence[int]]], Logits],
    ) -> Logits:
        """float[rows, 1 + ahead, width]: the logits after the last tokens of each row."""
        rows = self._rows
        if ahead and isinstance(rows, ReadsAhead):
            return asked(lambda: rows.read(token_ids, 1 + ahead))
        return logits_of(lambda: read(token_ids), len(token_ids))[:, None]

    def _tell(self, rows: list[_Row], first: int, ready: list[int], logits: Logits) -> list[int]:
        """Choose for rows whose tokens were all read; those for which what they ask for next was read too."""
        begin = time.perf_counter()
        places = [rows[number].at for number in ready]
        if len(ready) == len(rows) and logits.shape[1] == 1:
            chosen = logits[:, 0]
        elif len(ready) == 1:
            chosen = logits[ready[0], places[0]][None]
        else:
            chosen = logits[ready, places]
        told = choose(chosen, [ask for number in ready if (ask := rows[number].ask) is not None])
        seconds = (time.perf_counter() - begin) / len(ready)
        for number, each in zip(ready, told, strict=True):
            row = rows[number]
            row.seconds += seconds
            go_on = (
                partial(row.flow.throw, each)
                if isinstance(each, ModelFailed)
                else partial(row.flow.send, each)
            )
            self._advance(row, first + number, go_on)
        return [number for number in ready if rows[number].ask is not None and not rows[number].unread]

    def _advance(self, row: _Row, number: int, go_on: Callable[[], Ask | Score]) -> None:
        """Let a flow go on until it asks for a token or ends."""
        row.ask = None
        try:
            ask = go_on()
            while isinstance(ask, Score):
                self._back(number, row.drop())
                begin = time.perf_counter()
                scores = asked(partial(self._rows.score, number, ask.branches))
                row.seconds += time.perf_counter() - begin
                ask = row.flow.send(scores)
            self._back(number, row.follow(ask, self._hopes))
        except StopIteration as end:
            self._end(row, end.value)
        except Exception as error:  # one that fails does not lose the others
            self._end(row, error)

    def _back(self, number: int, count: int) -> None:
        if count:
            asked(lambda: self._rows.back(number, count))

    def _end(self, row: _Row, outcome: Decoded | Exception) -> None:
        row.ask = None
        self._ended.append(Driven(row.number, outcome, row.seconds, row.drafted, row.accepted))

    def _give_up(self, error: ModelFailed) -> None:
        """End all rows that the model has: it broke."""
        for row in self.active:
            row.flow.close()
            self._end(row, error)
        self.active = []
        self._rows.keep([])


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
