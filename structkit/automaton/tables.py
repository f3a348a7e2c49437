"""The arrays of an automaton, which grow when rules are built. What was handed out before stays as it was."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.dfa import DEAD, Dfa
from structkit.regex.nodes import Unique

__all__ = ["UNBUILT", "GrowingTables", "Tables", "transitions"]

UNBUILT = -1
"""The start of a rule that was not built yet."""


class Tables(NamedTuple):
    """The automata of the rules side by side; states are numbered through all that are built.

    Attributes:
        row: int32[states], where the state's transitions begin in `targets`.
        targets: int32[...], `next_state << 2 | operation` by byte class, or `DEAD`; see `structkit.automaton.dfa`.
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

    def without_unique(self, needs_unique: NDArray[np.bool_]) -> Tables:
        """The tables without the calls of unique texts, and without the ways to where only these can follow.

        Args:
            needs_unique: bool[states], whether the state's rule cannot end before another unique text.
        """
        kept = ~self.call_unique
        first = np.concatenate([[0], np.cumsum(kept)])[self.call_first].astype(np.int32)
        return self._replace(
            targets=np.where(needs_unique[self.targets >> 2], DEAD, self.targets).astype(np.int32),
            quiet=(np.diff(first) == 0) & ~self.final & self.live,
            call_first=first,
            call_rule=self.call_rule[kept],
            call_next=self.call_next[kept],
            call_operation=self.call_operation[kept],
            call_unique=self.call_unique[kept],
        )


T = TypeVar("T", np.int32, np.uint8, np.bool_)


class _Growing(Generic[T]):
    """An array that grows at its end."""

    def __init__(self, dtype: type[T], width: tuple[int, ...] = (), size: int = 0) -> None:
        self._held: NDArray[T] = np.zeros((256, *width), dtype)
        self.size = size

    @property
    def all(self) -> NDArray[T]:
        return self._held[: self.size]

    def extend(self, values: NDArray[np.generic]) -> None:
        size = self.size
        self.reach(size + len(values))
        self._held[size : self.size] = values

    def reach(self, size: int) -> None:
        """Grow to a size; what is new is 0."""
        if size > len(self._held):
            larger = np.zeros((max(size, 2 * len(self._held)), *self._held.shape[1:]), self._held.dtype)
            larger[: self.size] = self._held[: self.size]
            self._held = larger
        self.size = max(size, self.size)

    def put(self, place: int, value: NDArray[T] | int) -> None:
        self._held[place] = value


class GrowingTables:
    """What `Tables` are cut from."""

    def __init__(self) -> None:
        self._row, self._targets, self._rule = _Growing(np.int32), _Growing(np.int32), _Growing(np.int32)
        self._final, self._live, self._quiet = _Growing(np.bool_), _Growing(np.bool_), _Growing(np.bool_)
        self._call_first = _Growing(np.int32, size=1)
        self._call_rule, self._call_next = _Growing(np.int32), _Growing(np.int32)
        self._call_operation, self._call_unique = _Growing(np.int32), _Growing(np.bool_)
        self._classes = _Growing(np.uint8, (256,))
        self._least, self._most = _Growing(np.int32), _Growing(np.int32)
        self._start = np.full(1, UNBUILT, np.int32)

    def add(self, rule: int, dfa: Dfa, numbers: dict[object, int]) -> Tables:
        """Add a rule.

        Args:
            rule: Its number.
            dfa: Its automaton.
            numbers: The number of each rule, those that it calls included.
        """
        base, offset, called = self._row.size, self._targets.size, self._call_rule.size
        states, width = dfa.targets.shape
        calls = np.array(
            [
                (state, numbers[key], base + after, operation, isinstance(key, Unique))
                for state, key, after, operation in dfa.calls
            ],
            np.int32,
        ).reshape(-1, 5)
        first = np.searchsorted(calls[:, 0], np.arange(states + 1))
        live = (dfa.targets != DEAD).any(axis=1)
        self._row.extend(np.arange(offset, offset + states * width, width, dtype=np.int32))
        self._targets.extend(transitions(dfa, base))
        self._rule.extend(np.full(states, rule, np.int32))
        self._final.extend(dfa.final)
        self._live.extend(live)
        self._quiet.extend((np.diff(first) == 0) & ~dfa.final & live)
        self._call_first.extend((first[1:] + called).astype(np.int32))
        self._call_rule.extend(calls[:, 1])
        self._call_next.extend(calls[:, 2])
        self._call_operation.extend(calls[:, 3])
        self._call_unique.extend(calls[:, 4].astype(bool))
        for per_rule in (self._classes, self._least, self._most):
            per_rule.reach(len(numbers))
        self._classes.put(rule, dfa.classes)
        self._least.put(rule, dfa.least)
        self._most.put(rule, -1 if dfa.most is None else dfa.most)
        # Not changed in place: one who still walks the smaller tables must not enter the new rule.
        start = np.full(len(numbers), UNBUILT, np.int32)
        start[: len(self._start)] = self._start
        start[rule] = base
        self._start = start
        return Tables(
            self._row.all, self._targets.all, self._classes.all, self._rule.all, self._final.all, self._live.all,
            self._quiet.all, self._call_first.all, self._call_rule.all, self._call_next.all, self._call_operation.all,
            self._call_unique.all, start, self._least.all, self._most.all,
        )  # fmt: skip


def transitions(dfa: Dfa, base: int) -> NDArray[np.int32]:
    """int32[states * classes]: the transitions of an automaton whose states are numbered from `base`."""
    moved: NDArray[np.int32] = np.where(dfa.targets == DEAD, DEAD, dfa.targets + (base << 2)).ravel()
    return moved
