"""Batches and sessions of a llama.cpp model, as rows of its key-value cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError
from structkit.models.llama_cpp.kv_cache import MAX_ROWS, KVCache, Row
from structkit.models.protocols import Batch
from structkit.models.single_row import log_probability

__all__ = ["LlamaCppBatch", "LlamaCppSession"]

_SCORED = 16
"""Branches that are scored at once."""


class LlamaCppBatch:
    """A batch; see `Batch`.

    Args:
        cache: The cache of the model.
        check_readable: Raises `ModelError` if the model cannot read these tokens after that number of others.
        uses_gpu: Whether layers of the model run on a GPU.
    """

    max_rows = MAX_ROWS

    def __init__(
        self,
        cache: KVCache,
        check_readable: Callable[[Sequence[int], int], None],
        *,
        uses_gpu: bool,
    ) -> None:
        self._cache = cache
        self.overhead = 256 if uses_gpu else 8
        self._check_readable = check_readable
        self._rows: list[Row] = []

    def add(self, sequences: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Append rows; see `Batch.add`."""
        rows = [Row() for _ in sequences]
        logits = self._read(rows, sequences, 1)[:, 0]
        self._rows += rows
        return logits

    def feed(self, token_ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Feed tokens to each row; see `Batch.feed`."""
        return self._read(self._rows, token_ids, 1)[:, 0]

    def feed_multi(self, token_ids: Sequence[Sequence[int]], logits_to_keep: int) -> NDArray[np.float32]:
        """Feed tokens to each row and return the logits of the last ones; see `SupportsLookahead`."""
        return self._read(self._rows, token_ids, logits_to_keep)

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Score continuations; see `Batch.score`."""
        scores = [np.zeros(len(branch), np.float32) for branch in branches]
        scored = [number for number, branch in enumerate(branches) if len(branch) > 1]
        for start in range(0, len(scored), _SCORED):
            numbers = scored[start : start + _SCORED]
            inputs = [branches[number][:-1] for number in numbers]
            parent = self._rows[row]
            rows = [Row(parent, parent.token_ids) for _ in numbers]
            logits = self._read(rows, inputs, max(map(len, inputs)))
            self._cache.release(rows)
            for number, steps in zip(numbers, logits, strict=True):
                targets = branches[number][1:]
                for position, (step, token_id) in enumerate(
                    zip(steps[-len(targets) :], targets, strict=True), start=1
                ):
                    scores[number][position] = log_probability(step, token_id)
        return scores

    def rollback(self, row: int, count: int) -> None:
        """Remove tokens of a row; see `Batch.rollback`."""
        length = len(self._rows[row].token_ids)
        if not 0 <= count <= length:
            raise ModelError(f"row {row} has {length} tokens, so {count} cannot be removed; remove fewer")
        self._cache.cut(self._rows[row], length - count)

    def select(self, rows: Sequence[int]) -> None:
        """Keep only some rows; see `Batch.select`."""
        kept = [self._rows[row] for row in rows]
        self._cache.release([row for row in self._rows if row not in kept])
        self._rows = kept

    def fork(self, row: int, length: int, count: int) -> LlamaCppBatch:
        """Start rows that share the cells of a row; see `SupportsTransfer`."""
        parent = self._rows[row]
        return self._new_batch([Row(parent, parent.token_ids[:length]) for _ in range(count)])

    def take(self, row: int) -> LlamaCppBatch:
        """Move a row to a new batch; see `SupportsTransfer`."""
        return self._new_batch([self._rows.pop(row)])

    def merge(self, other: Batch) -> None:
        """Append the rows of another batch; see `SupportsTransfer`."""
        if not isinstance(other, LlamaCppBatch):
            raise TypeError(f"the rows of a {type(other).__name__} are not those of this model")
        for row in other._rows:
            if row.cached:
                row.parent = None  # the parent may end long before
        self._rows += other._rows
        other._rows = []

    def _new_batch(self, rows: list[Row]) -> LlamaCppBatch:
        """Return a batch of the same model with other rows."""
        batch = copy(self)
        batch._rows = rows
        return batch

    def _read(
        self, rows: Sequence[Row], token_ids: Sequence[Sequence[int]], logits_to_keep: int
    ) -> NDArray[np.float32]:
        for row, ids in zip(rows, token_ids, strict=True):
            self._check_readable(ids, len(row.token_ids))
        return self._cache.read(rows, token_ids, logits_to_keep)


class LlamaCppSession:
    """One sequence; see `Session`."""

    def __init__(self, cache: KVCache, check_readable: Callable[[Sequence[int], int], None]) -> None:
        self._cache = cache
        self._check_readable = check_readable
        self._row = Row()

    @property
    def length(self) -> int:
        """Number of tokens fed so far."""
        return len(self._row.token_ids)

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed at least one token, and return the logits of the token that follows: float32[width].

        Raises:
            ModelError: The model failed, its logits are NaN or infinite, or the sequence is too long.
        """
        self._check_readable(token_ids, self.length)
        row: NDArray[np.float32] = self._cache.read([self._row], [token_ids])[0, 0]
        if not np.isfinite(row.max()):
            raise ModelError("the logits are NaN or infinite; choose a file with other types of weights")
        return row

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens that were fed.

        Raises:
            ModelError: Fewer than `length` tokens were fed.
        """
        if not 0 <= length <= self.length:
            raise ModelError(
                f"the sequence has {self.length} tokens, so it cannot be cropped to {length}; crop to fewer"
            )
        self._cache.cut(self._row, length)
