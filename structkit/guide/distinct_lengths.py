"""Upper bounds on the bytes that distinct texts need to differ, for rules whose texts can be counted.

Of n texts from a state that are no longer than some length, one is none of n - 1 texts seen. So the length for which
there are n bounds the rest of an open text, and each of the texts that must follow it. If there are fewer texts, all of
them may be needed, and the longest is the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import DEAD, EXIT
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK, UNREACHABLE
from structkit.automaton.core.tables import Tables
from structkit.automaton.distance.bounds import DISTINCT_MARGIN
from structkit.automaton.runtime.short_text import seen_texts
from structkit.automaton.runtime.stack import Below, Frame
from structkit.index.index import Index

__all__ = ["DistinctLengths"]

_MIN_LENGTH, _MAX_LENGTH = 64, 1024
"""Bytes up to which texts are counted, and those up to which they are counted if there are few shorter ones and
`_MAX_WORK` is not exceeded. If there are not enough, and longer ones, there is no bound."""

_MAX_WORK = 20_000_000
"""Transitions that are followed to count the texts of all rules, which takes about 0.1 s."""

_RULE_WORK = 5_000
"""Transitions that are followed in the time in which a rule of few states is looked at."""

_ENOUGH = float(1 << 24)
"""Texts that are enough for any value, more than `Limits.iterations`."""

_MANY = float(1 << 60)
"""More texts than any value has."""


class DistinctLengths:
    """Counts the texts of the rules whose texts must be distinct.

    Args:
        index: The masks of a language, whose distances are exact, for a vocabulary with all bytes.

    Attributes:
        is_known: Whether the texts could be counted: of no rule with a minimum of iterations, or with distinct parts.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        automaton, tables = index.automaton, index.automaton.tables
        calls = np.flatnonzero(tables.call_distinct)
        callers = tables.rule[np.searchsorted(tables.call_first, calls, side="right") - 1]
        pairs = set(zip(callers.tolist(), tables.call_rule[calls].tolist(), strict=True))
        callees = sorted({callee for _, callee in pairs if automaton.sole_text(callee) is None})
        # If a rule has others to call, these may have to follow when all texts of one were written.
        owners = [caller for caller, callee in pairs if callee in callees]
        self._is_alone = all(sum(caller == owner for caller, _ in pairs) == 1 for owner in owners)
        self._starts = tables.start[callees].tolist()
        self._callees: dict[int, set[int]] = {}
        self._place: dict[int, int] = {}
        self._of_rule: dict[tuple[int, int], int] = {}
        self.is_known = self._can_count(tables, callees) and self._count(tables)
        tokens = index.token_distances[0]
        self._counted = DISTINCT_MARGIN + min((tokens.item(start) for start in self._starts), default=0)

    def after_any_token(self, frames: frozenset[Frame], tokens: int) -> int:
        """Return the bound after any token, with `tokens` for all but what distinct texts need to differ."""
        seen = max((len(each.texts) for each in seen_texts(frames)), default=0)
        seen += 1 + self._index.vocabulary.max_token_length
        following = tokens // self._counted
        rules = [self._index.automaton.rule_of[start] for start in self._starts]
        rest = max((self._rest_of_rule(rule, seen + following, ()) for rule in rules), default=0)
        return _sum(tokens, rest, self._excess(following, seen + following))

    def of_frame(self, frame: Frame, buffer: bytes, excess: int) -> int:
        """Return the bound of a frame; `UNREACHABLE` if it is not known.

        Args:
            frame: The frame.
            buffer: The text from the start of the outermost open distinct text.
            excess: The tokens by which a choice among texts may exceed the shortest one.
        """
        seen = max((len(each.texts) for each in seen_texts(frozenset((frame,)))), default=0)
        at, rest = frame, 0
        if frame.inside_distinct:
            inner: list[int] = []
            above: Below = frame
            while isinstance(above, Frame) and (
                above.seen_texts is None or above.seen_texts.open_start is None
            ):
                inner.append(above.state)
                above = above.below
            rules = {self._index.automaton.rule_of[state] for state in inner}
            if not isinstance(above, Frame) or above.seen_texts is None or not rules <= self._callees.keys():
                return UNREACHABLE
            if above.below is not None and above.below.inside_distinct:
                return UNREACHABLE
            prefix = buffer[above.seen_texts.open_start :]
            like = sum(text.startswith(prefix) for text in above.seen_texts.texts)
            # The bound of the frame below counts the margin of the open text, which the rest takes the place of.
            at, rest, seen = above, self._rest(inner, like + 1), seen + 1
            excess -= DISTINCT_MARGIN
        tokens = self._index.upper_bound(at) + excess
        following = tokens // self._counted
        return _sum(rest, tokens, self._excess(following, seen + following))

    def _rest(self, states: list[int], different: int) -> int:
        """Return the bytes of a rest that is none of fewer than `different`, of rules that return to each other."""
        places = [self._place_of(state) for state in states]
        shortest = self._index.shortest.distance[states].tolist()
        needed = [self._length(place, different) for place in places]
        # Where one of the parts has enough texts, the others are the shortest.
        least = min(sum(shortest) - each + need for each, need in zip(shortest, needed, strict=True))
        return least if least < UNREACHABLE else _sum(*(self._longest.item(place) for place in places))

    def _excess(self, texts: int, different: int) -> int:
        """Return the bytes that further texts need beyond what a distance counts for them."""
        if not texts:
            return 0
        longest = 0
        for start in self._starts:
            place = self._place_of(start)
            need = self._length(place, different)
            if need >= UNREACHABLE and self._is_alone:
                need = self._longest.item(place)
            longest = max(longest, need)
        return longest if longest >= UNREACHABLE else texts * max(longest - self._counted, 0)

    def _place_of(self, state: int) -> int:
        automaton = self._index.automaton
        rule = automaton.rule_of[state]
        return self._place[rule] + state - automaton.state_range(rule)[0]

    def _length(self, place: int, different: int) -> int:
        """Return the fewest bytes up to which there are enough texts; `UNREACHABLE` if there never are."""
        length = int(np.searchsorted(self._texts[:, place], different))
        return length if length < len(self._texts) else UNREACHABLE

    def _rest_of_rule(self, rule: int, different: int, callers: tuple[int, ...]) -> int:
        """Return the most bytes that the rest of an open text needs, from any state of a rule and those it calls."""
        known = self._of_rule.get((rule, different))
        if known is not None or rule in callers:
            return UNREACHABLE if known is None else known
        first, stop = self._index.automaton.state_range(rule)
        places = range(self._place[rule], self._place[rule] + stop - first)
        here = max(min(self._length(each, different), self._longest.item(each)) for each in places)
        below = (self._rest_of_rule(each, different, (*callers, rule)) for each in self._callees[rule])
        known = self._of_rule[rule, different] = _sum(here, max(below, default=0))
        return known

    def _can_count(self, tables: Tables, rules: list[int]) -> bool:
        """Find the rules that others call; return whether the texts of all of them can be counted."""
        automaton, pending, states, work = self._index.automaton, list(rules), 0, 0
        while pending:
            rule = pending.pop()
            if rule in self._callees:
                continue
            first, stop = automaton.state_range(rule)
            calls = slice(tables.call_first.item(first), tables.call_first.item(stop))
            self._callees[rule], self._place[rule] = set(tables.call_rule[calls].tolist()), states
            pending += self._callees[rule]
            states += stop - first
            work += (stop - first) * tables.width(first, stop)
            if automaton.counter_bounds[rule][0] or tables.call_distinct[calls].any():
                return False
        self._work = work
        return _MIN_LENGTH * work <= _MAX_WORK

    def _count(self, tables: Tables) -> bool:
        """Count the texts of all states; a number may be too small. Return whether the time was enough."""
        moves = self._moves(tables)
        open_ended = _open_ended(moves)
        if open_ended is None:
            return False
        self._longest = _longest_texts(moves, open_ended)
        most = _MAX_WORK // (self._work + _RULE_WORK * len(moves.rules))
        self._texts = _count_texts(moves, self._longest, min(max(most, _MIN_LENGTH), _MAX_LENGTH))
        return True

    def _moves(self, tables: Tables) -> _Moves:
        """Return the moves of all states of the counted rules."""
        automaton, distance = self._index.automaton, self._index.shortest.distance
        size = sum(stop - first for first, stop in map(automaton.state_range, self._place))
        final = np.zeros(size + 1, np.bool_)
        rules: list[_RuleMoves] = []
        calls: list[tuple[int, int, int, int, int]] = []
        for rule, place in self._place.items():
            first, stop = automaton.state_range(rule)
            width, row = tables.width(first, stop), tables.row.item(first)
            targets = tables.targets[row : row + (stop - first) * width].reshape(-1, width)
            after = np.where(targets == DEAD, size, (targets >> OPERATION_BITS) - first + place)
            operations = targets & OPERATION_MASK
            # Without iterations of a counter, which may be at its maximum.
            counted = np.where((operations > 0) & (operations < EXIT), size, after)
            byte_counts = np.bincount(tables.classes[rule], minlength=width)[:width].astype(np.float64)
            places = slice(place, place + stop - first)
            final[places] = tables.final[first:stop]
            rules.append(_RuleMoves(places, after, counted, byte_counts))
            for state in range(first, stop):
                for call in range(tables.call_first.item(state), tables.call_first.item(state + 1)):
                    callee, back = tables.start.item(tables.call_rule.item(call)), tables.call_next.item(call)
                    ends = state - first + place, self._place_of(callee), back - first + place
                    calls.append((*ends, distance.item(callee), distance.item(back)))
        return _Moves(final, rules, *np.array(calls, np.int64).reshape(-1, 5).T)


