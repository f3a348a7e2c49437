"""A row that outlives its sequences: one that begins as the last one did reads only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from structkit.models.protocols import Logits, ReadsAhead, Rows, Shrinking

__all__ = ["KeptRow", "Shelf", "keeping"]


def keeping(rows: Rows) -> Rows:
    """Rows that remember the sequence that ended, where they can take tokens back; else the rows themselves."""
    return KeptRow(rows) if rows.most is None and isinstance(rows, ReadsAhead) else rows


class KeptRow:
    """One row; see `Rows`. The steps of a conversation are such sequences: a prompt goes on where the last text ended.

    Attributes:
        read_tokens: How many tokens the model has read.
    """

    most = 1

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._tokens: list[int] = []
        self.read_tokens = 0

    @property
    def tokens(self) -> Sequence[int]:
        """Those that the model remembers."""
        return self._tokens

    @property
    def overhead(self) -> int:
        """See `Rows.overhead`."""
        return self._rows.overhead

    def add(self, sequences: Sequence[Sequence[int]]) -> Logits:
        """Begin a sequence: what it shares with the last one is not read again."""
        (ids,) = sequences
        shared = _shared(self._tokens, ids)
        if not shared:
            self._forget()
            self.read_tokens += len(ids)
            self._tokens = list(ids)
            return self._rows.add([ids])
        self.back(0, len(self._tokens) - shared)
        return self.feed([ids[shared:]])

    def feed(self, token_ids: Sequence[Sequence[int]]) -> Logits:
        """See `Rows.feed`."""
        self._fed(token_ids)
        return self._rows.feed(token_ids)

    def read(self, token_ids: Sequence[Sequence[int]], last: int) -> Logits:
        """See `ReadsAhead.read`."""
        self._fed(token_ids)
        rows = self._rows
        return rows.read(token_ids, last) if isinstance(rows, ReadsAhead) else rows.feed(token_ids)

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """See `Rows.score`."""
        return self._rows.score(row, branches)

    def back(self, row: int, count: int) -> None:
        """See `Rows.back`."""
        if count:
            self._rows.back(row, count)
            del self._tokens[len(self._tokens) - count :]

    def keep(self, rows: Sequence[int]) -> None:
        """A row that is let go of is remembered for the next sequence."""

    def shrink(self) -> None:
        """See `Shrinking.shrink`."""
        if isinstance(self._rows, Shrinking):
            self._rows.shrink()

    def _fed(self, token_ids: Sequence[Sequence[int]]) -> None:
        self._tokens += token_ids[0]
        self.read_tokens += len(token_ids[0])

    def _forget(self) -> None:
        self._tokens = []
        self._rows.keep([])


class Shelf:
    """Rows of conversations that may go on, up to so many tokens together; those put there last stay.

    A row is on the shelf or with one run, so runs of several threads may take and put.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[KeptRow] = []
        self._lock = Lock()

    def take(self, ids: Sequence[int]) -> KeptRow | None:
        """The row that a sequence goes on with; `None` if there is none of which it has at least half."""
        with self._lock:
            shared = [_shared(row.tokens, ids) for row in self._rows]
            best = max(range(len(shared)), key=shared.__getitem__, default=0)
            if not shared or 2 * shared[best] <= len(self._rows[best].tokens):
                return None
            return self._rows.pop(best)

    def put(self, row: KeptRow) -> None:
        """Put a row there, and let go of the oldest."""
        if len(row.tokens) <= self._most:
            row.shrink()
        with self._lock:
            self._rows.append(row)
            while sum(len(each.tokens) for each in self._rows) > self._most:
                del self._rows[0]

    def __len__(self) -> int:
        return len(self._rows)


def _shared(held: Sequence[int], ids: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike, but for the last of the second, whose logits are wanted."""
    most = min(len(held), len(ids) - 1)
    return next((at for at in range(most) if held[at] != ids[at]), most)
