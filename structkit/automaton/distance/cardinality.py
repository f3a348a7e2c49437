"""Number of texts of a rule, up to a limit, compared with the number of distinct texts that it must contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count as count_from
from typing import TypeAlias

import numpy as np

from structkit.automaton.core.dfa import DEAD, Dfa, RuleKey
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.regex.nodes import (
    AnyOrder,
    Choice,
    Distinct,
    LiteralText,
    Node,
    Repeat,
    SeparatedList,
    Seq,
    Substring,
)
from structkit.regex.substring import END, encode_source

__all__ = ["Cardinality", "find_shortage", "min_distinct"]

_MAX_TRANSITIONS = 20_000
"""Maximum transitions of an automaton whose texts are counted; larger ones are assumed to have enough texts."""

_MAX_PLACES = 5_000
"""Maximum states that are examined, counted for each number of distinct texts before them; takes about 20 ms."""

_MAX_ROUNDS = 4
"""Rounds after which the number of texts of a recursive rule that still grows is assumed to be infinite."""

_Place: TypeAlias = "tuple[int, tuple[int, ...]]"
"""A state, and how many texts of each callee were written that must be distinct."""


def find_shortage(node: Node, cardinality: Cardinality) -> tuple[int, int] | None:
    """Return `(needed, available)` if a rule needs more distinct texts than it has, else `None`.

    Each required part is counted alone, and all parts together (by Hall 1935 each set of parts would have to be).
    Some shortages are therefore not found: two different parts with the same single text, and equal sets written in
    different orders.
    """
    needed = min_distinct(node)
    if needed < 2:
        return None
    for part, count in _required_counts(node).items():
        if count > 1 and (found := cardinality.of(part, count)) < count:
            return count, found
    available = 0
    for key in dict.fromkeys(_required_distinct(node)):
        available += cardinality.of(key, needed)
        if available >= needed:
            return None
    return needed, available


class Cardinality:
    """Counts the texts of rules. A text with multiple paths through an automaton is counted once per path.

    Args:
        automaton: Returns the automaton of a callee.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> from structkit.regex.nodes import LiteralText, choice
    >>> node = Distinct(choice([LiteralText("a"), LiteralText("bc")]))
    >>> Cardinality(lambda key: regular_dfa(node.node)).of(node, 5)
    2
    """

    def __init__(self, automaton: Callable[[RuleKey], Dfa]) -> None:
        self._automaton = automaton
        self._active: set[RuleKey] = set()
        self._counts: dict[tuple[RuleKey, int], int] = {}
        self._round: dict[RuleKey, int] = {}  # the counts of a round
        self._assumed: dict[RuleKey, int] = {}  # those of the round before, of rules that call themselves

    def of(self, key: RuleKey, limit: int) -> int:
        """Return the number of texts of a callee, at most `limit`.

        Each rule is counted once, because many rules may call the same one, and those many others.
        """
        if isinstance(key, Distinct) and isinstance(key.node, LiteralText):  # such as a declared key
            return 1
        if isinstance(key, Substring) and _has_many_quotes(key, limit):
            return limit
        if (count := self._counts.get((key, limit), self._round.get(key))) is not None:
            return count
        if key in self._active:
            return self._assumed.setdefault(key, 0)
        return self._in_round(key, limit) if self._active else self._in_rounds(key, limit)

    def _in_rounds(self, key: RuleKey, limit: int) -> int:
        """Count the texts of a callee, and of those that it calls, as the least fixed point (Kleene 1952)."""
        try:
            for number in count_from(1):
                before = self._assumed.copy()
                self._round = {}
                self._in_round(key, limit)
                grown = [each for each in self._assumed if self._round[each] > before.get(each, 0)]
                if not grown:
                    break
                self._assumed = {each: self._round[each] for each in self._assumed}
                if number >= _MAX_ROUNDS:  # as those of most recursive rules, which have infinitely many
                    self._assumed |= dict.fromkeys(grown, limit)
            self._counts |= {(each, limit): count for each, count in self._round.items()}
            return self._round[key]
        finally:
            self._round, self._assumed = {}, {}

    def _in_round(self, key: RuleKey, limit: int) -> int:
        self._active.add(key)
        try:
            count = self._round[key] = self._count_paths(self._automaton(key), limit)
        finally:
            self._active.discard(key)
        return count

    def _count_paths(self, dfa: Dfa, limit: int) -> int:
        """Count the paths from the start to an end, up to `limit`; a loop counts as `limit`, ignoring the counter.

        Each text that must be distinct leaves one less to the next that the same callee writes.
        """
        if np.count_nonzero(dfa.targets != DEAD) + len(dfa.calls) > _MAX_TRANSITIONS:
            return limit
        steps, calls, counts = self._steps(dfa, limit)

        def following(place: _Place) -> list[tuple[_Place, int]]:
            state, written = place
            found = [((after, written), count) for after, count in steps[state].items()]
            for number, after in calls[state]:
                left = counts[number] - written[number] if counts[number] < limit else limit
                if left > 0:
                    more = written[number] + (counts[number] < limit)
                    found.append(((after, (*written[:number], more, *written[number + 1 :])), left))
            return found

        start: _Place = 0, (0,) * len(counts)
        paths: dict[_Place, int] = {}
        entered = {start: following(start)}
        stack = [(start, iter(entered[start]))]
        while stack:
            place, pending = stack[-1]
            after, _ = next(pending, (None, 0))
            if after is None:
                stack.pop()
                texts = sum(count * paths[to] for to, count in entered.pop(place))
                paths[place] = min(limit, int(dfa.final[place[0]]) + texts)
            elif after in entered or len(paths) + len(entered) > _MAX_PLACES:
                return limit
            elif after not in paths:
                entered[after] = following(after)
                stack.append((after, iter(entered[after])))
        return paths[start]

    def _steps(
        self, dfa: Dfa, limit: int
    ) -> tuple[list[dict[int, int]], list[list[tuple[int, int]]], list[int]]:
        """Return the steps of each state, its calls of distinct texts, and the number of texts of each callee of these.

        A step is the state after it and the number of ways; a call is the number of the callee and the state after it.
        """
        sizes = np.bincount(dfa.classes, minlength=dfa.targets.shape[1]).tolist()
        steps: list[dict[int, int]] = [{} for _ in range(len(dfa.final))]
        for state, column in np.argwhere(dfa.targets != DEAD).tolist():
            after = int(dfa.targets[state, column]) >> OPERATION_BITS
            steps[state][after] = steps[state].get(after, 0) + sizes[column]
        calls: list[list[tuple[int, int]]] = [[] for _ in range(len(dfa.final))]
        numbers: dict[RuleKey, int] = {}
        counts: dict[RuleKey, int] = {}
        for state, callee, after, _ in dfa.calls.tolist():
            key = dfa.callees[callee]
            if key not in counts:
                counts[key] = self.of(key, limit)
            if isinstance(key, Distinct):
                calls[state].append((numbers.setdefault(key, len(numbers)), after))
            elif counts[key]:
                steps[state][after] = steps[state].get(after, 0) + counts[key]
        return steps, calls, [counts[key] for key in numbers]


def _has_many_quotes(node: Substring, limit: int) -> bool:
    """Return whether there are at least `limit` quotes from the first start, which all differ in length."""
    found = encode_source(node)
    if not len(found.starts):
        return False
    start = int(found.starts[0])
    stop = start + int(np.argmax(found.codes[start:] < 0))
    return int(np.count_nonzero(found.ends[start + 1 : stop + 1] == END)) >= limit


def min_distinct(node: Node) -> int:
    """Return the minimum number of distinct texts of the rule that must be written."""
    match node:
        case Distinct():
            return 1
        case Seq(parts):
            return sum(map(min_distinct, parts))
        case Choice(parts):
            return _min_distinct_of(parts)
        case Repeat(part, min_count):
            return min_count * min_distinct(part) if min_count else 0
        case SeparatedList(parts):
            return sum(part.min_count * min_distinct(part.node) for part in parts if part.min_count)
        case AnyOrder(_, _, min_count):
            return min_count
        case _:
            return 0


def _min_distinct_of(parts: tuple[Node, ...]) -> int:
    """Return the minimum over the parts; most often a part needs none, and the others are not examined."""
    min_needed: int | None = None
    for part in parts:
        needed = min_distinct(part)
        if not needed:
            return 0
        min_needed = needed if min_needed is None else min(min_needed, needed)
    return min_needed or 0


def _required_counts(node: Node) -> Counter[Distinct]:
    """Return how often each distinct text must be written; alternatives are not counted."""
    found: Counter[Distinct] = Counter()
    match node:
        case Distinct():
            found[node] = 1
        case Seq(parts):
            for part in parts:
                found.update(_required_counts(part))
        case Repeat(part, min_count) if min_count:
            found = Counter({one: count * min_count for one, count in _required_counts(part).items()})
        case SeparatedList(parts):
            for each in parts:
                if each.min_count:
                    found.update(_required_counts(Repeat(each.node, each.min_count)))
    return found


def _required_distinct(node: Node) -> Iterator[Distinct]:
    """Yield the distinct texts that may count towards `min_distinct`."""
    match node:
        case Distinct():
            yield node
        case Seq(parts) | Choice(parts):
            for part in parts:
                yield from _required_distinct(part)
        case Repeat(part, min_count) if min_count:
            yield from _required_distinct(part)
        case SeparatedList(parts):
            for each in parts:
                if each.min_count:
                    yield from _required_distinct(each.node)
        case AnyOrder(entries):
            yield from (entry.key for entry in entries)
