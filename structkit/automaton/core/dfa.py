"""Deterministic automata over bytes, with calls of other rules and one counter.

A `Dfa` is the automaton of one rule. Bytes that no state tells apart share a class. A transition is one number,
`next_state << BITS | operation`; `DEAD` where there is none. The operations drive the rule's counter, which counts
the rounds of one large repetition so that it need not be unrolled:

- `KEEP`: nothing;
- `TICK`: a round begins: allowed while fewer than `most` have begun;
- a larger number: so many rounds begin, or must follow from here; allowed if no more than `most` have begun then;
- `LEAVE`: the repetition is over: allowed once `least` rounds have begun.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.core.kernels import OPERATION_BITS, UNREACHABLE
from structkit.regex.nodes import Distinct, Intersection, Node, Repeat, Rules, Substring

__all__ = [
    "DEAD",
    "ENTER",
    "EXIT",
    "NO_OP",
    "Dfa",
    "RuleKey",
    "intersection",
    "iterations_to_end",
    "node_of",
    "sort_callees",
    "trim",
]

RuleKey: TypeAlias = str | Repeat | Distinct | Intersection | Substring
"""What a call names: a rule of the target, or a node that became a rule of its own: a large repetition, alone or
within a pattern, a unique text, or a quote."""

_NO_CALLS: NDArray[np.int32] = np.empty((0, 4), np.int32)

DEAD = -1
NO_OP, ENTER, EXIT = 0, kernels.ENTER, kernels.EXIT


def node_of(rules: Rules, key: RuleKey | None) -> Node:
    """What a call of the key stands for; `None` is the start."""
    match key:
        case None:
            return rules.start
        case str():
            return rules.rules[key]
        case Distinct(node):
            return node
        case Repeat() | Intersection() | Substring():
            return key


@dataclass(frozen=True, eq=False)
class Dfa:
    """The automaton of one rule. The start is state 0.

    Attributes:
        classes: uint8[256], the class of each byte.
        targets: int32[states, classes], `next_state << BITS | operation` or `DEAD`.
        final: bool[states], whether the rule may end here (once `min_count` rounds are done).
        calls: int32[calls, 4], `(state, place of the callee in callees, state after it, operation)`, ordered by state.
        callees: What the calls name, in the order in which they do.
        min_count: Rounds that the counted repetition needs; 0 without one.
        max_count: Rounds that it allows; `None` for any number.
    """

    classes: NDArray[np.uint8]
    targets: NDArray[np.int32]
    final: NDArray[np.bool_]
    calls: NDArray[np.int32] = field(default_factory=lambda: _NO_CALLS)
    callees: tuple[RuleKey, ...] = ()
    min_count: int = 0
    max_count: int | None = None

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of the automaton without the bounds of its counter."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.classes, self.targets, self.final):
            digest.update(array.tobytes())
        return digest.digest()

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """bool[callees]: whether the texts of each are unique."""
        return np.array([isinstance(key, Distinct) for key in self.callees], bool)

    @property
    def is_empty(self) -> bool:
        """Whether the language is empty."""
        return not self.final.any()

    def accepts(self, text: bytes) -> bool:
        """Whether the rule holds `text`; for automata without calls and counter.

        >>> from structkit.automaton.construct.compile_rule import regular_dfa
        >>> from structkit.regex.nodes import LiteralText
        >>> regular_dfa(LiteralText("ab")).accepts(b"ab")
        True
        """
        state = 0
        for byte in text:
            target = int(self.targets[state, self.classes[byte]])
            if target == DEAD:
                return False
            state = target >> OPERATION_BITS
        return bool(self.final[state])


def sort_callees(
    calls: NDArray[np.int32], callees: tuple[RuleKey, ...]
) -> tuple[NDArray[np.int32], tuple[RuleKey, ...]]:
    """Calls, and what they name, numbered in the order in which they name it."""
    order = list(dict.fromkeys(calls[:, 1].tolist()))
    if order == list(range(len(callees))):
        return calls.copy(), callees
    places = np.empty(len(callees), np.int32)
    places[order] = np.arange(len(order))
    calls[:, 1] = places[calls[:, 1]]
    return calls.copy(), tuple(callees[place] for place in order)


def intersection(left: Dfa, right: Dfa, max_states: int, *, negate: bool = False) -> Dfa | None:
    """Texts of `left` that are in `right` (not in `right` with `negate`); `None` past `max_states`.

    Both must be without calls, and `left` without a counter; that of `right` counts on. The result is trimmed.
    """
    classes, of = np.empty(256, np.uint8), np.empty((2, 256), np.uint8)
    width = kernels.common_byte_classes(left.classes, right.classes, classes, of)
    room = 64 + len(left.final) + len(right.final)
    while True:
        room = max(1, min(room, max_states))
        pairs, targets, final = (
            np.empty(room, np.int64),
            np.empty((room, width), np.int32),
            np.empty(room, bool),
        )
        slots = np.empty(2 << room.bit_length(), np.int32)
        states = kernels.product(
            left.targets, left.final, right.targets, right.final, of, negate, slots, pairs, targets, final
        )
        if states != kernels.FULL:
            break
        if room >= max_states:
            return None
        room *= 4
    return trim(
        Dfa(
            classes,
            targets[:states].copy(),
            final[:states].copy(),
            min_count=right.min_count,
            max_count=right.max_count,
        )
    )


def iterations_to_end(dfa: Dfa) -> NDArray[np.int32]:
    """int32[states]: the fewest rounds that begin on a way from each to an end; `FAR` where there is none."""
    rounds = np.where(dfa.final, 0, UNREACHABLE).astype(np.int32)
    kernels.min_iterations(dfa.targets, rounds)
    return rounds


def trim(dfa: Dfa) -> Dfa:
    """An automaton without calls, without the states from which no end can be reached; but the start stays."""
    rounds = iterations_to_end(dfa)
    if rounds.max(initial=0) < UNREACHABLE:
        return dfa
    targets, final = dfa.targets.copy(), dfa.final.copy()
    states = kernels.compact(targets, final, rounds)
    return replace(dfa, targets=targets[:states].copy(), final=final[:states].copy())
