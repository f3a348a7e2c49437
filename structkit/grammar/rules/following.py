"""The terminals that can come next in each state of the automata of rules, and the characters that they begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from structkit.grammar.rules.cfg import Guard, Symbol, Terminal
from structkit.grammar.rules.left_corner import Graph
from structkit.regex.charset import ANY, union
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.threads import State, partition

__all__ = ["Following", "outgoing_moves"]

_MAX_BEHIND = 200
"""Maximum states of the lookbehinds of a terminal for which the characters that it begins with are determined."""


class Following:
    """The terminals that can come next in each state of the automata of rules."""

    def __init__(self, graphs: Mapping[str, Graph], start: str) -> None:
        self._outgoing = {name: outgoing_moves(graph) for name, graph in graphs.items()}
        self._first: dict[str, set[Terminal | None]] = {name: set() for name in graphs}
        self._after: dict[str, set[Terminal | None]] = {name: set() for name in graphs}
        self._after[start].add(None)
        follow: dict[Terminal, set[Terminal | None]] = {}
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
