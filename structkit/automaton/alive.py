"""One rule's automaton without the ways that lead nowhere, and how far its states are from the rule's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.dfa import DEAD, Dfa, Key
from structkit.automaton.distances import distances, lay_out
from structkit.automaton.kernels import BITS, FAR

__all__ = ["LARGE", "Alive", "alive", "first_bytes"]

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


def alive(dfa: Dfa, lengths: Mapping[Key, int]) -> Alive:
    """Find the ways to the end of a rule, and leave out the states and calls without one; the start stays.

    Args:
        dfa: The rule's automaton.
        lengths: For each rule that it calls the bytes of a text, `FAR` if it has none.
    """
    if not dfa.calls:
        return _alone(dfa) if dfa.targets.size <= LARGE else _measured(dfa, {})
    found = _measured(dfa, lengths)
    dead = found.end >= FAR
    if not dead.any() and not any(length >= FAR for length in lengths.values()):
        return found
    calls = tuple(
        (state, key, after, operation)
        for state, key, after, operation in dfa.calls
        if lengths[key] < FAR and not dead[after]
    )
    targets = np.where(dead[dfa.targets >> BITS], DEAD, dfa.targets).astype(np.int32)
    return replace(found, dfa=replace(dfa, targets=targets, calls=calls))


@lru_cache(maxsize=1024)
def _alone(dfa: Dfa) -> Alive:
    """Such automata were trimmed when they were made."""
    return _measured(dfa, {})


def _measured(dfa: Dfa, lengths: Mapping[Key, int]) -> Alive:
    """The distances of one rule; each that it calls is a state of its own, whose distance is given."""
    calls = dfa.call_table({key: number for number, key in enumerate(lengths, 1)})
    states, rules = len(dfa.targets), len(lengths) + 1
    of_states, of_rules = np.zeros((6, states + rules), np.int32), np.zeros((5, rules), np.int32)
    of_calls, unique = np.empty((3, len(calls)), np.int32), np.empty(len(calls), bool)
    final, first_byte = np.zeros(states + rules, bool), np.zeros((1, 256), np.uint8)
    lay_out(
        dfa.targets, dfa.classes, dfa.final, calls, np.array(list(lengths.values()), np.int32), dfa.least,
        of_states, final, of_calls, unique, of_rules, first_byte,
    )  # fmt: skip
    row, rule, call_first, given, end, hop = of_states
    call_rule, call_next, call_operation = of_calls
    start, stop, least, width, rounds = of_rules
    distances(
        row[:-1], dfa.targets.ravel(), width, rule, final, call_first, call_rule, call_next, call_operation, unique,
        start, stop, least, first_byte, given, end[:-1], rounds, hop, np.empty(rules, bool),
    )  # fmt: skip
    return Alive(dfa, end[:states].copy(), hop[:states].copy(), int(rounds[0]))


def first_bytes(classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[rules, 256]: a byte of each class of each rule, given the class of each byte."""
    bytes_of = np.zeros_like(classes)
    every = np.broadcast_to(np.arange(255, -1, -1, dtype=np.uint8), classes.shape)
    np.put_along_axis(bytes_of, classes[:, ::-1].astype(np.int64), every, axis=1)
    return bytes_of
