"""Deterministic automata over bytes, with calls of other rules and one counter.

A `Dfa` is the automaton of one rule. Bytes that no state distinguishes share a class. A transition is one number,
`next_state << OPERATION_BITS | operation`, or `DEAD` if there is none. Operations update the rule's counter, which
counts the iterations of one large repetition, so that it need not be unrolled:

- `NO_OP`: no effect.
- `ENTER`: an iteration starts; allowed if fewer than `max_count` iterations have started.
- n > `ENTER`: n iterations start, or must follow from here; allowed if the count stays at most `max_count`.
- `EXIT`: the repetition ends; allowed if at least `min_count` iterations have started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.core.kernels import OPERATION_BITS, UNREACHABLE
from structkit.regex.nodes import Distinct, Intersection, Node, Repeat, ReturnLabel, Rules, Substring

__all__ = [
    "DEAD",
    "ENTER",
    "EXIT",
    "NO_OP",
    "Callee",
    "Dfa",
    "RuleKey",
    "Scalar",
    "append_text",
    "exclude_texts",
    "first_rows",
    "intersection",
    "iterations_to_end",
    "node_of",
    "sort_callees",
    "trim",
]

RuleKey: TypeAlias = str | Repeat | Distinct | Intersection | Substring
"""The callee of a call: a rule of the target, or a node that became a separate rule: a large repetition, alone or in a
pattern, a distinct text, or a quote."""

Callee: TypeAlias = RuleKey | ReturnLabel
"""What a call names. A call of a label is no call: in a labelled rule it is an end, and in the state behind a call of
such a rule it is the move for that end. Its number in `Tables.call_rule` is `-1 - label`."""

Scalar = TypeVar("Scalar", bound=np.generic)

_NO_CALLS: NDArray[np.int32] = np.empty((0, 4), np.int32)

DEAD = -1
NO_OP, ENTER, EXIT = 0, kernels.ENTER, kernels.EXIT


def node_of(rules: Rules, key: RuleKey | None) -> Node:
    """Return the node of a callee; `None` is the start."""
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
        targets: int32[states, classes], `next_state << OPERATION_BITS | operation` or `DEAD`.
        final: bool[states], whether the rule may end here (if at least `min_count` iterations have started).
        calls: int32[calls, 4], `(state, index in callees, state after the call, operation)`, ordered by state.
        callees: The callees, in the order of their first calls.
        min_count: Minimum iterations of the counted repetition; 0 without one.
        max_count: Maximum iterations; `None` if unbounded.
        work: What the subset construction cost: the NFA states in all subsets.
    """

    classes: NDArray[np.uint8]
    targets: NDArray[np.int32]
    final: NDArray[np.bool_]
    calls: NDArray[np.int32] = field(default_factory=lambda: _NO_CALLS)
    callees: tuple[Callee, ...] = ()
    min_count: int = 0
    max_count: int | None = None
    work: int = 0

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of the automaton without the bounds of its counter."""
        digest = hashlib.sha256()  # in hardware on most processors, for megabytes of transitions
        for array in (self.classes, self.targets, self.final):
            digest.update(array.tobytes())
        return digest.digest()[:16]

    @property
    def steps(self) -> int:
        """An estimate of the time that making it took, in steps of about 0.1 µs, as `Limits.work` counts them."""
        return self.work // 6 + 4 * len(self.targets) + self.targets.size // 5

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return self.targets.nbytes + self.final.nbytes + self.calls.nbytes + self.classes.nbytes

    @cached_property
    def distinct(self) -> NDArray[np.bool_]:
        """bool[callees], whether the texts of each callee must be distinct."""
        return np.array([isinstance(key, Distinct) for key in self.callees], bool)

    @property
    def rules_called(self) -> list[RuleKey]:
        """The callees that are rules."""
        return [key for key in self.callees if not isinstance(key, ReturnLabel)]

    @property
    def is_empty(self) -> bool:
        """Whether the language is empty."""
        return not self.final.any()

    def accepts(self, text: bytes) -> bool:
        """Return whether the automaton accepts `text`; for automata without calls.

        >>> from structkit.automaton.construct.compile_rule import regular_dfa
        >>> from structkit.regex.nodes import LiteralText
        >>> regular_dfa(LiteralText("ab")).accepts(b"ab")
        True
        """
        return self.accepts_each([text])[0]

    def accepts_each(self, texts: Sequence[bytes]) -> list[bool]:
        """Return for each text whether the automaton accepts it; for automata without calls.

        >>> from structkit.automaton.construct.compile_rule import rule_dfa
        >>> from structkit.limits import Limits
        >>> from structkit.regex.nodes import LiteralText, Repeat
        >>> many = rule_dfa(Repeat(LiteralText("ab"), 300, 5000), Limits())
        >>> many.min_count, many.accepts_each([b"ab" * 299, b"ab" * 300, b"", b"ab" * 5000, b"ab" * 5001])
        (300, [False, True, False, True, False])
        """
        accepted: NDArray[np.bool_] = np.empty(len(texts), np.bool_)
        most = -1 if self.max_count is None else self.max_count
        content = np.frombuffer(bytearray().join(texts), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        kernels.accepts_each(
            self.targets, self.classes, self.final, self.min_count, most, content, ends, accepted
        )
        answers: list[bool] = accepted.tolist()
        return answers


def sort_callees(
    calls: NDArray[np.int32], callees: tuple[Callee, ...]
) -> tuple[NDArray[np.int32], tuple[Callee, ...]]:
    """Return the calls and callees, with the callees in the order of their first calls; unused callees are removed."""
    order = list(dict.fromkeys(calls[:, 1].tolist()))
    if order == list(range(len(callees))):
        return calls.copy(), callees
    ranks = np.empty(len(callees), np.int32)
    ranks[order] = np.arange(len(order))
    calls[:, 1] = ranks[calls[:, 1]]
    return calls.copy(), tuple(callees[callee] for callee in order)


def intersection(left: Dfa, right: Dfa, max_states: int, *, negate: bool = False) -> Dfa | None:
    """Return the intersection, or the difference if `negate`; `None` if it needs more than `max_states` states.

    Both automata must have no calls, and `left` no counter. The result has the counter of `right` and is trimmed.
    """
    classes, class_pairs = np.empty(256, np.uint8), np.empty((2, 256), np.uint8)
    width = kernels.common_byte_classes(left.classes, right.classes, classes, class_pairs)
    capacity = 64 + len(left.final) + len(right.final)
    while True:
        capacity = max(1, min(capacity, max_states))
        pairs, targets, final = (
            np.empty(capacity, np.int64),
            np.empty((capacity, width), np.int32),
            np.empty(capacity, bool),
        )
        slots = np.empty(2 << capacity.bit_length(), np.int32)
        states = kernels.product(
            left.targets,
            left.final,
            right.targets,
            right.final,
            class_pairs,
            negate,
            slots,
            pairs,
            targets,
            final,
        )
        if states != kernels.FULL:
            break
        if capacity >= max_states:
            return None
        capacity *= 4
    return trim(
        Dfa(
            classes,
            first_rows(targets, states),
            first_rows(final, states),
            min_count=right.min_count,
            max_count=right.max_count,
        )
    )


def exclude_texts(dfa: Dfa, texts: Sequence[bytes], max_states: int) -> Dfa | None:
    """Return the automaton of the texts of `dfa` that are none of `texts`; `None` if it may need too many states.

    Several times faster than the difference from an automaton of the texts.

    Args:
        dfa: An automaton without calls and without a counter.
        texts: The texts to exclude.
        max_states: The maximum number of states before the result is trimmed.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> from structkit.regex.nodes import LiteralText, choice
    >>> both = regular_dfa(choice([LiteralText("a"), LiteralText("ab")]))
    >>> other = exclude_texts(both, [b"a", b"abc"], 100)
    >>> other.accepts(b"a"), other.accepts(b"ab")
    (False, True)
    """
    content = bytearray().join(texts)
    capacity = 1 + len(dfa.targets) + len(content)
    if capacity > max_states:
        return None
    # Classes are runs of bytes; each byte of a text divides a run.
    runs = 1 + int(np.count_nonzero(dfa.classes[1:] != dfa.classes[:-1]))
    targets = np.empty(capacity * min(256, runs + 2 * len({*content})), np.int32)
    classes, final = np.empty(256, np.uint8), np.empty(capacity, bool)
    states, width = kernels.exclude_texts(
        dfa.targets, dfa.final, dfa.classes, np.array(content, np.uint8), np.array([*map(len, texts)], np.int32),
        classes, np.empty(256, np.uint8), targets, final,
    )  # fmt: skip
    rows = first_rows(targets, states * width).reshape(states, width)
    return trim(Dfa(classes, rows, first_rows(final, states)))


def append_text(dfa: Dfa, text: bytes, max_states: int, max_transitions: int) -> Dfa | None:
    """Return the automaton of the texts of `dfa`, each followed by `text`.

    The result is `None` if an end has a transition by the first byte of `text`, because the two would have to be
    followed together, and if there would be more states or transitions than allowed.

    Args:
        dfa: An automaton without calls and without a counter.
        text: At least one byte.
        max_states: The maximum number of states of the result.
        max_transitions: The maximum number of transitions of the result.
    """
    if dfa.is_empty:
        return dfa
    # Each byte of the text needs a class of its own.
    alone = np.bincount(dfa.classes, minlength=dfa.targets.shape[1])[dfa.classes] == 1
    split = [byte for byte in dict.fromkeys(text) if not alone[byte]]
    states, width = dfa.targets.shape
    if states + len(text) > max_states or (states + len(text)) * (width + len(split)) > max_transitions:
        return None
    classes = dfa.classes.copy()
    targets = np.full((states + len(text), width + len(split)), DEAD, np.int32)
    targets[:states, :width], targets[:states, width:] = dfa.targets, dfa.targets[:, classes[split]]
    classes[split] = range(width, width + len(split))
    ends = np.flatnonzero(dfa.final)
    if (targets[ends, classes[text[0]]] != DEAD).any():
        return None
    targets[ends, classes[text[0]]] = states << OPERATION_BITS
    for index, byte in enumerate(text[1:], states):
        targets[index, classes[byte]] = (index + 1) << OPERATION_BITS
    final = np.zeros(states + len(text), bool)
    final[-1] = True
    return Dfa(classes, targets, final)


def iterations_to_end(dfa: Dfa) -> NDArray[np.int32]:
    """Return the minimum iterations that start on a path from each state to an end, as int32[states].

    States without such a path have `UNREACHABLE`.
    """
    iterations = np.where(dfa.final, 0, UNREACHABLE).astype(np.int32)
    kernels.min_iterations(dfa.targets, iterations)
    return iterations


def trim(dfa: Dfa) -> Dfa:
    """Remove the states of a call-free automaton that cannot reach an end, except the start.

    The arrays of `dfa` are overwritten, because memory that is written for the first time is slow.
    """
    iterations = iterations_to_end(dfa)
    if iterations.max(initial=0) < UNREACHABLE:
        return dfa
    states = kernels.compact(dfa.targets, dfa.final, iterations)
    return replace(dfa, targets=first_rows(dfa.targets, states), final=first_rows(dfa.final, states))


def first_rows(array: NDArray[Scalar], count: int) -> NDArray[Scalar]:
    """Return the first rows of an array, as a copy if the array would keep much more memory alive."""
    return array[:count] if 2 * count >= len(array) else array[:count].copy()
