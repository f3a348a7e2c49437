"""Whether the margin of a token distance is enough for every distinct text to differ from all texts seen before.

A token distance counts `DISTINCT_MARGIN` tokens more for each distinct text. Where a state leads to itself on n bytes,
the shortest text through it becomes n ** k texts with k more bytes, and each byte is at most one more token. If these
are more than the texts to differ from, the distance is an upper bound.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np

from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import NO_OP
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK, UNREACHABLE
from structkit.automaton.core.tables import Tables
from structkit.automaton.distance.bounds import DISTINCT_MARGIN
from structkit.automaton.runtime.short_text import seen_texts
from structkit.automaton.runtime.stack import Below, Frame
from structkit.guide.distinct_lengths import DistinctLengths
from structkit.guide.state import State, distinct_texts
from structkit.index.index import Index

__all__ = ["DistinctBounds"]

_UNLIMITED = 1 << 60
"""More texts than any value has."""

_MAX_PATH = 8
"""Steps along a shortest path that are examined for a state that leads to itself."""

_MAX_STATES = 5_000
"""States of distinct texts that are examined, at about 10 µs each; if there are more, some may have no room."""


class DistinctRoom:
    """Counts the distinct texts that fit into the margin of token distances.

    Args:
        index: The masks of a language, whose distances are exact.
    """

    def __init__(self, index: Index) -> None:
        self._automaton = index.automaton
        self._shortest = index.shortest
        self._tokens = index.token_distances[0]
        self._known: dict[int, int] = {}
        tables = self._automaton.tables  # the arrays of an automaton are published one by one
        self._call_distinct = tables.call_distinct
        callees = np.unique(tables.call_rule[tables.call_distinct]).tolist()
        # `KeyChoices` counts the cost of texts that are the only one of their rule.
        self._callees = [rule for rule in callees if self._automaton.sole_text(rule) is None]
        starts = [self._automaton.start.item(rule) for rule in self._callees]
        self.at_start = min(map(self.of, starts), default=_UNLIMITED)
        """The fewest texts of a distinct text that was not started."""
        self._everywhere: int | None = None

    @property
    def everywhere(self) -> int:
        """The fewest texts of a distinct text that was or was not started."""
        if self._everywhere is None:
            self._everywhere = self._least() if self.at_start else 0
        return self._everywhere

    def of_stack(self, frame: Frame) -> int:
        """Return the fewest texts of the distinct texts that are open in a frame, and of others that may follow."""
        automaton, least, here = self._automaton, self.at_start, 0
        at: Below = frame
        above = frame
        while isinstance(at, Frame) and at.inside_distinct:
            is_open = at.seen_texts is not None and at.seen_texts.open_start is not None
            if is_open and automaton.sole_text(automaton.rule_of[above.state]) is None:
                least = min(least, here)
            here = max(here, self.of(at.state))
            above, at = at, at.below
        return least

    def of(self, state: int) -> int:
        """Return a lower bound on the texts from a state to the end of its rule that fit into the margin."""
        known = self._known.get(state)
        if known is None:
            known = self._known[state] = self._along_path(state, DISTINCT_MARGIN)
        return known

    def _along_path(self, state: int, margin: int) -> int:
        """Look for a state that leads to itself along a shortest path; `margin` tokens may be added."""
        automaton, tokens = self._automaton, self._tokens
        rule, total, room = automaton.rule_of[state], self._tokens.item(state), 0
        for steps in range(_MAX_PATH):
            # A token of the shortest text may be cut in two.
            excess = max(steps + tokens.item(state) - total, 0)
            if excess < margin:
                room = max(room, self._loops(state, rule) ** (margin - excess))
            step = self._shortest.first_step.item(state)
            # While the counter is too small, the state does not lead to itself.
            if automaton.counter_bounds[rule][0] or step == kernels.AT_END:
                break
            if step < 0:
                call = -1 - step
                start = automaton.start.item(automaton.call_rule.item(call))
                excess = steps + tokens.item(start) + tokens.item(automaton.call_next.item(call)) - total
                if not self._call_distinct[call] and 0 <= excess < margin:
                    room = max(room, self._along_path(start, margin - excess))
                break
            target = automaton.targets.item(automaton.row.item(state) + automaton.classes.item(rule, step))
            state = target >> OPERATION_BITS
        return room

    def _loops(self, state: int, rule: int) -> int:
        """Return the number of bytes on which a state leads to itself."""
        automaton = self._automaton
        targets = automaton.targets[automaton.row.item(state) + automaton.classes[rule].astype(np.int32)]
        return int(((targets >> OPERATION_BITS == state) & (targets & OPERATION_MASK == NO_OP)).sum())

    def _least(self) -> int:
        """Return the fewest texts from any state of a rule whose texts are distinct."""
        automaton, least = self._automaton, self.at_start
        looked = 0
        rules = list(self._callees)
        reached = set(rules)
        for rule in rules:
            first, stop = automaton.state_range(rule)
            looked += stop - first
            if looked > _MAX_STATES or not least:
                return 0
            least = min(
                [least, *(self.of(at) for at in range(first, stop) if self._tokens[at] < UNREACHABLE)]
            )
            calls = automaton.call_rule[automaton.call_first[first] : automaton.call_first[stop]]
            for callee in np.unique(calls).tolist():
                if callee not in reached:
                    reached.add(callee)
                    rules.append(callee)
        return least


class KeyChoices:
    """States that choose among distinct texts of one text each, such as the keys of an object in any order.

    A token distance counts the shortest of them there. If it was written already, one of the others must follow.

    Args:
        index: The masks of a language.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._known: tuple[int, int] = (0, 0)

    @property
    def excess(self) -> int:
        """The most tokens by which the longest of the texts exceeds the shortest; 0 without such states.

        If there are such states, all rules are built, and the distances become exact.
        """
        tables = self._index.automaton.tables
        if len(tables.call_rule) != self._known[0]:
            self._known = len(tables.call_rule), self._excess(tables)
        return self._known[1]

    def _excess(self, tables: Tables) -> int:
        if not _choosing(tables):
            return 0
        index, automaton = self._index, self._index.automaton
        index.make_exact()
        tables, tokens, most = automaton.tables, index.token_distances[0], 0
        for state in _choosing(tables):
            for call in range(tables.call_first.item(state), tables.call_first.item(state + 1)):
                callee = tables.call_rule.item(call)
                if tables.call_distinct[call] and automaton.sole_text(callee) is not None:
                    start, after = tables.start.item(callee), tables.call_next.item(call)
                    cost = tokens.item(start) + DISTINCT_MARGIN + tokens.item(after) - tokens.item(state)
                    most = max(most, cost)
        return min(most, UNREACHABLE - 1)


