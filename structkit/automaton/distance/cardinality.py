"""How many texts there are, as far as that matters: unique texts need as many as must be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from structkit.automaton.core.dfa import DEAD, Dfa, Key
from structkit.automaton.core.kernels import BITS
from structkit.regex.nodes import Alt, Joined, Node, Repeat, Seq, Substring, Text, Unique, Unordered
from structkit.regex.substring import END, spelling

__all__ = ["Counts", "fewest_unique", "lacking"]

_LARGE = 20_000
"""Transitions of an automaton that is taken to have texts enough: to count them would take longer than it is worth."""


def lacking(node: Node, counts: Counts) -> tuple[int, int] | None:
    """How many unique texts a rule needs, and how many there are, if these are fewer.

    All are counted together, so it is not seen that two that must be there have but one text between them and others
    more than one; nor that the sets among the texts are few.
    """
    needed = fewest_unique(node)
    if needed < 2:
        return None
    there = 0
    for key in dict.fromkeys(_uniques(node)):
        there += counts.of(key, needed)
        if there >= needed:
            return None
    return needed, there


class Counts:
    """Counts the texts of rules. Where an automaton does not tell two ways to read a text apart, both count.

    Args:
        automaton: The automaton of a rule, by what calls it.

    >>> from structkit.automaton.construct.compile_rule import regular
    >>> from structkit.regex.nodes import Text, alt
    >>> node = Unique(alt([Text("a"), Text("bc")]))
    >>> Counts(lambda key: regular(node.node)).of(node, 5)
    2
    """

    def __init__(self, automaton: Callable[[Key], Dfa]) -> None:
        self._automaton = automaton
        self._open: set[Key] = set()

    def of(self, key: Key, most: int) -> int:
        """How many texts there are of what a call names, but no more than `most`."""
        if isinstance(key, Unique) and isinstance(key.node, Text):  # a declared key, say
            return 1
        # Recursion has texts enough, or none at all, which is found elsewhere.
        if key in self._open or (isinstance(key, Substring) and _many_quotes(key, most)):
            return most
        self._open.add(key)
        try:
            return self._ways(self._automaton(key), most)
        finally:
            self._open.discard(key)

    def _ways(self, dfa: Dfa, most: int) -> int:
        """The ways from the start to an end; the counter is left out, so that a loop has as many as are wanted."""
        if np.count_nonzero(dfa.targets != DEAD) + len(dfa.calls) > _LARGE:
            return most
        on = self._steps(dfa, most)
        ways: dict[int, int] = {}
        entered, open_ = {0}, [(0, iter(on[0]))]
        while open_:
            state, steps = open_[-1]
            after = next(steps, None)
            if after is None:
                open_.pop()
                found = int(dfa.final[state]) + sum(times * ways[to] for to, times in on[state].items())
                ways[state] = min(most, found)
            elif after not in entered:
                entered.add(after)
                open_.append((after, iter(on[after])))
            elif after not in ways:
                return most
        return ways[0]

    def _steps(self, dfa: Dfa, most: int) -> list[dict[int, int]]:
        """For each state where it leads, and in how many ways."""
        sizes = np.bincount(dfa.classes, minlength=dfa.targets.shape[1]).tolist()
        on: list[dict[int, int]] = [{} for _ in range(len(dfa.final))]
        for state, column in np.argwhere(dfa.targets != DEAD).tolist():
            after = int(dfa.targets[state, column]) >> BITS
            on[state][after] = on[state].get(after, 0) + sizes[column]
        known: dict[Key, int] = {}
        for state, callee, after, _ in dfa.calls.tolist():
            key = dfa.callees[callee]
            if key not in known:
                known[key] = self.of(key, most)
            if known[key]:
                on[state][after] = on[state].get(after, 0) + known[key]
        return on


def _many_quotes(node: Substring, most: int) -> bool:
    """Whether the quotes from one place on are enough: each is of another length."""
    found = spelling(node)
    if not len(found.starts):
        return False
    start = int(found.starts[0])
    stop = start + int(np.argmax(found.codes[start:] < 0))
    return int(np.count_nonzero(found.ends[start + 1 : stop + 1] == END)) >= most


def fewest_unique(node: Node) -> int:
    """The fewest unique texts that must be written."""
    match node:
        case Unique():
            return 1
        case Seq(parts):
            return sum(map(fewest_unique, parts))
        case Alt(parts):
            return _least(parts)
        case Repeat(part, least):
            return least * fewest_unique(part) if least else 0
        case Joined(parts):
            return sum(part.least * fewest_unique(part.node) for part in parts if part.least)
        case Unordered(_, _, least):
            return least
        case _:
            return 0


def _least(parts: tuple[Node, ...]) -> int:
    """The least that any of the parts needs; mostly one needs nothing, and others are not looked at."""
    least: int | None = None
    for part in parts:
        needed = fewest_unique(part)
        if not needed:
            return 0
        least = needed if least is None else min(least, needed)
    return least or 0


def _uniques(node: Node) -> Iterator[Unique]:
    """Those from which the needed ones are taken."""
    match node:
        case Unique():
            yield node
        case Seq(parts) | Alt(parts):
            for part in parts:
                yield from _uniques(part)
        case Repeat(part, least) if least:
            yield from _uniques(part)
        case Joined(parts):
            for each in parts:
                if each.least:
                    yield from _uniques(each.node)
        case Unordered(entries):
            yield from (entry.key for entry in entries)
