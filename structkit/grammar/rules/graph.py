"""Finite automata over terminals and rules: what a rule reads, as a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias, TypeVar

from structkit.grammar.rules.cfg import Guard, Symbol, Terminal

__all__ = [
    "Graph",
    "Move",
    "allow_ignored",
    "called_rules",
    "coarsest",
    "loop_back",
    "minimal",
    "reached",
    "trim",
]

T = TypeVar("T")

_MAX_LOOPS = 16
"""Maximum sets of terminals that may not follow the end of a rule that calls itself at its end."""

_MAX_GROWTH = 4
"""Maximum growth of an automaton that is made deterministic."""

_MAX_REACHED = 200_000
"""Maximum states reached without a symbol, of all states of an automaton that is made deterministic; each takes about
0.2 µs and 50 bytes. A sequence of optional parts has the square of its length."""

Move: TypeAlias = "tuple[int, Symbol | None, int]"
"""A source, a symbol or `None` for none, and a target."""


@dataclass(slots=True)
class Graph:
    """A finite automaton over terminals and rules; the start is state 0 and the end state 1."""

    size: int = 2
    moves: list[Move] = field(default_factory=list)

    def state(self) -> int:
        """Add a state."""
        self.size += 1
        return self.size - 1


def allow_ignored(graph: Graph, ignored: Iterable[Terminal]) -> None:
    """Allow the ignored terminals before each other terminal."""
    before: dict[int, int] = {}
    moves: list[Move] = []
    for source, symbol, target in graph.moves:
        place = source
        if isinstance(symbol, Terminal) and not symbol.is_ignored:
            place = before.setdefault(source, -1)
            if place < 0:
                place = before[source] = graph.state()
                moves.append((source, None, place))
                moves += [(place, terminal, place) for terminal in ignored]
        moves.append((place, symbol, target))
    graph.moves = moves


def called_rules(graph: Graph) -> list[str]:
    """Return the rules that a rule calls, in the order of its moves."""
    return list(dict.fromkeys(symbol for _, symbol, _ in graph.moves if isinstance(symbol, str)))


def trim(graph: Graph) -> Graph:
    """Return the automaton without the states that are not on a path from start to end."""
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for source, _, target in graph.moves:
        forward.setdefault(source, []).append(target)
        backward.setdefault(target, []).append(source)
    after_start, before_end = reached([0], forward), reached([1], backward)
    used = after_start & before_end
    numbers = {state: number for number, state in enumerate([0, 1, *sorted(used - {0, 1})])}
    moves = [(numbers[a], symbol, numbers[b]) for a, symbol, b in graph.moves if a in used and b in used]
    return Graph(len(numbers), moves)


def reached(starts: Iterable[T], edges: Mapping[T, Iterable[T]]) -> set[T]:
    """Return what edges lead to, the starts included."""
    found = set(starts)
    pending = list(found)
    while pending:
        for after in edges.get(pending.pop(), ()):
            if after not in found:
                found.add(after)
                pending.append(after)
    return found


def loop_back(name: str, graph: Graph) -> Graph:
    """Return the automaton with moves to the start of the rule in place of the rule's calls of itself at its end.

    What may follow the rule's own end inside the rule repeats itself: after the inner rule, the outer one may end or
    continue in the same ways as the inner one. So nothing needs to be on the stack. Terminals that a guard behind such
    a call excludes are excluded at all later ends.

    The same holds of a call behind which the rule may end, or go on only as at each of its ends: `s: "x" (s | "x")*` is
    `"x"+`.
    """
    if name not in called_rules(graph):
        return graph
    graph = _with_simple_ends(name, graph)
    outgoing: dict[int, list[tuple[Symbol | None, int]]] = {}
    for source, symbol, target in graph.moves:
        outgoing.setdefault(source, []).append((symbol, target))

    def excluded(state: int) -> frozenset[str] | None:
        """Return the terminals that guards exclude on the only way to the end; `None` if there are other ways."""
        seen: set[int] = set()
        found: frozenset[str] = frozenset()
        while state != 1:
            after = outgoing.get(state, [])
            if state in seen or len(after) != 1:
                return None
            seen.add(state)
            ((symbol, state),) = after
            if isinstance(symbol, Guard):
                found |= symbol.banned
            elif symbol is not None:
                return None
        return found

    tails = {target: excluded(target) for _, symbol, target in graph.moves if symbol == name}
    nothing: frozenset[str] = frozenset()
    if not any(
        tails.values()
    ):  # behind an inner rule that excludes terminals the outer one does not go on as that
        tails |= dict.fromkeys(_absorbed(graph, [each for each in tails if tails[each] is None]), nothing)
    if all(banned is None for banned in tails.values()):
        return graph
    numbers = {(0, nothing): 0, (1, nothing): 1}
    pending = [*numbers]
    sets = {nothing}
    result = Graph()

    def number(state: int, banned: frozenset[str]) -> int:
        place = state, banned
        if place not in numbers:
            numbers[place] = result.state()
            pending.append(place)
        return numbers[place]

    while pending:
        state, banned = pending.pop()
        source = numbers[state, banned]
        for symbol, target in outgoing.get(state, ()):
            more = tails.get(target) if symbol == name else None
            if more is not None and (banned | more in sets or len(sets) < _MAX_LOOPS):
                sets.add(banned | more)
                result.moves.append((source, None, number(0, banned | more)))
            else:
                result.moves.append((source, symbol, number(target, banned)))
        if state == 1 and banned:
            result.moves.append((source, Guard(banned), 1))
    return result


def _with_simple_ends(name: str, graph: Graph) -> Graph:
    """Return the smallest automaton if a rule calls itself where it may also end, so that equal ends are one."""
    before_end = _silently(graph, 1)
    if not any(symbol == name and target in before_end - {1} for _, symbol, target in graph.moves):
        return graph
    return minimal(graph)


def _silently(graph: Graph, state: int) -> set[int]:
    """Return the states from which moves without a symbol lead to a state."""
    sources: dict[int, list[int]] = {}
    for source, symbol, target in graph.moves:
        if symbol is None:
            sources.setdefault(target, []).append(source)
    return reached([state], sources)


def _absorbed(graph: Graph, states: Iterable[int]) -> list[int]:
    """Return those of some states that are ends and have only moves that each end of the automaton has."""
    silent: dict[int, list[int]] = {}
    moves: dict[int, list[tuple[Symbol, int]]] = {}
    entered = {0}
    for source, symbol, target in graph.moves:
        if symbol is None:
            silent.setdefault(source, []).append(target)
        else:
            moves.setdefault(source, []).append((symbol, target))
            entered.add(target)
    before_end = _silently(graph, 1)
    states = [state for state in states if state in before_end]
    if not states:
        return []

    def following(state: int) -> Iterator[tuple[Symbol, int]]:
        found, pending = {state}, [state]
        while pending:
            each = pending.pop()
            yield from moves.get(each, ())
            for after in silent.get(each, ()):
                if after not in found:
                    found.add(after)
                    pending.append(after)

    shared = set(following(states[-1]))
    for state in sorted(entered & before_end, reverse=True):  # the last of many optional parts has the fewest
        shared.intersection_update(following(state))
        if not shared:
            break
    return [state for state in states if all(move in shared for move in following(state))]


def minimal(graph: Graph) -> Graph:
    """Return the smallest deterministic automaton over the symbols, if it is not much larger."""
    determinized = _determinize(graph)
    if determinized is None:
        return graph
    is_end, table, symbols = determinized
    blocks = coarsest(is_end, table)
    names: dict[int, int] = {}
    for block in blocks:
        names.setdefault(block, len(names) + (len(names) > 0))
    result = Graph(len(names) + 1)
    written: set[int] = set()
    for row, can_end, block in zip(table, is_end, blocks, strict=True):
        if block not in written:
            written.add(block)
            result.moves += [(names[block], symbols[number], names[blocks[after]]) for number, after in row]
            if can_end:
                result.moves.append((names[block], None, 1))
    return result


def _determinize(graph: Graph) -> tuple[list[bool], list[list[tuple[int, int]]], list[Symbol]] | None:
    """Return a deterministic automaton, or `None` if it is much larger.

    Returns:
        For each state whether it is an end; the moves of each state, as the number of a symbol and of a state; and the
        symbols.
    """
    numbers_of_symbols: dict[Symbol, int] = {}  # the hash of a number takes less time than that of a terminal
    silent: dict[int, list[int]] = {}
    moves: dict[int, list[tuple[int, int]]] = {}
    for source, symbol, target in graph.moves:
        if symbol is None:
            silent.setdefault(source, []).append(target)
        else:
            number = numbers_of_symbols.setdefault(symbol, len(numbers_of_symbols))
            moves.setdefault(source, []).append((number, target))

    visits = 0

    @cache
    def closure_of(state: int) -> frozenset[int]:
        nonlocal visits
        found = frozenset(reached([state], silent)) if state in silent else frozenset([state])
        visits += len(found)
        return found

    @cache
    def closure(states: tuple[int, ...]) -> frozenset[int]:
        if len(states) == 1:
            return closure_of(states[0])
        seen: set[int] = set()
        for state in states:  # in a chain of optional parts the first one reaches the others
            if state not in seen:
                seen |= closure_of(state)
        return frozenset(seen)

    places = [closure((0,))]
    numbers = {places[0]: 0}
    table: list[list[tuple[int, int]]] = []
    size = 0
    for place in places:
        targets: dict[int, list[int]] = {}
        for state in place:
            for number, target in moves.get(state, ()):
                targets.setdefault(number, []).append(target)
        row = []
        for number, found in targets.items():
            after = closure(tuple(found))
            if visits > _MAX_REACHED:
                return None
            row.append((number, numbers.setdefault(after, len(places))))
            if row[-1][1] == len(places):
                places.append(after)
        table.append(row)
        size += len(row)
        if len(places) > _MAX_GROWTH * graph.size + 100 or size > _MAX_GROWTH * len(graph.moves) + 1_000:
            return None
    return [1 in place for place in places], table, [*numbers_of_symbols]


def coarsest(kinds: Iterable[object], moves: Sequence[Iterable[tuple[object, int]]]) -> list[int]:
    """Return the number of a class for each state, so that states of a class have one kind and equivalent moves.

    A state is examined again only when a state behind one of its moves has left its class, and the largest part of a
    class that is divided stays the class (Hopcroft 1971, Blom and Orzan 2003).

    >>> coarsest("xyy", [[("a", 1)], [("b", 2)], [("b", 1)]])
    [0, 1, 1]
    """
    numbers: dict[object, int] = {}
    classes = [numbers.setdefault(kind, len(numbers)) for kind in kinds]
    sizes = [0] * len(numbers)
    for number in classes:
        sizes[number] += 1
    before: list[list[int]] = [[] for _ in classes]
    for source, row in enumerate(moves):
        for _, target in row:
            before[target].append(source)
    pending: Iterable[int] = range(len(classes))
    while pending:
        parts: dict[int, dict[object, list[int]]] = {}
        for state in pending:
            if sizes[classes[state]] > 1:
                key = frozenset((symbol, classes[target]) for symbol, target in moves[state])
                parts.setdefault(classes[state], {}).setdefault(key, []).append(state)
        moved: list[int] = []
        for number, found in parts.items():
            groups = list(found.values())
            if sum(map(len, groups)) == sizes[number]:  # else the states that are not examined stay
                groups.remove(max(groups, key=len))
            for group in groups:
                sizes[number] -= len(group)
                for state in group:
                    classes[state] = len(sizes)
                sizes.append(len(group))
                moved += group
        pending = dict.fromkeys(source for state in moved for source in before[state])
    first: dict[int, int] = {}
    return [first.setdefault(number, len(first)) for number in classes]