class _RuleMoves(NamedTuple):
    """The byte transitions of a rule.

    Attributes:
        places: The places of its states.
        after: int64[states, classes], the place after a byte; the last place has no texts.
        counted: The same without transitions that count an iteration.
        byte_counts: float64[classes], the number of bytes of each class.
    """

    places: slice
    after: NDArray[np.int64]
    counted: NDArray[np.int64]
    byte_counts: NDArray[np.float64]


class _Moves(NamedTuple):
    """The moves of all counted states, by their places; the last place is that of no state.

    Attributes:
        final: bool[places], whether a text may end here.
        rules: The byte transitions of each rule.
        callers: int64[calls], the places that call a rule.
        callees: int64[calls], the places of the starts of the rules called.
        backs: int64[calls], the places after the calls.
        inside: int64[calls], the fewest bytes of a text of the rule called.
        behind: int64[calls], the fewest bytes of a text from the place after the call.
    """

    final: NDArray[np.bool_]
    rules: list[_RuleMoves]
    callers: NDArray[np.int64]
    callees: NDArray[np.int64]
    backs: NDArray[np.int64]
    inside: NDArray[np.int64]
    behind: NDArray[np.int64]


def _count_texts(moves: _Moves, longest: NDArray[np.int64], most: int) -> NDArray[np.float64]:
    """Return float64[lengths, places], the number of texts of at most each length, or fewer.

    Args:
        moves: The moves.
        longest: The longest text of each place.
        most: The maximum of the lengths; it is smaller where longer texts do not matter.
    """
    texts = np.zeros((most + 1, len(moves.final)))
    texts[0] = moves.final
    total = texts[0].copy()
    for length in range(1, most + 1):
        for rule in moves.rules:
            found = texts[length - 1][rule.counted] @ rule.byte_counts
            texts[length, rule.places] = np.minimum(found, _MANY)
        # One part varies, the other is a shortest one: different pairs may be one text.
        for varied, fixed in ((moves.callees, moves.behind), (moves.backs, moves.inside)):
            before = length - np.maximum(fixed, 1)
            is_long = before >= 0
            np.maximum.at(texts[length], moves.callers[is_long], texts[before[is_long], varied[is_long]])
        total += texts[length]
        if length >= _MIN_LENGTH and ((total >= _ENOUGH) | (longest <= length)).all():
            break
    return np.minimum(np.cumsum(texts[: length + 1], axis=0), _MANY)


