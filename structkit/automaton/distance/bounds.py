"""Upper bounds on the length of a shortest text of a rule, computed from its node, without its automaton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from typing import TypeAlias, cast

import numpy as np

from structkit.automaton.core.dfa import RuleKey
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.cardinality import Cardinality, find_shortage, min_distinct
from structkit.regex.json_string import free_text_body
from structkit.regex.labels import labelled_name, resolve_labels
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import (
    AnyOrder,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    LiteralText,
    MultipleOf,
    Network,
    Node,
    Repeat,
    ReturnLabel,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
    Substring,
)
from structkit.regex.substring import END, encode_source

__all__ = ["DISTINCT_MARGIN", "LengthBounds"]

DISTINCT_MARGIN = 3
"""Extra bytes or tokens for a distinct text to differ from the texts seen before; an estimate, such as three digits."""

_FREE_TEXT = free_text_body(0, None)

_Move: TypeAlias = "tuple[int, Node | int, int]"
"""A state, the node or its bound, and the state after it."""


class LengthBounds:
    """For each rule, a number of bytes that is enough for one of its texts; `UNREACHABLE` if it has none.

    Only required parts are examined, and of alternatives the first with a text, so that few other rules are needed. The
    results are upper bounds; with distinct texts, which must differ, they are estimates.

    Args:
        rules: The rules.
        product: Returns the length of a shortest text of an intersection or a difference, in bytes.
        cardinality: Counts the texts of rules that need multiple distinct texts; `None` assumes that there are enough.

    Attributes:
        shortage: The first rule found with fewer distinct texts than it needs, as `(name, needed, available)`.

    >>> node = Choice((Seq((LiteralText("("), RuleRef("a"))), LiteralText("x")))
    >>> lengths = LengthBounds(Rules(RuleRef("a"), {"a": node}), lambda node: 0)
    >>> lengths.of("a")
    1
    """

    def __init__(
        self, rules: Rules, product: Callable[[Intersection], int], cardinality: Cardinality | None = None
    ) -> None:
        self._rules = rules
        self._product = product
        self._counts = cardinality
        self.shortage: tuple[str, int, int] | None = None
        self._lengths: dict[RuleKey, int] = {}
        self._owners: dict[
            str, tuple[str, int]
        ] = {}  # what the names of rules that end with a label stand for
        self._networks: dict[Network, int] = {}  # those that need no rule: a grammar repeats its terminals

    def of(self, key: RuleKey) -> int:
        """Return the bytes that are enough for a text of a callee."""
        missing: set[str] = set()
        if isinstance(key, str):
            if key not in self._lengths:
                node = self._node(key)
                common = None if key.startswith("#") else _common_length(node)
                if common is not None:
                    self._lengths[key] = common
                    return common
                length = self._of_node(node, missing)
                if length < UNREACHABLE and not self._has_shortage(key):  # the common case
                    self._lengths[key] = length
                else:
                    self._resolve([key])
            return self._lengths[key]
        length = self._of_node(key, missing)
        if length < UNREACHABLE or not missing:
            return length
        self._resolve(sorted(missing))
        return self._of_node(key, set())

    def of_label(self, rule: str, label: int) -> int:
        """Return the bytes that are enough for a text of a rule that ends with a label."""
        name = labelled_name(rule, label)
        self._owners[name] = rule, label
        return self.of(name)

    def _node(self, name: str) -> Node:
        """Return a node that bounds the shortest text of a rule; that of a deferred rule is known before lowering."""
        rules = self._rules.rules
        example = rules.example(name) if isinstance(rules, LazyRules) else None
        if example is not None:
            return example
        owner = self._owners.get(name)
        return rules[name] if owner is None else resolve_labels(rules[owner[0]], owner[1], self._owners)

    def _resolve(self, rules: Iterable[str]) -> None:
        """Compute the bounds of rules and of the rules they need; a rule is retried once other bounds are known."""
        unresolved: dict[str, int] = {}  # numbered in the order in which they were tried
        moves: dict[str, list[_Move]] = {}  # of the automata of rules that are tried again
        waiting: dict[str, list[str]] = {}
        pending, tried = list(rules), 0
        while pending:
            resolved: list[str] = []
            while pending:
                current = pending.pop()
                if current in unresolved or current in self._lengths:
                    continue
                missing: set[str] = set()
                length = self._of_rule(current, moves, missing)
                if length < UNREACHABLE and self._has_shortage(current):
                    length = UNREACHABLE
                    missing.clear()
                if length < UNREACHABLE:
                    self._lengths[current] = length
                    moves.pop(current, None)
                    resolved.append(current)
                else:
                    tried += 1
                    unresolved[current] = tried
                    for rule in missing:
                        waiting.setdefault(rule, []).append(current)
                    pending += sorted(missing)  # the same order in every process
            ready = {name for rule in resolved for name in waiting.pop(rule, ())} & unresolved.keys()
            pending = sorted(ready, key=unresolved.__getitem__)
            for name in pending:
                del unresolved[name]
        # The remaining rules depend on each other, so none has a text.
        self._lengths.update(dict.fromkeys(unresolved, UNREACHABLE))

    def _of_rule(self, rule: str, moves: dict[str, list[_Move]], missing: set[str]) -> int:
        """Return the bound of a rule, as `_of_node` does; `moves` receives those of its automaton for another try."""
        found = moves.get(rule)
        if found is None:
            node = self._node(rule)
            if not isinstance(node, Network):
                return self._of_node(node, missing)
            found = moves[rule] = self._moves_of(node)
        return self._shortest_path(found, missing)

    def _moves_of(self, network: Network) -> list[_Move]:
        """Return the moves of an automaton, with the bounds of the parts that need no rule."""
        plain = cast("Network", resolve_labels(network, None, self._owners))
        found: list[_Move] = []
        for source, node, target in plain.moves:
            needed: set[str] = set()
            part: Node | int = node
            if not isinstance(node, RuleRef):
                length = self._of_node(node, needed)
                part = node if needed else length
            found.append((source, part, target))
        return found

    def _has_shortage(self, rule: str) -> bool:
        """Return whether a rule needs more distinct texts than it has."""
        found = None if self._counts is None else find_shortage(self._node(rule), self._counts)
        if found is not None:
            self.shortage = self.shortage or (rule, *found)
        return found is not None

    def _of_node(self, node: Node, missing: set[str]) -> int:
        """Return the bound of a node, or `UNREACHABLE`; `missing` receives the rules whose bounds are not known yet."""
        match node:
            case LiteralText():
                return len(node.utf8)
            case CharClass(ranges):
                return len(chr(ranges[0][0]).encode()) if ranges else UNREACHABLE
            case MultipleOf():
                return 1
            case Substring():
                return _shortest_quote(node)
            case RuleRef(rule):
                length = self._lengths.get(rule)
                if length is None:
                    missing.add(rule)
                return UNREACHABLE if length is None else length
            case Distinct(inner):
                return _sum((self._of_node(inner, missing), DISTINCT_MARGIN))
            case Seq(parts):  # examines all parts, to collect all missing rules at once
                return _sum([self._of_node(part, missing) for part in parts])
            case Choice(parts):
                return self._of_any(parts, missing)
            case Repeat(part, min_count):
                return _times(min_count, self._of_node(part, missing)) if min_count else 0
            case SeparatedList(parts, separator):
                needed = [part for part in parts if part.min_count]
                costs = (_times(part.min_count, self._of_node(part.node, missing)) for part in needed)
                return _sum((*costs, len(separator.encode()) * max(0, sum(p.min_count for p in needed) - 1)))
            case AnyOrder(entries, separator, min_count):
                if not min_count:
                    return 0
                counting = [entry for entry in entries if entry.counted]
                own = [
                    _sum((self._of_node(e.key, missing), self._of_node(e.value, missing))) for e in counting
                ]
                # A key with several texts, such as an undeclared one, can be that of several entries.
                several = [
                    cost
                    for e, cost in zip(counting, own, strict=True)
                    if cost < UNREACHABLE and not isinstance(e.key.node, LiteralText)
                ]
                more = max(several, default=UNREACHABLE)
                lowest_costs = (*sorted(own), *[more] * (min_count - len(own)))[:min_count]
                return _sum((*lowest_costs, len(separator.encode()) * (min_count - 1)))
            case Intersection(left, Choice(texts), negate=True) if left == _FREE_TEXT and _are_texts(texts):
                # Of the numbers from 0 to the number of excluded texts, at least one is not excluded.
                return len(str(len(texts))) + 1
            case Intersection():
                return self._product(node)
            case ReturnLabel():
                return UNREACHABLE
            case Network():
                return self._of_network(node, missing)

    def _of_network(self, network: Network, missing: set[str]) -> int:
        """Return the length of a shortest path."""
        if network in self._networks:
            return self._networks[network]
        needed: set[str] = set()
        length = self._shortest_path(self._moves_of(network), needed)
        if needed:
            missing |= needed
        elif length < UNREACHABLE and not any(isinstance(node, RuleRef) for _, node, _ in network.moves):
            self._networks[network] = length
        return length

    def _shortest_path(self, moves: Iterable[_Move], missing: set[str]) -> int:
        """Return the length of a shortest path (Dijkstra 1959)."""
        following: dict[int, list[tuple[int, int]]] = {}
        for source, part, target in moves:
            length = part if isinstance(part, int) else self._of_node(part, missing)
            if length < UNREACHABLE:
                following.setdefault(source, []).append((length, target))
        distances = {0: 0}
        pending = [(0, 0)]
        while pending:
            distance, state = heappop(pending)
            if state == 1:
                return distance
            if distance > distances[state]:
                continue
            for length, target in following.get(state, ()):
                total = _sum((distance, length))
                if total < distances.get(target, UNREACHABLE):
                    distances[target] = total
                    heappush(pending, (total, target))
        return UNREACHABLE

    def _of_any(self, parts: tuple[Node, ...], missing: set[str]) -> int:
        texts = [len(part.utf8) for part in parts if isinstance(part, LiteralText)]
        if texts:
            return min(texts)
        for part in parts:
            length = self._of_node(part, missing)
            if length < UNREACHABLE:
                return length
        return UNREACHABLE


@lru_cache(maxsize=256)
def _common_length(node: Node) -> int | None:
    """Return the bound of a node that many targets share, such as free text; `None` if it depends on other rules."""
    missing: set[str] = set()
    length = LengthBounds(Rules(node, {}), lambda product: UNREACHABLE)._of_node(node, missing)
    return None if length >= UNREACHABLE or missing or min_distinct(node) else length


def _shortest_quote(node: Substring) -> int:
    found = encode_source(node)
    ends = np.flatnonzero(found.ends == END)
    following = np.searchsorted(ends, found.starts, side="right")
    reached = following < len(ends)
    lengths = ends[following[reached]] - found.starts[reached]
    return int(lengths.min()) + node.with_end_quote if len(lengths) else UNREACHABLE


def _are_texts(parts: tuple[Node, ...]) -> bool:
    return all(isinstance(part, LiteralText) for part in parts)


def _sum(lengths: Sequence[int]) -> int:
    """Return the sum, which is `UNREACHABLE` only if a part is; larger finite sums are clamped."""
    return UNREACHABLE if UNREACHABLE in lengths else min(UNREACHABLE - 1, sum(lengths))


def _times(count: int, length: int) -> int:
    return UNREACHABLE if length >= UNREACHABLE else min(UNREACHABLE - 1, count * length)
