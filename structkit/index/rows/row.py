"""Rows and their caches."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import UNREACHABLE
from structkit.index.rows.mask import Mask
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = [
    "NO_EXIT_NODES",
    "CountedRow",
    "Row",
    "RowCache",
    "RowKey",
    "SharedKey",
    "shared_counted_rows",
    "shared_rows",
]


NO_EXIT_NODES: NDArray[np.int32] = np.empty(0, np.int32)


class Row(NamedTuple):
    """The tokens that a frame allows.

    Attributes:
        mask: The allowed tokens.
        exit_nodes: int32[...], ascending, the trie nodes at which the frame's rule can end inside a token, each with
            its label; see `walk_kernels.walk`.
        max_cost_after: The most tokens that may be needed to end the rule after an allowed token, less those that the
            iterations take which the frame's counter still needs.
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
        iterations: int16[tokens] or int32, twice the iterations that a token starts, plus 1 if it leaves the
            repetition; -1 for a token that no counter allows.
        exit_nodes: int32[...], the trie nodes at which the rule can end if enough iterations have started.
        exit_iterations: int16[...] or int32, the iterations that have started there.
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
            required: Iterations still needed.
            remaining: Iterations still allowed.
            tokens_per_iteration: The tokens that each iteration takes which is still needed.
            words: Of the mask.
        """
        taken = self.iterations.view(np.uint16 if self.iterations.itemsize == 2 else np.uint32)
        # Without a sign, -1 is the largest number.
        allowed = taken <= min(2 * remaining + 1, np.iinfo(taken.dtype).max - 1)
        if required > 0:
            allowed &= (taken & 1 == 0) | (taken >= 2 * required)
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
"""`(number of the exits read on from or -1, state, iterations still needed, iterations still allowed or -1)`."""

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
