"""Rules behind contexts, as rules with labels.

A rule that is read behind a context ends with one of several contexts, which its caller must know. So the rule ends
with a label for its context. A rule whose caller cannot continue behind some contexts is another variant, without the
paths to these ends: no text leads to a dead end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from structkit.automaton.core.kernels import MAX_LABEL
from structkit.grammar.rules.cfg import Symbol, Terminal
from structkit.grammar.rules.graph import Graph, minimal, trim
from structkit.regex.charset import first_bytes
from structkit.regex.nodes import CharClass, ReturnLabel

__all__ = ["Call", "Entry", "Explored", "labelled_graphs"]

Entry: TypeAlias = "tuple[str, int]"
"""A rule and the number of the context before it."""


class Call(NamedTuple):
    """A move over a rule.

    Attributes:
        entry: The rule, and the context before it.
        after: The context with which it ends.
    """

    entry: Entry
    after: int


@dataclass
class Explored:
    """The automaton of a rule behind a context.

    Attributes:
        size: The number of states; the start is state 0, and state 1 is none of them.
        moves: The moves.
        ends: The state in which the rule ends with each context.
        following: The characters that can follow the rule, for each context; empty if these are not known.
    """

    size: int = 0
    moves: list[tuple[int, Symbol | Call | None, int]] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    following: dict[int, CharClass] = field(default_factory=dict)


def labelled_graphs(
    explored: Mapping[Entry, Explored], start: Entry, allowed: Collection[int]
) -> tuple[dict[str, Graph], str]:
    """Return the automata of the rules, and the name of the first one, which is without labels.

    Args:
        explored: The rules.
        start: The first rule.
        allowed: The contexts with which it may end.
    """
    return _Variants(explored).run(start, allowed)


class _Variants:
    def __init__(self, explored: Mapping[Entry, Explored]) -> None:
        self._explored = explored
        self._productive = _productive(explored)
        self._names: dict[tuple[str, tuple[int, ...]], str] = {}
        self._counts: dict[str, int] = {}
        self._pending: list[tuple[str, tuple[int, ...]]] = []
        self._entries = {f"{rule}/{context}": (rule, context) for rule, context in explored}

    def run(self, start: Entry, allowed: Collection[int]) -> tuple[dict[str, Graph], str]:
        graphs: dict[str, Graph] = {}
        name = "$start"
        first = Graph(3, [(0, f"{start[0]}/{start[1]}", 2)])
        first.moves += [
            (2, _label(context), 1) for context in allowed if Call(start, context) in self._productive
        ]
        graphs[name] = self._with_variants(trim(first), (), {})
        while self._pending:
            entry, labels = self._pending.pop()
            graph = self._graph(self._entries[entry], labels)
            following = self._explored[self._entries[entry]].following
            graphs[self._names[entry, labels]] = self._with_variants(graph, labels, following)
        return graphs, name

    def _name(self, entry: str, labels: tuple[int, ...]) -> str:
        """Return the name of a variant of a rule: the ends that its callers allow."""
        key = entry, labels
        if key not in self._names:
            number = self._counts[entry] = self._counts.get(entry, 0) + 1
            self._names[key] = f"{entry}/{number}"
            self._pending.append(key)
        return self._names[key]

    def _graph(self, entry: Entry, labels: Sequence[int]) -> Graph:
        """Return the automaton of a rule with some ends. The labels are the numbers of the contexts."""
        explored = self._explored[entry]
        graph = Graph(explored.size + 1)
        behind: dict[tuple[int, Entry], int] = {}
        for source, symbol, target in explored.moves:
            if not isinstance(symbol, Call):
                graph.moves.append((source, symbol, target))
            elif symbol in self._productive:
                state = behind.get((source, symbol.entry))
                if state is None:
                    state = behind[source, symbol.entry] = graph.state()
                    graph.moves.append((source, f"{symbol.entry[0]}/{symbol.entry[1]}", state))
                graph.moves.append((state, _label(symbol.after), target))
        graph.moves += [(explored.ends[label], _label(label), 1) for label in labels]
        return minimal(trim(graph))

    def _with_variants(
        self, graph: Graph, labels: Sequence[int], following: Mapping[int, CharClass]
    ) -> Graph:
        """Return an automaton with the variants of the rules that it calls, and with labels from 0 on.

        A rule with one end needs no label, except for the characters that can follow it.
        """
        own = {label: number for number, label in enumerate(labels)}
        behind: dict[int, dict[int, list[int]]] = {
            target: {} for _, symbol, target in graph.moves if isinstance(symbol, str)
        }
        result = Graph(graph.size)
        for source, symbol, target in graph.moves:
            if isinstance(symbol, str):
                continue
            label = (
                symbol.node.number
                if isinstance(symbol, Terminal) and isinstance(symbol.node, ReturnLabel)
                else -1
            )
            if label < 0:
                result.moves.append((source, symbol, target))
            elif source in behind:
                behind[source].setdefault(label, []).append(target)
            elif label in following:
                state = result.state()
                first = Terminal("", first_bytes(following[label]))
                result.moves += [(source, _label(own[label]), state), (state, None, 1), (state, first, 1)]
            else:
                result.moves.append((source, _label(own[label]) if len(own) > 1 else None, target))
        returned: dict[tuple[int, tuple[int, ...]], int] = {}
        for source, symbol, target in graph.moves:
            if isinstance(symbol, str):
                ends = sorted(behind[target])
                for part in range(0, len(ends), MAX_LABEL + 1):
                    chosen = tuple(ends[part : part + MAX_LABEL + 1])
                    name = self._name(symbol, chosen)
                    if len(chosen) == 1 and not self._explored[self._entries[symbol]].following:
                        result.moves += [(source, name, after) for after in behind[target][chosen[0]]]
                        continue
                    behind_call = returned.get((target, chosen))
                    if behind_call is None:
                        behind_call = returned[target, chosen] = result.state()
                        result.moves += [
                            (behind_call, _label(number), after)
                            for number, label in enumerate(chosen)
                            for after in behind[target][label]
                        ]
                    result.moves.append((source, name, behind_call))
        return result


def _label(number: int) -> Terminal:
    return Terminal("", ReturnLabel(number))


def _productive(explored: Mapping[Entry, Explored]) -> set[Call]:
    """Return the rules that have a text, each with a context with which it ends."""
    found: set[Call] = set()
    reached: set[tuple[Entry, int]] = set()
    waiting: dict[Call, list[tuple[Entry, int]]] = {}
    outgoing: dict[Entry, dict[int, list[tuple[Symbol | Call | None, int]]]] = {}
    ends: dict[tuple[Entry, int], list[int]] = {}
    for entry, each in explored.items():
        leaving = outgoing[entry] = {}
        for source, symbol, target in each.moves:
            leaving.setdefault(source, []).append((symbol, target))
        for context, state in each.ends.items():
            ends.setdefault((entry, state), []).append(context)
    pending = [(entry, 0) for entry in explored]

    def after(place: tuple[Entry, int]) -> Iterator[tuple[Entry, int]]:
        entry, state = place
        for symbol, target in outgoing[entry].get(state, ()):
            if isinstance(symbol, Call) and symbol not in found:
                waiting.setdefault(symbol, []).append((entry, target))
            else:
                yield entry, target

    def woken(place: tuple[Entry, int]) -> Iterable[tuple[Entry, int]]:
        for context in ends.get(place, ()):
            call = Call(place[0], context)
            if call not in found:
                found.add(call)
                yield from waiting.pop(call, ())

    while pending:
        place = pending.pop()
        if place not in reached:
            reached.add(place)
            pending += after(place)
            pending += woken(place)
    return found
