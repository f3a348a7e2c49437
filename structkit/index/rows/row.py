"""Rows, their caches, and their form on disk."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.index.rows.mask import Mask, sparse_mask
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = [
    "NO_EXIT_NODES",
    "ROWS_LAYOUT",
    "CountedRow",
    "PackedRows",
    "Row",
    "RowCache",
    "RowKey",
    "SharedKey",
    "concatenate",
    "is_dense",
    "pack",
    "shared_counted_rows",
    "shared_rows",
]


NO_EXIT_NODES: NDArray[np.int32] = np.empty(0, np.int32)


class Row(NamedTuple):
    """The tokens that a frame allows.

    Attributes:
        mask: The allowed tokens.
        exit_nodes: int32[...], the trie nodes at which the frame's rule can end inside a token.
        max_cost_after: The most tokens that may be needed to end the rule after an allowed token, less those that the
            rounds take which the frame's counter still needs.
    """

    mask: Mask
    exit_nodes: NDArray[np.int32]
    max_cost_after: int

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.mask.nbytes + 4 * len(self.exit_nodes) + 200


@dataclass(frozen=True, eq=False, slots=True)
class CountedRow:
    """The tokens that a state of a counted rule allows, for all values of the counter; see `walk_counted`.

    Attributes:
        iterations: int16[tokens] or int32, twice the rounds that a token begins, plus 1 if it leaves the repetition;
            -1 for
            none.
        exit_nodes: int32[...], the trie nodes at which the rule can end if enough rounds have begun.
        exit_iterations: int16[...] or int32, the rounds that have begun there.
        max_costs: int32[...], by what is in `iterations` the most tokens needed after such a token; -1 where there
            is none.
    """

    iterations: NDArray[np.int16] | NDArray[np.int32]
    exit_nodes: NDArray[np.int32]
    exit_iterations: NDArray[np.int16] | NDArray[np.int32]
    max_costs: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return (
            self.iterations.nbytes
            + self.exit_nodes.nbytes
            + self.exit_iterations.nbytes
            + self.max_costs.nbytes
        )

    def row(self, required: int, remaining: float, tokens_per_iteration: int, words: int) -> Row:
        """Return the row if `required` iterations are still needed and at most `remaining` may start.

        Args:
            required: Rounds still needed.
            remaining: Rounds still allowed.
            tokens_per_iteration: The tokens that a round takes which is still needed.
            words: Of the mask.
        """
        begun, leaves = self.iterations >> 1, self.iterations & 1
        allowed = (self.iterations >= 0) & (begun <= remaining) & ((leaves == 0) | (begun >= required))
        mask = np.zeros(4 * words, np.uint8)
        bits = np.packbits(allowed, bitorder="little")
        mask[: len(bits)] = bits
        mask.setflags(write=False)
        ends = (self.exit_iterations <= remaining) & (self.exit_iterations >= required)
        kinds = np.arange(len(self.max_costs))
        possible = (
            (self.max_costs >= 0) & (kinds >> 1 <= remaining) & ((kinds & 1 == 0) | (kinds >> 1 >= required))
        )
        later = np.maximum(required - (kinds >> 1), 0) * tokens_per_iteration
        growth = np.minimum(self.max_costs + later, UNREACHABLE)[possible].max(initial=0)
        return Row(Mask(mask.view(np.uint32)), self.exit_nodes[ends], int(growth))


RowKey = tuple[int, int, int, int]
"""`(number of the exits read on from or -1, state, rounds still needed, rounds still allowed or -1)`."""

SharedKey: TypeAlias = tuple[bytes, RowKey]
"""The fingerprint of a rule, or of a part of one, and the key in it."""


K = TypeVar("K", bound=Hashable)
R = TypeVar("R", Row, CountedRow)


class RowCache(Generic[K, R]):
    """A cache of rows, bounded in bytes; evicts approximately the least recently used rows, in two generations.

    Args:
        max_bytes: The bytes.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._nbytes = 0
        self._young: dict[K, R] = {}
        self._old: dict[K, R] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: K) -> R | None:
        """Return the row of a key, or `None`."""
        row = self._young.get(key)
        if row is None and self._old:
            row = self._old.get(key)
            if row is not None:
                self.put(key, row)
        return row

    def put(self, key: K, row: R) -> None:
        """Store a row."""
        with self._lock:
            if key not in self._young:
                self._young[key] = row
                self._nbytes += row.nbytes
                if 2 * self._nbytes > self.max_bytes:
                    self._old, self._young, self._nbytes = self._young, {}, 0

    def items(self) -> dict[K, R]:
        """Return the rows, older rows first."""
        with self._lock:
            return self._old | self._young


@lru_cache(maxsize=4)
def shared_rows(vocabulary: Vocabulary, max_bytes: int) -> RowCache[SharedKey, Row]:
    """Return the cache, shared by all targets, of the rows of call-free rules, such as the text of strings."""
    return RowCache(max_bytes)


