"""Simple reference implementations of the kernels of `structkit/automaton`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.construct.compile_rule import AmbiguousIteration
from structkit.automaton.construct.nfa import Nfa
from structkit.automaton.core.dfa import DEAD, Dfa, RuleKey
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK
from structkit.automaton.core.tables import Tables

__all__ = ["count_required", "determinize", "endless_states", "product", "remove_transitions"]


def determinize(nfa: Nfa) -> Dfa:
    """Subset construction (Rabin and Scott 1959): a state is the set of NFA states that a text may reach."""
    edges_and_runs = _expand_runs(nfa)
    classes, width = _byte_classes(edges_and_runs)
    all_edges, all_calls = edges_and_runs.tolist(), nfa.call_table.tolist()

    def closed(states: Iterable[int]) -> frozenset[int]:
        return frozenset(state for state in nfa.epsilon_closure(states) if state in leaving)

    leaving = {source for source, *_ in all_edges} | {source for source, *_ in all_calls} | {nfa.final}
    queue = [closed([0])]
    numbers = {queue[0]: 0}
    rows: list[list[int]] = []
    calls: list[tuple[int, int, int, int]] = []
    callees: dict[RuleKey, int] = {}
    keys = list(nfa.callees)

    def number(states: frozenset[int]) -> int:
        if states not in numbers:
            numbers[states] = len(queue)
            queue.append(states)
        return numbers[states]

    for state, members in enumerate(queue):
        row = []
        edges = [edge for edge in all_edges if edge[0] in members]
        for klass in range(width):
            moves = [
                (target, operation)
                for _, first, last, target, operation in edges
                if classes[first] <= klass <= classes[last]
            ]
            operations = {operation for _, operation in moves}
            if len(operations) > 1:
                raise AmbiguousIteration
            row.append(
                number(closed(t for t, _ in moves)) << OPERATION_BITS | operations.pop() if moves else DEAD
            )
        rows.append(row)
        outgoing = sorted((call for call in all_calls if call[0] in members), key=lambda call: call[0])
        for key, operation in dict.fromkeys((key, operation) for _, key, _, operation in outgoing):
            after = [t for _, k, t, o in outgoing if (k, o) == (key, operation)]
            callee = callees.setdefault(keys[key], len(callees))
            calls.append((state, callee, number(closed(after)), operation))
    final = np.array([nfa.final in members for members in queue])
    targets = np.array(rows, np.int32).reshape(len(queue), width)
    table = np.array(calls, np.int32).reshape(-1, 4)
    return Dfa(classes, targets, final, table, tuple(callees), nfa.min_count, nfa.max_count)


def _expand_runs(nfa: Nfa) -> NDArray[np.int32]:
    """Return the edges and the edges of runs, as int32[..., 5]."""
    texts = nfa.run_text
    source, first, lengths = nfa.run_table.T
    offset = np.arange(len(texts), dtype=np.int32) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    targets = np.repeat(first, lengths) + offset
    sources = np.where(offset == 0, np.repeat(source, lengths), targets - 1)
    added = np.column_stack([sources, texts, texts, targets, np.zeros_like(targets)]).astype(np.int32)
    return np.concatenate([nfa.edge_table, added])


def _byte_classes(edges: NDArray[np.int32]) -> tuple[NDArray[np.uint8], int]:
    """Return the class of each byte, uint8[256], and the number of classes; bytes with equal edges share a class."""
    begins = np.zeros(257, np.uint8)
    begins[edges[:, 1]] = begins[edges[:, 2] + 1] = 1
    begins[0] = 0
    classes = np.cumsum(begins[:256], dtype=np.uint8)
    return classes, int(classes[255]) + 1


def product(left: Dfa, right: Dfa, *, negate: bool) -> Dfa:
    """Intersection of `left` and `right`, or difference if `negate`: a state is a pair of states."""
    classes = np.unique(np.stack([left.classes, right.classes]), axis=1, return_inverse=True)[1].reshape(256)
    byte_of = [int(np.flatnonzero(classes == klass)[0]) for klass in range(int(classes.max()) + 1)]

    def after(dfa: Dfa, state: int, byte: int) -> tuple[int, int]:
        target = int(dfa.targets[state, dfa.classes[byte]]) if state >= 0 else DEAD
        return (target >> OPERATION_BITS, target & OPERATION_MASK) if target != DEAD else (-1, 0)

    queue = [(0, 0)]
    rows: list[list[int]] = []
    for a, b in queue:
        row: list[int] = []
        for byte in byte_of:
            (to, _), (other, operation) = after(left, a, byte), after(right, b, byte)
            if to < 0 or (other < 0 and not negate):
                row.append(DEAD)
                continue
            if (to, other) not in queue:
                queue.append((to, other))
            row.append(queue.index((to, other)) << OPERATION_BITS | operation)
        rows.append(row)
    final = np.array([bool(left.final[a]) and (b >= 0 and bool(right.final[b])) != negate for a, b in queue])
    targets = np.array(rows, np.int32)
    return Dfa(classes.astype(np.uint8), targets, final, min_count=right.min_count, max_count=right.max_count)


def count_required(targets: NDArray[np.int32], required: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count iterations as soon as they become unavoidable: the operation adds what the next state requires more."""
    after = targets >> OPERATION_BITS
    increments = (targets & OPERATION_MASK) + required[after] - required[:, None]
    return np.where(targets == DEAD, DEAD, after << OPERATION_BITS | increments).astype(np.int32)


def endless_states(
    targets: NDArray[np.int32], calls: Iterable[tuple[int, int]], calling: NDArray[np.bool_]
) -> set[int]:
    """Return the states from which there is no end of texts: the greatest set of states that lead into it."""
    endless = set(range(len(targets)))
    while True:
        leading = {
            state
            for state in endless
            if any(
                target >> OPERATION_BITS in endless for target in targets[state].tolist() if target != DEAD
            )
        }
        leading |= {state for state, after in calls if after in endless}
        leading |= set(np.flatnonzero(calling).tolist())
        if leading & endless == endless:
            return endless
        endless &= leading


def remove_transitions(
    tables: Tables, blocked: NDArray[np.bool_], dead_ends: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Return the transitions without those into `blocked` and out of `dead_ends`."""
    source = np.repeat(np.arange(len(tables.row)), np.diff(tables.row, append=len(tables.targets)))
    removed = dead_ends[source] | blocked[tables.targets >> OPERATION_BITS]
    return np.where(removed, DEAD, tables.targets).astype(np.int32)
