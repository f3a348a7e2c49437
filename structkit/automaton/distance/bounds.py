"""Upper bounds on the length of a shortest text of a rule, computed from its node, without its automaton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from structkit.automaton.core.dfa import RuleKey
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.cardinality import Cardinality, find_shortage, min_distinct
from structkit.regex.example import example_text
from structkit.regex.json_string import JSON_CHAR, QUOTE, free_text_body, without_quote
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


class _Open(NamedTuple):
    """A part of an automaton that waits for bounds: the bytes before it, the rule, and the state after it."""

    distance: int
    rule: str
    part: Node
    target: int


@dataclass(slots=True)
class _Search:
    """The search for the bounds of rules that are automata.

    Attributes:
        pending: The rules that are needed.
        moves: The moves of each state of an automaton: the bound of a part or the part, and the state after it.
        ends: The names of an automaton, with the label with which it ends, for each state.
        distances: The bytes that are enough to reach each state from the start of its rule.
        queue: The next states, those with the fewest bytes first.
        waiting: What needs the bound of each rule: parts of automata, and rules that are none.
        tried: The rules that were tried.
    """

    pending: list[str]
    moves: dict[str, dict[int, list[tuple[Node | int, int]]]] = field(default_factory=dict)
    ends: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    distances: dict[tuple[str, int], int] = field(default_factory=dict)
    queue: list[tuple[int, str, int]] = field(default_factory=list)
    waiting: dict[str, list[_Open | str]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)

    def reach(self, distance: int, rule: str, state: int) -> None:
        """Note that some bytes are enough to reach a state."""
        if distance < self.distances.get((rule, state), UNREACHABLE):
            self.distances[rule, state] = distance
            heappush(self.queue, (distance, rule, state))


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
        self._measured: set[str] = set()  # the automata of which all labels with texts have bounds
        self._networks: dict[Network, int] = {}  # those that need no rule: a grammar repeats its terminals

    def of(self, key: RuleKey) -> int:
        """Return the bytes that are enough for a text of a callee."""
        if isinstance(key, str):
            if key in self._lengths:
                return self._lengths[key]
            known = None if key in self._owners else self._node(key)
            if type(known) is LiteralText:  # as of every deferred rule
                length = self._lengths[key] = len(known.utf8)
                return length
            missing: set[str] = set()
            if (known is None or isinstance(known, Network)) and self._network(key) is not None:
                self._measure([key])
            if key not in self._lengths:
                node = self._node(key) if known is None else known
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
        missing = set()
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
        waiting: dict[str, list[str]] = {}
        pending, tried = list(rules), 0
        while pending:
            resolved: list[str] = []
            while pending:
                current = pending.pop()
                if current in unresolved or current in self._lengths:
                    continue
                missing: set[str] = set()
                if self._network(current) is not None:
                    self._measure([current])
                    resolved.append(current)
                    continue
                length = self._of_node(self._node(current), missing)
                if length < UNREACHABLE and self._has_shortage(current):
                    length = UNREACHABLE
                    missing.clear()
                if length < UNREACHABLE:
                    self._lengths[current] = length
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

    def _network(self, name: str) -> tuple[str, Network] | None:
        """Return the rule of a name and its automaton; `None` if the rule is none, or has a bound without it."""
        rules = self._rules.rules
        if isinstance(rules, LazyRules) and rules.example(name) is not None:
            return None
        rule = self._owners[name][0] if name in self._owners else name
        node = rules[rule]
        return (rule, node) if isinstance(node, Network) else None

    def _measure(self, names: list[str]) -> None:
        """Compute the bounds of rules that are automata, and of what they need, the least first (Knuth 1977).

        All labels of a rule are measured together.
        """
        search = _Search(names)
        while search.pending or search.queue:
            while search.pending:
                self._begin(search, search.pending.pop())
            if not search.queue:
                break
            distance, rule, state = heappop(search.queue)
            if distance > search.distances[rule, state]:
                continue
            for name in search.ends[rule].get(state, ()):
                self._settle(search, name, distance)
            for part, target in search.moves[rule].get(state, ()):
                if isinstance(part, int):
                    search.reach(_sum((distance, part)), rule, target)
                else:
                    self._continue(search, _Open(distance, rule, part, target))
        self._measured |= search.moves.keys()
        unknown = [name for name in (*search.waiting, *search.tried) if name not in self._lengths]
        self._lengths.update(dict.fromkeys(unknown, UNREACHABLE))

    def _begin(self, search: _Search, name: str) -> None:
        """Begin with a rule that is needed."""
        if name in self._lengths or name in search.tried:
            return
        search.tried.add(name)
        found = self._network(name)
        if found is None:
            self._try(search, name)
            return
        rule, network = found
        if rule in self._measured:
            self._lengths[name] = UNREACHABLE  # the bounds of all its labels with texts are known
        elif rule not in search.moves:
            search.moves[rule], search.ends[rule] = {}, {}
            if not self._has_shortage(rule):
                self._add_moves(rule, network, search.moves[rule], search.ends[rule])
                search.reach(0, rule, 0)

    def _add_moves(
        self,
        rule: str,
        network: Network,
        moves: dict[int, list[tuple[Node | int, int]]],
        ends: dict[int, list[str]],
    ) -> None:
        """Add the moves of an automaton, with the bounds of the parts that need no rule, and its ends."""
        ends[1] = [rule]
        returns: dict[int, list[tuple[int, int]]] = {}
        for source, node, target in network.moves:
            if isinstance(node, ReturnLabel) and node.is_return:
                returns.setdefault(source, []).append((node.number, target))
            elif isinstance(node, ReturnLabel):
                ends.setdefault(source, []).append(labelled_name(rule, node.number))
        for source, node, target in network.moves:
            found = moves.setdefault(source, [])
            if isinstance(node, RuleRef) and target in returns:
                for number, after in returns[target]:
                    name = labelled_name(node.rule, number)
                    self._owners[name] = node.rule, number
                    found.append((RuleRef(name), after))
            elif isinstance(node, RuleRef):
                found.append((node, target))
            elif not isinstance(node, ReturnLabel):
                needed: set[str] = set()
                length = self._of_node(node, needed)
                found.append((node if needed else length, target))

    def _continue(self, search: _Search, part: _Open) -> None:
        """Continue behind a part of an automaton, when the rules that it needs have bounds."""
        missing: set[str] = set()
        length = self._of_node(part.part, missing)
        if length < UNREACHABLE:
            search.reach(_sum((part.distance, length)), part.rule, part.target)
        for name in sorted(missing) if length >= UNREACHABLE else ():
            search.waiting.setdefault(name, []).append(part)
            search.pending.append(name)

    def _try(self, search: _Search, name: str) -> None:
        """Compute the bound of a rule that is no automaton, as far as those of the rules that it needs are known."""
        missing: set[str] = set()
        length = self._of_node(self._node(name), missing)
        if length < UNREACHABLE and not self._has_shortage(name):
            self._settle(search, name, length)
        for needed in sorted(missing) if length >= UNREACHABLE else ():
            search.waiting.setdefault(needed, []).append(name)
            search.pending.append(needed)

    def _settle(self, search: _Search, name: str, length: int) -> None:
        """Note the bound of a rule, and continue with what waits for it."""
        if name not in self._lengths:
            self._lengths[name] = length
            for each in search.waiting.pop(name, ()):
                if isinstance(each, str):
                    self._try(search, each)
                else:
                    self._continue(search, each)

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
        if self._counts is None:
            return False
        network = self._network(rule)
        found = find_shortage(self._node(rule) if network is None else network[1], self._counts)
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
                # An entry without a text is left out. A key with several texts, such as an undeclared one, can be that
                # of several entries.
                possible = [(e, cost) for e, cost in zip(counting, own, strict=True) if cost < UNREACHABLE]
                several = [cost for e, cost in possible if not isinstance(e.key.node, LiteralText)]
                more = max(several, default=UNREACHABLE)
                lowest = sorted([cost for _, cost in possible])
                others = max(0, min_count - len(lowest))
                repeated = _times(others, more) if others else 0
                return _sum((*lowest[:min_count], repeated, len(separator.encode()) * (min_count - 1)))
            case Intersection(left, Choice(texts), negate=True) if left == _FREE_TEXT and _are_texts(texts):
                # Of the numbers from 0 to the number of excluded texts, at least one is not excluded.
                return len(str(len(texts))) + 1
            case Intersection():
                text = _text_of_length(node)
                return self._product(node) if text is None else len(text) + 1
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


def _text_of_length(node: Intersection) -> str | None:
    """Return a string of some lengths that matches a pattern, without the closing quote; `None` if none is found."""
    match node:
        case Intersection(left, Seq((Repeat(part, least, most), tail)), negate=False) if (
            part == JSON_CHAR and tail == QUOTE
        ):
            body = without_quote(left)
            text = None if body is None else example_text(body, least, most)
            # An escape is several characters here, and one for the bounds.
            return text if text is not None and text.isascii() and "\\" not in text else None
    return None


def _shortest_quote(node: Substring) -> int:
    found = encode_source(node)
    ends = np.flatnonzero(found.ends == END)
    following = np.searchsorted(ends, found.starts, side="right")
    reached = following < len(ends)
    lengths = ends[following[reached]] - found.starts[reached]
    return int(lengths.min()) + node.with_end_quote if len(lengths) else UNREACHABLE


def _are_texts(parts: tuple[Node, ...]) -> bool:
    return {*map(type, parts)} <= {LiteralText}


def _sum(lengths: Sequence[int]) -> int:
    """Return the sum, which is `UNREACHABLE` only if a part is; larger finite sums are clamped."""
    return UNREACHABLE if UNREACHABLE in lengths else min(UNREACHABLE - 1, sum(lengths))


def _times(count: int, length: int) -> int:
    return UNREACHABLE if length >= UNREACHABLE else min(UNREACHABLE - 1, count * length)
