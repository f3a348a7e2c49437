"""The driver: it carries tokens and choices between flows and a model, any number of them side by side."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from structkit.errors import ModelFailed
from structkit.generate.choose import Ask, choose
from structkit.generate.plan import Decoded, Flow, Score
from structkit.models.base import Logits, LogitsModel, Rows

__all__ = ["TURNS", "Cancelled", "Driven", "Turns", "drive_all", "in_thread"]

R = TypeVar("R")


class Cancelled(Exception):
    """Nobody waits for the generation any more; it never leaves this module's drivers."""


@dataclass(frozen=True, slots=True)
class Driven:
    """How a flow ended.

    Attributes:
        number: That of the flow.
        outcome: What it returned, or the error that ended it.
        model_seconds: Its share of the time that the model took.
    """

    number: int
    outcome: Decoded | Exception
    model_seconds: float


class Turns:
    """One lock for each model: a model writes one batch at a time, whatever threads ask."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[LogitsModel, threading.RLock] = WeakKeyDictionary()
        self._guard = threading.Lock()

    def of(self, model: LogitsModel) -> threading.RLock:
        """The lock of a model; the same thread may take it again."""
        with self._guard:
            return self._locks.setdefault(model, threading.RLock())


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
        cancelled: When it is set, all is given up before the model's next step.

    Yields:
        How each flow ended, when it does; and `None` after each step of the model.

    Raises:
        Cancelled: `cancelled` was set.
    """
    batch = _Batch(rows, most if rows.most is None else min(most, rows.most))
    waiting = enumerate(flows)
    try:
        while True:
            _check(cancelled)
            batch.admit(waiting)
            yield from batch.ended()
            if not batch.active:
                return
            yield None
            _check(cancelled)
            batch.step()
            yield from batch.ended()
    finally:
        batch.close()


def _check(cancelled: threading.Event | None) -> None:
    if cancelled is not None and cancelled.is_set():
        raise Cancelled


def _width(unread: Sequence[int], overhead: int) -> int:
    """How many tokens of each row to read at once, so that those that are there take the least time each.

    A row that has fewer is padded, and one that has more waits: text that one row alone is forced to write would else
    be paid for by all.

    >>> _width([1, 1, 1, 9], overhead=4), _width([1, 1, 1, 9], overhead=1_000), _width([7, 7, 8, 9], overhead=4)
    (1, 9, 7)
    """

    def rate(width: int) -> float:
        return sum(min(count, width) for count in unread) / (overhead + width * len(unread))

    return max(sorted(set(unread)), key=rate)


class _Row:
    """A flow, what it asks for now, the tokens of that which are still to be read, and the time it took."""

    def __init__(self, number: int, flow: Flow) -> None:
        self.number = number
        self.flow = flow
        self.ask: Ask | None = None
        self.unread: list[int] = []
        self.seconds = 0.0


class _Batch:
    """The rows that are being written, in the order of the model's."""

    def __init__(self, rows: Rows, most: int) -> None:
        self.active: list[_Row] = []
        self._rows = rows
        self._most = most
        self._ended: list[Driven] = []

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

    def admit(self, waiting: Iterator[tuple[int, Flow]]) -> None:
        """Begin flows until the batch is full, as soon as there is room for several."""
        # To read prompts together is quicker, and to add rows moves those that are there.
        while self._most - len(self.active) >= max(1, self._most // 4):
            entering = self._entering(waiting)
            if not entering:
                return
            here = len(self.active)
            self.active += entering
            self._compute(entering, here, self._rows.add)

    def step(self) -> None:
        """Let the model read what the flows ask for, and tell those whose tokens were all read what was chosen."""
        width = _width([len(row.unread) for row in self.active], self._rows.overhead)
        self._compute(self.active, 0, self._rows.feed, width)

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
            logits = read([row.unread[:width] for row in rows])
            for row in rows:
                row.unread = [] if width is None else row.unread[width:]
            ready = [number for number, row in enumerate(rows) if not row.unread]
            seconds = (time.perf_counter() - begin) / len(rows)
            told = choose(
                logits if len(ready) == len(rows) else logits[ready],
                [ask for n in ready if (ask := rows[n].ask) is not None],
            )
        except ModelFailed as error:
            self._give_up(error)
            return
        except Exception as error:  # a model is anyone's code
            broken = ModelFailed(f"the model broke: {type(error).__name__}: {error}")
            broken.__cause__ = error
            self._give_up(broken)
            return
        for row in rows:
            row.seconds += seconds
        for number, chosen in zip(ready, told, strict=True):
            flow = rows[number].flow
            go_on = (
                partial(flow.throw, chosen) if isinstance(chosen, ModelFailed) else partial(flow.send, chosen)
            )
            self._advance(rows[number], first + number, go_on)
        kept = [number for number, row in enumerate(self.active) if row.ask is not None]
        if len(kept) < len(self.active):
            self.active = [self.active[number] for number in kept]
            self._rows.keep(kept)

    def _advance(self, row: _Row, number: int, go_on: Callable[[], Ask | Score]) -> None:
        """Let a flow go on until it asks for a token or ends."""
        row.ask = None
        try:
            asked = go_on()
            while isinstance(asked, Score):
                begin = time.perf_counter()
                scores = self._rows.score(number, asked.branches)
                row.seconds += time.perf_counter() - begin
                asked = row.flow.send(scores)
            if asked.back:
                self._rows.back(number, asked.back)
            row.ask, row.unread = asked, asked.token_ids
        except StopIteration as end:
            self._ended.append(Driven(row.number, end.value, row.seconds))
        except Exception as error:  # one that fails does not lose the others
            self._ended.append(Driven(row.number, error, row.seconds))

    def _give_up(self, error: ModelFailed) -> None:
        """End all rows that the model has: it broke."""
        for row in self.active:
            row.flow.close()
            self._ended.append(Driven(row.number, error, row.seconds))
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
