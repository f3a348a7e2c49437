"""Rules of a grammar as regexes: automata inlined into each other where no cycle of calls forbids it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from structkit.automaton.construct.compile_rule import rule_dfa
from structkit.automaton.core.dfa import Dfa
from structkit.automaton.runtime.lazy_builder import written_name
from structkit.errors import LimitExceeded
from structkit.grammar.product.constrain import constrain, constrain_tokens
from structkit.grammar.product.variants import Variants
from structkit.grammar.rules.cfg import Cfg, Symbol, Terminal
from structkit.grammar.rules.graph import Graph, allow_ignored, called_rules, loop_back, minimal, trim
from structkit.grammar.rules.inlining import flattened, kept_rules, small_graphs
from structkit.grammar.rules.left_corner import left_corner_graphs, without_unit_cycles
from structkit.limits import Limits, Work
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    CharClass,
    LiteralText,
    Network,
    Node,
    RuleRef,
    Rules,
    choice,
)
from structkit.regex.walk import children, components

__all__ = ["rules_of"]

_MAX_INLINED = 300
"""Maximum size of a rule that is inlined where several others call it, in characters and calls."""

_MAX_INLINED_ONCE = 3_000
"""Maximum size of a rule that is inlined where one other calls it."""

_MAX_SIZE = 10_000
"""Maximum size of a rule with all that is inlined into it, if fewer rules can be inlined."""

_COST_OF_MOVE = 10
"""The time that a move of an automaton takes, in that of a range of characters."""

_MAX_COST = 400_000
"""Maximum cost of all rules with what is inlined into them, if fewer rules can be inlined; one takes about 2 µs."""

_MAX_ATTEMPTS = 4
"""Attempts to inline; afterwards every rule that others call stays a rule."""

_MAX_MULTIPLIED = 1_000
"""Maximum moves of all rules with what is inlined into them that are multiplied with what terminals require."""

_MAX_RANGES = 300
"""Maximum number of ranges of characters of a terminal of a lexer that is inlined."""

_LIMITS = Limits(states=10_000, nfa_states=50_000, transitions=1_000_000)
"""The size of a rule above which the rules that it calls stay rules, so that they are not determinized together."""

_MAX_EAGER = 3_500
"""States of the rules of a grammar with a lexer above which a rule is made when it is entered; each takes 100 to
200 µs."""

_UNLISTED = (
    "a grammar with a postlex has rules for each indentation, which cannot be listed; "
    "use the grammar without a postlex"
)

_WORK = 20
"""Work on the automata of all rules, as a multiple of the states that one rule may have; each takes about 0.1 µs."""


def rules_of(cfg: Cfg, limits: Limits = Limits(), *, labelled: bool = True) -> Rules:  # noqa: B008
    """Return the language of a grammar. No rule calls itself before a byte is read, and no rule is empty.

    Args:
        cfg: The grammar.
        limits: Bounds on sizes.
        labelled: Whether rules may end with labels, as few other rules do: a language that also has distinct texts may
            not have labels.

    Raises:
        LimitExceeded: The rules, or their automata together, are too large.

    >>> from structkit.regex.nodes import LiteralText
    >>> a, b = Terminal("A", LiteralText("a")), Terminal("B", LiteralText("b"))
    >>> rules_of(Cfg("s", {"s": ((a, "s", b), ("s", "s"), (b,))})).rules.keys()
    dict_keys(['s'])
    """
    cfg = without_unit_cycles(cfg.without_empty_terminals())
    if cfg.start not in cfg.productive:
        return Rules(NEVER, {})
    if cfg.lexing is not None:
        return _lexed_rules(cfg, limits, labelled=labelled)
    graphs = left_corner_graphs(cfg, limits.nfa_states // 8)
    if not graphs:
        return Rules(EMPTY, {})
    for name, graph in graphs.items():
        allow_ignored(graph, cfg.ignored)
        # All later steps take as long as there are moves, of which alternatives share few until then.
        graphs[name] = minimal(loop_back(name, graph))
    first = cfg.start
    kept = kept_rules(graphs, [first])
    work, budget = _Work(_WORK * limits.states), Work(limits.work)
    for attempt in range(_MAX_ATTEMPTS):
        inlined = _inline(graphs, kept)
        # What was inlined may end with a call of the rule, too.
        inlined = {
            name: graph if graph is graphs[name] else minimal(loop_back(name, graph))
            for name, graph in inlined.items()
        }
        product, entry = inlined, first
        if cfg.ending != "any":
            complete = cfg.ending == "dynamic_complete"
            is_large = sum(len(graph.moves) for graph in inlined.values()) > _MAX_MULTIPLIED
            multiplied = small_graphs(cfg) if is_large else inlined
            product, entry = constrain(
                multiplied, first, complete=complete, limits=limits, work=budget, labelled=labelled
            )
            if is_large and entry != first:
                rules = {name: _node(trim(graph)) for name, graph in _merged(product, entry).items()}
                _check_work(rules, limits)
                return _from(cfg, entry, rules)
            product = inlined if entry == first else product
        tokens: dict[Node, str] = {}
        rules = {name: _node(trim(graph), tokens) for name, graph in product.items()}
        merged = {
            name: {*called_rules(graphs.get(name if name in graphs else name.partition("/")[0], Graph()))}
            - inlined.keys()
            for name in rules
        }
        split = [name for name, callees in merged.items() if callees and not work.fits(rules[name])]
        if not split:
            break
        kept |= set().union(*(merged[name] for name in split)) if attempt < _MAX_ATTEMPTS - 2 else set(graphs)
    rules |= {name: node for node, name in tokens.items() if isinstance(node, Network)}
    _check_work(rules, limits)
    return _from(cfg, entry, rules)


def _lexed_rules(cfg: Cfg, limits: Limits, *, labelled: bool) -> Rules:
    """Return the language of a grammar with a lexer."""
    graphs = small_graphs(cfg)
    if not graphs or cfg.lexing is None:
        return Rules(EMPTY if cfg.has_empty_text else NEVER, {})
    variants, narrowed = constrain_tokens(
        graphs, cfg.start, cfg.lexing, cfg.indenting, cfg.blocks, limits, labelled=labelled
    )
    first = variants.start
    if cfg.indenting is not None or variants.size > _MAX_EAGER:
        unlisted = None if cfg.indenting is None else _UNLISTED
        rules = _lazy_rules(variants, cfg, unlisted=unlisted)
    else:
        merged = _merged(variants.run(Work(limits.work)), first)
        rules = _from(cfg, first, {name: _node(graph) for name, graph in merged.items()})
    return replace(rules, narrowed=narrowed)


def _from(cfg: Cfg, first: str, rules: Mapping[str, Network]) -> Rules:
    """Return the language of a grammar, from the rules of its texts of at least one character."""
    if not rules[first].moves:
        return Rules(EMPTY if cfg.has_empty_text else NEVER, {})
    start = RuleRef(first)
    return Rules(choice([start, EMPTY]) if cfg.has_empty_text else start, rules)


def _lazy_rules(variants: Variants, cfg: Cfg, *, unlisted: str | None) -> Rules:
    """Return rules that are made when they are entered: they are many, and with an indenter there is no end of them."""
    lowered: dict[str, Node] = {}
    deferred: dict[str, None] = {}
    examples: dict[str, Node] = {}
    nodes: dict[int, tuple[Graph, Network]] = {}  # by the identity of an automaton, which instances share

    def lower(name: str) -> None:
        graph = variants.graph(name)
        callees = [variants.callee(name, callee) for callee in called_rules(graph)]
        for callee in sorted(callee for callee in callees if callee not in examples):
            deferred[callee] = None
            examples.update(variants.examples(callee))
        if id(graph) not in nodes:
            nodes[id(graph)] = graph, _node(graph)
        lowered[name] = nodes[id(graph)][1]
        deferred.pop(name, None)

    lower(variants.start)
    if not examples:  # the first rule calls no other
        return _from(cfg, variants.start, {variants.start: _node(variants.graph(variants.start))})
    examples[variants.start] = min(examples.values(), key=lambda text: len(str(text)))
    rules = LazyRules(lowered, deferred, examples, lower, variants.callee, unlisted=unlisted)
    start = RuleRef(variants.start)
    return Rules(choice([start, EMPTY]) if cfg.has_empty_text else start, rules, lazy=examples.keys())


def _merged(graphs: Mapping[str, Graph], first: str) -> dict[str, Graph]:
    """Return the automata with one rule in place of equal ones."""
    found = dict(graphs)
    while True:
        names: dict[object, str] = {}
        same = {
            name: names.setdefault((graph.size, tuple(graph.moves)), name) for name, graph in found.items()
        }
        if len(names) == len(found):
            return found
        found = {
            name: Graph(
                graph.size,
                [(a, same[symbol] if isinstance(symbol, str) else symbol, b) for a, symbol, b in graph.moves],
            )
            for name, graph in found.items()
            if same[name] == name or name == first
        }


@dataclass
class _Work:
    """The work on automata for which rules may be inlined.

    Attributes:
        left: What is left of it.
    """

    left: int

    def fits(self, node: Network) -> bool:
        """Return whether the automaton of a rule is small enough for what is inlined into it."""
        if self.left <= 0:
            return False
        try:
            self.left -= _cost(rule_dfa(node, _LIMITS))
        except LimitExceeded:
            self.left -= _LIMITS.transitions // 2
            return False
        return True


def _cost(dfa: Dfa) -> int:
    return dfa.work + dfa.targets.size // 16 + len(dfa.calls)


def _check_work(rules: Mapping[str, Node], limits: Limits) -> None:
    """Build the automata of the rules, which are cached, as long as they are not too large together.

    The place of the error is the rule whose automaton is too large, or the largest of those that are so together.
    """
    work = 2 * _WORK * limits.states
    bounds = replace(limits, transitions=min(limits.transitions, work))
    largest, most = "", -1
    for name, node in rules.items():
        try:
            cost = _cost(rule_dfa(node, bounds))
        except LimitExceeded as error:
            error.place = error.place or written_name(name)
            raise
        if cost > most:
            largest, most = written_name(name), cost
        work -= cost
        if work < 0:
            what = f"the automata of the rules, the largest that of `{largest}`,"
            raise LimitExceeded("states", limits.states, what, place=largest)


def _sizes(
    graphs: Mapping[str, Graph], order: Iterable[str], kept: set[str], cap: int
) -> tuple[dict[str, int], int]:
    """Return the characters and calls of the rules that stay rules, with their callees inlined up to the cap.

    The second value is an estimate of the time that all of them take.

    Args:
        graphs: The automata of the rules.
        order: The rules, callees first.
        kept: The rules that stay rules.
        cap: The maximum size of a rule that several others call.
    """
    uses = Counter(s for graph in graphs.values() for _, s, _ in graph.moves if isinstance(s, str))
    sizes: dict[str, int] = {}
    costs: dict[str, int] = {}
    inlined: dict[str, int] = {}
    for name in order:
        size = cost = 0
        for _, symbol, _ in graphs[name].moves:
            cost += _COST_OF_MOVE
            if isinstance(symbol, Terminal):
                size += len(symbol.node.moves) if isinstance(symbol.node, Network) else 1
                cost += _weight(symbol.node)
            elif isinstance(symbol, str) and symbol in inlined:
                size += inlined[symbol]
                cost += costs[symbol]
            else:
                size += 1
        sizes[name], costs[name] = size, cost
        if name not in kept and size <= (max(cap, _MAX_INLINED_ONCE) if uses[name] == 1 else cap):
            inlined[name] = size
    found = {name: size for name, size in sizes.items() if name not in inlined}
    return found, sum(costs[name] for name in found)


@lru_cache(maxsize=1024)
def _is_large(node: Node) -> bool:
    """Return whether a terminal is a rule of its own."""
    moves = node.moves if isinstance(node, Network) else ()
    return sum(len(part.ranges) for _, part, _ in moves if isinstance(part, CharClass)) > _MAX_RANGES


@lru_cache(maxsize=1024)
def _weight(node: Node) -> int:
    """Return the number of ranges and letters in a terminal; one if it is a rule of its own."""
    if _is_large(node):
        return 1
    total, pending = 0, [node]
    while pending:
        part = pending.pop()
        if isinstance(part, CharClass):
            total += len(part.ranges)
        elif isinstance(part, LiteralText):
            total += len(part.value)
        else:
            pending += children(part)
    return total


def _inline(graphs: Mapping[str, Graph], kept: set[str]) -> dict[str, Graph]:
    """Return the automata of the rules that stay rules, with the others inlined; large ones also stay rules."""
    inside = {
        name: [callee for callee in called_rules(graph) if callee not in kept]
        for name, graph in graphs.items()
        if name not in kept
    }
    order = [name for group in components(inside) for name in group] + sorted(kept)
    cap = _MAX_INLINED
    found, cost = _sizes(graphs, order, kept, cap)
    while cap and (max(found.values()) > _MAX_SIZE or cost > _MAX_COST):
        cap //= 4
        found, cost = _sizes(graphs, order, kept, cap)
    return {
        name: graphs[name]
        if found.keys() >= {*called_rules(graphs[name])}
        else flattened(graphs[name], graphs, found)
        for name in sorted(found)
    }


def _node(graph: Graph, tokens: dict[Node, str] | None = None) -> Network:
    """Return an automaton as a node.

    Args:
        graph: The automaton.
        tokens: The names of the large terminals that are rules, shared by all of their uses; new ones are added. `None`
            if no terminal is a rule.
    """

    def node(symbol: Symbol | None) -> Node:
        if isinstance(symbol, Terminal):
            if tokens is not None and _is_large(symbol.node):
                return RuleRef(tokens.setdefault(symbol.node, f"${symbol.name}/{len(tokens)}"))
            return symbol.node
        return RuleRef(symbol) if isinstance(symbol, str) else EMPTY

    return Network(
        graph.size, tuple((source, node(symbol), target) for source, symbol, target in graph.moves)
    )
