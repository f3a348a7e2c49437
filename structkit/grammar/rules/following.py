"""The terminals that can come next in each state of the automata of rules, and the characters that they begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from structkit.grammar.rules.cfg import Guard, Symbol, Terminal
from structkit.grammar.rules.graph import Graph
from structkit.limits import Work
from structkit.regex.charset import ANY, contains, union
from structkit.regex.nodes import EMPTY, CharClass
from structkit.regex.pattern.threads import State, Threads, partition

__all__ = ["Following", "outgoing_moves"]

_MAX_BEHIND = 200
"""Maximum states of the lookbehinds of a terminal for which the characters that it begins with are determined."""

_BUILDING = "the terminals that can follow each other in a grammar"
"""What takes the work of a search."""

_STEPS_PER_MOVE, _STEPS_PER_PLACE = 10, 200
"""The work of a move of a rule, and of a place in which threads are looked at; see `Limits.work`."""

_MAX_SEARCHED = 500
"""Maximum places that are looked at to see whether threads can match."""


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
        self._breakable: dict[tuple[int, State, frozenset[Terminal | None]], bool] = {}
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
        changed = True
        while changed:
            changed = False
            for name, graph in graphs.items():
                self._work.pay(_STEPS_PER_MOVE * len(graph.moves), _BUILDING)
                for _, symbol, target in graph.moves:
                    if symbol is None or isinstance(symbol, Guard):
                        continue
                    coming = self._at(name, target)
                    if isinstance(symbol, Terminal):
                        before = self._follow.get(symbol, 0)
                        self._follow[symbol] = before | coming
                    else:
                        before = self._after[symbol]
                        self._after[symbol] = before | coming
                    changed |= before | coming != before

    def class_of(self, terminals: Iterable[Terminal | None]) -> CharClass:
        """Return the characters that terminals begin with."""
        return union({self._classes[each] for each in terminals if each is not None})

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
            self._work.pay(_STEPS_PER_PLACE, _BUILDING)
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
                        found += [(after, each, 0) for each in self._set(self._follow.get(terminal, 0))]
                    pending += [each for each in found if each not in seen]
                    seen.update(found)
        return False

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
