"""The terminals that can come next in each state of the automata of rules, and the characters that they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from structkit.grammar.rules.cfg import Guard, Symbol, Terminal
from structkit.grammar.rules.futures import Futures, Running
from structkit.grammar.rules.graph import Graph
from structkit.limits import Work
from structkit.regex.charset import ANY, intersection, partition, union
from structkit.regex.nodes import EMPTY, CharClass
from structkit.regex.pattern.threads import State

__all__ = ["Following", "outgoing_moves"]

_MAX_BEHIND = 200
"""Maximum states of the lookbehinds of a terminal for which the characters that it begins with are determined."""

_BUILDING = "the terminals that can follow each other in a grammar"
"""What takes the work of a search."""

_STEPS_PER_MOVE, _STEPS_PER_PLACE = 10, 100
"""The work of a move of a rule, and of a place in which threads are examined; see `Limits.work`."""

_MAX_SEARCHED = 5_000
"""Maximum places that are examined to see whether threads can match."""

_Place: TypeAlias = "tuple[int, Terminal | None, int]"
"""Threads by number, a terminal, and a state of its automaton."""


class Following:
    """The terminals that can come next in each state of the automata of rules.

    Args:
        graphs: The automata of the rules.
        start: The first rule.
        work: What the work is taken from.

    Raises:
        LimitExceeded: The search takes too much work.
    """

    def __init__(self, graphs: Mapping[str, Graph], start: str, work: Work) -> None:
        self._work = work
        # Sets of terminals are numbers with a bit for each, which unite fast; the first bit is the end of the text.
        self._terminals: list[Terminal | None] = [None]
        self._bits: dict[Terminal, int] = {}
        for graph in graphs.values():
            for _, symbol, _ in graph.moves:
                if isinstance(symbol, Terminal) and symbol not in self._bits:
                    self._bits[symbol] = 1 << len(self._terminals)
                    self._terminals.append(symbol)
        self._outgoing = {name: outgoing_moves(graph) for name, graph in graphs.items()}
        self._first = dict.fromkeys(graphs, 0)
        self._after = dict.fromkeys(graphs, 0) | {start: 1}
        self._follow: dict[Terminal, int] = {}
        self._known: dict[tuple[str, int], tuple[int, bool]] = {}
        self._sets: dict[int, frozenset[Terminal | None]] = {}
        self._united: dict[frozenset[Terminal | None], CharClass] = {}
        self._breakable: dict[tuple[Running, frozenset[Terminal | None]], bool] = {}
        self._matching: dict[_Place, bool] = {}
        self._find_first(graphs)
        self._find_following(graphs)
        self._classes = {terminal: _first_class(terminal) for terminal in self._follow}
        classes = {found: self.class_of(self._set(found)) for found in {*self._follow.values()}}
        self.characters = {terminal: classes[found] for terminal, found in self._follow.items()}

    def _find_first(self, graphs: Mapping[str, Graph]) -> None:
        changed = True
        while changed:
            changed = False
            for name in graphs:
                found, _ = self._search(name, 0)
                changed |= found != self._first[name]
                self._first[name] = found

    def _find_following(self, graphs: Mapping[str, Graph]) -> None:
        # A symbol is followed by the same in each of its moves to a state, and terminals are never called.
        places: dict[str, dict[tuple[int, str | int], int]] = {}
        for name, graph in graphs.items():
            places[name] = {
                (target, self._bits[symbol] if isinstance(symbol, Terminal) else symbol): 0
                for _, symbol, target in graph.moves
                if symbol is not None and not isinstance(symbol, Guard)
            }
        follow: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for name, found in places.items():
                self._work.pay(_STEPS_PER_MOVE * len(graphs[name].moves), _BUILDING)
                for (target, symbol), known in found.items():
                    coming = self._at(name, target)
                    if coming == known:
                        continue
                    found[target, symbol] = coming
                    changed = True
                    if isinstance(symbol, int):
                        follow[symbol] = follow.get(symbol, 0) | coming
                    else:
                        self._after[symbol] |= coming
        self._follow = {terminal: follow.get(bit, 0) for terminal, bit in self._bits.items()}

    def class_of(self, terminals: frozenset[Terminal | None]) -> CharClass:
        """Return the characters that terminals begin with."""
        if terminals not in self._united:
            self._united[terminals] = union({self._classes[each] for each in terminals if each is not None})
        return self._united[terminals]

    def at(self, name: str, state: int) -> frozenset[Terminal | None]:
        """Return the terminals that can come next; `None` is the end of the text."""
        return self._set(self._at(name, state))

    def _at(self, name: str, state: int) -> int:
        found, may_end = self._ahead(name, state)
        return found | self._after[name] if may_end else found

    def _set(self, found: int) -> frozenset[Terminal | None]:
        """Return the terminals of a set of bits."""
        if found not in self._sets:
            digits = bin(found)[:1:-1]
            self._sets[found] = frozenset(
                terminal for terminal, digit in zip(self._terminals, digits, strict=False) if digit == "1"
            )
        return self._sets[found]

    def behind(self, terminal: Terminal) -> frozenset[Terminal | None]:
        """Return the terminals that can come next behind a terminal, wherever it stands."""
        return self._set(self._follow[terminal])

    def matching(
        self, futures: Futures, never: frozenset[Running], terminals: frozenset[Terminal | None]
    ) -> frozenset[Running]:
        """Return those of some threads that `can_match`."""
        return frozenset(running for running in never if self.can_match(futures, running, terminals))

    def can_match(self, futures: Futures, running: Running, terminals: frozenset[Terminal | None]) -> bool:
        """Return whether threads can match in a text that begins with one of some terminals.

        The terminals behind these are taken to be any that can follow them anywhere; a search that takes long is
        answered with true.
        """
        key = running, terminals
        if key not in self._breakable:
            number = futures.number(running)
            found = any(self._can_match(futures, (number, each, 0)) for each in terminals)
            self._breakable[key] = found
        return self._breakable[key]

    def _can_match(self, futures: Futures, first: _Place) -> bool:
        """Return what `can_match` does for threads at a place in a terminal."""
        if first in self._matching:
            return self._matching[first]
        before: dict[_Place, _Place | None] = {first: None}
        pending = [first]
        while pending:
            place = pending.pop()
            found = self._matching.get(place)
            if found is None and len(before) <= _MAX_SEARCHED:
                found, after = self._read_on(futures, place)
                for each in after:
                    if each not in before and self._matching.get(each) is not False:
                        before[each] = place
                        pending.append(each)
            if found is not False:
                step: _Place | None = place
                while step is not None:
                    self._matching[step] = True
                    step = before[step]
                return True
        self._matching.update(dict.fromkeys(before, False))
        return False

    def _read_on(self, futures: Futures, place: _Place) -> tuple[bool, list[_Place]]:
        """Return whether threads certainly match after a character of a terminal, and the places after the others."""
        self._work.pay(_STEPS_PER_PLACE, _BUILDING)
        number, terminal, state = place
        future = futures.at(number)
        if terminal is None:
            return future.at_end, []
        automaton = terminal.edges
        if automaton is None or automaton.looks_behind:
            return True, []
        found: list[_Place] = []
        for charset, target in automaton.outgoing.get(state, ()):
            if intersection(charset, future.matched).ranges:
                return True, []
            for running_on, after in future.moves:
                if intersection(charset, running_on).ranges:
                    found.append((after, terminal, target))
                    if target in automaton.accepting:
                        found += ((after, each, 0) for each in self._set(self._follow.get(terminal, 0)))
        return False, found

    def _ahead(self, name: str, state: int) -> tuple[int, bool]:
        """Return the terminals that can come next at a state, and whether the rule can end there."""
        place = name, state
        if place not in self._known:
            self._known[place] = self._search(name, state)
        return self._known[place]

    def _search(self, name: str, state: int) -> tuple[int, bool]:
        """Return what `_ahead` does, as far as the first terminals of rules are known."""
        found = 0
        seen, pending = {state}, [state]
        while pending:
            for symbol, target in self._outgoing[name].get(pending.pop(), ()):
                if symbol is None or isinstance(symbol, Guard):
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
                elif isinstance(symbol, Terminal):
                    found |= self._bits[symbol]
                    if symbol.node == EMPTY and target not in seen:  # an indent or a dedent has no text
                        seen.add(target)
                        pending.append(target)
                else:
                    found |= self._first[symbol]
        self._work.pay(_STEPS_PER_MOVE * len(seen), _BUILDING)
        return found, 1 in seen


def _first_class(terminal: Terminal) -> CharClass:
    """Return the characters that a terminal can begin with."""
    automaton = terminal.edges
    if automaton is None:
        return terminal.first
    if not automaton.looks_behind:
        return union(charset for source, charset, _ in automaton.moves if source == 0)
    threads = automaton.threads
    known = [threads.start().behind]  # what may be known of the text before the terminal
    found: list[CharClass] = []
    for behind in known:
        state = threads.start(behind)
        for charset in partition([*threads.classes_at(state)]):
            if threads.step(state, charset.ranges[0][0]).threads:
                found.append(charset)
        before = State((), behind)
        for charset in partition([*threads.classes_at(before)]):
            after = threads.step(before, charset.ranges[0][0]).behind
            if after not in known:
                known.append(after)
        if len(known) > _MAX_BEHIND:
            return ANY
    return union(found)


def outgoing_moves(graph: Graph) -> dict[int, list[tuple[Symbol | None, int]]]:
    """Return the moves of each state: a symbol, and the state after it."""
    found: dict[int, list[tuple[Symbol | None, int]]] = {}
    for source, symbol, target in graph.moves:
        found.setdefault(source, []).append((symbol, target))
    return found
