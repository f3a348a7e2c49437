"""Lark's LALR tables and lexers as grammars: what its parser and its lexer forbid, written into rules and guards.

The rules are multiplied with the states of the parser in which they begin, as far as the state matters: it decides
which terminals the contextual lexer tries, and which reductions a conflict forbids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from structkit.grammar.rules.cfg import Guard, Production, Terminal
from structkit.grammar.rules.graph import coarsest
from structkit.grammar.rules.lexing import Scanner
from structkit.grammar.syntax.lookaheads import Bits, cycles, unions
from structkit.limits import Limits, Work

if TYPE_CHECKING:
    from lark import Lark

__all__ = [
    "NamedProduction",
    "ParserTable",
    "Token",
    "basic_scanner",
    "first_state",
    "tokens_of",
    "with_terminals",
]


_STEPS_PER_PRODUCTION, _STEPS_PER_LOOKAHEAD = 112, 100
"""The work of a production that begins in a state of a parser, and of a terminal before which it ends a rule there;
see `Limits.work`. `python.lark` has 17,000 of the former, a grammar of SQL whose `SELECT` has seven optional clauses
89,000, and 6,000 of the latter."""


class Token(NamedTuple):
    """A terminal, and the class of the lexer behind it."""

    name: str
    lexer_after: int


class Call(NamedTuple):
    """A rule, and the state of the parser in which it begins."""

    rule: str
    state: int


_Production: TypeAlias = "tuple[Token | Call | Guard, ...]"

NamedProduction: TypeAlias = "tuple[str | Token | Guard, ...]"
"""The names of rules, terminals, and guards."""

_Expansion: TypeAlias = "tuple[tuple[str, bool], ...]"
"""The symbols of a production, each with whether it is a terminal."""


def scanner(lark: Lark, accepted: Iterable[str]) -> Scanner:
    """Return what Lark's lexer does where the parser accepts some terminals."""
    from lark.lexer import _create_unless

    conf = lark.lexer_conf
    names = {*accepted, *conf.ignore}
    terminals = [each for each in conf.terminals if each.name in names]
    # The order of `lark.lexer.BasicLexer`.
    terminals.sort(key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    tried, callbacks = _create_unless(terminals, conf.g_regex_flags, re, False)  # type: ignore[no-untyped-call]
    words = {
        name: tuple(each.name for each in callback.scanner.terminals) for name, callback in callbacks.items()
    }
    return Scanner(tuple(each.name for each in tried), words, frozenset(conf.ignore))


def basic_scanner(lark: Lark) -> Scanner:
    """Return the basic lexer, which tries all terminals everywhere."""
    return scanner(lark, [each.name for each in lark.lexer_conf.terminals])


class ParserTable:
    """The states of Lark's LALR parser by number.

    Args:
        lark: The grammar.
        start: The first rule.
        limits: Bounds on the work.
        contextual: Whether the lexer tries only what the parser accepts.
        always_accepted: Terminals that the contextual lexer tries everywhere.

    Attributes:
        scanners: What the lexer does.
        scanner_of: The number of the scanner of each state; the state 0 is the first.

    Raises:
        lark.exceptions.GrammarError: Two reductions conflict.
        LimitExceeded: The parser has so many states that they take too much work.
    """

    def __init__(
        self,
        lark: Lark,
        start: str,
        limits: Limits,
        *,
        contextual: bool,
        always_accepted: Sequence[str] = (),
    ) -> None:
        analyzer = _analyzed(lark, start, limits)
        self.start = start
        root = analyzer.lr0_start_states[start]
        numbers: dict[int, int] = {id(root): 0}
        states: list[Any] = [root]
        self.moves: list[dict[str, int]] = []
        for state in states:
            found = {}
            # Lark's order is that of sets, which differs between processes.
            for symbol, target in sorted(state.transitions.items(), key=lambda move: str(move[0].name)):
                if id(target) not in numbers:
                    numbers[id(target)] = len(states)
                    states.append(target)
                found[symbol.name] = numbers[id(target)]
            self.moves.append(found)
        self.productions: dict[str, list[tuple[int, _Expansion]]] = {}
        numbers_of_rules = {rule: number for number, rule in enumerate(analyzer.shared_rules)}
        for rule, number in numbers_of_rules.items():
            symbols = tuple((symbol.name, bool(symbol.is_term)) for symbol in rule.expansion)
            self.productions.setdefault(rule.origin.name, []).append((number, symbols))
        self.banned: list[dict[int, frozenset[str]]] = []
        scanners: dict[frozenset[str], int] = {}
        self.scanners: list[Scanner] = []
        self.scanner_of: list[int] = []
        for state in states:
            self.banned.append(_banned(state, numbers_of_rules))
            terminals = {symbol.name for symbol in state.transitions if symbol.is_term}
            lookaheads = {symbol.name for symbol in state.lookaheads}
            accepted = frozenset({*terminals, *lookaheads, *always_accepted})
            key = accepted if contextual else frozenset[str]()
            if key not in scanners:
                scanners[key] = len(self.scanners)
                self.scanners.append(scanner(lark, accepted) if contextual else basic_scanner(lark))
            self.scanner_of.append(scanners[key])

    def rules(self, classes: Sequence[int]) -> tuple[str, dict[str, list[NamedProduction]]]:
        """Return the name of the first rule, and the productions, multiplied with the states as far as these matter.

        Args:
            classes: The class of each scanner.
        """
        pairs = self._pairs(classes)
        blocks = _coarsest(pairs)
        kinds: dict[str, set[int]] = {}
        for (name, _), block in blocks.items():
            kinds.setdefault(name, set()).add(block)
        names = {
            pair: pair[0] if len(kinds[pair[0]]) == 1 else f"{pair[0]}#{block}"
            for pair, block in blocks.items()
        }
        rules = {
            names[pair]: [
                tuple(names[symbol] if isinstance(symbol, Call) else symbol for symbol in production)
                for production in productions
            ]
            for pair, productions in pairs.items()
        }
        return names[Call(self.start, 0)], rules

    def _pairs(self, classes: Sequence[int]) -> dict[Call, tuple[_Production, ...]]:
        """Return the productions of each rule in each state in which it can begin."""
        found: dict[Call, tuple[_Production, ...]] = {}
        pending = [Call(self.start, 0)]
        # Productions share their beginnings, and states the symbols behind them.
        steps: dict[tuple[int, str], tuple[Token | Call, int]] = {}
        for pair in pending:
            productions = []
            for number, expansion in self.productions[pair.rule]:
                state = pair.state
                production: list[Token | Call | Guard] = []
                for name, is_terminal in expansion:
                    step = steps.get((state, name))
                    if step is None:
                        after = self.moves[state][name]
                        lexer = classes[self.scanner_of[after]]
                        step = (Token(name, lexer) if is_terminal else Call(name, state), after)
                        steps[state, name] = step
                        if not is_terminal:
                            pending.append(Call(name, state))
                    production.append(step[0])
                    state = step[1]
                if banned := self.banned[state].get(number):
                    production.append(Guard(banned))
                productions.append(tuple(production))
            found[pair] = tuple(productions)
        return found


def first_state(lark: Lark, start: str, limits: Limits, *, lookaheads: bool) -> Any:
    """Return the first state of Lark's analysis of a grammar, from which the others are reached.

    Raises:
        lark.exceptions.GrammarError: Two reductions conflict, and `lookaheads` are asked for.
        LimitExceeded: The parser has so many states that they take too much work.
    """
    return _analyzed(lark, start, limits, lookaheads=lookaheads).lr0_start_states[start]


def tokens_of(lark: Lark, text: str) -> list[tuple[str, str]]:
    """Return the terminal and the text of each token that Lark reads, with the one that an LALR parser refuses."""
    from lark.exceptions import UnexpectedInput

    frontend: Any = lark.parser
    if lark.options.parser == "lalr":
        tokens = lark.parse_interactive(text).iter_parse()
    else:
        tokens = frontend._make_lexer_thread(text).lex(None)
    found = []
    try:
        for token in tokens:
            found.append((token.type, str(token)))
    except (UnexpectedInput, AssertionError, LookupError):  # the last two are those of an indenter
        pass
    return found


def with_terminals(
    named: Mapping[str, list[NamedProduction]], terminals: Mapping[str, Terminal]
) -> dict[str, tuple[Production, ...]]:
    """Return the rules with terminals in place of their names, and without repeated alternatives."""
    return {
        name: tuple(
            dict.fromkeys(
                tuple(
                    replace(terminals[s.name], lexer_after=s.lexer_after) if isinstance(s, Token) else s
                    for s in production
                )
                for production in productions
                # No text is a terminal that is only declared, for a postlex.
                if all(not isinstance(s, Token) or s.name in terminals for s in production)
            )
        )
        for name, productions in named.items()
    }


def _with_shared_symbols(rules: Sequence[Any]) -> list[Any]:
    """Return rules with one object for each symbol, whose hash is that of the object: Lark's is the slowest part."""
    from lark.grammar import NonTerminal, Rule, Terminal

    by_object = {"__hash__": object.__hash__, "__eq__": object.__eq__, "__ne__": object.__ne__}
    kinds = [
        type(kind.__name__, (kind,), by_object) for kind in (NonTerminal, Terminal)
    ]  # as Lark's errors write them
    shared: dict[tuple[str, bool], Any] = {}
    for rule in rules:
        for symbol in (rule.origin, *rule.expansion):
            if (symbol.name, symbol.is_term) not in shared:
                shared[symbol.name, symbol.is_term] = kinds[symbol.is_term](symbol.name)
    return [
        Rule(
            shared[rule.origin.name, False],
            [shared[symbol.name, symbol.is_term] for symbol in rule.expansion],
            rule.order,
            rule.alias,
            rule.options,
        )
        for rule in rules
    ]


def _analyzed(lark: Lark, start: str, limits: Limits, *, lookaheads: bool = True) -> Any:
    """Return Lark's analysis of a grammar: its states, their moves and, if asked for, their `lookaheads`."""
    from lark.common import ParserConf
    from lark.grammar import NonTerminal, Rule
    from lark.parsers.grammar_analysis import LR0ItemSet, RulePtr
    from lark.parsers.lalr_analysis import LALR_Analyzer
    from lark.utils import classify

    work = Work(limits.work)

    class BoundedAnalyzer(LALR_Analyzer):
        """Lark's analyzer, for a bounded number of states: a grammar can have exponentially many.

        Lark's own also computes what comes first in each rule and after it, which takes the cube of the length of a
        production and which LALR does not use, expands a rule in each state again, and writes a table for its parser.
        """

        def __init__(self, rules: Sequence[Any], start: str) -> None:
            super().__init__(ParserConf([], {}, []))
            self.shared_rules = rules
            self.begun: dict[Any, set[Any]] = {}
            first_rule = next(
                (rule.origin for rule in rules if rule.origin.name == start), NonTerminal(start)
            )
            root = Rule(NonTerminal(f"$root_{start}"), [first_rule])
            self.lr0_rules_by_origin = classify([*rules, root], lambda rule: rule.origin)
            first = self.expand_rule(root.origin, self.lr0_rules_by_origin)
            self.lr0_start_states = {start: LR0ItemSet([RulePtr(root, 0)], first)}  # type: ignore[no-untyped-call]
            self.NULLABLE = _nullable(rules)

        def expand_rule(self, rule: Any, *others: Any) -> Any:
            if rule not in self.begun:
                self.begun[rule] = set(super().expand_rule(rule, *others))
            found = self.begun[rule]
            work.pay(_STEPS_PER_PRODUCTION * (1 + len(found)), "the LALR parser of a grammar")
            return found

        def compute_includes_lookback(self) -> None:
            _compute_includes_and_lookback(self)

        def compute_lookaheads(self) -> None:
            _compute_lookaheads(self, limits)

        def compute_lalr1_states(self) -> None:
            """Let Lark raise the error if two reductions conflict."""
            for state in self.lr0_itemsets:
                for rules in state.lookaheads.values():
                    priorities = sorted(rule.options.priority or 0 for rule in rules)
                    if len(rules) > 1 and priorities[-1] == priorities[-2]:
                        super().compute_lalr1_states()

    analyzer = BoundedAnalyzer(_with_shared_symbols(lark.rules), start)
    if lookaheads:
        analyzer.compute_lalr()  # type: ignore[no-untyped-call]
    else:
        analyzer.compute_lr0_states()
    return analyzer


def _compute_includes_and_lookback(analyzer: Any) -> None:
    """Do what Lark's analyzer does, for each symbol with the rules of this symbol and not with all of a state."""
    nullable_from = {
        rule: _nullable_from(rule.expansion, analyzer.NULLABLE)
        for rules in analyzer.lr0_rules_by_origin.values()
        for rule in rules
    }
    complete = {
        state: {item.rule: item.rule for item in state.closure if item.is_satisfied}
        for state in analyzer.lr0_itemsets
    }
    by_origin: dict[Any, dict[Any, list[Any]]] = {}
    for place in analyzer.nonterminal_transitions:
        state, symbol = place
        if state not in by_origin:
            found = by_origin[state] = {}
            for item in state.closure:
                found.setdefault(item.rule.origin, []).append(item)
        for item in by_origin[state].get(symbol, ()):
            at, rule = state, item.rule
            for position in range(item.index, len(rule.expansion)):
                inner = at, rule.expansion[position]
                at = at.transitions[rule.expansion[position]]
                if position + 1 >= nullable_from[rule] and inner in analyzer.reads:
                    analyzer.includes[inner].add(place)
            if item.index == 0 and rule in complete[at]:
                analyzer.lookback[place].add((at, complete[at][rule]))


def _compute_lookaheads(analyzer: Any, limits: Limits) -> None:
    """Do what Lark's analyzer does, without a set of terminals for each way to a reduction."""
    from lark.exceptions import GrammarError

    terminals, places = Bits(), analyzer.nonterminal_transitions
    first = {place: terminals.of(analyzer.directly_reads[place]) for place in places}
    read = unions(places, analyzer.reads, first)
    following = unions(places, analyzer.includes, read)
    # Lark keeps one set for the places on a cycle of empty rules, which others see in the order of addresses.
    loops = cycles({place: after for place, after in analyzer.reads.items() if after})
    joined = {place: {*analyzer.includes[place], *loop} for loop in loops for place in loop}
    if loops and unions(places, {**analyzer.includes, **joined}, read) != following:
        raise GrammarError(
            f"the rule ({loops[0][0][1].name}) may come again behind itself without a character, and what "
            "Lark's LALR parser expects behind it is not determined; write the recursion without empty rules"
        )
    found: dict[tuple[Any, Any], int] = {}
    for place, reductions in analyzer.lookback.items():
        for reduction in reductions:
            found[reduction] = found.get(reduction, 0) | following[place]
    lookaheads = sum(bin(bits).count("1") for bits in found.values())
    Work(limits.work).pay(_STEPS_PER_LOOKAHEAD * lookaheads, "what the LALR parser of a grammar expects")
    for (state, rule), bits in found.items():
        for terminal in terminals.values(bits):
            state.lookaheads[terminal].add(rule)


def _nullable(rules: Sequence[Any]) -> set[Any]:
    """Return the symbols of rules that may be empty."""
    found: set[Any] = set()
    uses: dict[Any, list[int]] = {}
    missing = [len(set(rule.expansion)) for rule in rules]
    for number, rule in enumerate(rules):
        for symbol in set(rule.expansion):
            uses.setdefault(symbol, []).append(number)
    pending = [rule.origin for rule in rules if not rule.expansion]
    while pending:
        symbol = pending.pop()
        if symbol not in found:
            found.add(symbol)
            for number in uses.get(symbol, ()):
                missing[number] -= 1
                if not missing[number]:
                    pending.append(rules[number].origin)
    return found


def _nullable_from(expansion: Sequence[Any], nullable: Set[Any]) -> int:
    """Return the first position of a production from which on all symbols may be empty."""
    position = len(expansion)
    while position and expansion[position - 1] in nullable:
        position -= 1
    return position


def _coarsest(pairs: Mapping[Call, tuple[_Production, ...]]) -> dict[Call, int]:
    """Return the number of a class for each pair, so that the productions of equal classes are equal."""
    numbers = {pair: number for number, pair in enumerate(pairs)}
    kinds: list[object] = []
    moves: list[list[tuple[object, int]]] = []
    for pair, productions in pairs.items():
        kinds.append((pair.rule, tuple(_without_states(production) for production in productions)))
        calls = (each for production in productions for each in production if isinstance(each, Call))
        moves.append([(place, numbers[each]) for place, each in enumerate(calls)])
    return dict(zip(pairs, coarsest(kinds, moves), strict=True))


def _without_states(production: _Production) -> tuple[object, ...]:
    return tuple(None if isinstance(each, Call) else each for each in production)


def _banned(state: Any, numbers: Mapping[Any, int]) -> dict[int, frozenset[str]]:
    """Return the terminals before which a complete rule is not reduced, because another action is chosen."""
    found: dict[int, set[str]] = {}
    for symbol, rules in state.lookaheads.items():
        best = max(rules, key=lambda rule: rule.options.priority or 0)
        for rule in rules:
            if rule in numbers and (symbol in state.transitions or rule is not best):
                found.setdefault(numbers[rule], set()).add(symbol.name)
    return {rule: frozenset(names) for rule, names in found.items()}
