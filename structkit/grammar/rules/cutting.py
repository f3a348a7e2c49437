"""Where the rules of a grammar with a lexer are cut into rules that call each other.

The rules are multiplied with what comes before and behind them (`structkit.grammar.rules.constrain`), so a rule that
can end in many ways is costly: whoever calls it must follow all of them at once. A part of a production between two
terminals, such as `"(" expression ")"`, ends in one way, whatever is inside. Cycles of calls are cut there, and all
other rules are inlined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set

from structkit.grammar.rules.cfg import Cfg, Production, Symbol, Terminal
from structkit.grammar.rules.graph import Graph, allow_ignored, called_rules, loop_back, minimal
from structkit.grammar.rules.left_corner import left_corner_graphs
from structkit.regex.walk import components

__all__ = ["cut_graphs", "kept_rules"]

_MAX_SIZE = 4_000
"""Maximum moves of a rule with all that is inlined into it; larger ones stay rules."""


def cut_graphs(cfg: Cfg) -> dict[str, Graph]:
    """Return the automata of the rules that stay rules, with all others inlined."""
    cut, brackets = _bracketed(cfg)
    graphs = left_corner_graphs(cut)
    for graph in graphs.values():
        allow_ignored(graph, cfg.ignored)
    graphs = {name: minimal(loop_back(name, graph)) for name, graph in graphs.items()}
    while True:
        kept = kept_rules(graphs, cfg.start, brackets)
        inlined = _inlined(graphs, kept)
        if inlined.keys() == graphs.keys():
            return inlined
        graphs = inlined


def _bracketed(cfg: Cfg) -> tuple[Cfg, frozenset[str]]:
    """Return the grammar with rules for the parts between two terminals in which all cycles of a production pass."""
    calls = {
        rule: list(dict.fromkeys(s for production in productions for s in production if isinstance(s, str)))
        for rule, productions in cfg.rules.items()
    }
    component: dict[Symbol, int] = {
        rule: number for number, group in enumerate(components(calls)) for rule in group
    }
    names: dict[Production, str] = {}
    rules: dict[str, tuple[Production, ...]] = {}
    for rule, productions in cfg.rules.items():
        found = []
        for production in productions:
            inner = [n for n, symbol in enumerate(production) if component.get(symbol) == component[rule]]
            terminals = [place for place, symbol in enumerate(production) if isinstance(symbol, Terminal)]
            before = [place for place in terminals if inner and place < inner[0]]
            behind = [place for place in terminals if inner and place > inner[-1]]
            if before and behind:
                part = production[before[-1] : behind[0] + 1]
                name = names.setdefault(part, f"[{len(names)}]")
                rules[name] = (part,)
                production = (*production[: before[-1]], name, *production[behind[0] + 1 :])
            found.append(production)
        rules[rule] = tuple(dict.fromkeys(found))
    return Cfg(cfg.start, rules, cfg.ignored, cfg.ending, cfg.lexing), frozenset(names.values())


def kept_rules(graphs: Mapping[str, Graph], start: str, brackets: Set[str] = frozenset()) -> set[str]:
    """Return the rules that stay rules: on each cycle of calls at least one, a bracket if there is one.

    Args:
        graphs: The automata of the rules.
        start: The first rule.
        brackets: The rules that are kept first.
    """
    calls = {name: called_rules(graph) for name, graph in graphs.items()}
    kept = {start}
    pending = [set(graphs) - kept]
    while pending:
        names = pending.pop()
        inside = {name: [callee for callee in calls[name] if callee in names] for name in names}
        callers = Counter(callee for callees in inside.values() for callee in callees)
        for group in components(inside):
            if len(group) > 1 or group[0] in inside[group[0]]:
                # The rule with the most calls in and out is likely to be on all cycles of the component.
                most = max(sorted(group), key=lambda n: (n in brackets, callers[n] * len(inside[n])))
                kept.add(most)
                pending.append(set(group) - {most})
    return kept


def _inlined(graphs: Mapping[str, Graph], kept: Set[str]) -> dict[str, Graph]:
    """Return the automata of the rules that stay rules, with the others inlined; large ones also stay rules."""
    inside = {name: called_rules(graph) - kept for name, graph in graphs.items() if name not in kept}
    order = [name for group in components(inside) for name in group] + sorted(kept)
    found: dict[str, Graph] = {}
    rules = set(kept)
    for name in order:
        found[name] = minimal(loop_back(name, _flattened(graphs[name], found, rules)))
        if len(found[name].moves) > _MAX_SIZE:
            rules.add(name)
    return {name: found[name] for name in order if name in rules}


def _flattened(graph: Graph, found: Mapping[str, Graph], rules: Set[str]) -> Graph:
    """Return the automaton of a rule with those of the callees that do not stay rules in place of the calls."""
    result = Graph(graph.size)
    for source, symbol, target in graph.moves:
        if not isinstance(symbol, str) or symbol in rules:
            result.moves.append((source, symbol, target))
            continue
        callee, offset = found[symbol], result.size
        result.size += callee.size
        result.moves += [(source, None, offset), (offset + 1, None, target)]
        result.moves += [(offset + a, inner, offset + b) for a, inner, b in callee.moves]
    return result
