"""Rows, the memory that holds them, and their form on disk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.kernels import FAR
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = [
    "Rounds",
    "Row",
    "RowCache",
    "RowKey",
    "cuts",
    "pack",
    "shared_rounds",
    "shared_rows",
    "unpack",
    "within",
]


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """What a frame allows.

    Attributes:
        mask: uint32[ceil(vocabulary.size / 32)], bit t % 32 of word t // 32 for token t.
        exits: int32[...], the trie nodes at which the frame's rule can end inside a token.
        growth: The most tokens that may be needed to end the rule after an allowed token, less those that the
            rounds take which the frame's counter still needs.
    """

    mask: NDArray[np.uint32]
    exits: NDArray[np.int32]
    growth: int

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.mask.nbytes + self.exits.nbytes + 200


@dataclass(frozen=True, eq=False, slots=True)
class Rounds:
    """What a state of a counted rule allows, for all counts at once; see `kernels.rounds`.

    Attributes:
        taken: int16[tokens], twice the rounds that a token begins, plus 1 if it leaves the repetition; -1 for none.
        exits: int32[...], the trie nodes at which the rule can end if enough rounds have begun.
        exit_taken: int16[...], the rounds that have begun there.
        worst: int32[...], by what is in `taken` the most tokens needed after such a token; -1 where there is none.
    """

    taken: NDArray[np.int16]
    exits: NDArray[np.int32]
    exit_taken: NDArray[np.int16]
    worst: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.taken.nbytes + self.exits.nbytes + self.exit_taken.nbytes + self.worst.nbytes

    def row(self, needed: int, room: float, per_round: int, words: int) -> Row:
        """What is allowed if so many rounds are still needed, and no more than `room` may begin.

        Args:
            needed: Rounds still needed.
            room: Rounds still allowed.
            per_round: The tokens that a round takes which is still needed.
            words: Of the mask.
        """
        begun, leaves = self.taken >> 1, self.taken & 1
        allowed = (self.taken >= 0) & (begun <= room) & ((leaves == 0) | (begun >= needed))
        mask = np.zeros(4 * words, np.uint8)
        bits = np.packbits(allowed, bitorder="little")
        mask[: len(bits)] = bits
        mask.setflags(write=False)
        ends = (self.exit_taken <= room) & (self.exit_taken >= needed)
        kinds = np.arange(len(self.worst))
        possible = (self.worst >= 0) & (kinds >> 1 <= room) & ((kinds & 1 == 0) | (kinds >> 1 >= needed))
        later = np.maximum(needed - (kinds >> 1), 0) * per_round
        growth = np.minimum(self.worst + later, FAR)[possible].max(initial=0)
        return Row(mask.view(np.uint32), self.exits[ends], int(growth))


RowKey = tuple[int, int, int, int]
"""`(number of the exits read on from or -1, state, rounds still needed, rounds still allowed or -1)`."""


R = TypeVar("R", Row, Rounds)


class RowCache(Generic[R]):
    """Rows by key, bounded by bytes; the one unused for longest goes first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.nbytes = 0
        self.made = 0
        self._rows: OrderedDict[tuple[object, RowKey], R] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, owner: object, key: RowKey) -> R | None:
        """The row, if it is still held."""
        with self._lock:
            row = self._rows.get((owner, key))
            if row is not None:
                self._rows.move_to_end((owner, key))
            return row

    def put(self, owner: object, key: RowKey, row: R) -> None:
        """Keep a row."""
        with self._lock:
            if (owner, key) in self._rows:
                return
            self._rows[owner, key] = row
            self.made += 1
            self.nbytes += row.nbytes
            while self.nbytes > self.limit and len(self._rows) > 1:
                self.nbytes -= self._rows.popitem(last=False)[1].nbytes

    def owned(self, owner: object) -> dict[RowKey, R]:
        """The rows of one owner."""
        with self._lock:
            return {key: row for (of, key), row in self._rows.items() if of == owner}


@lru_cache(maxsize=4)
def shared_rows(vocabulary: Vocabulary, limit: int) -> RowCache[Row]:
    """The rows of rules that call no other, such as the text of strings: one cache for all targets."""
    return RowCache(limit)


@lru_cache(maxsize=4)
def shared_rounds(vocabulary: Vocabulary, limit: int) -> RowCache[Rounds]:
    """What such rules allow for all counts at once: one cache for all targets."""
    return RowCache(limit)


def pack(rows: Mapping[RowKey, Row]) -> dict[str, NDArray[np.generic]]:
    """Rows as arrays; of a mask only the words that are not zero are kept."""
    words = [np.flatnonzero(row.mask) for row in rows.values()]
    return {
        "keys": np.array(list(rows), np.int32).reshape(-1, 4),
        "growth": np.array([row.growth for row in rows.values()], np.int64),
        "mask_first": _ends(words),
        "mask_words": _joined(words, np.int32),
        "mask_values": _joined([row.mask[w] for row, w in zip(rows.values(), words, strict=True)], np.uint32),
        "exits_first": _ends([row.exits for row in rows.values()]),
        "exits": _joined([row.exits for row in rows.values()], np.int32),
    }


def unpack(
    arrays: Mapping[str, NDArray[np.generic]], words: int, states: int, nodes: int
) -> dict[RowKey, Row] | None:
    """Rows from arrays, or `None` if they do not fit: no position may lie outside what the kernels will read."""
    try:
        keys = arrays["keys"].astype(np.int32).reshape(-1, 4)
        growth = arrays["growth"].astype(np.int64)
        mask_first, mask_words, values = (
            arrays[name] for name in ("mask_first", "mask_words", "mask_values")
        )
        exits_first, exits = arrays["exits_first"], arrays["exits"].astype(np.int32)
    except (KeyError, ValueError):
        return None
    fits = (
        len(growth) == len(keys)
        and within(keys[:, 1], states)
        and cuts(mask_first, len(keys), len(mask_words))
        and cuts(exits_first, len(keys), len(exits))
        and len(values) == len(mask_words)
        and within(mask_words, words)
        and within(exits, nodes)
    )
    if not fits:
        return None
    rows: dict[RowKey, Row] = {}
    for number, (owner, state, least, most) in enumerate(keys.tolist()):
        mask = np.zeros(words, np.uint32)
        low, high = int(mask_first[number]), int(mask_first[number + 1])
        mask[mask_words[low:high].astype(np.int64)] = values[low:high].astype(np.uint32)
        mask.setflags(write=False)
        ends = exits[int(exits_first[number]) : int(exits_first[number + 1])]
        rows[owner, state, least, most] = Row(mask, ends, int(growth[number]))
    return rows


def _ends(parts: list[NDArray[np.int64]] | list[NDArray[np.int32]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def _joined(
    parts: list[NDArray[np.int64]] | list[NDArray[np.int32]] | list[NDArray[np.uint32]], dtype: type
) -> NDArray[np.generic]:
    return np.concatenate(parts).astype(dtype) if parts else np.empty(0, dtype)


def within(values: NDArray[np.generic], bound: int) -> bool:
    """Whether all values are positions below `bound`."""
    return bool(((values.astype(np.int64) >= 0) & (values.astype(np.int64) < bound)).all())


def cuts(first: NDArray[np.generic], parts: int, total: int) -> bool:
    """Whether `first` cuts `total` values into `parts` runs."""
    cuts = first.astype(np.int64)
    return len(cuts) == parts + 1 and cuts[0] == 0 and cuts[-1] == total and bool((np.diff(cuts) >= 0).all())
