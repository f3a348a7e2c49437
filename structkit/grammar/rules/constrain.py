"""Grammars whose terminals look beyond their text, as grammars whose terminals do not.

The rules are multiplied with the contexts of `structkit.grammar.rules.context`: a rule becomes one rule for each pair
of a context before it and a context behind it (Bar-Hillel, Perles and Shamir 1961). So what a terminal requires of the
text behind it is known to be possible before the terminal ends, and no text leads to a dead end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from structkit.errors import LimitExceeded
from structkit.grammar.rules.cfg import Guard, Symbol, Terminal
from structkit.grammar.rules.context import Context, Contexts, exits, overlap
from structkit.grammar.rules.following import Following, outgoing_moves
from structkit.grammar.rules.graph import Graph
from structkit.grammar.rules.lexing import Lexing, Way
from structkit.grammar.rules.tokens import TokenReader
from structkit.grammar.rules.variants import Call, Entry, Explored, labelled_graphs
from structkit.regex.charset import complement, contains, intersection, union
from structkit.regex.nodes import CharClass, Network, Node
from structkit.regex.pattern.threads import State, TerminalAutomaton, network_of, partition

__all__ = ["UnseparatedTerminals", "constrain"]

_MAX_STATES = 100_000
"""Maximum states of the multiplied rules."""

_WIDE = 16
"""ASCII characters on which a state of a token is left, so that the token is a rule of its own."""


def constrain(
    graphs: Mapping[str, Graph], start: str, *, complete: bool, lexing: Lexing | None = None
) -> tuple[dict[str, Graph], str]:
    """Return rules without requirements at the ends of terminals, and the name of the first one.

    Args:
        graphs: The automata of the rules.
        start: The first rule.
        complete: Whether terminals may also end where a shorter text would end, as in `dynamic_complete`. Ignored
            terminals never do.
        lexing: The lexer; `None` if the parser decides which terminals are tried.
    """
    ahead = Following(graphs, start)
    following = ahead.characters
    if lexing is not None:
        names = [*lexing.automata]
        scanned = tuple(lexing.automata.values())
        behind = tuple(number for number, automaton in enumerate(scanned) if automaton.looks_behind)
        contexts, by_name = Contexts(scanned, behind), {name: n for n, name in enumerate(names)}
        numbers = {terminal: by_name[terminal.name] for terminal in following if terminal.name in by_name}
        reader = TokenReader(lexing, contexts)
        return _Product(graphs, contexts, numbers, following, False, lexing, reader, ahead).run(start)
    terminals = [terminal for terminal in following if terminal.edges is not None]
    automata = tuple(terminal.edges for terminal in terminals if terminal.edges is not None)
    behind = tuple(number for number, automaton in enumerate(automata) if automaton.looks_behind)
    for terminal, after in following.items():
        if (not complete or terminal.is_ignored) and overlap([terminal.extending], after):
            raise UnseparatedTerminals(
                f"the terminal {terminal.name} is large, and a character that continues it may follow it; "
                "use smaller counts, or put a separator behind it"
            )
    product = _Product(
        graphs, Contexts(automata, behind), {t: n for n, t in enumerate(terminals)}, following, complete
    )
    if not behind and not any(product.has_requirements(terminal) for terminal in terminals):
        return dict(graphs), start
    return product.run(start)


class UnseparatedTerminals(ValueError):
    """A terminal requires something of a terminal that cannot be read character by character."""


@dataclass
class _Product:
    graphs: Mapping[str, Graph]
    contexts: Contexts
    numbers: Mapping[Terminal, int]
    following: Mapping[Terminal, CharClass]
    complete: bool
    lexing: Lexing | None = None
    reader: TokenReader | None = None
    ahead: Following | None = None
    next_at: dict[tuple[str, int], frozenset[Terminal | None]] = field(default_factory=dict)
    relevant: dict[tuple[int, frozenset[Terminal | None]], int] = field(default_factory=dict)
    known: list[Context] = field(default_factory=list)
    context_numbers: dict[Context, int] = field(default_factory=dict)
    read: dict[tuple[Terminal, int], list[tuple[Terminal, int]]] = field(default_factory=dict)
    tokens: dict[tuple[Way, Context, CharClass], list[tuple[Terminal, Context]]] = field(default_factory=dict)
    token_rules: dict[tuple[str, tuple[tuple[Terminal, int], ...]], Entry | None] = field(
        default_factory=dict
    )
    reached: dict[Entry, dict[tuple[int, int], int]] = field(default_factory=dict)
    explored: dict[Entry, Explored] = field(default_factory=dict)
    callers: dict[Entry, list[tuple[Entry, int, int]]] = field(default_factory=dict)
    pending: list[tuple[Entry, int, int]] = field(default_factory=list)
    size: int = 0

    def has_requirements(self, terminal: Terminal) -> bool:
        """Return whether an end of the terminal requires something of the text behind it."""
        automaton, number = terminal.edges, self.numbers[terminal]
        start = self.contexts.start()
        return automaton is not None and any(
            self.contexts.after(start, number, way, self.following[terminal]) != start
            for state in automaton.states
            for way in exits(state, state if self.complete and not terminal.is_ignored else None)
        )

    def number(self, context: Context) -> int:
        number = self.context_numbers.setdefault(context, len(self.known))
        if number == len(self.known):
            self.known.append(context)
        return number

    def run(self, start: str) -> tuple[dict[str, Graph], str]:
        first = self.contexts.start()
        if self.lexing is not None:
            first = first._replace(lexer=self.lexing.first)
        entry = start, self.number(first)
        self.enter(entry)
        outgoing = {name: outgoing_moves(graph) for name, graph in self.graphs.items()}
        while self.pending:
            owner, state, context = self.pending.pop()
            for symbol, target in outgoing[owner[0]].get(state, ()):
                self.follow(owner, state, context, symbol, target)
            if state == 1:
                self.end(owner, context)
        allowed = [
            context for context in self.explored[entry].ends if self.contexts.may_end(self.known[context])
        ]
        return labelled_graphs(self.explored, entry, allowed)

    def enter(self, entry: Entry) -> None:
        """Explore a rule behind a context."""
        if entry not in self.reached:
            self.reached[entry], self.explored[entry] = {}, Explored()
            self.reach(entry, 0, entry[1])

    def reach(self, owner: Entry, state: int, context: int) -> int:
        """Return the number of a state behind a context; explore it if it is new. State 1 is the end."""
        context = self.reduce(owner[0], state, context)
        places = self.reached[owner]
        if (state, context) not in places:
            self.size += 1
            if self.size > _MAX_STATES:
                raise LimitExceeded(
                    "nfa_states",
                    _MAX_STATES,
                    "the grammar with what its terminals require of their neighbours",
                    is_fixed=True,
                )
            places[state, context] = len(places) + (len(places) > 0)
            self.explored[owner].size = len(places)
            self.pending.append((owner, state, context))
        return places[state, context]

    def reduce(self, rule: str, state: int, context: int) -> int:
        """Return the context with only what matters to the terminals that can come next."""
        if self.ahead is None or self.lexing is None:
            return context
        place = rule, state
        terminals = self.next_at.get(place)
        if terminals is None:
            terminals = self.next_at[place] = self.ahead.at(rule, state)
        key = context, terminals
        if key not in self.relevant:
            names = frozenset("$END" if each is None else each.name for each in terminals)
            before = self.known[context]
            never = frozenset(
                (number, state)
                for number, state in before.never
                if self.ahead.can_match(number, self.contexts.threads(number), state, terminals)
            )
            reduced = self.contexts.relevant(
                before._replace(never=never), self.ahead.class_of(terminals), names
            )
            lexer = self.lexing.canonical(reduced.lexer, names)
            self.relevant[key] = self.number(reduced._replace(lexer=lexer))
        return self.relevant[key]

    def follow(self, owner: Entry, state: int, context: int, symbol: Symbol | None, target: int) -> None:
        source, moves = self.reached[owner][state, context], self.explored[owner].moves
        if symbol is None:
            moves.append((source, None, self.reach(owner, target, context)))
        elif isinstance(symbol, Guard):
            before = self.known[context]
            after = self.number(before._replace(banned=before.banned | symbol.banned))
            moves.append((source, None, self.reach(owner, target, after)))
        elif isinstance(symbol, Terminal):
            parts = self.terminal(symbol, context)
            entry = self.token_rule(symbol, parts)
            for part, after in parts:
                move = part if entry is None else Call(entry, after)
                moves.append((source, move, self.reach(owner, target, after)))
        else:
            callee = symbol, self.reduce(symbol, 0, context)
            self.callers.setdefault(callee, []).append((owner, source, target))
            self.enter(callee)
            for after in list(self.explored[callee].ends):
                self.call(owner, source, callee, after, target)

    def call(self, owner: Entry, source: int, callee: Entry, after: int, target: int) -> None:
        self.explored[owner].moves.append((source, Call(callee, after), self.reach(owner, target, after)))

    def end(self, owner: Entry, context: int) -> None:
        """Note that a rule can end with a context; continue where it is called."""
        rule = self.explored[owner]
        if context not in rule.ends:
            rule.ends[context] = self.reached[owner][1, context]
            if self.ahead is not None and self.lexing is not None:
                first = self.ahead.class_of(self.ahead.at(owner[0], 1))
                rule.following[context] = self.allowed(first, context)
            for caller, source, target in list(self.callers.get(owner, ())):
                self.call(caller, source, owner, context, target)

    def terminal(self, terminal: Terminal, context: int) -> list[tuple[Terminal, int]]:
        """Return the ways to read a terminal behind a context: its texts, and the context behind it."""
        key = terminal, context
        if key not in self.read:
            if self.lexing is not None:
                self.read[key] = list(self.read_token(terminal, self.known[context]))
            elif terminal.edges is None:
                self.read[key] = self.read_plain(terminal, context)
            else:
                number = self.numbers[terminal]
                states, moves, ends = self.read_terminal(
                    terminal, terminal.edges, self.known[context], number
                )
                self.read[key] = [
                    (Terminal(terminal.name, network_of(states, moves, places)), after)
                    for after, places in ends.items()
                ]
        return self.read[key]

    def token_rule(self, terminal: Terminal, parts: Sequence[tuple[Terminal, int]]) -> Entry | None:
        """Return the rule of a token that many bytes can continue, so that all its uses share rows; else `None`."""
        key = terminal.name, tuple(parts)
        if key not in self.token_rules:
            entry = None
            if any(_is_wide(part.node) for part, _ in parts):
                entry = f"${terminal.name}", len(self.token_rules)
                ends = {
                    after: state for state, after in enumerate(dict.fromkeys(after for _, after in parts), 2)
                }
                moves = [(0, part, ends[after]) for part, after in parts]
                following = {after: self.allowed(self.following[terminal], after) for after in ends}
                self.explored[entry] = Explored(1 + len(ends), list(moves), ends, following)
            self.token_rules[key] = entry
        return self.token_rules[key]

    def allowed(self, characters: CharClass, context: int) -> CharClass:
        """Return the characters that a context allows."""
        return intersection(characters, complement(self.known[context].forbidden))

    def read_plain(self, terminal: Terminal, context: int) -> list[tuple[Terminal, int]]:
        """Read a terminal whose texts are not known character by character: its first one must end all requirements."""
        before = self.known[context]
        nothing = self.contexts.start()
        for charset in partition([*self.contexts.classes(before), terminal.first]):
            code_point = charset.ranges[0][0]
            if before == nothing or not contains(terminal.first, code_point):
                continue
            if self.contexts.behind or self.contexts.step(before, code_point) != nothing:
                raise UnseparatedTerminals(
                    f"the terminal before {terminal.name} would be longer if `{chr(code_point)}` followed, and "
                    f"{terminal.name} can begin with it; put a separator between them"
                )
        return [(terminal, self.number(nothing))]

    def read_token(self, terminal: Terminal, before: Context) -> Iterator[tuple[Terminal, int]]:
        """Read a token of the lexer."""
        lexing = self.lexing
        if lexing is None or (terminal.name in before.banned and not terminal.is_ignored):
            return
        plain = before._replace(lexer=0, banned=frozenset())
        for way in lexing.classes[before.lexer].get(terminal.name, ()):
            if (way.renamed is None and terminal.name in lexing.ignored) != terminal.is_ignored:
                continue
            for part, context in self.read_way(terminal, way, plain):
                if terminal.is_ignored:
                    yield part, self.number(context._replace(lexer=before.lexer, banned=before.banned))
                else:
                    yield part, self.number(context._replace(lexer=terminal.lexer_after))

    def read_way(self, terminal: Terminal, way: Way, before: Context) -> list[tuple[Terminal, Context]]:
        """Read a token in one way, whatever the class of the lexer."""
        key = way, before, self.following[terminal]
        if key not in self.tokens and self.reader is not None:
            self.tokens[key] = [
                (Terminal(terminal.name, node), self.known[self.number(context)])
                for node, context in self.reader.read(*key)
            ]
        return self.tokens[key]

    def read_terminal(
        self,
        terminal: Terminal,
        automaton: TerminalAutomaton,
        before: Context,
        number: int,
    ) -> _Reading:
        """Walk through the automaton of a terminal and through the contexts at the same time.

        Args:
            terminal: The terminal.
            automaton: Its automaton.
            before: The context before it.
            number: The number of the automaton.
        """
        threads, contexts = automaton.threads, self.contexts
        complete = self.complete and not terminal.is_ignored
        alone = threads.start() if complete else None
        start = contexts.enter(before, number), alone, before
        numbers: dict[tuple[State, State | None, Context], int] = {start: 0}
        pending = [start]
        moves: list[tuple[int, CharClass, int]] = []
        ends: dict[int, list[int]] = {}
        for place in pending:
            state, alone, context = place
            source = numbers[place]
            if source:
                for way in exits(state, alone):
                    after = contexts.after(context, number, way, self.following[terminal])
                    ends.setdefault(self.number(after), []).append(source)
            targets: dict[int, list[CharClass]] = {}
            for charset in partition([*threads.classes_at(state), *contexts.classes(context)]):
                code_point = charset.ranges[0][0]
                moved, next_context = threads.step(state, code_point), contexts.step(context, code_point)
                if not moved.threads or next_context is None:
                    continue
                lone = threads.step(alone, code_point) if alone is not None else None
                following = moved, lone, next_context
                target = numbers.setdefault(following, len(numbers))
                if target == len(pending):
                    pending.append(following)
                    self.size += 1
                    if self.size > _MAX_STATES:
                        raise LimitExceeded(
                            "nfa_states", _MAX_STATES, f"the terminal {terminal.name}", is_fixed=True
                        )
                targets.setdefault(target, []).append(charset)
            moves += [(source, union(parts), target) for target, parts in targets.items()]
        return len(numbers), moves, ends


_Reading: TypeAlias = "tuple[int, list[tuple[int, CharClass, int]], dict[int, list[int]]]"
"""The number of states, the moves, and the states that end with each context."""


@lru_cache(maxsize=1024)
def _is_wide(node: Node) -> bool:
    """Return whether many bytes can continue a token, as in names and comments."""
    counts = Counter[int]()
    for source, part, _ in node.moves if isinstance(node, Network) else ():
        if isinstance(part, CharClass):
            counts[source] += _ascii_size(part)
    return max(counts.values(), default=0) >= _WIDE


@lru_cache(maxsize=1024)
def _ascii_size(charset: CharClass) -> int:
    return sum(max(0, min(last, 127) - first + 1) for first, last in charset.ranges)
