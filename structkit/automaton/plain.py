"""What `kernels.py` computes, said slowly and readably. The tests hold the two to the same answers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from structkit.automaton.build import Ambiguous, byte_classes
from structkit.automaton.dfa import DEAD, Dfa, Key
from structkit.automaton.nfa import Nfa

__all__ = ["determinise"]


def determinise(nfa: Nfa) -> Dfa:
    """Subset construction (Rabin and Scott 1959): each new state is the set of old ones a text may be in."""
    classes, width = byte_classes(np.array(nfa.edges, np.int32).reshape(-1, 5))

    def closed(states: Iterable[int]) -> frozenset[int]:
        return frozenset(state for state in nfa.closure(states) if state in leaving)

    leaving = {source for source, *_ in nfa.edges} | {source for source, *_ in nfa.calls} | {nfa.final}
    queue = [closed([0])]
    numbers = {queue[0]: 0}
    rows: list[list[int]] = []
    calls: list[tuple[int, Key, int, int]] = []

    def number(states: frozenset[int]) -> int:
        if states not in numbers:
            numbers[states] = len(queue)
            queue.append(states)
        return numbers[states]

    for state, members in enumerate(queue):
        row = []
        edges = [edge for edge in nfa.edges if edge[0] in members]
        for klass in range(width):
            moves = [
                (target, operation)
                for _, first, last, target, operation in edges
                if classes[first] <= klass <= classes[last]
            ]
            operations = {operation for _, operation in moves}
            if len(operations) > 1:
                raise Ambiguous
            row.append(number(closed(t for t, _ in moves)) << 2 | operations.pop() if moves else DEAD)
        rows.append(row)
        leaves = sorted((call for call in nfa.calls if call[0] in members), key=lambda call: call[0])
        for key, operation in dict.fromkeys((key, operation) for _, key, _, operation in leaves):
            after = [t for _, k, t, o in leaves if (k, o) == (key, operation)]
            calls.append((state, key, number(closed(after)), operation))
    final = np.array([nfa.final in members for members in queue])
    return Dfa(
        classes, np.array(rows, np.int32).reshape(len(queue), width), final, tuple(calls), nfa.least, nfa.most
    )