def _open_ended(moves: _Moves) -> NDArray[np.bool_] | None:
    """Return bool[places], whether texts can be of any length: a cycle is reached; `None` if that takes too long."""
    open_ended = np.ones(len(moves.final), np.bool_)
    open_ended[-1] = False
    for _ in range(_MAX_WORK // 64 // len(open_ended) + 1):
        longer = np.zeros_like(open_ended)
        for rule in moves.rules:
            longer[rule.places] = open_ended[rule.after].any(1)
        np.logical_or.at(longer, moves.callers, open_ended[moves.callees] | open_ended[moves.backs])
        if (longer == open_ended).all():
            return open_ended
        open_ended = longer
    return None


def _longest_texts(moves: _Moves, open_ended: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return int64[places], the bytes of the longest text; `UNREACHABLE` if there is none, -1 if there is no text."""
    longest = np.where(moves.final, 0, -1).astype(np.int64)
    while True:
        previous = longest.copy()
        for rule in moves.rules:
            most = longest[rule.after].max(1)
            longest[rule.places] = np.maximum(longest[rule.places], np.where(most >= 0, most + 1, -1))
        inside, behind = longest[moves.callees], longest[moves.backs]
        both = np.where((inside >= 0) & (behind >= 0), inside + behind, -1)
        np.maximum.at(longest, moves.callers, both)
        longest[open_ended] = UNREACHABLE
        longest = np.minimum(longest, UNREACHABLE)
        if (longest == previous).all():
            return longest


def _sum(*tokens: int) -> int:
    return UNREACHABLE if max(tokens, default=0) >= UNREACHABLE else min(sum(tokens), UNREACHABLE - 1)