def _choosing(tables: Tables) -> list[int]:
    """Return the states with several distinct calls.

    The tables belong together. The arrays of an automaton do not while another thread builds a rule.
    """
    before = np.concatenate([[0], np.cumsum(tables.call_distinct)])
    calls = before[tables.call_first[1:]] - before[tables.call_first[:-1]]
    states: list[int] = np.flatnonzero(calls > 1).tolist()
    return states


class DistinctBounds:
    """Upper bounds on the tokens of what is left of a value with distinct texts, which may need more bytes to differ.

    They are exact first: what a margin is enough for depends on all rules, and not on those that were built before.

    Args:
        index: The masks of a language.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._choices = KeyChoices(index)

    @cached_property
    def _room(self) -> DistinctRoom:
        return DistinctRoom(self._index)

    @cached_property
    def _lengths(self) -> DistinctLengths:
        return DistinctLengths(self._index)

    def of_state(self, state: State, tokens: int, *, proven: bool = False) -> int:
        """Return the bound of a state, given the estimate `tokens`; `UNREACHABLE` if distances are not exact.

        If texts cannot be counted, the bound is an estimate, or `UNREACHABLE` where it must be `proven`.
        """
        if not self._index.is_exact:
            return UNREACHABLE
        tokens += self._choices.excess
        if self.has_room(state, tokens, state.frames):
            return tokens
        if self._is_counted:
            excess, lengths = self._choices.excess, self._lengths
            found = (lengths.of_frame(each, state.buffer, excess) for each in state.frames)
            return min(found, default=UNREACHABLE)
        return UNREACHABLE if proven else _estimate(state, tokens)

    def after_any_token(self, state: State, tokens: int) -> int:
        """Return the bound of the states after any token, given the estimate `tokens`; see `of_state`."""
        if not self._index.is_exact:
            return UNREACHABLE
        tokens += self._choices.excess
        if self.has_room(state, tokens, None):
            return tokens
        if self._is_counted:
            return self._lengths.after_any_token(state.frames, tokens)
        return _estimate(state, tokens)

    def has_room(self, state: State, tokens: int, frames: Collection[Frame] | None) -> bool:
        """Return whether the margin in `tokens` is certainly enough for each distinct text.

        Args:
            state: The state.
            tokens: The tokens of a frame.
            frames: The frames that the tokens are of; `None` if they are of frames after some token.
        """
        index = self._index
        if tokens >= UNREACHABLE - 1 or not (index.is_exact and index.vocabulary.has_all_bytes):
            return False
        room = self._room
        # Each distinct text that must still be written has a margin, which is a part of `tokens`.
        different = (
            max((len(seen.texts) for seen in seen_texts(state.frames)), default=0)
            + 1
            + tokens // DISTINCT_MARGIN
        )
        if frames is None:
            return room.everywhere > different
        least = min(map(index.upper_bound, frames), default=0)
        nearest = (frame for frame in frames if index.upper_bound(frame) == least)
        return any(room.of_stack(frame) > different for frame in nearest)

    @property
    def _is_counted(self) -> bool:
        return self._index.vocabulary.has_all_bytes and self._lengths.is_known


def _estimate(state: State, tokens: int) -> int:
    """Return an estimate that is usually enough, for texts that cannot be counted."""
    return 2 * tokens + max(map(len, distinct_texts(state.frames)), default=0)
