"""Which rules stay rules, and the others inlined into these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping

from structkit.grammar.rules.cfg import Cfg, Terminal
from structkit.grammar.rules.graph import Graph, allow_ignored, called_rules, loop_back, minimal, reached
from structkit.grammar.rules.left_corner import left_corner_graphs
from structkit.regex.walk import components

__all__ = ["flattened", "kept_rules", "small_graphs"]

_MAX_SIZE = 30
"""Maximum moves of a rule that is inlined where several others call it."""

_MAX_SIZE_ONCE = 100
"""Maximum moves of a rule that is inlined where one other calls it; in a chain of rules, each is read again."""

_MAX_SINGLE = 128
"""Rules that call each other of which one is kept at a time, before the cycles without it are looked for. More are kept
of more rules, since each search takes as long as there are rules."""


def small_graphs(cfg: Cfg) -> dict[str, Graph]:
    """Return the automata of the rules of a grammar, with small ones inlined.

    Levels of operators, as in `sum: product ("+" product)*` and `product: atom ("*" atom)*`, become one rule: the
    smallest automaton of a level with the next one inlined is about as large as that of either.
    """
    graphs = left_corner_graphs(cfg)
    for graph in graphs.values():
        allow_ignored(graph, cfg.ignored)
    graphs = {name: minimal(loop_back(name, graph)) for name, graph in graphs.items()}
    calls = {name: called_rules(graph) for name, graph in graphs.items()}
    uses = Counter(
        symbol for graph in graphs.values() for _, symbol, _ in graph.moves if isinstance(symbol, str)
    )
    lines = _rules_of_lines(cfg, graphs)
    kept = kept_rules(graphs, {cfg.start, *cfg.blocks, *lines} & graphs.keys())
    # A rule of lines is built again for each indentation. Its callees stay rules, so that they are built once.
    kept.update(callee for name in lines for callee in calls[name])

    def inlined(name: str) -> Graph:
        if kept.issuperset(calls[name]):
            return graphs[name]
        return minimal(loop_back(name, flattened(graphs[name], found, kept)))

    found: dict[str, Graph] = {}
    inside = {
        name: [callee for callee in calls[name] if callee not in kept] for name in graphs if name not in kept
    }
    for (name,) in components(inside):
        found[name] = inlined(name)
        if _size(found[name]) > (_MAX_SIZE if uses[name] > 1 else _MAX_SIZE_ONCE):
            kept.add(name)
    return {name: found[name] if name in found else inlined(name) for name in graphs if name in kept}


def _rules_of_lines(cfg: Cfg, graphs: Mapping[str, Graph]) -> set[str]:
    """Return the rules in which an indenter sees a line break, an indent or a dedent."""
    if cfg.indenting is None:
        return set()
    names = {cfg.indenting.newline, cfg.indenting.indent, cfg.indenting.dedent}
    callers: dict[str, list[str]] = {}
    starts = []
    for name, graph in graphs.items():
        for _, symbol, _ in graph.moves:
            if isinstance(symbol, Terminal) and symbol.name in names and not symbol.is_ignored:
                starts.append(name)
        for callee in called_rules(graph):
            callers.setdefault(callee, []).append(name)
    return reached(starts, callers)


def _size(graph: Graph) -> int:
    """Return the number of moves, without those over ignored terminals, which stand before each other terminal."""
    return sum(not (isinstance(symbol, Terminal) and symbol.is_ignored) for _, symbol, _ in graph.moves)


def kept_rules(graphs: Mapping[str, Graph], starts: Collection[str]) -> set[str]:
    """Return the rules that stay rules: some, and on each cycle of calls at least one."""
    calls = {name: called_rules(graph) for name, graph in graphs.items()}
    kept = set(starts)
    pending = [[name for name in graphs if name not in kept]]
    while pending:
        names = dict.fromkeys(pending.pop())
        inside = {name: [callee for callee in calls[name] if callee in names] for name in names}
        callers = Counter(callee for callees in inside.values() for callee in callees)
        for group in components(inside):
            if len(group) > 1 or group[0] in inside[group[0]]:
                # The rules with the most calls in and out are likely to be on all cycles of the component.
                ranked = sorted(sorted(group), key=lambda name: -callers[name] * len(inside[name]))
                taken = 1 + len(group) // _MAX_SINGLE
                kept.update(ranked[:taken])
                pending.append(ranked[taken:])
    return kept


def flattened(graph: Graph, graphs: Mapping[str, Graph], kept: Container[str]) -> Graph:
    """Return the automaton of a rule with those of the callees that do not stay rules in place of the calls."""
    result = Graph(graph.size)
    pending = list(reversed(graph.moves))
    while pending:
        source, symbol, target = pending.pop()
        if not isinstance(symbol, str) or symbol in kept:
            result.moves.append((source, symbol, target))
            continue
        callee, offset = graphs[symbol], result.size
        result.size += callee.size
        result.moves.append((source, None, offset))
        result.moves.append((offset + 1, None, target))
        pending += [(offset + a, inner, offset + b) for a, inner, b in reversed(callee.moves)]
    return result
