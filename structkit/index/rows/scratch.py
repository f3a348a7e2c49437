"""Reusable output arrays of kernels: allocating a megabyte takes half as long as a short walk."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import MAX_LABEL
from structkit.index.rows.arena import ARENA_SIZE, COLUMNS
from structkit.index.rows.mask import MAX_SPARSE_WORDS, Mask
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Scratch", "ScratchPool", "exit_capacity", "scratch_pool"]


_EXITS_PER_NODE = 4
"""Exit nodes that there is room for; with labels, a trie node is one for each label."""


def exit_capacity(nodes: int) -> int:
    """Return the length of an array for the exit nodes of a row."""
    return _EXITS_PER_NODE * nodes + 4 * MAX_LABEL


class Scratch:
    """The arrays of one walk. The mask and `missing` start as zeros; other contents are arbitrary.

    Args:
        vocabulary: What is walked.

    Attributes:
        mask: uint32[ceil(vocabulary.size / 32)], zeros.
        words: int64[`FEW`], the places of the words that a walk set.
        values: uint32[`FEW`], these words.
        exit_nodes: int32[`exit_capacity(trie nodes)`].
        exit_iterations: int32[trie nodes].
        other_nodes: int32[trie nodes].
        other_states: int32[trie nodes].
        path_states: int32[longest token + 1].
        other_path_states: int32[longest token + 1].
        arena: int64[`ARENA_SIZE`, `COLUMNS`; see `arena`].
        missing: bool[rules + 1] or more, false.
    """

    __slots__ = (
        "arena",
        "exit_iterations",
        "exit_nodes",
        "mask",
        "missing",
        "other_nodes",
        "other_path_states",
        "other_states",
        "path_states",
        "values",
        "words",
    )

    def __init__(self, vocabulary: Vocabulary) -> None:
        nodes = len(vocabulary.trie.byte)
        self.mask = np.zeros(vocabulary.mask_words, np.uint32)
        self.words = np.empty(MAX_SPARSE_WORDS, np.int64)
        self.values = np.empty(MAX_SPARSE_WORDS, np.uint32)
        self.exit_nodes = np.empty(exit_capacity(nodes), np.int32)
        self.exit_iterations = np.empty(nodes, np.int32)
        self.other_nodes = np.empty(nodes, np.int32)
        self.other_states = np.empty(nodes, np.int32)
        self.path_states = np.empty(vocabulary.max_token_length + 1, np.int32)
        self.other_path_states = np.empty(vocabulary.max_token_length + 1, np.int32)
        self.arena = np.empty((ARENA_SIZE, COLUMNS), np.int64)
        self.missing = np.zeros(64, bool)

    def take_mask(self, word_count: int) -> Mask:
        """Return the mask of which a walk set `word_count` words, and reset the array to zeros."""
        if word_count > MAX_SPARSE_WORDS:
            bits, self.mask = self.mask, np.zeros_like(self.mask)
            bits.setflags(write=False)
            return Mask(bits)
        return Mask(None, self.words[:word_count].copy(), self.values[:word_count].copy())

    def missing_flags(self, rules: int) -> NDArray[np.bool_]:
        """Return false flags, bool[at least `rules` + 2], for the missing rules; `walk` describes the last two."""
        if len(self.missing) < rules + 2:
            self.missing = np.zeros(2 * rules + 2, bool)
        return self.missing


class ScratchPool:
    """A pool of unused `Scratch` objects, one per concurrent walk.

    >>> from structkit.testing import byte_vocabulary
    >>> pool = ScratchPool(byte_vocabulary())
    >>> scratch = pool.acquire()
    >>> pool.release(scratch)
    >>> pool.acquire() is scratch
    True
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._free: list[Scratch] = []

    def acquire(self) -> Scratch:
        """Return an unused scratch."""
        try:
            return self._free.pop()
        except IndexError:
            return Scratch(self._vocabulary)

    def release(self, scratch: Scratch) -> None:
        """Return a scratch to the pool, with its mask and `missing` reset."""
        self._free.append(scratch)


@lru_cache(maxsize=4)
def scratch_pool(vocabulary: Vocabulary) -> ScratchPool:
    """Return the pool for walks over a vocabulary, shared by all targets."""
    return ScratchPool(vocabulary)
