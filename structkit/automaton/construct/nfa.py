"""A nondeterministic automaton over bytes under construction, with calls and one counter."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.construct import determinize
from structkit.automaton.core.dfa import RuleKey

__all__ = ["Nfa"]

_TABLE = partial(array, "i")
"""An empty table."""


@dataclass(slots=True)
class Nfa:
    """The automaton under construction. The start is state 0.

    Attributes:
        size: How many states there are.
        edges: Five numbers each: source, first byte, last byte, target, operation. One flat array, for thousands of
            small objects would be slow to make and to collect.
        runs: Three numbers for each text that leads from a state through new ones: source, the first of these, and
            how many bytes of `run_bytes` are its own, in their order.
        epsilon: Two numbers each: a state, and one that is reached from it without a byte.
        calls: Four numbers each: source, number of the callee, target, operation.
        callees: The number of each.
        final: The one state at which the rule ends.
        min_count: Rounds that the counted repetition needs.
        max_count: Rounds that it allows.
    """

    size: int = 1
    edges: array[int] = field(default_factory=_TABLE)
    runs: array[int] = field(default_factory=_TABLE)
    run_bytes: bytearray = field(default_factory=bytearray)
    epsilon: array[int] = field(default_factory=_TABLE)
    calls: array[int] = field(default_factory=_TABLE)
    callees: dict[RuleKey, int] = field(default_factory=dict)
    final: int = 0
    min_count: int = 0
    max_count: int | None = None

    @property
    def edge_table(self) -> NDArray[np.int32]:
        """int32[edges, 5], without those of the runs."""
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
    def all_edges(self) -> NDArray[np.int32]:
        """int32[edges, 5], those of the runs included."""
        return determinize.expand_runs(self.edge_table, self.run_table, self.run_text)

    @property
    def epsilon_table(self) -> NDArray[np.int32]:
        """int32[silent moves, 2]."""
        return _numbers(self.epsilon, 2)

    @property
    def call_table(self) -> NDArray[np.int32]:
        """int32[calls, 4]."""
        return _numbers(self.calls, 4)

    def call(self, source: int, callee: RuleKey, target: int, operation: int) -> None:
        """Add a call."""
        number = self.callees.setdefault(callee, len(self.callees))
        self.calls.extend((source, number, target, operation))

    @property
    def table_lengths(self) -> tuple[int, ...]:
        """How long the tables are, as they are kept."""
        return len(self.edges), len(self.runs), len(self.epsilon), len(self.calls), len(self.run_bytes)

    def append_copies(
        self, lengths_before: tuple[int, ...], fragment: range, ends: tuple[int, int], count: int
    ) -> None:
        """Add `count` more what was added since the tables were so long: the states `fragment`, between `ends`."""
        edges, runs, silent, calls, run_bytes = lengths_before
        _add_copies(self.edges, edges, 5, (0, 3), fragment, ends, count)
        _add_copies(self.runs, runs, 3, (0, 1), fragment, ends, count)
        _add_copies(self.epsilon, silent, 2, (0, 1), fragment, ends, count)
        _add_copies(self.calls, calls, 4, (0, 2), fragment, ends, count)
        self.run_bytes += self.run_bytes[run_bytes:] * count
        self.size += len(fragment) * count

    def epsilon_closure(self, states: Iterable[int]) -> set[int]:
        """The states reached from `states` without a byte, themselves included."""
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
        """Whether a byte, a call, or a silent move that leaves no state of `excluded` leads to one of the states."""
        targets = {*self.edges[3::5], *self.calls[2::4]}
        targets.update(target for source, target in _rows(self.epsilon, 2) if source not in excluded)
        inside = any(not states.isdisjoint(range(first, first + n)) for _, first, n in _rows(self.runs, 3))
        return inside or not states.isdisjoint(targets)

    def set_operation(self, sources: Set[int], operation: int) -> None:
        """Give the operation to every edge and call that leaves `sources`; none of them is inside of a run."""
        runs, texts, begin = array("i"), bytearray(), 0
        for source, first, length in _rows(self.runs, 3):
            text, begin = self.run_bytes[begin : begin + length], begin + length
            if source in sources:
                self.edges.extend((source, text[0], text[0], first, operation))
                source, first, text = first, first + 1, text[1:]
            if text:
                runs.extend((source, first, len(text)))
                texts += text
        self.runs, self.run_bytes = runs, texts
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
    """Add the rows of a fragment `count` more, each copy from where the one before it ends.

    Args:
        rows: All rows of a table, one after the other.
        fragment_start: Where those of the fragment begin; they are the last.
        width: Numbers in a row.
        columns: Which of them are states.
        fragment: The states of the fragment; each copy has as many, numbered on. Other states stay what they are.
        ends: The state that the fragment leaves, which is not its own, and its last.
        count: How many copies.

    >>> edges = array("i", [7, 1, 97, 2, 1, 98])
    >>> _add_copies(edges, 3, 3, (0, 1), range(2, 3), (1, 2), 2)
    >>> edges.tolist()
    [7, 1, 97, 2, 1, 98, 3, 2, 98, 4, 3, 98]
    """
    if len(rows) == fragment_start:
        return
    copies = np.tile(np.array(rows[fragment_start:], np.int32).reshape(1, -1, width), (count, 1, 1))
    start, end = ends
    states, later = copies[..., columns], np.arange(count)[:, None, None] * len(fragment)
    moved = np.where(states >= fragment.start, states + later + len(fragment), states)
    copies[..., columns] = np.where(states == start, end + later, moved)
    rows.frombytes(copies.tobytes())


def _numbers(flat: array[int], width: int) -> NDArray[np.int32]:
    """A copy as a table: an array that is looked at cannot grow."""
    return np.array(flat, np.int32).reshape(-1, width)


def _rows(flat: array[int], width: int) -> Iterator[tuple[int, ...]]:
    return zip(*(flat[column::width] for column in range(width)), strict=True)
