"""Simple reference implementations of the kernels of `structkit/index`."""

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
    """Return the tokens that a frame allows from trie nodes, and the nodes inside tokens at which its rule can end.

    The frames below are ignored: a token that exits the rule is not in the mask, and the node at which it exits is
    one of the exit nodes.
    """
    trie = vocabulary.trie
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    exits: list[int] = []
    for start in nodes.tolist():
        frames = frozenset([automaton.frame(frame.state, frame.count)])
        at = {int(trie.depth[start]): automaton.epsilon_closure(frames) if start else frames}
        if start and automaton.is_accepting(at[int(trie.depth[start])]) and trie.child_count[start]:
            exits.append(start)
        node, last = start + 1, int(trie.end[start])
        while node < last:
            depth = int(trie.depth[node])
            at[depth] = automaton.step(at[depth - 1], int(trie.byte[node]))
            if not at[depth]:
                node = int(trie.end[node])  # skip the longer tokens
                continue
            if automaton.is_accepting(at[depth]) and trie.child_count[node]:
                exits.append(node)
            for token in trie.token_ids[trie.first[node] : trie.first[node + 1]].tolist():
                mask[token >> 5] |= np.uint32(1 << (token & 31))
            node += 1
    return mask, sorted({*exits})  # a node behind several of the given ones is reached from each


def split(vocabulary: Vocabulary, text: bytes) -> int | None:
    """Return the fewest tokens that spell a text, by dynamic programming from its end; `None` if there are none."""
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
