"""One rule's automaton without the ways that lead nowhere, and how far its states are from the rule's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import DEAD, Dfa, in_order
from structkit.automaton.core.kernels import BITS, FAR
from structkit.automaton.distance.kernels import CALLS, END_AT, HOP, ROUNDS, RULES, STATES, measure

__all__ = ["LARGE", "Alive", "alive", "first_bytes", "measured"]

_FROM_LAST = np.arange(255, -1, -1, dtype=np.uint8)

LARGE = 500_000
"""Transitions of an automaton about which nothing is remembered, for what it is made of is its target's own."""


@dataclass(frozen=True, eq=False, slots=True)
class Alive:
    """A rule's automaton from whose states the rule's end can be reached.

    Attributes:
        dfa: The automaton.
        end: int32[states], bytes that lead from each state to the end of the rule, the counter left out.
        hop: int32[states], the first step of such a way: a byte, `-1 - call`, or `kernels.END`.
        rounds: The bytes of one round of the counted repetition.
    """

    dfa: Dfa
    end: NDArray[np.int32]
    hop: NDArray[np.int32]
    rounds: int

    @property
    def length(self) -> int:
        """The bytes of a text; `FAR` if there is none."""
        end, least = int(self.end[0]), self.dfa.least
        if end >= FAR or (least and self.rounds >= FAR):
            return FAR
        return min(FAR - 1, end + least * self.rounds)


def alive(dfa: Dfa, lengths: Sequence[int] = ()) -> Alive:
    """Find the ways to the end of a rule, and leave out the states and calls without one; the start stays.

    Args:
        dfa: The rule's automaton.
        lengths: For each of its callees the bytes of a text, `FAR` if it has none.
    """
    if not dfa.callees:
        return _alone(dfa) if dfa.targets.size <= LARGE else measured(dfa, ())[0]
    found, farthest = measured(dfa, lengths)
    if farthest < FAR:
        return found
    dead = found.end >= FAR
    lives = (np.array(lengths)[dfa.calls[:, 1]] < FAR) & ~dead[dfa.calls[:, 2]]
    calls, callees = in_order(dfa.calls[lives], dfa.callees)
    targets = np.where(dead[dfa.targets >> BITS], DEAD, dfa.targets).astype(np.int32)
    return replace(found, dfa=replace(dfa, targets=targets, calls=calls, callees=callees))


@lru_cache(maxsize=1024)
def _alone(dfa: Dfa) -> Alive:
    """Such automata were trimmed when they were made."""
    return measured(dfa, ())[0]


def measured(dfa: Dfa, lengths: Sequence[int]) -> tuple[Alive, int]:
    """The distances of one rule, and the farthest; each that it calls is a state of its own, of a given distance."""
    states, width = dfa.targets.shape
    callees, calls = len(lengths), len(dfa.calls)
    of_states = np.zeros((STATES, states + callees + 1), np.int32)
    of_rules = np.zeros((RULES, callees + 1), np.int32)
    farthest = measure(
        dfa.targets.ravel(), width, dfa.classes, dfa.final, dfa.calls, dfa.unique, np.array(lengths, np.int32),
        dfa.least, np.zeros(states + callees, np.bool_), of_states, np.empty((CALLS, calls), np.int32),
        np.empty(calls, np.bool_), of_rules, np.empty((1, 256), np.uint8), np.empty(callees + 1, np.bool_),
        np.empty(states * width, np.int32),
    )  # fmt: skip
    end, hop = of_states[END_AT, :states].copy(), of_states[HOP, :states].copy()
    return Alive(dfa, end, hop, of_rules.item(ROUNDS, 0)), farthest


def first_bytes(classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[rules, 256]: a byte of each class of each rule, given the class of each byte."""
    bytes_of = np.zeros_like(classes)
    # Of several bytes of a class the last one stays.
    bytes_of[np.arange(len(classes))[:, None], classes[:, ::-1]] = _FROM_LAST
    return bytes_of
