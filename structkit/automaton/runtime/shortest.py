"""The shortest ways to the end of the language: what a guide falls back on when few tokens are left."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import DEAD, KEEP, TICK
from structkit.automaton.core.kernels import BITS, OPERATION
from structkit.automaton.distance.kernels import CALL_FIRST, END_AT, HOP, ROUNDS, ROW, RULE, STATES, distances
from structkit.automaton.distance.trim import first_bytes
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Fork, Frame, Memory, fewest

__all__ = ["Shortest", "shortest_length", "shortest_text"]


@dataclass(frozen=True, eq=False, slots=True)
class Shortest:
    """The shortest way from each state to the end of its rule.

    Attributes:
        automaton: The automaton, all of whose rules are built.
        end: int32[states], the fewest bytes; `structkit.automaton.core.kernels.FAR` where there is no end.
        hop: int32[states], the first step of a shortest way: a byte, `-1 - call`, or `kernels.END`.
        rounds: int32[rules], the bytes of one round of the rule's counted repetition.
        first_byte: uint8[rules, 256], a byte of each class.
        width: int32[rules], the byte classes of each rule.
        stop: int32[rules], the state after the last of each rule.
    """

    automaton: Automaton
    end: NDArray[np.int32]
    hop: NDArray[np.int32]
    rounds: NDArray[np.int32]
    first_byte: NDArray[np.uint8]
    width: NDArray[np.int32]
    stop: NDArray[np.int32]
    _to_rounds: dict[int, Mapping[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, automaton: Automaton) -> Shortest:
        """The shortest ways of an automaton; all rules are built for it."""
        tables = automaton.complete().tables
        states, rules = len(tables.row), range(len(tables.start))
        width = np.array([tables.width(*automaton.states_of(rule)) for rule in rules], np.int32)
        stop = np.array([automaton.states_of(rule)[1] for rule in rules], np.int32)
        first_byte = first_bytes(tables.classes)
        of_states = np.full((STATES, states + 1), kernels.FAR, np.int32)
        of_states[ROW, :states], of_states[RULE, :states] = tables.row, tables.rule
        of_states[CALL_FIRST] = tables.call_first
        of_calls = np.stack([tables.call_rule, tables.call_next, tables.call_operation])
        of_rules = np.stack([tables.start, stop, tables.least, width, np.empty_like(width)])
        distances(
            tables.targets, tables.final, of_states, of_calls, tables.call_unique, of_rules, first_byte,
            np.empty(len(rules), np.bool_), np.empty(len(tables.targets), np.int32),
        )  # fmt: skip
        end, hop = of_states[END_AT, :states].copy(), of_states[HOP, :states].copy()
        return cls(automaton, end, hop, of_rules[ROUNDS], first_byte, width, stop)

    def to_rounds(self, rule: int) -> Mapping[int, int]:
        """For the states of a rule in which no round begins the first step of a shortest way to one, if there is."""
        known = self._to_rounds.get(rule)
        if known is None:
            known = self._to_rounds[rule] = _find_rounds(self, rule)
        return known


def shortest_length(shortest: Shortest, frame: Frame, known: dict[Fork, int] | None = None) -> int:
    """About the fewest bytes that lead from a frame to the end of the language; for `known` see `fewest`."""
    automaton = shortest.automaton

    def length(at: Frame) -> int:
        rule = automaton.rule_of[at.state]
        rounds = max(automaton.counters[rule][0] - at.count, 0)
        return int(shortest.end[at.state]) + rounds * int(shortest.rounds[rule])

    return fewest(frame, length, known)


def shortest_text(shortest: Shortest, frame: Frame) -> bytes:
    """A text of the fewest bytes, or nearly, that leads from a frame to the end of the language."""
    automaton = shortest.automaton
    text = bytearray()
    at: Frame | None = frame
    known: dict[Fork, int] = {}
    while at is not None:
        state, rule = at.state, automaton.rule_of[at.state]
        step = int(shortest.hop[state])
        if at.count < automaton.counters[rule][0]:
            step = _round(shortest, at, rule, step)
        if step == kernels.END:
            at = at.below if not isinstance(at.below, Fork) else _nearest(shortest, at.below, known)
        elif step < 0:
            call = -1 - step
            count = automaton.counted(rule, at.count, int(automaton.call_operation[call]))
            memory = at.memory
            only = (
                automaton.only_text(int(automaton.call_rule[call])) if automaton.call_unique[call] else None
            )
            if only is not None:
                memory = (memory or Memory()).closed(only)
            back = automaton.frame(int(automaton.call_next[call]), count or 0, at.below, memory)
            at = automaton.frame(int(automaton.start[automaton.call_rule[call]]), 0, back)
        else:
            text.append(step)
            target = int(automaton.targets[automaton.row[state] + automaton.classes[rule, step]])
            at = automaton.frame(
                target >> BITS,
                automaton.counted(rule, at.count, target & OPERATION) or 0,
                at.below,
                at.memory,
            )
    return bytes(text)


def _nearest(shortest: Shortest, fork: Fork, known: dict[Fork, int]) -> Frame:
    return min(fork.frames, key=lambda frame: shortest_length(shortest, frame, known))


def _round(shortest: Shortest, frame: Frame, rule: int, step: int) -> int:
    """The shortest step that begins a round of the counted repetition, or leads to one that does."""
    automaton = shortest.automaton
    end, best, farthest = shortest.end, step, 2 * kernels.FAR
    row, memory = int(automaton.row[frame.state]), frame.memory
    for klass, target in enumerate(automaton.targets[row : row + int(shortest.width[rule])].tolist()):
        if target != DEAD and target & OPERATION == TICK and end[target >> BITS] < farthest:
            best, farthest = int(shortest.first_byte[rule, klass]), int(end[target >> BITS])
    for call in range(automaton.call_first[frame.state], automaton.call_first[frame.state + 1]):
        far = int(end[automaton.start[automaton.call_rule[call]]]) + int(end[automaton.call_next[call]])
        if automaton.call_operation[call] == TICK and far < farthest:
            only = (
                automaton.only_text(int(automaton.call_rule[call])) if automaton.call_unique[call] else None
            )
            if only is not None and memory is not None and memory.has(only):
                continue
            best, farthest = -1 - call, far
    if farthest < 2 * kernels.FAR:
        return best
    return shortest.to_rounds(rule).get(frame.state, step)


def _find_rounds(shortest: Shortest, rule: int) -> Mapping[int, int]:
    automaton = shortest.automaton
    first, stop = automaton.states_of(rule)
    into: dict[int, list[tuple[int, int]]] = {}
    begins: list[int] = []
    for state in range(first, stop):
        row = int(automaton.row[state])
        for klass, target in enumerate(automaton.targets[row : row + int(shortest.width[rule])].tolist()):
            if target != DEAD and target & OPERATION == KEEP:
                step = int(shortest.first_byte[rule, klass])
                into.setdefault(target >> BITS, []).append((state, step))
            elif target != DEAD and target & OPERATION == TICK:
                begins.append(state)
        for call in range(automaton.call_first[state], automaton.call_first[state + 1]):
            if automaton.call_operation[call] == TICK:
                begins.append(state)
            elif automaton.call_operation[call] == KEEP:
                into.setdefault(int(automaton.call_next[call]), []).append((state, -1 - call))
    ways: dict[int, int] = {}
    reached = set(begins)
    queue = deque(begins)
    while queue:
        state = queue.popleft()
        for before, step in into.get(state, ()):
            if before not in reached:
                reached.add(before)
                ways[before] = step
                queue.append(before)
    return ways
