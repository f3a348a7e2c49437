"""Regex nodes to deterministic automata: subset construction (Rabin and Scott 1959) and products."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from structkit.automaton.dfa import DEAD, KEEP, Dfa, intersection, trim
from structkit.automaton.nfa import Nfa, build_nfa
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.regex.nodes import Both, Node

__all__ = ["product", "regular", "rule_dfa"]


@lru_cache(maxsize=1024)
def rule_dfa(node: Node, limits: Limits) -> Dfa:
    """The automaton of one rule; calls stay calls, large repetitions are counted.

    Raises:
        LimitExceeded: The automaton would be too large.
    """
    try:
        return _determinise(build_nfa(node, count=True, limits=limits), limits)
    except _Ambiguous:
        return _determinise(build_nfa(node, count=False, limits=limits), limits)


def regular(node: Node, limits: Limits = Limits(), rules: Mapping[str, Node] | None = None) -> Dfa:  # noqa: B008
    """The automaton of a node without recursion, with every call written out and nothing counted.

    Raises:
        LimitExceeded: The automaton would be too large.
        SchemaError: The node is recursive.
    """
    return _determinise(build_nfa(node, count=False, limits=limits, rules=rules or {}), limits)


def product(node: Both, limits: Limits, rules: Mapping[str, Node] | None) -> Dfa:
    """The automaton of an intersection or a difference."""
    left, right = regular(node.left, limits, rules), regular(node.right, limits, rules)
    result = intersection(left, right, limits.products, negate=node.negate)
    if result is None:
        raise LimitExceeded("products", limits.products, "the combination of two patterns")
    return result


class _Ambiguous(Exception):
    """The rounds of a counted repetition cannot be told apart byte by byte."""


def _determinise(nfa: Nfa, limits: Limits) -> Dfa:
    """Subset construction. States keep only those of the automaton that a byte, a call or the end can leave."""
    classes, first_bytes = _byte_classes(nfa)
    outgoing = _edges_by_state(nfa, classes)
    calls: dict[int, list[tuple[object, int, int]]] = {}
    for source, key, target, operation in nfa.calls:
        calls.setdefault(source, []).append((key, target, operation))
    closures: dict[int, frozenset[int]] = {}

    def closed(states: frozenset[int]) -> frozenset[int]:
        if len(states) == 1:
            (state,) = states
            if state not in closures:
                closures[state] = kernel(nfa.closure(states))
            return closures[state]
        return frozenset().union(*(closed(frozenset((state,))) for state in states))

    def kernel(states: set[int]) -> frozenset[int]:
        return frozenset(s for s in states if outgoing[s] or s in calls or s == nfa.final)

    start = closed(frozenset((0,)))
    numbers = {start: 0}
    queue = [start]
    rows: list[list[int]] = []
    found_calls: list[tuple[int, object, int, int]] = []

    def number(states: frozenset[int]) -> int:
        if states not in numbers:
            if len(numbers) >= limits.states:
                raise LimitExceeded("states", limits.states, "the automaton of a rule")
            numbers[states] = len(numbers)
            queue.append(states)
        return numbers[states]

    for state, members in enumerate(queue):
        row = [DEAD] * len(first_bytes)
        reached: dict[int, tuple[set[int], int]] = {}
        for member in members:
            for klass, target, operation in outgoing[member]:
                known = reached.setdefault(klass, (set(), operation))
                if known[1] != operation:
                    raise _Ambiguous
                known[0].add(target)
        for klass, (targets, operation) in reached.items():
            row[klass] = number(closed(frozenset(targets))) << 2 | operation
        rows.append(row)
        called: dict[tuple[object, int], set[int]] = {}
        for member in members:
            for key, target, operation in calls.get(member, ()):
                called.setdefault((key, operation), set()).add(target)
        for (key, operation), targets in called.items():
            found_calls.append((state, key, number(closed(frozenset(targets))), operation))
    final = np.array([nfa.final in members for members in queue])
    dfa = Dfa(
        np.array(classes, np.uint8),
        np.array(rows, np.int32).reshape(len(queue), len(first_bytes)),
        final,
        tuple(found_calls),
        nfa.least,
        nfa.most,
    )
    return dfa if found_calls else trim(dfa)


def _byte_classes(nfa: Nfa) -> tuple[list[int], list[int]]:
    """The class of each byte, and the first byte of each class: bytes no edge tells apart share one."""
    starts = {0} | {first for _, first, _, _, _ in nfa.edges} | {last + 1 for _, _, last, _, _ in nfa.edges}
    first_bytes = sorted(start for start in starts if start < 256)
    classes = []
    for byte in range(256):
        if len(classes) == 0:
            classes.append(0)
        else:
            classes.append(classes[-1] + (byte in starts))
    return classes, first_bytes


def _edges_by_state(nfa: Nfa, classes: list[int]) -> list[list[tuple[int, int, int]]]:
    outgoing: list[list[tuple[int, int, int]]] = [[] for _ in nfa.silent]
    for source, first, last, target, operation in nfa.edges:
        for klass in range(classes[first], classes[last] + 1):
            outgoing[source].append((klass, target, operation))
    return outgoing
