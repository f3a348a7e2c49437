"""The terminals that can come next in each state of the automata of rules, and the characters that they begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from structkit.grammar.rules.cfg import Guard, Symbol, Terminal
from structkit.grammar.rules.graph import Graph
from structkit.regex.charset import ANY, contains, union
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.threads import State, Threads, partition

__all__ = ["Following", "outgoing_moves"]

_MAX_BEHIND = 200
"""Maximum states of the lookbehinds of a terminal for which the characters that it begins with are determined."""

_MAX_SEARCHED = 500
"""Maximum places that are looked at to see whether threads can match."""


class Following:
    """The terminals that can come next in each state of the automata of rules."""

    def __init__(self, graphs: Mapping[str, Graph], start: str) -> None:
        self._outgoing = {name: outgoing_moves(graph) for name, graph in graphs.items()}
        self._first: dict[str, set[Terminal | None]] = {name: set() for name in graphs}
        self._after: dict[str, set[Terminal | None]] = {name: set() for name in graphs}
        self._after[start].add(None)
        self._follow: dict[Terminal, set[Terminal | None]] = {}
        self._breakable: dict[tuple[int, State, frozenset[Terminal | None]], bool] = {}
        follow = self._follow
        changed = True
        while changed:
            changed = False
            for name in graphs:
                found, _ = self._ahead(name, 0)
                changed |= not found <= self._first[name]
                self._first[name] |= found
        changed = True
        while changed:
            changed = False
            for name, graph in graphs.items():
                for _, symbol, target in graph.moves:
                    if symbol is None or isinstance(symbol, Guard):
                        continue
                    coming = self.at(name, target)
                    into = (
                        follow.setdefault(symbol, set())
                        if isinstance(symbol, Terminal)
                        else self._after[symbol]
                    )
                    changed |= not coming <= into
                    into |= coming
        self._classes = {terminal: _first_class(terminal) for terminal in follow}
        self.characters = {terminal: self.class_of(found) for terminal, found in follow.items()}

    def class_of(self, terminals: Iterable[Terminal | None]) -> CharClass:
        """Return the characters that terminals begin with."""
        return union(self._classes[each] for each in terminals if each is not None)

    def at(self, name: str, state: int) -> frozenset[Terminal | None]:
        """Return the terminals that can come next; `None` is the end of the text."""
        found, may_end = self._ahead(name, state)
        return frozenset(found | self._after[name] if may_end else found)

    def can_match(
        self, number: int, threads: Threads, running: State, terminals: frozenset[Terminal | None]
    ) -> bool:
        """Return whether threads can match in a text that begins with one of some terminals.

        The terminals behind these are taken to be any that can follow them anywhere; a search that takes long is
        answered with true.
        """
        key = number, running, terminals
        if key not in self._breakable:
            self._breakable[key] = self._can_match(threads, running, terminals)
        return self._breakable[key]

    def _can_match(self, threads: Threads, running: State, terminals: Iterable[Terminal | None]) -> bool:
        seen: set[tuple[State, Terminal | None, int]] = {(running, each, 0) for each in terminals}
        pending = list(seen)
        while pending:
            if len(seen) > _MAX_SEARCHED:
                return True
            state, terminal, place = pending.pop()
            if terminal is None:
                if state.can_match_at_end:
                    return True
                continue
            automaton = terminal.edges
            if automaton is None or automaton.looks_behind:
                return True
            for charset, target in automaton.outgoing.get(place, ()):
                for part in partition([*threads.classes_at(state), charset]):
                    if not contains(charset, code_point := part.ranges[0][0]):
                        continue
                    after = threads.step_or_match(state, code_point)
                    if after is None:
                        return True
                    if not after.threads:
                        continue
                    found: list[tuple[State, Terminal | None, int]] = [(after, terminal, target)]
                    if target in automaton.accepting:
                        found += [(after, each, 0) for each in self._follow.get(terminal, ())]
                    pending += [each for each in found if each not in seen]
                    seen.update(found)
        return False

    def _ahead(self, name: str, state: int) -> tuple[set[Terminal | None], bool]:
        """Return the terminals that can come next at a state, and whether the rule can end there."""
        found: set[Terminal | None] = set()
        seen, pending = {state}, [state]
        while pending:
            for symbol, target in self._outgoing[name].get(pending.pop(), ()):
                if symbol is None or isinstance(symbol, Guard):
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
                elif isinstance(symbol, Terminal):
                    found.add(symbol)
                else:
                    found |= self._first[symbol]
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
