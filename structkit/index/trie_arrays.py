"""The arrays of a vocabulary that walks read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from numpy.typing import NDArray

from structkit.errors import VocabularyError
from structkit.index.rows.arena import LABEL_SHIFT
from structkit.index.rows.subtrees import subtrees_of
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["trie_arrays"]


_Array: TypeAlias = NDArray[Any]

_Arrays: TypeAlias = tuple[
    _Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array, _Array
]  # as many as the kernels have parameters


@lru_cache(maxsize=4)
def trie_arrays(vocabulary: Vocabulary) -> tuple[_Arrays, _Arrays]:
    """Return the arrays of a vocabulary that `walk` reads, and those that `walk_simple` reads.

    They include the subtrees, which take as long as thousands of steps and are therefore made before the first token.

    Raises:
        VocabularyError: The tokens have too many different beginnings.
    """
    trie, subtrees = vocabulary.trie, subtrees_of(vocabulary)
    if len(trie.byte) >= 1 << LABEL_SHIFT:
        raise VocabularyError(
            f"the tokens have more than {1 << LABEL_SHIFT:,} different beginnings; use a smaller vocabulary"
        )
    children = (trie.child_first, trie.child_count, trie.child_byte, trie.child_node)
    below = subtrees.number, subtrees.below
    arrays = (trie.depth, trie.end, trie.first, trie.token_ids, *children, *below)
    return arrays, (trie.byte, *arrays[:4], *children[:3], *below)
