"""What the kernels of `structkit/index` compute, said slowly and readably."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Frame
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["split", "walk"]


def walk(
    automaton: Automaton, vocabulary: Vocabulary, nodes: NDArray[np.int32], frame: Frame
) -> tuple[NDArray[np.uint32], list[int]]:
    """The tokens a frame allows, read on from trie nodes, and the nodes inside tokens at which its rule can end.

    The frame's own stack is left out: a token that leaves the rule is allowed up to there only, and where it left
    is one of the exits.
    """
    trie = vocabulary.trie
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    exits: list[int] = []
    for begin in nodes.tolist():
        alone = frozenset([automaton.frame(frame.state, frame.count)])
        at = {int(trie.depth[begin]): automaton.epsilon_closure(alone) if begin else alone}
        if begin and automaton.is_accepting(at[int(trie.depth[begin])]) and trie.child_count[begin]:
            exits.append(begin)
        node, last = begin + 1, int(trie.end[begin])
        while node < last:
            depth = int(trie.depth[node])
            at[depth] = automaton.step(at[depth - 1], int(trie.byte[node]))
            if not at[depth]:
                node = int(trie.end[node])  # no longer token can be allowed either
                continue
            if automaton.is_accepting(at[depth]) and trie.child_count[node]:
                exits.append(node)
            for token in trie.token_ids[trie.first[node] : trie.first[node + 1]].tolist():
                mask[token >> 5] |= np.uint32(1 << (token & 31))
            node += 1
    return mask, exits


def split(vocabulary: Vocabulary, text: bytes) -> int | None:
    """The fewest tokens that spell a text, by dynamic programming from its end; `None` if none do."""
    tokens = {token for token in vocabulary.tokens if token}
    costs: list[int | None] = [0]
    for begin in range(len(text) - 1, -1, -1):
        ends = [
            cost + 1
            for end, cost in zip(range(len(text), begin, -1), costs, strict=True)
            if cost is not None and text[begin:end] in tokens
        ]
        costs.append(min(ends, default=None))
    return costs[-1]
