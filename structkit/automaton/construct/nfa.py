"""Nondeterministic byte automata under construction, with calls and one counter."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import Callee

__all__ = ["Nfa"]

_new_table = partial(array, "i")
"""Create an empty table."""


@dataclass(slots=True)
class Nfa:
    """A nondeterministic automaton under construction. The start is state 0.

    Tables are flat arrays, because thousands of small objects are slow to allocate and to collect.

    Attributes:
        size: The number of states.
        edges: Rows of `source, first byte, last byte, target, operation`.
        runs: Rows of `source, first new state, length`: a path through consecutive new states, perhaps none. The runs
            consume the bytes of `run_bytes` in order.
        run_bytes: The bytes of all runs.
        epsilon: Rows of `source, target`: moves without a byte.
        calls: Rows of `source, callee number, target, operation`.
        callees: The number of each callee.
        final: The only final state.
        min_count: Minimum iterations of the counted repetition.
        max_count: Maximum iterations; `None` if unbounded.
    """

    size: int = 1
    edges: array[int] = field(default_factory=_new_table)
    runs: array[int] = field(default_factory=_new_table)
    run_bytes: bytearray = field(default_factory=bytearray)
    epsilon: array[int] = field(default_factory=_new_table)
    calls: array[int] = field(default_factory=_new_table)
    callees: dict[Callee, int] = field(default_factory=dict)
    final: int = 0
    min_count: int = 0
    max_count: int | None = None

    @property
    def edge_table(self) -> NDArray[np.int32]:
        """int32[edges, 5], without the edges of runs."""
        return _numbers(self.edges, 5)

    @property
    def run_table(self) -> NDArray[np.int32]:
        """int32[runs, 3]."""
        return _numbers(self.runs, 3)

    @property
    def run_text(self) -> NDArray[np.uint8]:
        """uint8[...], the bytes of all runs."""
        return np.array(self.run_bytes, np.uint8)

    @property
    def epsilon_table(self) -> NDArray[np.int32]:
        """int32[epsilon moves, 2]."""
        return _numbers(self.epsilon, 2)

    @property
    def call_table(self) -> NDArray[np.int32]:
        """int32[calls, 4]."""
        return _numbers(self.calls, 4)

    def call(self, source: int, callee: Callee, target: int, operation: int) -> None:
        """Add a call."""
        number = self.callees.setdefault(callee, len(self.callees))
        self.calls.extend((source, number, target, operation))

    @property
    def table_lengths(self) -> tuple[int, ...]:
        """The lengths of the flat tables."""
        return len(self.edges), len(self.runs), len(self.epsilon), len(self.calls), len(self.run_bytes)

    def append_copies(
        self, lengths_before: tuple[int, ...], fragment: range, ends: tuple[int, int], count: int
    ) -> None:
        """Append `count` copies of a fragment: the rows added since the tables had `lengths_before`.

        Args:
            lengths_before: `table_lengths` before the fragment was added.
            fragment: The states of the fragment.
            ends: The state before the fragment and its last state.
            count: The number of copies.
        """
        edges, runs, epsilon, calls, run_bytes = lengths_before
        _add_copies(self.edges, edges, 5, (0, 3), fragment, ends, count)
        _add_copies(self.runs, runs, 3, (0, 1), fragment, ends, count)
        _add_copies(self.epsilon, epsilon, 2, (0, 1), fragment, ends, count)
        _add_copies(self.calls, calls, 4, (0, 2), fragment, ends, count)
        self.run_bytes += self.run_bytes[run_bytes:] * count
        self.size += len(fragment) * count

    def epsilon_closure(self, states: Iterable[int]) -> set[int]:
        """Return the states reachable from `states` without a byte, including `states`."""
        after: dict[int, list[int]] = {}
        for source, target in _rows(self.epsilon, 2):
            after.setdefault(source, []).append(target)
        reached = set(states)
        pending = list(reached)
        while pending:
            for state in after.get(pending.pop(), ()):
                if state not in reached:
                    reached.add(state)
                    pending.append(state)
        return reached

    def is_entered(self, states: Set[int], excluded: Set[int]) -> bool:
        """Return whether an edge, a call, or an epsilon move from outside `excluded` enters one of the states."""
        if not states.isdisjoint(self.edges[3::5]) or not states.isdisjoint(self.calls[2::4]):
            return True
        if any(target in states and source not in excluded for source, target in _rows(self.epsilon, 2)):
            return True
        lowest, highest = min(states), max(states)
        return any(
            first <= highest
            and first + length > lowest
            and not states.isdisjoint(range(first, first + length))
            for _, first, length in _rows(self.runs, 3)
        )

    def set_operation(self, sources: Set[int], operation: int) -> None:
        """Set the operation of every edge and call from `sources`, none of which is inside a run."""
        texts, start, removed = bytearray(), 0, 0
        for row, (source, first, length) in enumerate(_rows(self.runs, 3)):
            if source in sources and length:  # the first byte becomes an edge
                byte = self.run_bytes[start]
                self.edges.extend((source, byte, byte, first, operation))
                self.runs[3 * row : 3 * row + 3] = array("i", (first, first + 1, length - 1))
                texts += self.run_bytes[removed:start]
                removed = start + 1
            start += length
        self.run_bytes = texts + self.run_bytes[removed:]
        for table, width in ((self.edges, 5), (self.calls, 4)):
            for row, source in enumerate(table[::width], 1):
                if source in sources:
                    table[row * width - 1] = operation


def _add_copies(
    rows: array[int],
    fragment_start: int,
    width: int,
    columns: Sequence[int],
    fragment: range,
    ends: tuple[int, int],
    count: int,
) -> None:
    """Append `count` copies of a fragment's rows; each copy starts where the previous one ends.

    Args:
        rows: A flat table.
        fragment_start: Index of the fragment's first row, which extends to the end of the table.
        width: The row length.
        columns: The columns that contain states.
        fragment: The states of the fragment. Copies get the next numbers; other states are unchanged.
        ends: The state before the fragment, which is not part of it, and its last state.
        count: The number of copies.

    >>> edges = array("i", [7, 1, 97, 2, 1, 98])
    >>> _add_copies(edges, 3, 3, (0, 1), range(2, 3), (1, 2), 2)
    >>> edges.tolist()
    [7, 1, 97, 2, 1, 98, 3, 2, 98, 4, 3, 98]
    """
    if len(rows) == fragment_start:
        return
    copies = np.tile(np.array(rows[fragment_start:], np.int32).reshape(1, -1, width), (count, 1, 1))
    start, end = ends
    states, offsets = copies[..., columns], np.arange(count)[:, None, None] * len(fragment)
    moved = np.where(states >= fragment.start, states + offsets + len(fragment), states)
    copies[..., columns] = np.where(states == start, end + offsets, moved)
    rows.frombytes(copies.tobytes())


def _numbers(flat: array[int], width: int) -> NDArray[np.int32]:
    """Return a copy of a flat table; a view would prevent the `array` from growing."""
    return np.array(flat, np.int32).reshape(-1, width)


def _rows(flat: array[int], width: int) -> Iterator[tuple[int, ...]]:
    return zip(*(flat[column::width] for column in range(width)), strict=True)
