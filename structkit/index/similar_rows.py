"""Rows that are made from the row of a similar state, which most bytes lead on in the same way.

The states of a word that may still become a keyword differ from each other by a few letters: `fo` by an `r`. A walk
over the tokens of all other letters would find the same again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.automaton.runtime.automaton import Automaton
from structkit.index.rows.arena import LABEL_SHIFT
from structkit.index.rows.mask import Mask
from structkit.index.rows.row import Row
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Difference", "SimilarRows"]

_MIN_NODES = 10_000
"""Fewest trie nodes below the bytes that leave a state whose row is used for others; a walk of fewer takes < 1 ms."""

_MAX_STATES = 4
"""Most states of a rule that others are compared with."""


class Difference(NamedTuple):
    """How a state differs from another one of its rule.

    Attributes:
        state: The other state.
        nodes: int32[k], ascending, the trie nodes of the first bytes that lead elsewhere.
        targets: int32[k], the states that they lead to; negative for none.
    """

    state: int
    nodes: NDArray[np.int32]
    targets: NDArray[np.int32]


class SimilarRows:
    """The states of rules without a counter that have rows, to find similar ones.

    Args:
        automaton: The language.
        vocabulary: The tokens.
    """

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._trie = trie = vocabulary.trie
        self._words = vocabulary.mask_words
        self._bytes, self._nodes = (
            trie.child_byte[: trie.child_count[0]],
            trie.child_node[: trie.child_count[0]],
        )
        self._sizes = trie.end[self._nodes] - self._nodes
        self._known: dict[int, list[tuple[int, NDArray[np.int32]]]] = {}

    def find(self, state: int) -> Difference | None:
        """Return how a state differs from the most similar one; `None` if there is none, and then the state is kept."""
        automaton = self._automaton
        rule, tables = int(automaton.rule_of[state]), automaton.tables
        if automaton.counter_bounds[rule] != (0, -1):
            return None
        targets = tables.targets[tables.row[state] + tables.classes[rule, self._bytes]]
        size = int(self._sizes[targets >= 0].sum())
        if size < _MIN_NODES:
            return None
        known = self._known.setdefault(rule, [])
        shared = [int(self._sizes[(targets == others) & (targets >= 0)].sum()) for _, others in known]
        if not shared or 2 * max(shared) < size:
            if len(known) < _MAX_STATES:
                known.append((state, targets))
            return None
        other, others = known[shared.index(max(shared))]
        differ = targets != others
        return Difference(other, self._nodes[differ], targets[differ] >> OPERATION_BITS)

    def row(self, other: Row, difference: Difference, part: Row | None) -> Row:
        """Return the row of a state.

        Args:
            other: The row of the other state.
            difference: How the state differs from it.
            part: The row of the tokens whose first byte leads elsewhere; `None` if it does not allow them.
        """
        trie, starts = self._trie, difference.nodes
        bits, exits, cost = other.mask.dense(self._words).copy(), other.exit_nodes, other.max_cost_after
        if len(starts):
            ends = trie.end[starts]
            ids = np.concatenate(
                [trie.token_ids[trie.first[a] : trie.first[b]] for a, b in zip(starts, ends, strict=True)]
            )
            np.bitwise_and.at(bits, ids >> 5, ~(np.uint32(1) << (ids & 31).astype(np.uint32)))
            nodes = exits & ((1 << LABEL_SHIFT) - 1)
            before = np.searchsorted(starts, nodes, "right") - 1
            exits = exits[(before < 0) | (nodes >= ends[before])]
        if part is not None:
            part.mask.or_into(bits)
            exits, cost = np.sort(np.concatenate([exits, part.exit_nodes])), max(cost, part.max_cost_after)
        bits.setflags(write=False)
        return Row(Mask(bits), exits, cost)
