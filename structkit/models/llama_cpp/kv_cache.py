"""The key-value cache of a llama.cpp model: the rows of all batches and sessions, in the cells of one context.

A row has its tokens, so its cells can be taken away and its tokens read again. So more rows can be alive than the
context has sequences, and the context can be replaced by a larger one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError
from structkit.models.llama_cpp.library import Context, NoRoom, Weights

__all__ = ["MAX_ROWS", "KVCache", "Row"]

MAX_ROWS = 47
"""Maximum rows of a batch."""

_SEQUENCES, _RECURRENT_SEQUENCES = 64, 4
"""Sequences of a context: the rows of a batch, their prefix, and branches to score. A recurrent model has no batches,
and a state of fixed size for each sequence."""

_CELLS = 4_096
"""Cells of the first context; a cell takes 128 KB in a model with 8 billion parameters."""

_RECENT = 256
"""Steps during which a row that was used is expected to be used again, as in streams that run by turns."""


class Row:
    """The tokens of a sequence.

    Args:
        parent: A row whose tokens start this row too; those are shared, not read again.

    Attributes:
        token_ids: The tokens that were fed.
        cached: Number of the first tokens whose state is in the cells.
        sequence: Number of the sequence in the context; -1 while the row has no cells.
        used_at: Number of the last step that used the row.
    """

    __slots__ = ("__weakref__", "cached", "parent", "sequence", "token_ids", "used_at")

    def __init__(self, parent: Row | None = None, token_ids: Iterable[int] = ()) -> None:
        self.parent = parent
        self.token_ids = list(token_ids)
        self.cached = 0
        self.sequence = -1
        self.used_at = 0

    def shared_length(self) -> int:
        """Return the number of first tokens that are those of the parent, without the last token of the row."""
        if self.parent is None:
            return 0
        length = min(len(self.parent.token_ids), len(self.token_ids) - 1)
        pairs = zip(self.parent.token_ids, self.token_ids[:length], strict=False)
        return next((at for at, (a, b) in enumerate(pairs) if a != b), length)


class KVCache:
    """The rows of a model and their context; thread-safe.

    Args:
        weights: The model.
        location: The name of the model, for errors.
    """

    def __init__(self, weights: Weights, location: str) -> None:
        self._weights = weights
        self._location = location
        self._lock = threading.RLock()
        count = _RECURRENT_SEQUENCES if weights.is_recurrent else _SEQUENCES
        self._owners: list[weakref.ref[Row] | None] = [None] * count
        self._steps = 0
        self._context = self._new_context(_CELLS)
        if not self._context.has_memory:
            raise ModelError(
                "the model reads texts in both directions; choose a causal language model", place=location
            )

    def read(
        self, rows: Sequence[Row], token_ids: Sequence[Sequence[int]], logits_to_keep: int = 1
    ) -> NDArray[np.float32]:
        """Feed at least one token to each row.

        Returns:
            float32[rows, logits_to_keep, width], the logits after each of the last tokens of a row; undefined where a
            row was fed fewer tokens.

        Raises:
            ModelError: llama.cpp failed, or has no memory for the rows; the tokens are not fed.
        """
        with self._lock:
            for row, ids in zip(rows, token_ids, strict=True):
                row.token_ids += ids
            logits = np.empty((len(rows), logits_to_keep, self._weights.width), np.float32)
            wanted = [min(logits_to_keep, len(ids)) for ids in token_ids]
            try:
                self._read(rows, wanted, logits)
            except BaseException:
                for row, ids in zip(rows, token_ids, strict=True):
                    self._release(row)
                    del row.token_ids[len(row.token_ids) - len(ids) :]
                raise
            return logits

    def cut(self, row: Row, length: int) -> None:
        """Keep the first `length` tokens of a row."""
        with self._lock:
            del row.token_ids[length:]
            if row.cached <= length:
                return
            if length and self._context.cut(row.sequence, length):
                row.cached = length
            else:  # a recurrent state cannot be cut, so the row is read again
                self._release(row)

    def release(self, rows: Iterable[Row]) -> None:
        """Free the cells of rows."""
        with self._lock:
            for row in rows:
                self._release(row)

    def _read(self, rows: Sequence[Row], wanted: Sequence[int], logits: NDArray[np.float32]) -> None:
        self._steps += 1
        self._free_abandoned()
        while True:
            shared = {row: row.shared_length() for row in rows if not row.cached}
            parents = [*{row.parent: None for row, length in shared.items() if length and row.parent}]
            fresh = [row for row in (*parents, *shared) if not row.cached]
            total = sum(len(row.token_ids) for row in fresh) - sum(shared.values())
            try:
                if total > self._context.cells:
                    raise NoRoom
                for row in (*parents, *rows):
                    row.used_at = self._steps
                for row in (*parents, *rows):
                    self._place(row)
                self._evaluate(parents, [0] * len(parents), None)
                for row, length in shared.items():
                    if length and row.parent is not None:
                        self._context.copy(row.parent.sequence, row.sequence, length)
                        row.cached = length
                return self._evaluate(rows, wanted, logits)
            except NoRoom:
                self._make_room(total)

    def _evaluate(
        self, rows: Sequence[Row], wanted: Sequence[int], logits: NDArray[np.float32] | None
    ) -> None:
        """Read the tokens of rows that are not cached, in as few calls as possible."""
        tokens: list[int] = []
        positions: list[int] = []
        owners: list[int] = []
        first_wanted = [len(row.token_ids) - count for row, count in zip(rows, wanted, strict=True)]
        for number, row in enumerate(rows):
            unread = range(row.cached, len(row.token_ids))
            tokens += row.token_ids[row.cached :]
            positions += unread
            owners += [number] * len(unread)
        for start in range(0, len(tokens), self._context.batch_size):
            part = slice(start, start + self._context.batch_size)
            places = list(zip(owners[part], positions[part], strict=True))
            is_wanted = [position >= first_wanted[number] for number, position in places]
            sequences = [rows[number].sequence for number in owners[part]]
            found = iter(self._context.decode(tokens[part], positions[part], sequences, is_wanted))
            for (number, position), keep in zip(places, is_wanted, strict=True):
                rows[number].cached = position + 1
                if keep and logits is not None:
                    logits[number, position - len(rows[number].token_ids)] = next(found)

    def _place(self, row: Row) -> None:
        """Give a row a sequence: a free one, or that of the row that was not used for longest."""
        if row.sequence >= 0:
            return
        if None not in self._owners:
            oldest = self._oldest()
            if oldest is None:
                raise ModelError(
                    f"more than {len(self._owners)} rows are read at once; lower batch_size",
                    place=self._location,
                )
            self._release(oldest)
        row.sequence = self._owners.index(None)
        self._owners[row.sequence] = weakref.ref(row)

    def _make_room(self, cells: int) -> None:
        """Take the cells of a row that is not in use; if there is none, get more cells."""
        oldest = self._oldest()
        if oldest is not None and oldest.used_at < self._steps - _RECENT:
            return self._release(oldest)
        try:
            self._grow(max(cells + cells // 4, 2 * self._context.cells))
        except ModelError:
            if oldest is None:
                raise

    def _grow(self, cells: int) -> None:
        """Replace the context; all rows are read again."""
        for row in self._rows():
            row.sequence, row.cached = -1, 0
        self._owners = [None] * len(self._owners)
        before = self._context.cells
        self._context.free()  # before the next one is allocated
        try:
            self._context = self._new_context(cells)
        except ModelError:
            self._context = self._new_context(before)
            raise

    def _rows(self) -> list[Row]:
        """Return the rows that have a sequence."""
        return [row for owner in self._owners if owner is not None and (row := owner()) is not None]

    def _oldest(self) -> Row | None:
        """Return the row that was not used for longest, and is not used by this step."""
        idle = [row for row in self._rows() if row.used_at < self._steps]
        return min(idle, key=lambda row: row.used_at, default=None)

    def _free_abandoned(self) -> None:
        """Free the cells of rows that no batch or session has any more."""
        for sequence, owner in enumerate(self._owners):
            if owner is not None and owner() is None:
                self._free(sequence)

    def _release(self, row: Row) -> None:
        if row.sequence >= 0:
            self._free(row.sequence)
        row.sequence, row.cached = -1, 0

    def _free(self, sequence: int) -> None:
        self._context.cut(sequence, 0)
        self._owners[sequence] = None

    def _new_context(self, cells: int) -> Context:
        context = self._weights.context(cells, len(self._owners))
        if context is None:
            raise ModelError(
                f"llama.cpp has no memory for {cells} tokens; shorten the prompts, or lower batch_size or n",
                place=self._location,
            )
        return context
