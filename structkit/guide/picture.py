"""The automaton of a guide as a graph that can be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from structkit.automaton.core.dfa import DEAD
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.automaton.runtime.automaton import Automaton
from structkit.trace.graph import Edge, Graph, join_chains

__all__ = ["automaton_graph"]

_MAX_STATES = 5_000
"""States of a rule that are read for a drawing."""


def automaton_graph(automaton: Automaton) -> Graph:
    """Return the automaton of the first rule, which is built if necessary; chains of states are one edge.

    >>> from structkit.automaton.link import link
    >>> from structkit.targets.targets import read_target
    >>> [edge.label for edge in automaton_graph(link(read_target(bool).rules())).edges]
    ['false', 'true']
    """
    start = automaton.start_state(0)
    first, stop = automaton.state_range(0)
    last = min(stop, first + _MAX_STATES)
    tables = automaton.tables
    final = frozenset((np.flatnonzero(tables.final[first:last])).tolist())
    edges = [edge for state in range(first, last) for edge in _edges(automaton, state, first)]
    count = len(automaton.start)
    more = f", {count - 1} more rule{'s' * (count != 2)}" if count > 1 else ""
    return join_chains(Graph(start - first, final, tuple(edges), f"{stop - first} states{more}"))


def _edges(automaton: Automaton, state: int, first: int) -> Iterator[Edge]:
    tables = automaton.tables
    targets = tables.targets[int(tables.row[state]) + tables.classes[tables.rule[state]].astype(np.int32)]
    nexts = np.where(targets == DEAD, DEAD, targets >> OPERATION_BITS)
    for end in np.unique(nexts[targets != DEAD]).tolist():
        yield Edge(state - first, end - first, byte_ranges(np.flatnonzero(nexts == end).tolist()))
    for call in range(int(tables.call_first[state]), int(tables.call_first[state + 1])):
        callee = int(tables.call_rule[call])
        if callee >= 0:  # labels are ends, not calls
            yield Edge(state - first, int(tables.call_next[call]) - first, f"<rule {callee}>")


def byte_ranges(numbers: Sequence[int]) -> str:
    r"""Write a set of bytes: one character, or ranges in brackets.

    >>> byte_ranges([48]), byte_ranges([48, 50, 51, 52]), byte_ranges([10, 34, *range(0x80, 0x100)])
    ('0', '[0 2-4]', '[\\n " 80-ff]')
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    texts = ["-".join(map(_name, each)) for each in ranges]
    return texts[0] if len(numbers) == 1 else f"[{' '.join(texts)}]"


def _name(byte: int) -> str:
    if byte >= 0x7F:
        return f"{byte:02x}"
    return repr(chr(byte))[1:-1] if byte < 0x20 else chr(byte)
