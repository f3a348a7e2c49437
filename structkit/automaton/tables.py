"""The arrays of an automaton, which grow when rules are built. What was handed out before stays as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton import kernels
from structkit.automaton.dfa import DEAD, Dfa, Key
from structkit.automaton.kernels import BITS

__all__ = ["UNBUILT", "GrowingTables", "Tables", "cut"]

Scalar = TypeVar("Scalar", bound=np.generic)

UNBUILT = -1
"""The start of a rule that was not built yet."""


class Tables(NamedTuple):
    """The automata of the rules side by side; states are numbered through all that are built.

    Attributes:
        row: int32[states], where the state's transitions begin in `targets`.
        targets: int32[...], `next_state << BITS | operation` by byte class, or `DEAD`; see `structkit.automaton.dfa`.
        classes: uint8[rules, 256], the class of each byte in each rule.
        rule: int32[states], the rule that the state belongs to.
        final: bool[states], whether the rule may end here.
        live: bool[states], whether any byte leaves the state.
        quiet: bool[states], whether nothing but a byte leaves the state: no rule is called, and its own does not end.
        call_first: int32[states + 1], where the state's calls begin in the four arrays below.
        call_rule: int32[calls], the rule called.
        call_next: int32[calls], the state after it.
        call_operation: int32[calls].
        call_unique: bool[calls], whether what is called is a unique text.
        start: int32[rules], the first state of each rule; `UNBUILT` where there is none yet.
        least: int32[rules], the rounds that the rule's counter needs.
        most: int32[rules], the rounds that it allows, -1 for any number.
    """

    row: NDArray[np.int32]
    targets: NDArray[np.int32]
    classes: NDArray[np.uint8]
    rule: NDArray[np.int32]
    final: NDArray[np.bool_]
    live: NDArray[np.bool_]
    quiet: NDArray[np.bool_]
    call_first: NDArray[np.int32]
    call_rule: NDArray[np.int32]
    call_next: NDArray[np.int32]
    call_operation: NDArray[np.int32]
    call_unique: NDArray[np.bool_]
    start: NDArray[np.int32]
    least: NDArray[np.int32]
    most: NDArray[np.int32]

    def width(self, first: int, stop: int) -> int:
        """The byte classes of the rule that has the states from `first` to before `stop`."""
        end = self.row[stop] if stop < len(self.row) else len(self.targets)
        return int(end - self.row[first]) // (stop - first)

    def without_unique(self, needs_unique: NDArray[np.bool_]) -> Tables:
        """The tables without the calls of unique texts, and without the ways to where only these can follow.

        Args:
            needs_unique: bool[states], whether the state's rule cannot end before another unique text.
        """
        kept = ~self.call_unique
        first = np.concatenate([[0], np.cumsum(kept)])[self.call_first].astype(np.int32)
        return self._replace(
            targets=np.where(needs_unique[self.targets >> BITS], DEAD, self.targets).astype(np.int32),
            quiet=(np.diff(first) == 0) & ~self.final & self.live,
            call_first=first,
            call_rule=self.call_rule[kept],
            call_next=self.call_next[kept],
            call_operation=self.call_operation[kept],
            call_unique=self.call_unique[kept],
        )


_DTYPES = (
    *(np.int32, np.int32, np.uint8, np.int32, np.bool_, np.bool_, np.bool_, np.int32),
    *(np.int32, np.int32, np.int32, np.bool_, np.int32, np.int32, np.int32),
)
_COUNTED = (
    *("states", "transitions", "rules", "states", "states", "states", "states", "firsts"),
    *("calls", "calls", "calls", "calls", "rules", "rules", "rules"),
)
"""What each of the arrays has an entry for."""


class GrowingTables:
    """What `Tables` are cut from: larger arrays, filled up to where the rules built so far end."""

    def __init__(self) -> None:
        self._held: list[NDArray[np.generic]] = [
            np.zeros((0, 256) if dtype is np.uint8 else 0, dtype) for dtype in _DTYPES
        ]
        self._sizes = 0, 0, 0
        self._start = np.empty(0, np.int32)

    def add(self, rule: int, dfa: Dfa, numbers: Mapping[Key | None, int]) -> Tables:
        """Add a rule.

        Args:
            rule: Its number.
            dfa: Its automaton.
            numbers: The number of each rule, those that it calls included.
        """
        base, offset, called = self._sizes
        states, width = dfa.targets.shape
        calls = dfa.call_table(numbers)
        self._sizes = base + states, offset + states * width, called + len(calls)
        counts = {
            "states": self._sizes[0],
            "firsts": self._sizes[0] + 1,
            "transitions": self._sizes[1],
            "calls": self._sizes[2],
            "rules": len(numbers),
        }
        sizes = [counts[counted] for counted in _COUNTED]
        self._held = held = [_reaching(array, size) for array, size in zip(self._held, sizes, strict=True)]
        row, targets, classes, *per_state_and_call, _, least, most = held
        kernels.place(
            dfa.targets, dfa.final, calls, rule, base, offset, called, row, targets, *per_state_and_call
        )
        classes[rule] = dfa.classes
        least[rule] = dfa.least
        most[rule] = -1 if dfa.most is None else dfa.most
        # Not changed in place: one who still walks the smaller tables must not enter the new rule.
        start = np.full(len(numbers), UNBUILT, np.int32)
        start[: len(self._start)] = self._start
        start[rule] = base
        self._start = start
        return Tables._make(array[:size] for array, size in zip(held, sizes, strict=True))._replace(
            start=start
        )


def cut(tables: Tables, rule: int, first: int, stop: int) -> Dfa:
    """The automaton of a rule that calls no other, with states of its own: those from `first` to before `stop`."""
    width = tables.width(first, stop)
    row = int(tables.row[first])
    targets = tables.targets[row : row + (stop - first) * width].reshape(-1, width)
    most = int(tables.most[rule])
    return Dfa(
        tables.classes[rule].copy(),
        np.where(targets < 0, targets, targets - (first << BITS)).astype(np.int32),
        tables.final[first:stop].copy(),
        (),
        int(tables.least[rule]),
        None if most < 0 else most,
    )


def _reaching(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    """The array, or a larger one that begins with it."""
    if size <= len(array):
        return array
    larger = np.zeros((max(size, 2 * len(array), 64), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
