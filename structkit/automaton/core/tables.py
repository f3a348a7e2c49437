"""The arrays of an automaton, which grow as rules are built. Earlier `Tables` stay valid and unchanged."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import DEAD, Dfa, Scalar
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK

__all__ = ["UNBUILT", "TableBuilder", "Tables", "extract_dfa"]

_INITIAL_STATES, _INITIAL_TRANSITIONS, _INITIAL_CALLS, _INITIAL_RULES = 512, 16_384, 128, 16
"""Initial capacities: enough for the first rule of most targets. Larger ones spread guides over more pages."""

UNBUILT = -1
"""The start of a rule that is not built."""


class Tables(NamedTuple):
    """The concatenated automata of all built rules; states are numbered across rules.

    Attributes:
        row: int32[states], index of the state's first transition in `targets`.
        targets: int32[...], `next_state << OPERATION_BITS | operation` by byte class, or `DEAD`; see the module `dfa`.
        classes: uint8[rules, 256], the class of each byte in each rule.
        rule: int32[states], the rule of the state.
        final: bool[states], whether the rule may end here.
        has_moves: bool[states], whether the state has a byte transition.
        byte_only: bool[states], whether byte transitions are the only moves: the state has no calls and is not final.
        call_first: int32[states + 1], index of the state's first call in the four arrays below.
        call_rule: int32[calls], the rule called.
        call_next: int32[calls], the state after the call.
        call_operation: int32[calls], the operation on the counter.
        call_distinct: bool[calls], whether the called text must be distinct.
        start: int32[rules], the first state of each rule; `UNBUILT` if it is not built.
        min_count: int32[rules], minimum iterations of the rule's counter.
        max_count: int32[rules], maximum iterations, -1 if unbounded.
    """

    row: NDArray[np.int32]
    targets: NDArray[np.int32]
    classes: NDArray[np.uint8]
    rule: NDArray[np.int32]
    final: NDArray[np.bool_]
    has_moves: NDArray[np.bool_]
    byte_only: NDArray[np.bool_]
    call_first: NDArray[np.int32]
    call_rule: NDArray[np.int32]
    call_next: NDArray[np.int32]
    call_operation: NDArray[np.int32]
    call_distinct: NDArray[np.bool_]
    start: NDArray[np.int32]
    min_count: NDArray[np.int32]
    max_count: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return sum(array.nbytes for array in self)

    def width(self, first: int, stop: int) -> int:
        """Return the number of byte classes of the rule with the states `first` to `stop - 1`."""
        end = self.row[stop] if stop < len(self.row) else len(self.targets)
        return int(end - self.row[first]) // (stop - first)

    def max_increment(self, first: int, stop: int) -> int:
        """Return the most iterations that one byte starts in the states from `first` to `stop - 1`, or 1."""
        end = self.row[stop] if stop < len(self.row) else len(self.targets)
        # One more is 0 for `EXIT`, which has all bits, and for `DEAD`.
        operations = self.targets[self.row[first] : end] + 1 & OPERATION_MASK
        return max(1, int(operations.max(initial=0)) - 1)

    def bytes_from(self, state: int) -> NDArray[np.bool_]:
        """Return bool[256], whether a byte leads from the state to a state of its rule."""
        classes = self.classes[self.rule[state]].astype(np.int32)
        leading: NDArray[np.bool_] = self.targets[self.row[state] + classes] != DEAD
        return leading

    def bytes_used(self) -> set[int]:
        """Return the bytes that occur in the rules."""
        used: set[int] = set()
        ends = np.append(self.row[1:], len(self.targets))
        for state, (low, high) in enumerate(zip(self.row.tolist(), ends.tolist(), strict=True)):
            alive = self.targets[low:high] != DEAD
            used.update(np.flatnonzero(alive[self.classes[self.rule[state]]]).tolist())
        return used

    def without(
        self,
        removed_calls: NDArray[np.bool_],
        blocked: NDArray[np.bool_],
        dead_ends: NDArray[np.bool_],
        nonaccepting_rules: Collection[int],
    ) -> Tables:
        """Return the tables without some calls, transitions and ends.

        Args:
            removed_calls: bool[calls], the calls to remove.
            blocked: bool[states], the states whose incoming transitions are removed.
            dead_ends: bool[states], the states whose outgoing transitions and calls are removed.
            nonaccepting_rules: The rules whose states become non-final.
        """
        kept = ~(removed_calls | np.repeat(dead_ends, np.diff(self.call_first)))
        first = np.concatenate([[0], np.cumsum(kept)])[self.call_first].astype(np.int32)
        final = self.final & ~np.isin(self.rule, list(nonaccepting_rules))
        targets = np.empty_like(self.targets)
        kernels.remove_transitions(self.row, self.targets, blocked, dead_ends, targets)
        return self._replace(
            targets=targets,
            final=final,
            has_moves=self.has_moves & ~dead_ends,
            byte_only=(np.diff(first) == 0) & ~final & self.has_moves & ~dead_ends,
            call_first=first,
            call_rule=self.call_rule[kept],
            call_next=self.call_next[kept],
            call_operation=self.call_operation[kept],
            call_distinct=self.call_distinct[kept],
        )


class TableBuilder:
    """Over-allocated arrays of which `Tables` are slices.

    Arrays of equal length are rows of one array, to save allocations.
    """

    def __init__(self) -> None:
        self._targets = np.empty(_INITIAL_TRANSITIONS, np.int32)
        self._state_columns = np.empty((3, _INITIAL_STATES), np.int32)
        self._state_flags = np.empty((3, _INITIAL_STATES), np.bool_)
        self._call_columns = np.empty((3, _INITIAL_CALLS), np.int32)
        self._call_distinct = np.empty(_INITIAL_CALLS, np.bool_)
        # Zeros, because entries of unbuilt rules are compared and stored too.
        self._rule_columns = np.zeros((2, _INITIAL_RULES), np.int32)
        self._classes = np.zeros((_INITIAL_RULES, 256), np.uint8)
        self._sizes = 0, 0, 0
        self._start = np.empty(0, np.int32)

    def add(self, rule: int, dfa: Dfa, callees: Sequence[int], rules: int) -> Tables:
        """Add a rule.

        Args:
            rule: The number of the rule.
            dfa: The automaton of the rule.
            callees: The numbers of the rules that it calls.
            rules: The number of rules known so far.
        """
        first_state, first_transition, first_call = self._sizes
        states, width = dfa.targets.shape
        calls = dfa.calls
        end_state, end_transition, end_call = self._sizes = (
            first_state + states,
            first_transition + states * width,
            first_call + len(calls),
        )
        self._ensure_capacity(end_state, end_transition, end_call, rules)
        row, rule_of, call_first = self._state_columns
        final, has_moves, byte_only = self._state_flags
        call_rule, call_next, call_operation = self._call_columns
        min_count, max_count = self._rule_columns
        kernels.write_rule(
            dfa.targets, dfa.final, calls, np.array(callees, np.int32), dfa.distinct,
            rule, first_state, first_transition, first_call,
            row, self._targets, rule_of, final, has_moves, byte_only,
            call_first, call_rule, call_next, call_operation, self._call_distinct,
        )  # fmt: skip
        self._classes[rule] = dfa.classes
        min_count[rule] = dfa.min_count
        max_count[rule] = -1 if dfa.max_count is None else dfa.max_count
        # A new array, because readers of earlier tables must not enter the new rule.
        start = np.empty(rules, np.int32)
        start[: len(self._start)] = self._start
        start[len(self._start) :] = UNBUILT
        start[rule] = first_state
        self._start = start
        return Tables(
            row[:end_state],
            self._targets[:end_transition],
            self._classes[:rules],
            rule_of[:end_state],
            final[:end_state],
            has_moves[:end_state],
            byte_only[:end_state],
            call_first[: end_state + 1],
            call_rule[:end_call],
            call_next[:end_call],
            call_operation[:end_call],
            self._call_distinct[:end_call],
            start,
            min_count[:rules],
            max_count[:rules],
        )

    def _ensure_capacity(self, states: int, end_transition: int, calls: int, rules: int) -> None:
        """Grow the arrays to at least these capacities."""
        if end_transition > len(self._targets):
            self._targets = _grow(self._targets, end_transition)
        if states >= self._state_columns.shape[1]:
            self._state_columns = _grow(self._state_columns, states + 1)
            self._state_flags = _grow(self._state_flags, states + 1)
        if calls > len(self._call_distinct):
            self._call_columns = _grow(self._call_columns, calls)
            self._call_distinct = _grow(self._call_distinct, calls)
        capacity = len(self._classes)
        if rules > capacity:
            self._rule_columns = _grow(self._rule_columns, rules)
            self._rule_columns[:, capacity:] = 0
            self._classes, previous = np.zeros((max(rules, 2 * capacity), 256), np.uint8), self._classes
            self._classes[:capacity] = previous


def extract_dfa(tables: Tables, rule: int, first: int, stop: int) -> Dfa:
    """Return the automaton of a rule without calls, from its states `first` to `stop - 1`, renumbered from 0."""
    width = tables.width(first, stop)
    row = int(tables.row[first])
    targets = tables.targets[row : row + (stop - first) * width].reshape(-1, width)
    max_count = int(tables.max_count[rule])
    return Dfa(
        tables.classes[rule].copy(),
        np.where(targets < 0, targets, targets - (first << OPERATION_BITS)).astype(np.int32),
        tables.final[first:stop].copy(),
        min_count=int(tables.min_count[rule]),
        max_count=None if max_count < 0 else max_count,
    )


def _grow(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    """Return a longer array that starts with the given one; the rest is uninitialized."""
    length = array.shape[-1]
    larger = np.empty((*array.shape[:-1], max(size, 2 * length)), array.dtype)
    larger[..., :length] = array
    return larger
