"""A row that outlives its sequences: one that begins as the last one did reads only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from structkit.models.protocols import Batch, Logits, SupportsLookahead, SupportsShrink

__all__ = ["CachedRow", "PrefixCache", "with_cached_row"]


def with_cached_row(batch: Batch) -> Batch:
    """Rows that remember the sequence that ended, where they can take tokens back; else the rows themselves."""
    return CachedRow(batch) if batch.max_rows is None and isinstance(batch, SupportsLookahead) else batch


class CachedRow:
    """One row; see `Rows`. The steps of a conversation are such sequences: a prompt goes on where the last text ended.

    Attributes:
        read_tokens: How many tokens the model has read.
    """

    max_rows = 1

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._token_ids: list[int] = []
        self.read_tokens = 0

    @property
    def token_ids(self) -> Sequence[int]:
        """Those that the model remembers."""
        return self._token_ids

    @property
    def overhead(self) -> int:
        """See `Rows.overhead`."""
        return self._batch.overhead

    def add(self, sequences: Sequence[Sequence[int]]) -> Logits:
        """Begin a sequence: what it shares with the last one is not read again."""
        (ids,) = sequences
        shared = _common_length(self._token_ids, ids)
        if not shared:
            self._reset()
            self.read_tokens += len(ids)
            self._token_ids = list(ids)
            return self._batch.add([ids])
        self.rollback(0, len(self._token_ids) - shared)
        return self.feed([ids[shared:]])

    def feed(self, token_ids: Sequence[Sequence[int]]) -> Logits:
        """See `Rows.feed`."""
        self._record(token_ids)
        return self._batch.feed(token_ids)

    def feed_multi(self, token_ids: Sequence[Sequence[int]], logits_to_keep: int) -> Logits:
        """See `ReadsAhead.read`."""
        self._record(token_ids)
        rows = self._batch
        return (
            rows.feed_multi(token_ids, logits_to_keep)
            if isinstance(rows, SupportsLookahead)
            else rows.feed(token_ids)
        )

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """See `Rows.score`."""
        return self._batch.score(row, branches)

    def rollback(self, row: int, count: int) -> None:
        """See `Rows.back`."""
        if count:
            self._batch.rollback(row, count)
            del self._token_ids[len(self._token_ids) - count :]

    def select(self, rows: Sequence[int]) -> None:
        """A row that is let go of is remembered for the next sequence."""

    def shrink(self) -> None:
        """See `Shrinking.shrink`."""
        if isinstance(self._batch, SupportsShrink):
            self._batch.shrink()

    def _record(self, token_ids: Sequence[Sequence[int]]) -> None:
        self._token_ids += token_ids[0]
        self.read_tokens += len(token_ids[0])

    def _reset(self) -> None:
        self._token_ids = []
        self._batch.select([])


class PrefixCache:
    """Rows of conversations that may go on, up to so many tokens together; those put there last stay.

    A row is on the shelf or with one run, so runs of several threads may take and put.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._rows: list[CachedRow] = []
        self._lock = Lock()

    def take(self, ids: Sequence[int]) -> CachedRow | None:
        """The row that a sequence goes on with; `None` if there is none of which it has at least half."""
        with self._lock:
            shared = [_common_length(row.token_ids, ids) for row in self._rows]
            best = max(range(len(shared)), key=shared.__getitem__, default=0)
            if not shared or 2 * shared[best] <= len(self._rows[best].token_ids):
                return None
            return self._rows.pop(best)

    def put(self, row: CachedRow) -> None:
        """Put a row there, and let go of the oldest."""
        if len(row.token_ids) <= self._max_tokens:
            row.shrink()
        with self._lock:
            self._rows.append(row)
            while sum(len(each.token_ids) for each in self._rows) > self._max_tokens:
                del self._rows[0]

    def __len__(self) -> int:
        return len(self._rows)


def _common_length(cached: Sequence[int], ids: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike, but for the last of the second, whose logits are wanted."""
    most = min(len(cached), len(ids) - 1)
    return next((at for at in range(most) if cached[at] != ids[at]), most)
