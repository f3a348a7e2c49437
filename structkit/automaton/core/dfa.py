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
from structkit.automaton.core.kernels import BITS, FAR
from structkit.regex.nodes import Both, Node, Repeat, Rules, Substring, Unique

__all__ = [
    "DEAD",
    "KEEP",
    "LEAVE",
    "TICK",
    "Dfa",
    "Key",
    "in_order",
    "intersection",
    "node_of",
    "rounds_to_end",
    "trim",
]

Key: TypeAlias = str | Repeat | Unique | Both | Substring
"""What a call names: a rule of the target, or a node that became a rule of its own: a large repetition, alone or
within a pattern, a unique text, or a quote."""

_NO_CALLS: NDArray[np.int32] = np.empty((0, 4), np.int32)

DEAD = -1
KEEP, TICK, LEAVE = 0, kernels.TICK, kernels.LEAVE


def node_of(rules: Rules, key: Key | None) -> Node:
    """What a call of the key stands for; `None` is the start."""
    match key:
        case None:
            return rules.start
        case str():
            return rules.rules[key]
        case Unique(node):
            return node
        case Repeat() | Both() | Substring():
            return key


@dataclass(frozen=True, eq=False)
class Dfa:
    """The automaton of one rule. The start is state 0.

    Attributes:
        classes: uint8[256], the class of each byte.
        targets: int32[states, classes], `next_state << BITS | operation` or `DEAD`.
        final: bool[states], whether the rule may end here (once `least` rounds are done).
        calls: int32[calls, 4], `(state, place of the callee in callees, state after it, operation)`, ordered by state.
        callees: What the calls name, in the order in which they do.
        least: Rounds that the counted repetition needs; 0 without one.
        most: Rounds that it allows; `None` for any number.
    """

    classes: NDArray[np.uint8]
    targets: NDArray[np.int32]
    final: NDArray[np.bool_]
    calls: NDArray[np.int32] = field(default_factory=lambda: _NO_CALLS)
    callees: tuple[Key, ...] = ()
    least: int = 0
    most: int | None = None

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of the automaton without the bounds of its counter."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.classes, self.targets, self.final):
            digest.update(array.tobytes())
        return digest.digest()

    @property
    def unique(self) -> NDArray[np.bool_]:
        """bool[callees]: whether the texts of each are unique."""
        return np.array([isinstance(key, Unique) for key in self.callees], bool)

    @property
    def is_empty(self) -> bool:
        """Whether the language is empty."""
        return not self.final.any()

    def accepts(self, text: bytes) -> bool:
        """Whether the rule holds `text`; for automata without calls and counter.

        >>> from structkit.automaton.construct.compile_rule import regular
        >>> from structkit.regex.nodes import Text
        >>> regular(Text("ab")).accepts(b"ab")
        True
        """
        state = 0
        for byte in text:
            target = int(self.targets[state, self.classes[byte]])
            if target == DEAD:
                return False
            state = target >> BITS
        return bool(self.final[state])


def in_order(calls: NDArray[np.int32], callees: tuple[Key, ...]) -> tuple[NDArray[np.int32], tuple[Key, ...]]:
    """Calls, and what they name, numbered in the order in which they name it."""
    order = list(dict.fromkeys(calls[:, 1].tolist()))
    if order == list(range(len(callees))):
        return calls.copy(), callees
    places = np.empty(len(callees), np.int32)
    places[order] = np.arange(len(order))
    calls[:, 1] = places[calls[:, 1]]
    return calls.copy(), tuple(callees[place] for place in order)


def intersection(left: Dfa, right: Dfa, most_states: int, *, negate: bool = False) -> Dfa | None:
    """Texts of `left` that are in `right` (not in `right` with `negate`); `None` past `most_states`.

    Both must be without calls, and `left` without a counter; that of `right` counts on. The result is trimmed.
    """
    classes, of = np.empty(256, np.uint8), np.empty((2, 256), np.uint8)
    width = kernels.pair(left.classes, right.classes, classes, of)
    room = 64 + len(left.final) + len(right.final)
    while True:
        room = max(1, min(room, most_states))
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
        if room >= most_states:
            return None
        room *= 4
    return trim(
        Dfa(classes, targets[:states].copy(), final[:states].copy(), least=right.least, most=right.most)
    )


def rounds_to_end(dfa: Dfa) -> NDArray[np.int32]:
    """int32[states]: the fewest rounds that begin on a way from each to an end; `FAR` where there is none."""
    rounds = np.where(dfa.final, 0, FAR).astype(np.int32)
    kernels.fewest_rounds(dfa.targets, rounds)
    return rounds


def trim(dfa: Dfa) -> Dfa:
    """An automaton without calls, without the states from which no end can be reached; but the start stays."""
    rounds = rounds_to_end(dfa)
    if rounds.max(initial=0) < FAR:
        return dfa
    targets, final = dfa.targets.copy(), dfa.final.copy()
    states = kernels.compact(targets, final, rounds)
    return replace(dfa, targets=targets[:states].copy(), final=final[:states].copy())
