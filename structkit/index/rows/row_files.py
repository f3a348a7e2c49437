"""The files of rows that take long to compute: those of free text, in call-free rules, which many targets share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from time import perf_counter
from typing import cast

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.index.disk import store
from structkit.index.rows.mask import sparse_mask
from structkit.index.rows.row import Row, RowCache, RowKey, SharedKey, shared_rows
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["RowFiles", "row_files"]

MIN_SECONDS = 3e-4
"""Seconds of work that a row in a file saves: reading it takes 0.1 ms, and writing it 0.3 ms."""

_MAX_UNSAVED = 256
"""Maximum number of rows that wait to be saved; further rows are not saved."""

_MAX_OWNERS = 100_000
"""Maximum number of rules that are recorded as read from their file."""

_LAYOUT: store.ArrayLayout = {
    "rows": ("int32", 2),
    "words": ("int32", 1),
    "exit_nodes": ("int32", 1),
    "values": ("uint32", 1),
}
"""The arrays of a file.

- `rows`: int32[rows, 7], the key of each row, the ends of its words and of its exit nodes, and its `max_cost_after`.
- `words` and `values`: of all masks, the words that are not zero.
- `exit_nodes`: those of all rows.
"""


class RowFiles:
    """One file for each call-free rule, or part of a rule, with the rows that took long to compute.

    Args:
        vocabulary: The tokens.
        rows: The cache that receives the rows of files.
        max_bytes: Maximum size of the disk cache in bytes.
    """

    def __init__(self, vocabulary: Vocabulary, rows: RowCache[SharedKey, Row], max_bytes: int) -> None:
        self._words = vocabulary.mask_words
        self._addresses = store.Addresses("rule", vocabulary.fingerprint)
        self._rows = rows
        self._max_bytes = max_bytes
        self._read: set[bytes] = set()
        # A counted state has a row for each count, and only the first takes long.
        self._slow_states: set[tuple[bytes, int]] = set()
        self._unsaved: dict[SharedKey, Row] = {}

    @property
    def has_unsaved(self) -> bool:
        """Whether rows were computed that are not in a file and took long."""
        return bool(self._unsaved)

    def row(self, key: SharedKey, compute: Callable[[], Row]) -> Row:
        """Return a row that may take long to compute, from a file or computed."""
        owner, (_, state, *_) = key
        if owner not in self._read:
            if len(self._read) >= _MAX_OWNERS:
                self._read.clear()
            self._read.add(owner)
            for found, row in self._load(owner).items():
                self._slow_states.add((owner, found[1]))
                self._rows.put((owner, found), row)
            if (stored := self._rows.get(key)) is not None:
                return stored
        begin = perf_counter()
        row = compute()
        if perf_counter() - begin >= MIN_SECONDS:
            self._slow_states.add((owner, state))
        if (owner, state) in self._slow_states and len(self._unsaved) < _MAX_UNSAVED:
            self._unsaved[key] = row
        return row

    def save(self) -> Iterator[None]:
        """Save the rows; yield after each file."""
        for owner in {owner for owner, _ in list(self._unsaved)}:
            rows = {key[1]: row for key, row in list(self._unsaved.items()) if key[0] == owner}
            # Another process may have written rows meanwhile.
            store.save(
                self._addresses.of(owner),
                _LAYOUT,
                _pack({**self._load(owner), **rows}),
                self._max_bytes,
            )
            for key in rows:
                self._unsaved.pop((owner, key), None)
            yield

    def _load(self, owner: bytes) -> dict[RowKey, Row]:
        arrays = store.load(self._addresses.of(owner), _LAYOUT)
        return {} if arrays is None else _unpack(arrays, self._words)


@lru_cache(maxsize=4)
def row_files(vocabulary: Vocabulary, row_bytes: int, disk_bytes: int) -> RowFiles:
    """Return the files of a vocabulary, which all targets with the same limits share."""
    return RowFiles(vocabulary, shared_rows(vocabulary, row_bytes), disk_bytes)


def _pack(rows: Mapping[RowKey, Row]) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of rows; see `_LAYOUT`."""
    masks = [row.mask.sparse_words() for row in rows.values()]
    exits = [row.exit_nodes for row in rows.values()]
    ends = np.cumsum(
        [[len(words), len(nodes)] for (words, _), nodes in zip(masks, exits, strict=True)], axis=0
    )
    # An upper bound that is larger than necessary is still one.
    costs = [max(-UNREACHABLE, min(row.max_cost_after, UNREACHABLE)) for row in rows.values()]
    return {
        "rows": np.column_stack([list(rows), ends, costs]).astype(np.int32),
        "words": np.concatenate([words for words, _ in masks]).astype(np.int32),
        "exit_nodes": np.concatenate(exits).astype(np.int32),
        "values": np.concatenate([values for _, values in masks]),
    }


def _unpack(arrays: Mapping[str, NDArray[np.generic]], words: int) -> dict[RowKey, Row]:
    places = cast("NDArray[np.int32]", arrays["words"]).astype(np.int64)
    values = cast("NDArray[np.uint32]", arrays["values"])
    exit_nodes = cast("NDArray[np.int32]", arrays["exit_nodes"])
    rows: dict[RowKey, Row] = {}
    first_word = first_exit = 0
    for number, state, least, most, last_word, last_exit, cost in arrays["rows"].tolist():
        mask = sparse_mask(places[first_word:last_word], values[first_word:last_word], words)
        rows[number, state, least, most] = Row(mask, exit_nodes[first_exit:last_exit], cost)
        first_word, first_exit = last_word, last_exit
    return rows
