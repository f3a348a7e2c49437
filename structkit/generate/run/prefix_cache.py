"""The prefix cache: a new sequence reuses the cached state of a row with which it shares a prefix."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from structkit.generate.decode.decode import common_length
from structkit.models.protocols import Batch, Logits, SupportsLookahead, SupportsShrink

__all__ = ["CachedRow", "PrefixCache", "with_cached_row"]


def with_cached_row(batch: Batch) -> Batch:
    """Return a `CachedRow` if the batch can roll back at little cost; otherwise, return the batch."""
    return CachedRow(batch) if batch.max_rows != 1 and isinstance(batch, SupportsLookahead) else batch


class CachedRow:
    """A `Batch` of one row that keeps its state when a sequence ends, for a next sequence with a common prefix.

    The steps of a conversation are such sequences: each prompt continues the text of the last step.

    Attributes:
        read_tokens: Number of tokens that the model has read.
    """

    max_rows = 1

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._token_ids: list[int] = []
        self.read_tokens = 0

    @property
    def token_ids(self) -> Sequence[int]:
        """The tokens of the cached state."""
        return self._token_ids

    @property
    def overhead(self) -> int:
        """See `Batch.overhead`."""
        return self._batch.overhead

    def add(self, sequences: Sequence[Sequence[int]]) -> Logits:
        """Start a sequence; the model reads only the tokens after the common prefix with the last sequence."""
        (ids,) = sequences
        shared = common_length(self._token_ids, ids)
        if not shared:
            self._reset()
            self.read_tokens += len(ids)
            self._token_ids = list(ids)
            return self._batch.add([ids])
        self.rollback(0, len(self._token_ids) - shared)
        return self.feed([ids[shared:]])

    def feed(self, token_ids: Sequence[Sequence[int]]) -> Logits:
        """See `Batch.feed`."""
        self._record(token_ids)
        return self._batch.feed(token_ids)

    def feed_multi(self, token_ids: Sequence[Sequence[int]], logits_to_keep: int) -> Logits:
        """See `SupportsLookahead.feed_multi`."""
        self._record(token_ids)
        rows = self._batch
        return (
            rows.feed_multi(token_ids, logits_to_keep)
            if isinstance(rows, SupportsLookahead)
            else rows.feed(token_ids)
        )

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """See `Batch.score`."""
        return self._batch.score(row, branches)

    def rollback(self, row: int, count: int) -> None:
        """See `Batch.rollback`."""
        if count:
            self._batch.rollback(row, count)
            del self._token_ids[len(self._token_ids) - count :]

    def select(self, rows: Sequence[int]) -> None:
        """Do nothing: a row that is not selected stays cached for the next sequence."""

    def shrink(self) -> None:
        """See `SupportsShrink.shrink`."""
        if isinstance(self._batch, SupportsShrink):
            self._batch.shrink()

    def _record(self, token_ids: Sequence[Sequence[int]]) -> None:
        self._token_ids += token_ids[0]
        self.read_tokens += len(token_ids[0])

    def _reset(self) -> None:
        self._token_ids = []
        self._batch.select([])


class PrefixCache:
    """Cached rows of conversations, up to `max_tokens` tokens together; the oldest rows are evicted first.

    Thread-safe: a row is either in the cache or owned by one run.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._rows: list[CachedRow] = []
        self._lock = Lock()

    def take(self, ids: Sequence[int]) -> CachedRow | None:
        """Remove and return the row with the longest common prefix.

        Return `None` if there is no row, or if at most half of the tokens of that row are in the prefix.
        """
        with self._lock:
            shared = [common_length(row.token_ids, ids) for row in self._rows]
            best = max(range(len(shared)), key=shared.__getitem__, default=0)
            if not shared or 2 * shared[best] <= len(self._rows[best].token_ids):
                return None
            return self._rows.pop(best)

    def put(self, row: CachedRow) -> None:
        """Add a row, and evict the oldest rows above the maximum."""
        if len(row.token_ids) <= self._max_tokens:
            row.shrink()
        with self._lock:
            self._rows.append(row)
            while sum(len(each.token_ids) for each in self._rows) > self._max_tokens:
                del self._rows[0]

    def __len__(self) -> int:
        return len(self._rows)
