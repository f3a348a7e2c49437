"""The arrays of an automaton, which grow when rules are built. What was handed out before stays as it was."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import DEAD, Dfa
from structkit.automaton.core.kernels import OPERATION_BITS

__all__ = ["UNBUILT", "TableBuilder", "Tables", "extract_dfa"]

Scalar = TypeVar("Scalar", bound=np.generic)

_STATES, _TRANSITIONS, _CALLS, _RULES = 256, 4_096, 64, 8
"""What there is room for at first: enough for most targets until the first mask."""

UNBUILT = -1
"""The start of a rule that was not built yet."""


class Tables(NamedTuple):
    """The automata of the rules side by side; states are numbered through all that are built.

    Attributes:
        row: int32[states], where the state's transitions begin in `targets`.
        targets: int32[...], `next_state << BITS | operation` by byte class, or `DEAD`; see the module `dfa`.
        classes: uint8[rules, 256], the class of each byte in each rule.
        rule: int32[states], the rule that the state belongs to.
        final: bool[states], whether the rule may end here.
        has_moves: bool[states], whether any byte leaves the state.
        byte_only: bool[states], whether nothing but a byte leaves the state: no rule is called, and its own does not
            end.
        call_first: int32[states + 1], where the state's calls begin in the four arrays below.
        call_rule: int32[calls], the rule called.
        call_next: int32[calls], the state after it.
        call_operation: int32[calls].
        call_distinct: bool[calls], whether what is called is a unique text.
        start: int32[rules], the first state of each rule; `UNBUILT` where there is none yet.
        min_count: int32[rules], the rounds that the rule's counter needs.
        max_count: int32[rules], the rounds that it allows, -1 for any number.
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

    def width(self, first: int, stop: int) -> int:
        """The byte classes of the rule that has the states from `first` to before `stop`."""
        end = self.row[stop] if stop < len(self.row) else len(self.targets)
        return int(end - self.row[first]) // (stop - first)

    def without(
        self,
        removed_calls: NDArray[np.bool_],
        blocked: NDArray[np.bool_],
        dead_ends: NDArray[np.bool_],
        nonaccepting_rules: Collection[int],
    ) -> Tables:
        """The tables in which some texts cannot be written.

        Args:
            removed_calls: bool[calls], those that are not made.
            blocked: bool[states], the states to which no byte leads.
            dead_ends: bool[states], those that nothing leaves.
            nonaccepting_rules: The rules that do not end.
        """
        kept = ~(removed_calls | np.repeat(dead_ends, np.diff(self.call_first)))
        first = np.concatenate([[0], np.cumsum(kept)])[self.call_first].astype(np.int32)
        final = self.final & ~np.isin(self.rule, list(nonaccepting_rules))
        leaving = np.repeat(~dead_ends, np.diff(self.row, append=len(self.targets)))
        return self._replace(
            targets=np.where(leaving & ~blocked[self.targets >> OPERATION_BITS], self.targets, DEAD).astype(
                np.int32
            ),
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
    """What `Tables` are cut from: larger arrays, filled up to where the rules built so far end.

    Those that have as many entries are the rows of one array, for there is much to be asked of the system otherwise.
    """

    def __init__(self) -> None:
        self._targets = np.empty(_TRANSITIONS, np.int32)
        self._of_states = np.empty((3, _STATES), np.int32)
        self._are_states = np.empty((3, _STATES), np.bool_)
        self._of_calls = np.empty((3, _CALLS), np.int32)
        self._unique_calls = np.empty(_CALLS, np.bool_)
        # Rules that are not built are compared, and stored, with those that are.
        self._of_rules = np.zeros((2, _RULES), np.int32)
        self._classes = np.zeros((_RULES, 256), np.uint8)
        self._sizes = 0, 0, 0
        self._start = np.empty(0, np.int32)

    def add(self, rule: int, dfa: Dfa, callees: Sequence[int], rules: int) -> Tables:
        """Add a rule.

        Args:
            rule: Its number.
            dfa: Its automaton.
            callees: The numbers of those that it calls.
            rules: How many there are, as far as is known.
        """
        base, offset, called = self._sizes
        states, width = dfa.targets.shape
        calls = dfa.calls
        last, transitions, last_call = self._sizes = (
            base + states,
            offset + states * width,
            called + len(calls),
        )
        self._reach(last, transitions, last_call, rules)
        row, rule_of, call_first = self._of_states
        final, live, quiet = self._are_states
        call_rule, call_next, call_operation = self._of_calls
        least, most = self._of_rules
        kernels.write_rule(
            dfa.targets, dfa.final, calls, np.array(callees, np.int32), dfa.distinct, rule, base, offset, called,
            row, self._targets, rule_of, final, live, quiet,
            call_first, call_rule, call_next, call_operation, self._unique_calls,
        )  # fmt: skip
        self._classes[rule] = dfa.classes
        least[rule] = dfa.min_count
        most[rule] = -1 if dfa.max_count is None else dfa.max_count
        # Not changed in place: one who still walks the smaller tables must not enter the new rule.
        start = np.empty(rules, np.int32)
        start[: len(self._start)] = self._start
        start[len(self._start) :] = UNBUILT
        start[rule] = base
        self._start = start
        return Tables(
            row[:last],
            self._targets[:transitions],
            self._classes[:rules],
            rule_of[:last],
            final[:last],
            live[:last],
            quiet[:last],
            call_first[: last + 1],
            call_rule[:last_call],
            call_next[:last_call],
            call_operation[:last_call],
            self._unique_calls[:last_call],
            start,
            least[:rules],
            most[:rules],
        )

    def _reach(self, states: int, transitions: int, calls: int, rules: int) -> None:
        """Have room for so many."""
        if transitions > len(self._targets):
            self._targets = _grow(self._targets, transitions)
        if states >= self._of_states.shape[1]:
            self._of_states = _grow(self._of_states, states + 1)
            self._are_states = _grow(self._are_states, states + 1)
        if calls > len(self._unique_calls):
            self._of_calls = _grow(self._of_calls, calls)
            self._unique_calls = _grow(self._unique_calls, calls)
        known = len(self._classes)
        if rules > known:
            self._of_rules = _grow(self._of_rules, rules)
            self._of_rules[:, known:] = 0
            self._classes, before = np.zeros((max(rules, 2 * known), 256), np.uint8), self._classes
            self._classes[:known] = before


def extract_dfa(tables: Tables, rule: int, first: int, stop: int) -> Dfa:
    """The automaton of a rule that calls no other, with states of its own: those from `first` to before `stop`."""
    width = tables.width(first, stop)
    row = int(tables.row[first])
    targets = tables.targets[row : row + (stop - first) * width].reshape(-1, width)
    most = int(tables.max_count[rule])
    return Dfa(
        tables.classes[rule].copy(),
        np.where(targets < 0, targets, targets - (first << OPERATION_BITS)).astype(np.int32),
        tables.final[first:stop].copy(),
        min_count=int(tables.min_count[rule]),
        max_count=None if most < 0 else most,
    )


def _grow(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    """An array that is longer, and begins with the given one; what follows is anything."""
    length = array.shape[-1]
    larger = np.empty((*array.shape[:-1], max(size, 2 * length)), array.dtype)
    larger[..., :length] = array
    return larger
