"""The rows of a guide that its file holds.

A walk in a rule that calls others takes milliseconds where a large part of the vocabulary is allowed. Other rows are
computed again, because that is faster than reading them, or are in `structkit.index.rows.row_files`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.index.rows.mask import Mask
from structkit.index.rows.row import NO_EXIT_NODES, Row, RowKey

__all__ = ["ROW_LAYOUT", "RowArrays", "StoredRows"]

MIN_WORDS = 256
"""Rows with at most as many words are not stored: walks that allow few tokens are mostly short."""

_MAX_ROWS = 1024
"""Maximum number of rows of a guide; further rows are not stored."""

_NEW_PART = 4
"""The rows are worth a new file if one in this many is new."""


class RowArrays(NamedTuple):
    """The arrays of rows.

    Attributes:
        row_keys: int32[rows, 7]: the key of each row, the number of its mask, the end of its exit nodes, and its
            `max_cost_after`.
        row_exits: int32[...], the exit nodes of all rows.
        row_masks: uint32[masks, words], the masks, of which rows of similar states often share one.
        list_ends: int32[lists], the ends of the lists of exit nodes that keys number.
        list_nodes: int32[...], these exit nodes.
    """

    row_keys: NDArray[np.int32]
    row_exits: NDArray[np.int32]
    row_masks: NDArray[np.uint32]
    list_ends: NDArray[np.int32]
    list_nodes: NDArray[np.int32]


ROW_LAYOUT = {
    "row_keys": ("int32", 2),
    "row_exits": ("int32", 1),
    "row_masks": ("uint32", 2),
    "list_ends": ("int32", 1),
    "list_nodes": ("int32", 1),
}
"""The types and dimensions of `RowArrays`."""


class StoredRows:
    """The rows of a guide with many tokens, from its file and computed since.

    Args:
        arrays: Those of the file; `None` if there is none.
        words: The words of a mask.

    Attributes:
        numbers: The numbers of the lists of exit nodes in the keys of the file, by the lists' bytes.
    """

    def __init__(self, arrays: RowArrays | None, words: int) -> None:
        self._words = words
        self._rows: dict[RowKey, Row] = {}
        self._lists: dict[int, NDArray[np.int32]] = {}
        if arrays is not None:
            self._rows = _unpack(arrays)
            self._lists = dict(enumerate(np.split(arrays.list_nodes, arrays.list_ends[:-1])))
        self._saved = len(self._rows)
        self.numbers = {nodes.tobytes(): number for number, nodes in self._lists.items()}

    @property
    def has_new(self) -> bool:
        """Whether enough rows are new for a new file."""
        return _NEW_PART * (len(self._rows) - self._saved) > self._saved

    def get(self, key: RowKey) -> Row | None:
        """Return a row, or `None`."""
        return self._rows.get(key)

    def add(self, key: RowKey, row: Row, exit_nodes: NDArray[np.int32] = NO_EXIT_NODES) -> None:
        """Keep a computed row if it has many tokens; `exit_nodes` is the list that its key numbers, if any."""
        if row.mask.word_count > MIN_WORDS and len(self._rows) < _MAX_ROWS:
            self._lists[key[0]] = exit_nodes
            self._rows[key] = row

    def clear(self) -> None:
        """Drop the rows, whose costs are no longer the best."""
        self._rows, self._saved = {}, 0

    def pack(self) -> RowArrays:
        """Return the arrays of the rows, which count as saved."""
        rows = self._rows.copy()
        self._saved = len(rows)
        lists = {-1: -1}
        masks: dict[bytes, int] = {}
        keys = np.empty((len(rows), 7), np.int32)
        end = 0
        for place, ((exit_list, *key), row) in enumerate(rows.items()):
            number = lists.setdefault(exit_list, len(lists) - 1)
            mask = masks.setdefault(row.mask.dense(self._words).tobytes(), len(masks))
            end += len(row.exit_nodes)
            keys[place] = number, *key, mask, end, max(-UNREACHABLE, min(row.max_cost_after, UNREACHABLE))
        nodes = [self._lists[exit_list] for exit_list in lists if exit_list >= 0]
        return RowArrays(
            keys,
            np.concatenate([NO_EXIT_NODES, *(row.exit_nodes for row in rows.values())]),
            np.array([np.frombuffer(bits, np.uint32) for bits in masks], np.uint32).reshape(-1, self._words),
            np.cumsum([len(each) for each in nodes], dtype=np.int32),
            np.concatenate([NO_EXIT_NODES, *nodes]),
        )


def _unpack(arrays: RowArrays) -> dict[RowKey, Row]:
    arrays.row_masks.setflags(write=False)  # for numba, read-only arrays have a type of their own
    masks = [Mask(bits) for bits in arrays.row_masks]
    rows: dict[RowKey, Row] = {}
    begin = 0
    for exit_list, state, needed, allowed, mask, end, cost in arrays.row_keys.tolist():
        rows[exit_list, state, needed, allowed] = Row(masks[mask], arrays.row_exits[begin:end], cost)
        begin = end
    return rows
