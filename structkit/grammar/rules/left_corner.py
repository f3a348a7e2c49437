"""Left recursion removed: the automaton of a rule over the terminals and rules that begin elsewhere.

A rule that begins with itself, directly, through other rules or behind empty ones, cannot call itself before a byte is
read. In the strongly connected components of "begins with", the automaton of a rule reads productions from their left
corner upwards (Rosenkrantz and Lewis 1970): it starts with the first symbol from outside the component, and when a rule
of the component is complete, it continues in each production that begins with this rule. Within a component this is
regular: `E: E "+" T | T` gives `T ("+" T)*`.

Rules that derive each other alone, as in `A: B | "x"` and `B: C? A`, are one rule before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from structkit.errors import LimitExceeded
from structkit.grammar.rules.cfg import Cfg, Guard, Production, Symbol, Terminal
from structkit.grammar.rules.graph import Graph
from structkit.limits import Limits
from structkit.regex.walk import components

__all__ = ["left_corner_graphs", "production_graphs", "without_unit_cycles"]

_MAX_STARTS = 64
"""Maximum number of ways to leave out the first symbols of a production."""


def left_corner_graphs(cfg: Cfg, max_moves: int = Limits().nfa_states // 8) -> dict[str, Graph]:
    """Return the automaton of each rule that the start needs, for its texts of at least one character.

    After a rule has been entered, a byte is read before it is entered again.

    Raises:
        LimitExceeded: The automata are too large together.
    """
    leftmost = {
        rule: list(dict.fromkeys(_left_rules(cfg, productions)))
        for rule, productions in cfg.rules.items()
        if rule in cfg.nonempty
    }
    component = {rule: frozenset(group) for group in components(leftmost) for rule in group}
    graphs: dict[str, Graph] = {}
    left = max_moves
    pending = [cfg.start] if cfg.start in cfg.nonempty else []
    while pending:
        rule = pending.pop()
        if rule not in graphs:
            graphs[rule] = _graph(cfg, rule, component[rule])
            left -= len(graphs[rule].moves)
            if left < 0:  # in a large component, each rule is an automaton of the whole component
                raise LimitExceeded(
                    "nfa_states", 8 * max_moves, f"a grammar with `{rule}` and what begins it"
                )
            pending += [symbol for _, symbol, _ in graphs[rule].moves if isinstance(symbol, str)]
    return graphs


def without_unit_cycles(cfg: Cfg) -> Cfg:
    """Return the grammar with one rule in place of rules that derive each other alone, beside rules that are empty.

    Such rules have the same texts. Each would be an automaton of all of them, and there would be as many ways to read a
    text as there are rules.

    >>> from structkit.regex.nodes import LiteralText
    >>> a = Terminal("A", LiteralText("a"))
    >>> cfg = Cfg("s", {"s": (("t",), ("t", "t")), "t": (("u", "s"), (a,)), "u": ((a,), ())})
    >>> [*without_unit_cycles(cfg).rules]
    ['s', 'u']
    """
    edges: dict[str, dict[str, None]] = {rule: {} for rule in cfg.rules}
    for rule, production in cfg.productions():
        if all(symbol in cfg.productive for symbol in production):
            edges[rule].update(dict.fromkeys(_alone(cfg, production)))
    found: dict[str, str] = {}
    for group in components(edges):
        first = cfg.start if cfg.start in group else min(group)
        # A rule that an indent begins is known by its name.
        found.update((rule, rule if cfg.blocks.intersection(group) else first) for rule in group)
    if all(rule == first for rule, first in found.items()):
        return cfg
    rules: dict[str, dict[Production, None]] = {}
    for rule, productions in cfg.rules.items():
        own = rules.setdefault(found[rule], {})
        for production in productions:
            named = tuple(found[symbol] if isinstance(symbol, str) else symbol for symbol in production)
            if named != (found[rule],):
                own[named] = None
    return replace(cfg, rules={rule: tuple(productions) for rule, productions in rules.items()})


def _alone(cfg: Cfg, production: Production) -> Iterable[str]:
    """Return the rules that a production of rules may consist of, with all others empty and nothing forbidden."""
    needed = [symbol for symbol in production if Guard(frozenset()) not in cfg.guards.get(str(symbol), ())]
    if len(needed) > 1:
        return []
    return [str(symbol) for symbol in needed or production if symbol in cfg.nonempty]


def production_graphs(cfg: Cfg) -> dict[str, Graph]:
    """Return the automaton of each rule as the grammar writes it, left recursion included, without the empty text."""
    return {rule: _graph(cfg, rule, frozenset()) for rule in cfg.rules if rule in cfg.nonempty}


def _left_rules(cfg: Cfg, productions: Iterable[Production]) -> Iterator[str]:
    """Iterate over the rules that productions can begin with."""
    for production in productions:
        if not _has_texts(cfg, production):
            continue
        for symbol in production:
            if isinstance(symbol, str) and symbol in cfg.nonempty:
                yield symbol
            if isinstance(symbol, Terminal) or (isinstance(symbol, str) and symbol not in cfg.nullable):
                break


def _has_texts(cfg: Cfg, production: Production) -> bool:
    return all(symbol in cfg.productive for symbol in production if isinstance(symbol, str))


def _graph(cfg: Cfg, goal: str, group: frozenset[str]) -> Graph:
    graph = Graph()
    guards = _guards_of_recursion(cfg, group)
    if not guards:
        _add_productions(graph, cfg, goal, group, None)
        return graph
    terminals = cfg.terminal_names
    classes: dict[tuple[bool, ...], set[str]] = {}
    for name in sorted(terminals):
        classes.setdefault(tuple(name in guard.banned for guard in guards), set()).add(name)
    if len(classes) > _MAX_STARTS:
        raise LimitExceeded(
            "nfa_states", _MAX_STARTS, f"the empty texts before the rule {goal}", is_fixed=True
        )
    for first in classes.values():
        _add_productions(graph, cfg, goal, group, frozenset(first))
    return graph


def _guards_of_recursion(cfg: Cfg, group: frozenset[str]) -> list[Guard]:
    """Return the guards of the empty texts behind which rules of a component begin with each other."""
    found: dict[Guard, None] = {}
    for rule in sorted(group):
        for production in cfg.rules[rule] if cfg.guards else ():
            ways, before = {Guard(frozenset())}, dict[Guard, None]()
            for symbol in production if _has_texts(cfg, production) else ():
                if symbol in group:
                    found.update(before)
                if isinstance(symbol, Terminal):
                    break
                empty = [symbol] if isinstance(symbol, Guard) else cfg.guards.get(symbol, ())
                ways = {Guard(way.banned | each.banned) for way in ways for each in empty}
                before.update((way, None) for way in ways if way.banned)
    return list(found)


def _add_productions(
    graph: Graph, cfg: Cfg, goal: str, group: frozenset[str], first: frozenset[str] | None
) -> None:
    """Add the texts of a rule to an automaton.

    Args:
        graph: The automaton.
        cfg: The grammar.
        goal: The rule.
        group: The component of the rule, if it begins with itself.
        first: The terminals with which the texts begin, where rules of the component begin with each other behind empty
            texts that are forbidden before some terminals; these all forbid all or none of them. The automaton comes to
            the outer rule when the inner one is read, so the first terminal must be known from the start.
    """
    start, end = 0, 1
    if first is not None:
        start, end = graph.state(), graph.state()
        graph.moves += [(0, Guard(cfg.terminal_names - first), start), (end, None, 1)]
    complete = {rule: graph.state() for rule in sorted(group - {goal})} | {goal: end}

    def empty_ways(symbol: Symbol) -> list[Guard | None]:
        """Return the ways to leave a symbol out."""
        if isinstance(symbol, Guard):
            return [symbol]
        guards = cfg.guards.get(symbol, ()) if isinstance(symbol, str) else ()
        return [
            guard if guard.banned else None for guard in sorted(guards, key=lambda each: sorted(each.banned))
        ]

    def is_written(symbol: Symbol) -> bool:
        return isinstance(symbol, Terminal) or symbol in cfg.nonempty

    for rule in complete:
        for production in cfg.rules[rule]:
            if not production or not _has_texts(cfg, production):
                continue
            # `items[i]` is reached when the first i + 1 symbols are read and not all of them are empty.
            items = [graph.state() for _ in production[1:]] + [complete[rule]]
            starts = [start]  # the states in which all symbols so far are empty
            for position, symbol in enumerate(production):
                ways = empty_ways(symbol)
                if position and is_written(symbol):
                    graph.moves.append((items[position - 1], symbol, items[position]))
                if position:
                    graph.moves += [(items[position - 1], way, items[position]) for way in ways]
                for place in starts if is_written(symbol) else ():
                    if symbol in group:
                        graph.moves.append((complete[str(symbol)], None, items[position]))
                    else:
                        graph.moves.append((place, symbol, items[position]))
                after = []
                for place in starts:
                    for way in ways:
                        if way is None or (first is not None and first.isdisjoint(way.banned)):
                            after.append(place)
                        elif first is None or not first <= way.banned:
                            after.append(graph.state())
                            graph.moves.append((place, way, after[-1]))
                starts = list(dict.fromkeys(after))
                if len(starts) > _MAX_STARTS:
                    raise LimitExceeded(
                        "nfa_states", _MAX_STARTS, f"the empty texts in the rule {rule}", is_fixed=True
                    )
