"""Subtrees of the trie that a walk takes as a whole, because a state allows every sequence of their characters.

Most states of a text, such as `[^x]*` or `.{3,80}`, allow any sequence of nearly all characters. A walk then need not
visit the nodes below a node one by one: where the characters below the node are among these, it takes all the tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.index.rows.subtree_kernels import LENGTHS, summarize
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Subtrees", "subtrees_of"]

_MIN_NODES = 8
"""Minimum number of nodes of a subtree that is taken as a whole; smaller ones are walked as fast."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subtrees:
    """What is below the nodes of a trie.

    Attributes:
        number: int32[nodes], the row of the node in `below`; -1 if a walk visits the node's subtree.
        below: int64[..., 4], the set of the characters below the node, and a bit for each length in characters, from
            the node, of a token below it.
        characters: int16[nodes], the characters that begin on the way to the node.
        token_characters: int16[tokens], the characters of each token of `Trie.token_ids`.
    """

    number: NDArray[np.int32]
    below: NDArray[np.int64]
    characters: NDArray[np.int16]
    token_characters: NDArray[np.int16]


@lru_cache(maxsize=4)
def subtrees_of(vocabulary: Vocabulary) -> Subtrees:
    """Return the subtrees of a vocabulary's trie."""
    trie = vocabulary.trie
    nodes = len(trie.byte)
    characters, missing = np.zeros(nodes, np.int16), np.zeros(nodes, np.int8)
    number = np.full(nodes, -1, np.int32)
    large = trie.end - np.arange(nodes, dtype=np.int32) >= _MIN_NODES
    below = np.empty((np.count_nonzero(large), LENGTHS + 1), np.int64)
    path = np.zeros((vocabulary.max_token_length + 2, LENGTHS + 1), np.int64)
    found = summarize(trie.byte, trie.depth, trie.first, large, characters, missing, path, number, below)
    return Subtrees(number, below[:found].copy(), characters, np.repeat(characters, np.diff(trie.first)))