@lru_cache(maxsize=4)
def shared_counted_rows(vocabulary: Vocabulary, max_bytes: int) -> RowCache[SharedKey, CountedRow]:
    """Return the cache, shared by all targets, of the counted rows of call-free rules."""
    return RowCache(max_bytes)


ROWS_LAYOUT: Mapping[str, tuple[str, int]] = {
    "rows": ("int32", 2),
    "mask_words": ("int32", 1),
    "exit_nodes": ("int32", 1),
    "mask_values": ("uint32", 1),
}
"""The arrays that rows are kept as, with their dtypes and dimensions.

- `rows` [rows, 7]: the key of each, where its words and its exits end, and its growth; after these come lists of exits
  that keys name, each as the exits of a row whose state is -1;
- `mask_words` and `mask_values`: of the masks of all, the words that are not zero;
- `exit_nodes`: those of all.
"""

_MAX_LINEAR_SEARCH = 64
"""Rows that are searched one by one."""

_LIST = -1
"""The state of a row that is a list of exits."""

_WIDE = 8
"""A mask is wide if one in so many of its words, or more, is not zero."""


def is_dense(row: Row, words: int) -> bool:
    """Return whether a row, with a mask of `words`, is large on disk, such as a row of free text."""
    return _WIDE * row.mask.word_count > words


def pack(
    rows: Mapping[RowKey, Row], exit_lists: Sequence[NDArray[np.int32]] = ()
) -> dict[str, NDArray[np.generic]]:
    """Pack rows, and the lists of exit nodes that their keys refer to, into arrays; see `ROWS_LAYOUT`."""
    nothing = [np.empty(0, np.int64)] * len(exit_lists)
    masks = [row.mask.sparse_words() for row in rows.values()]
    words = [places for places, _ in masks] + nothing
    exits = [row.exit_nodes for row in rows.values()] + list(exit_lists)
    values = [mask for _, mask in masks]
    ends = [np.cumsum([len(part) for part in parts]) for parts in (words, exits)]
    # A bound that is larger than it need be is one still.
    growth = np.array(
        [max(-UNREACHABLE, min(row.max_cost_after, UNREACHABLE)) for row in rows.values()]
        + [0] * len(exit_lists)
    )
    keys = [*rows, *((number, _LIST, 0, 0) for number in range(len(exit_lists)))]
    return {
        "rows": np.column_stack([np.array(keys).reshape(-1, 4), *ends, growth]).astype(np.int32),
        "mask_words": concatenate(words),
        "mask_values": np.concatenate(values) if values else np.empty(0, np.uint32),
        "exit_nodes": concatenate(exits),
    }


class PackedRows:
    """Rows in their form on disk; a row is unpacked on access.

    Args:
        arrays: Those of `ROWS`.
        words: Of a mask.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]], words: int) -> None:
        self._rows = cast("NDArray[np.int32]", arrays["rows"])
        self._mask_words = cast("NDArray[np.int32]", arrays["mask_words"])
        self._mask_values = cast("NDArray[np.uint32]", arrays["mask_values"])
        self._exit_nodes = cast("NDArray[np.int32]", arrays["exit_nodes"])
        self._words = words

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: RowKey) -> Row | None:
        """Return the row of a key, or `None`."""
        if len(self._rows) <= _MAX_LINEAR_SEARCH:  # then a list is searched sooner
            state = key[1]
            numbers = [number for number, row in enumerate(self._rows.tolist()) if row[1] == state]
        else:
            numbers = np.flatnonzero(self._rows[:, 1] == key[1]).tolist()
        for number in numbers:
            if tuple(self._rows[number, :4].tolist()) == key:
                return self._unpacked(number)
        return None

    def unpacked(self) -> dict[RowKey, Row]:
        """Unpack all rows."""
        keys = ((exits, state, least, most) for exits, state, least, most, *_ in self._rows.tolist())
        return {key: self._unpacked(number) for number, key in enumerate(keys) if key[1] != _LIST}

    def exit_lists(self) -> list[NDArray[np.int32]]:
        """The lists of exit nodes that keys refer to."""
        numbers = np.flatnonzero(self._rows[:, 1] == _LIST).tolist()
        return [self._unpacked(number).exit_nodes for number in numbers]

    def _unpacked(self, number: int) -> Row:
        *before, (*_, last_word, last_exit, growth) = self._rows[max(0, number - 1) : number + 1].tolist()
        first_word, first_exit = before[0][4:6] if before else (0, 0)
        leaving = self._exit_nodes[first_exit:last_exit]
        words, values = self._mask_words[first_word:last_word], self._mask_values[first_word:last_word]
        return Row(sparse_mask(words.astype(np.int64), values, self._words), leaving, growth)


def concatenate(parts: Sequence[NDArray[np.int64] | NDArray[np.int32]]) -> NDArray[np.int32]:
    """Concatenate arrays to int32[...]."""
    return np.concatenate(parts).astype(np.int32) if parts else np.empty(0, np.int32)
