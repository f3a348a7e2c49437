"""How many texts there are, as far as that matters: unique texts need as many as must be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
"""Transitions of an automaton that is taken to have texts enough: to count them would take longer than it is worth."""


def find_shortage(node: Node, cardinality: Cardinality) -> tuple[int, int] | None:
    """How many unique texts a rule needs, and how many there are, if these are fewer.

    All are counted together, so it is not seen that two that must be there have but one text between them and others
    more than one; nor that the sets among the texts are few.
    """
    needed = min_distinct(node)
    if needed < 2:
        return None
    there = 0
    for key in dict.fromkeys(_uniques(node)):
        there += cardinality.of(key, needed)
        if there >= needed:
            return None
    return needed, there


class Cardinality:
    """Counts the texts of rules. Where an automaton does not tell two ways to read a text apart, both count.

    Args:
        automaton: The automaton of a rule, by what calls it.

    >>> from structkit.automaton.construct.compile_rule import regular_dfa
    >>> from structkit.regex.nodes import LiteralText, choice
    >>> node = Distinct(choice([LiteralText("a"), LiteralText("bc")]))
    >>> Cardinality(lambda key: regular_dfa(node.node)).of(node, 5)
    2
    """

    def __init__(self, automaton: Callable[[RuleKey], Dfa]) -> None:
        self._automaton = automaton
        self._open: set[RuleKey] = set()

    def of(self, key: RuleKey, limit: int) -> int:
        """How many texts there are of what a call names, but no more than `limit`."""
        if isinstance(key, Distinct) and isinstance(key.node, LiteralText):  # a declared key, say
            return 1
        # Recursion has texts enough, or none at all, which is found elsewhere.
        if key in self._open or (isinstance(key, Substring) and _has_many_quotes(key, limit)):
            return limit
        self._open.add(key)
        try:
            return self._count_paths(self._automaton(key), limit)
        finally:
            self._open.discard(key)

    def _count_paths(self, dfa: Dfa, limit: int) -> int:
        """The ways from the start to an end; the counter is left out, so that a loop has as many as are wanted."""
        if np.count_nonzero(dfa.targets != DEAD) + len(dfa.calls) > _MAX_TRANSITIONS:
            return limit
        on = self._steps(dfa, limit)
        ways: dict[int, int] = {}
        entered, open_ = {0}, [(0, iter(on[0]))]
        while open_:
            state, steps = open_[-1]
            after = next(steps, None)
            if after is None:
                open_.pop()
                found = int(dfa.final[state]) + sum(times * ways[to] for to, times in on[state].items())
                ways[state] = min(limit, found)
            elif after not in entered:
                entered.add(after)
                open_.append((after, iter(on[after])))
            elif after not in ways:
                return limit
        return ways[0]

    def _steps(self, dfa: Dfa, limit: int) -> list[dict[int, int]]:
        """For each state where it leads, and in how many ways."""
        sizes = np.bincount(dfa.classes, minlength=dfa.targets.shape[1]).tolist()
        on: list[dict[int, int]] = [{} for _ in range(len(dfa.final))]
        for state, column in np.argwhere(dfa.targets != DEAD).tolist():
            after = int(dfa.targets[state, column]) >> OPERATION_BITS
            on[state][after] = on[state].get(after, 0) + sizes[column]
        known: dict[RuleKey, int] = {}
        for state, callee, after, _ in dfa.calls.tolist():
            key = dfa.callees[callee]
            if key not in known:
                known[key] = self.of(key, limit)
            if known[key]:
                on[state][after] = on[state].get(after, 0) + known[key]
        return on


def _has_many_quotes(node: Substring, limit: int) -> bool:
    """Whether the quotes from one place on are enough: each is of another length."""
    found = encode_source(node)
    if not len(found.starts):
        return False
    start = int(found.starts[0])
    stop = start + int(np.argmax(found.codes[start:] < 0))
    return int(np.count_nonzero(found.ends[start + 1 : stop + 1] == END)) >= limit


def min_distinct(node: Node) -> int:
    """The fewest unique texts that must be written."""
    match node:
        case Distinct():
            return 1
        case Seq(parts):
            return sum(map(min_distinct, parts))
        case Choice(parts):
            return _min_distinct_of(parts)
        case Repeat(part, least):
            return least * min_distinct(part) if least else 0
        case SeparatedList(parts):
            return sum(part.min_count * min_distinct(part.node) for part in parts if part.min_count)
        case AnyOrder(_, _, least):
            return least
        case _:
            return 0


def _min_distinct_of(parts: tuple[Node, ...]) -> int:
    """The least that any of the parts needs; mostly one needs nothing, and others are not looked at."""
    least: int | None = None
    for part in parts:
        needed = min_distinct(part)
        if not needed:
            return 0
        least = needed if least is None else min(least, needed)
    return least or 0


def _uniques(node: Node) -> Iterator[Distinct]:
    """Those from which the needed ones are taken."""
    match node:
        case Distinct():
            yield node
        case Seq(parts) | Choice(parts):
            for part in parts:
                yield from _uniques(part)
        case Repeat(part, least) if least:
            yield from _uniques(part)
        case SeparatedList(parts):
            for each in parts:
                if each.min_count:
                    yield from _uniques(each.node)
        case AnyOrder(entries):
            yield from (entry.key for entry in entries)
