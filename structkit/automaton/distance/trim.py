"""One rule's automaton without the ways that lead nowhere, and how far its states are from the rule's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import DEAD, Dfa, sort_callees
from structkit.automaton.core.kernels import OPERATION_BITS, UNREACHABLE
from structkit.automaton.distance.kernels import (
    BYTES_PER_ITERATION,
    CALL_COLUMNS,
    DISTANCE,
    FIRST_STEP,
    RULE_COLUMNS,
    STATE_COLUMNS,
    measure,
)

__all__ = ["MAX_CACHED_TRANSITIONS", "TrimmedRule", "first_bytes", "measure_rule", "trim_rule"]

_FROM_LAST = np.arange(255, -1, -1, dtype=np.uint8)

MAX_CACHED_TRANSITIONS = 500_000
"""Transitions of an automaton about which nothing is remembered, for what it is made of is its target's own."""


@dataclass(frozen=True, eq=False, slots=True)
class TrimmedRule:
    """A rule's automaton from whose states the rule's end can be reached.

    Attributes:
        dfa: The automaton.
        distance: int32[states], bytes that lead from each state to the end of the rule, the counter left out.
        first_step: int32[states], the first step of such a way: a byte, `-1 - call`, or `kernels.END`.
        bytes_per_iteration: The bytes of one round of the counted repetition.
    """

    dfa: Dfa
    distance: NDArray[np.int32]
    first_step: NDArray[np.int32]
    bytes_per_iteration: int

    @property
    def min_length(self) -> int:
        """The bytes of a text; `FAR` if there is none."""
        end, least = int(self.distance[0]), self.dfa.min_count
        if end >= UNREACHABLE or (least and self.bytes_per_iteration >= UNREACHABLE):
            return UNREACHABLE
        return min(UNREACHABLE - 1, end + least * self.bytes_per_iteration)


def trim_rule(dfa: Dfa, callee_lengths: Sequence[int] = ()) -> TrimmedRule:
    """Find the ways to the end of a rule, and leave out the states and calls without one; the start stays.

    Args:
        dfa: The rule's automaton.
        callee_lengths: For each of its callees the bytes of a text, `FAR` if it has none.
    """
    if not dfa.callees:
        return _cached_trim(dfa) if dfa.targets.size <= MAX_CACHED_TRANSITIONS else measure_rule(dfa, ())[0]
    found, farthest = measure_rule(dfa, callee_lengths)
    if farthest < UNREACHABLE:
        return found
    dead = found.distance >= UNREACHABLE
    lives = (np.array(callee_lengths)[dfa.calls[:, 1]] < UNREACHABLE) & ~dead[dfa.calls[:, 2]]
    calls, callees = sort_callees(dfa.calls[lives], dfa.callees)
    targets = np.where(dead[dfa.targets >> OPERATION_BITS], DEAD, dfa.targets).astype(np.int32)
    return replace(found, dfa=replace(dfa, targets=targets, calls=calls, callees=callees))


@lru_cache(maxsize=1024)
def _cached_trim(dfa: Dfa) -> TrimmedRule:
    """Such automata were trimmed when they were made."""
    return measure_rule(dfa, ())[0]


def measure_rule(dfa: Dfa, callee_lengths: Sequence[int]) -> tuple[TrimmedRule, int]:
    """The distances of one rule, and the farthest; each that it calls is a state of its own, of a given distance."""
    states, width = dfa.targets.shape
    callees, calls = len(callee_lengths), len(dfa.calls)
    of_states = np.zeros((STATE_COLUMNS, states + callees + 1), np.int32)
    of_rules = np.zeros((RULE_COLUMNS, callees + 1), np.int32)
    farthest = measure(
        dfa.targets.ravel(), width, dfa.classes, dfa.final, dfa.calls, dfa.distinct, np.array(callee_lengths, np.int32),
        dfa.min_count, np.zeros(states + callees, np.bool_), of_states, np.empty((CALL_COLUMNS, calls), np.int32),
        np.empty(calls, np.bool_), of_rules, np.empty((1, 256), np.uint8), np.empty(callees + 1, np.bool_),
        np.empty(states * width, np.int32),
    )  # fmt: skip
    end, hop = of_states[DISTANCE, :states].copy(), of_states[FIRST_STEP, :states].copy()
    return TrimmedRule(dfa, end, hop, of_rules.item(BYTES_PER_ITERATION, 0)), farthest


def first_bytes(classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[rules, 256]: a byte of each class of each rule, given the class of each byte."""
    bytes_of = np.zeros_like(classes)
    # Of several bytes of a class the last one stays.
    bytes_of[np.arange(len(classes))[:, None], classes[:, ::-1]] = _FROM_LAST
    return bytes_of
