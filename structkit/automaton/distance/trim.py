"""Trimming of a rule's automaton to the states that reach the rule's end, and the distances of these states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import DEAD, Dfa, RuleKey, sort_callees
from structkit.automaton.core.kernels import OPERATION_BITS, UNREACHABLE
from structkit.automaton.distance.kernels import (
    BYTES_PER_ITERATION,
    CALL_COLUMNS,
    DISTANCE,
    FIRST_STEP,
    MOVE_COLUMNS,
    RULE_COLUMNS,
    STATE_COLUMNS,
    measure,
)
from structkit.lru_cache import LruCache
from structkit.regex.nodes import ReturnLabel

__all__ = [
    "TrimmedRule",
    "first_bytes",
    "measure_labelled",
    "measure_rule",
    "trim_rule",
]

_FROM_LAST = np.arange(255, -1, -1, dtype=np.uint8)


@dataclass(frozen=True, eq=False, slots=True)
class TrimmedRule:
    """A rule's automaton in which all states reach the rule's end.

    Attributes:
        dfa: The automaton.
        distance: int32[states], the fewest bytes from each state to the end of the rule, ignoring the counter.
        first_step: int32[states], the first step of a shortest path: a byte, `-1 - call`, or `AT_END`.
        bytes_per_iteration: The bytes of one iteration of the counted repetition.
        label_distance: int32[labels, states], the fewest bytes from each state to an end with each label.
    """

    dfa: Dfa
    distance: NDArray[np.int32]
    first_step: NDArray[np.int32]
    bytes_per_iteration: int
    label_distance: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        arrays = self.distance, self.first_step, self.label_distance
        return self.dfa.nbytes + sum(each.nbytes for each in arrays)

    @property
    def min_length(self) -> int:
        """The length of a shortest text in bytes; `UNREACHABLE` if there is none."""
        end, min_count = int(self.distance[0]), self.dfa.min_count
        if end >= UNREACHABLE or (min_count and self.bytes_per_iteration >= UNREACHABLE):
            return UNREACHABLE
        return min(UNREACHABLE - 1, end + min_count * self.bytes_per_iteration)


def measure_labelled(dfa: Dfa, length: Callable[[RuleKey, int | None], int]) -> TrimmedRule:
    """Return a rule that ends with labels, or calls such rules, with its distances. It is not trimmed.

    The distance from a state behind a call is the largest of those behind the labels, since the callee chooses. That
    from a call is the smallest sum of a text of the callee that ends with a label, and the distance behind it.

    Args:
        dfa: The rule's automaton.
        length: Returns the bytes that are enough for a text of a rule that ends with a label.
    """
    calls = dfa.calls.tolist()
    labels = [key if isinstance(key, ReturnLabel) else None for key in dfa.callees]
    returns: dict[int, list[tuple[int | None, int]]] = {}
    own: dict[int, list[int]] = {}
    for state, callee, after, _ in calls:
        label = labels[callee]
        if label is not None and label.is_return:
            returns.setdefault(state, []).append((label.number, after))
        elif label is not None:
            own.setdefault(label.number, []).append(state)
    called: dict[tuple[int, int | None], int] = {}
    rows = [
        (state, called.setdefault((callee, label), len(called)), target, operation)
        for state, callee, after, operation in calls
        if labels[callee] is None
        for label, target in returns.get(after) or [(None, after)]
    ]
    lengths = [length(cast("RuleKey", dfa.callees[callee]), label) for callee, label in called]
    plain = replace(dfa, calls=np.array(rows, np.int32).reshape(-1, 4), callees=("",) * len(lengths))
    labelled_ends = [own.get(label, []) for label in range(max(own, default=-1) + 1)]
    found, _ = measure_rule(plain, np.array(lengths, np.int32), labelled_ends)
    distance = found.distance
    for state, ends in returns.items():
        distance[state] = max(distance[target] for _, target in ends)
    return replace(found, dfa=dfa)


def trim_rule(dfa: Dfa, callee_lengths: Sequence[int] = ()) -> TrimmedRule:
    """Remove the transitions and calls that cannot reach the end of a rule.

    Args:
        dfa: The rule's automaton.
        callee_lengths: For each callee the bytes of a text, `UNREACHABLE` if it has none.
    """
    if not dfa.callees:
        known = _measured.get(dfa)
        if known is None:  # it is already trimmed
            known = measure_rule(dfa, ())[0]
            _measured.put(dfa, known)
        return known
    found, max_distance = measure_rule(dfa, callee_lengths)
    if max_distance < UNREACHABLE:
        return found
    dead_states = found.distance >= UNREACHABLE
    kept = (np.array(callee_lengths)[dfa.calls[:, 1]] < UNREACHABLE) & ~dead_states[dfa.calls[:, 2]]
    calls, callees = sort_callees(dfa.calls[kept], dfa.callees)
    targets = np.where(dead_states[dfa.targets >> OPERATION_BITS], DEAD, dfa.targets).astype(np.int32)
    return replace(found, dfa=replace(dfa, targets=targets, calls=calls, callees=callees))


_measured: LruCache[Dfa, TrimmedRule] = LruCache(1024, 1 << 26, lambda rule: rule.nbytes)
"""Automata without calls, each with its distances."""


def measure_rule(
    dfa: Dfa, callee_lengths: Sequence[int] | NDArray[np.int32], labelled_ends: Sequence[Sequence[int]] = ()
) -> tuple[TrimmedRule, int]:
    """Return the distances of one rule, given the lengths of its callees, and the maximum distance.

    Args:
        dfa: The rule's automaton.
        callee_lengths: For each callee the bytes of a text.
        labelled_ends: For each label the states in which the rule may end with it, instead of its final states.
    """
    states, width = dfa.targets.shape
    callees, calls = len(callee_lengths), len(dfa.calls)
    final, ends = dfa.final, [state for each in labelled_ends for state in each]
    if ends:
        final = np.zeros(states, np.bool_)
        final[ends] = True
    of_states = np.zeros((STATE_COLUMNS, states + callees + 1), np.int32)
    of_rules = np.zeros((RULE_COLUMNS, callees + 1), np.int32)
    label_distance = np.empty((len(labelled_ends), states), np.int32)
    max_distance = measure(
        dfa.targets.ravel(), width, dfa.classes, final, dfa.calls, dfa.distinct,
        np.asarray(callee_lengths, np.int32),
        dfa.min_count, np.zeros(states + callees, np.bool_), of_states, np.empty((CALL_COLUMNS, calls), np.int32),
        np.empty(calls, np.bool_), of_rules, np.empty((1, 256), np.uint8), np.empty(callees + 1, np.bool_),
        np.empty((states * width, MOVE_COLUMNS), np.int32), np.array(ends, np.int32),
        np.cumsum([len(each) for each in labelled_ends], dtype=np.int32), label_distance,
    )  # fmt: skip
    distance, first_step = of_states[DISTANCE, :states].copy(), of_states[FIRST_STEP, :states].copy()
    iteration = of_rules.item(BYTES_PER_ITERATION, 0)
    return TrimmedRule(dfa, distance, first_step, iteration, label_distance), max_distance


def first_bytes(classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the first byte of each class of each rule, as uint8[rules, 256], given the class of each byte."""
    bytes_of = np.zeros_like(classes)
    # The last assignment wins, so bytes are assigned in descending order.
    bytes_of[np.arange(len(classes))[:, None], classes[:, ::-1]] = _FROM_LAST
    return bytes_of
