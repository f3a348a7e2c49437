"""Arrays that kernels write on, used again: to ask the system for a megabyte takes half as long as a short walk."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from structkit.index import kernels
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Pool", "Scratch", "pool_of"]


class Scratch:
    """What one walk at a time writes on; it may hold anything before.

    Args:
        nodes: Of the trie.

    Attributes:
        exits: int32[nodes].
        arena: int64[`kernels.ARENA`, `kernels.COLUMNS`].
    """

    __slots__ = ("arena", "exits")

    def __init__(self, nodes: int) -> None:
        self.exits = np.empty(nodes, np.int32)
        self.arena = np.empty((kernels.ARENA, kernels.COLUMNS), np.int64)


class Pool:
    """Scratches that nobody uses; as many are made as there are walks at once.

    >>> pool = Pool(8)
    >>> scratch = pool.take()
    >>> pool.give(scratch)
    >>> pool.take() is scratch
    True
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._free: list[Scratch] = []

    def take(self) -> Scratch:
        """One that nobody else uses."""
        try:
            return self._free.pop()
        except IndexError:
            return Scratch(self._nodes)

    def give(self, scratch: Scratch) -> None:
        """Give one back."""
        self._free.append(scratch)


@lru_cache(maxsize=4)
def pool_of(vocabulary: Vocabulary) -> Pool:
    """The scratches for walks over a vocabulary, whatever the target."""
    return Pool(len(vocabulary.trie.byte))
