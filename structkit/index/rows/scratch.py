"""Arrays that kernels write on, used again: to ask the system for a megabyte takes half as long as a short walk."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.index.rows import walk_kernels
from structkit.index.rows.mask import FEW, Mask
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Pool", "Scratch", "pool_of"]


class Scratch:
    """What one walk at a time writes on; but for the mask and `missing` it may hold anything before.

    Args:
        vocabulary: What is walked.

    Attributes:
        mask: uint32[ceil(vocabulary.size / 32)], zeros.
        words: int64[`FEW`], the places of the words that a walk set.
        values: uint32[`FEW`], these words.
        exits: int32[trie nodes].
        exit_taken: int32[trie nodes].
        way: int32[longest token + 1].
        other_way: int32[longest token + 1].
        arena: int64[`walk_kernels.ARENA`, `walk_kernels.COLUMNS`].
        missing: bool[rules + 1] or more, false.
    """

    __slots__ = ("arena", "exit_taken", "exits", "mask", "missing", "other_way", "values", "way", "words")

    def __init__(self, vocabulary: Vocabulary) -> None:
        nodes = len(vocabulary.trie.byte)
        self.mask = np.zeros(vocabulary.words, np.uint32)
        self.words = np.empty(FEW, np.int64)
        self.values = np.empty(FEW, np.uint32)
        self.exits = np.empty(nodes, np.int32)
        self.exit_taken = np.empty(nodes, np.int32)
        self.way = np.empty(vocabulary.longest + 1, np.int32)
        self.other_way = np.empty(vocabulary.longest + 1, np.int32)
        self.arena = np.empty((walk_kernels.ARENA, walk_kernels.COLUMNS), np.int64)
        self.missing = np.zeros(64, bool)

    def taken(self, filled: int) -> Mask:
        """The mask of which a walk set so many words; zeros are left."""
        if filled > FEW:
            bits, self.mask = self.mask, np.zeros_like(self.mask)
            bits.setflags(write=False)
            return Mask(bits)
        return Mask(None, self.words[:filled].copy(), self.values[:filled].copy())

    def marks(self, rules: int) -> NDArray[np.bool_]:
        """bool[`rules` + 1 or more], false: which rules are missing, and in the last place whether any is."""
        if len(self.missing) <= rules:
            self.missing = np.zeros(2 * rules, bool)
        return self.missing


class Pool:
    """Scratches that nobody uses; as many are made as there are walks at once.

    >>> from structkit.testing import byte_vocabulary
    >>> pool = Pool(byte_vocabulary())
    >>> scratch = pool.take()
    >>> pool.give(scratch)
    >>> pool.take() is scratch
    True
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._free: list[Scratch] = []

    def take(self) -> Scratch:
        """One that nobody else uses."""
        try:
            return self._free.pop()
        except IndexError:
            return Scratch(self._vocabulary)

    def give(self, scratch: Scratch) -> None:
        """Give one back, its mask and `missing` as they were."""
        self._free.append(scratch)


@lru_cache(maxsize=4)
def pool_of(vocabulary: Vocabulary) -> Pool:
    """The scratches for walks over a vocabulary, whatever the target."""
    return Pool(vocabulary)
