"""Grammars whose terminals look beyond their text, as grammars whose terminals do not.

The rules are multiplied with the contexts of `structkit.grammar.rules.context`: a rule becomes one rule for each pair
of a context before it and a context behind it (Bar-Hillel, Perles and Shamir 1961). So what a terminal requires of the
text behind it is known to be possible before the terminal ends, and no text leads to a dead end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from structkit.errors import LimitExceeded
from structkit.grammar.product.explored import Call, Entry, Exploration, Explored
from structkit.grammar.product.tokens import TokenPart, TokenReader, copies, is_wide, token_rule
from structkit.grammar.product.variants import Layouts, Variants
from structkit.grammar.rules.cfg import Guard, Symbol, Terminal
from structkit.grammar.rules.context import (
    CLOSED,
    DEDENT,
    INDENT,
    NONE,
    Context,
    Contexts,
    Exit,
    Layout,
    exits,
    overlap,
)
from structkit.grammar.rules.following import Following, outgoing_moves
from structkit.grammar.rules.graph import Graph
from structkit.grammar.rules.layout import LineMove, is_read, open_brackets
from structkit.grammar.rules.lexing import Indenting, Lexing, Way
from structkit.limits import Limits, Work
from structkit.regex.charset import complement, contains, intersection, partition
from structkit.regex.nodes import CharClass

__all__ = ["UnseparatedTerminals", "constrain", "constrain_tokens"]

_MULTIPLIED = "the grammar with what its terminals require of their neighbours"

_STEPS_PER_STATE, _STEPS_PER_MOVE = 150, 12
"""The work of a state of the multiplied rules, and of a move whose shortest texts are found; see `Limits.work`."""

_MAX_COPIED = 1_000
"""Maximum moves of the automata of a token, one for each context behind it, beyond which the token is a rule."""

_RESERVE, _SECOND = 0.25, 0.5
"""The share of the work at which the requirements that may last are found to be too many, and the share with which the
rules without them are made.

Each such requirement that a text may have doubles the contexts, and few texts have one: a string that ends with `\\"`,
where the terminal continues if another quotation mark follows anywhere.
"""


def constrain_tokens(
    graphs: Mapping[str, Graph],
    start: str,
    lexing: Lexing,
    indenting: Indenting | None = None,
    blocks: Set[str] = frozenset(),
    limits: Limits = Limits(),  # noqa: B008
    *,
    labelled: bool = True,
) -> tuple[Variants, tuple[str, ...]]:
    """Return rules whose tokens are those of a lexer, and the terminals that lack texts in them.

    Texts with requirements that may last are left out where the rules are too large with them; see `_RESERVE`.

    Args:
        graphs: The automata of the rules.
        start: The first rule.
        lexing: The lexer.
        indenting: The indenter, if there is one.
        blocks: The rules that an indent begins.
        limits: Bounds on the states of the rules, and on the work.
        labelled: Whether rules end with labels; see `Variants`.

    Raises:
        LimitExceeded: The rules with what their terminals require are too large.
    """
    work = Work(limits.work)
    ahead = Following(graphs, start, work)
    scanned = tuple(lexing.automata.values())
    behind = tuple(number for number, automaton in enumerate(scanned) if automaton.looks_behind)
    contexts = Contexts(scanned, behind, work)
    reader = TokenReader({name: n for n, name in enumerate(lexing.automata)}, contexts, ahead, limits, work)
    for reserve in (_RESERVE, 0):
        product = _Product(
            graphs, contexts, reader, ahead.characters, False, limits, work, ahead, lexing, indenting
        )
        product.reserve = int(reserve * limits.work)
        try:
            variants = product.run(start, blocks, labelled=labelled)
        except _TooManyRequirements:
            work.left = int(_SECOND * limits.work)
            continue
        if reserve or not product.lasting or not variants.is_empty:
            return variants, () if reserve else tuple(sorted(product.lasting))
    raise LimitExceeded("work", limits.work, _MULTIPLIED)


def constrain(
    graphs: Mapping[str, Graph],
    start: str,
    *,
    complete: bool,
    limits: Limits = Limits(),  # noqa: B008
    work: Work | None = None,
    labelled: bool = True,
    tails: bool = True,
) -> tuple[dict[str, Graph], str]:
    """Return rules without requirements at the ends of terminals, and the name of the first one.

    Args:
        graphs: The automata of the rules.
        start: The first rule.
        complete: Whether terminals may also end where a shorter text would end, as in `dynamic_complete`. Ignored
            terminals never do.
        limits: Bounds on the states of the rules.
        work: What the work is taken from; by default that of the limits.
        labelled: Whether rules end with labels; see `Variants`.
        tails: Whether what a rule reads behind several contexts may be a rule of its own.

    Raises:
        LimitExceeded: The rules with what their terminals require are too large.
        UnseparatedTerminals: A large terminal may be longer than its text so far shows.
    """
    work = work or Work(limits.work)
    ahead = Following(graphs, start, work)
    following = ahead.characters
    requiring = {terminal: terminal.edges or terminal.longer for terminal in following}
    terminals = [terminal for terminal, automaton in requiring.items() if automaton is not None]
    automata = tuple(automaton for automaton in requiring.values() if automaton is not None)
    behind = tuple(number for number, automaton in enumerate(automata) if automaton.looks_behind)
    for terminal, after in following.items():
        if (not complete or terminal.is_ignored) and overlap([terminal.extending], after):
            raise UnseparatedTerminals(
                f"the terminal {terminal.name} is large, and a character that continues it may follow it; "
                "use smaller counts, or put a separator behind it"
            )
    contexts = Contexts(automata, behind, work)
    reader = TokenReader({t.name: n for n, t in enumerate(terminals)}, contexts, ahead, limits, work)
    product = _Product(graphs, contexts, reader, following, complete, limits, work, ahead)
    if not behind and not any(product.has_requirements(terminal) for terminal in terminals):
        return dict(graphs), start
    variants = product.run(start, labelled=labelled, tails=tails)
    return variants.run(work), variants.start


_Symbol: TypeAlias = "Terminal | LineMove | Call"
"""What a move over a terminal is."""


class _TooManyRequirements(Exception):
    """The rules are too large with all requirements that may last."""


class UnseparatedTerminals(ValueError):
    """A terminal requires something of a terminal that cannot be read character by character."""


@dataclass
class _Product:
    graphs: Mapping[str, Graph]
    contexts: Contexts
    reader: TokenReader
    following: Mapping[Terminal, CharClass]
    complete: bool
    limits: Limits
    work: Work
    ahead: Following
    lexing: Lexing | None = None
    indenting: Indenting | None = None
    next_at: dict[tuple[str, int], frozenset[Terminal | None]] = field(default_factory=dict)
    relevant: dict[tuple[int, frozenset[Terminal | None]], int] = field(default_factory=dict)
    known: list[Context] = field(default_factory=list)
    context_numbers: dict[Context, int] = field(default_factory=dict)
    read: dict[tuple[Terminal, int], list[tuple[_Symbol, int]]] = field(default_factory=dict)
    token_rules: dict[tuple[str, tuple[TokenPart, ...]], Entry] = field(default_factory=dict)
    exploration: Exploration = field(default_factory=Exploration)
    callers: dict[Entry, list[tuple[str, int, int, Layout]]] = field(default_factory=dict)
    size: int = 0
    # The work that must be left while requirements may last; 0 if the texts that have them are left out.
    reserve: int = 0
    # The terminals with an end that makes such a requirement, and those with another end.
    lasting: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)

    def has_requirements(self, terminal: Terminal) -> bool:
        """Return whether an end of the terminal requires something of the text behind it."""
        automaton, number = terminal.edges, self.reader.numbers[terminal.name]
        start = self.contexts.start()
        if terminal.longer is not None:
            return self.behind_plain(terminal) != start
        return automaton is not None and any(
            self.contexts.after(start, number, way, self.following[terminal]) != start
            for state in automaton.states
            for way in exits(state, state if self.complete and not terminal.is_ignored else None)
        )

    def count(self, states: int, steps: int, building: str, name: str) -> None:
        """Count states, and the work of a part of the grammar."""
        place = None if name.startswith("$") else name
        if self.lasting and self.reserve and self.work.left - steps < self.reserve:
            raise _TooManyRequirements
        self.work.pay(steps, building, place)
        self.size += states
        if self.size > self.limits.nfa_states:
            raise LimitExceeded("nfa_states", self.limits.nfa_states, building, place=place)

    def number(self, context: Context) -> int:
        number = self.context_numbers.setdefault(context, len(self.known))
        if number == len(self.known):
            self.known.append(context)
        return number

    def run(
        self, start: str, blocks: Set[str] = frozenset(), *, labelled: bool, tails: bool = True
    ) -> Variants:
        first = self.contexts.start()
        if self.lexing is not None:
            first = first._replace(lexer=self.lexing.first)
        entry = self.enter(start, self.number(first))
        outgoing = {name: outgoing_moves(graph) for name, graph in self.graphs.items()}
        for rule, number, is_new in self.exploration.visits():
            explored = self.explored[rule]
            state, context = explored.places[number]
            for symbol, target in outgoing[rule].get(state, ()) if is_new else ():
                self.follow(rule, number, context, symbol, target)
            self.count(0, len(explored.outgoing[number]), _MULTIPLIED, rule.partition("#")[0])
            if state == 1:
                self.end(rule, number, context)
        ends = self.explored[start].exits[entry[1]]
        allowed = [context for context in ends if self.contexts.may_end(self.known[context])]
        if not self.reserve and not self.lasting <= self.kept:  # a terminal is lost
            raise LimitExceeded("work", self.limits.work, _MULTIPLIED)
        layouts = None
        if self.indenting is not None:
            pending = [context.layout.pending for context in self.known]
            layouts = Layouts(pending, blocks, self.indenting.tab_length)
        moves = sum(len(rule.ends) * sum(1 for _ in rule.moves()) for rule in self.explored.values())
        self.count(0, _STEPS_PER_MOVE * moves, _MULTIPLIED, "$")
        return Variants(self.explored, entry, allowed, layouts, labelled=labelled, tails=tails)

    @property
    def explored(self) -> dict[str, Explored]:
        """The automata of the rules and of the tokens that are rules."""
        return self.exploration.rules

    def enter(self, rule: str, context: int) -> Entry:
        """Explore a rule behind a context."""
        entry = rule, self.state(rule, 0, context)
        self.exploration.enter(entry)
        return entry

    def state(self, rule: str, state: int, context: int) -> int:
        """Return the number of a state of a rule behind a context. State 1 of the graph is the end."""
        place = state, self.reduce(rule, state, context)
        explored = self.explored.setdefault(rule, Explored())
        if place not in explored.numbers:
            self.count(1, _STEPS_PER_STATE, _MULTIPLIED, rule.partition("#")[0])
            number = explored.add_state(place)
            if (pending := self.known[place[1]].layout.pending) in (INDENT, DEDENT):
                explored.pending[number] = pending
        return explored.numbers[place]

    def reduce(self, rule: str, state: int, context: int) -> int:
        """Return the context with only what matters to the terminals that can come next."""
        place = rule, state
        terminals = self.next_at.get(place)
        if terminals is None:
            terminals = self.next_at[place] = self.ahead.at(rule, state)
        key = context, terminals
        if key not in self.relevant:
            names = frozenset("$END" if each is None else each.name for each in terminals)
            before = self.known[context]
            never = self.ahead.matching(self.contexts.futures, before.never, terminals)
            reduced = self.contexts.relevant(
                before._replace(never=never), self.ahead.class_of(terminals), names
            )
            if self.lexing is not None:
                reduced = reduced._replace(lexer=self.lexing.canonical(reduced.lexer, names))
            self.relevant[key] = self.number(reduced)
        return self.relevant[key]

    def follow(self, rule: str, source: int, context: int, symbol: Symbol | None, target: int) -> None:
        """Follow a move of the graph of a rule from a state behind a context."""
        if symbol is None:
            self.exploration.add_move(rule, source, None, self.state(rule, target, context))
        elif isinstance(symbol, Guard):
            before = self.known[context]
            after = self.number(before._replace(banned=before.banned | symbol.banned))
            self.exploration.add_move(rule, source, None, self.state(rule, target, after))
        elif isinstance(symbol, Terminal):
            for move, after in self.reads(symbol, context):
                self.exploration.add_move(rule, source, move, self.state(rule, target, after))
        else:
            caller = rule, source, target, self.known[context].layout
            callee = self.enter(symbol, self.inside(context))
            self.callers.setdefault(callee, []).append(caller)
            for after in list(self.explored[symbol].exits[callee[1]]):
                self.call(callee, after, *caller)

    def inside(self, context: int) -> int:
        """Return the context at the start of a rule that is called."""
        if self.indenting is None:
            return context
        before = self.known[context]
        layout = Layout(before.layout.pending, before.layout.inside or before.layout.opened > 0)
        return self.number(before._replace(layout=layout))

    def behind(self, after: int, layout: Layout) -> int:
        """Return the context behind a call: that at the end of the rule, in the layout of the caller."""
        if self.indenting is None:
            return after
        context = self.known[after]
        opened = layout.opened + context.layout.opened
        layout = layout._replace(pending=context.layout.pending, opened=opened)
        return self.number(context._replace(layout=layout))

    def call(self, callee: Entry, after: int, rule: str, source: int, target: int, layout: Layout) -> None:
        """Continue a rule behind a rule that it calls."""
        behind = self.state(rule, target, self.behind(after, layout))
        self.exploration.add_move(rule, source, Call(callee, after), behind)

    def reads(self, terminal: Terminal, context: int) -> list[tuple[_Symbol, int]]:
        """Return the moves over a terminal behind a context, and the context behind each."""
        if self.indenting is not None:
            if terminal.name in (self.indenting.indent, self.indenting.dedent):
                return [*self.line_moves(terminal, self.known[context], self.indenting)]
            if not is_read(terminal, self.known[context].layout, self.indenting):
                return []
        key = terminal, context
        if key not in self.read:
            if self.lexing is None and terminal.edges is None:
                self.read[key] = self.read_plain(terminal, context)
            else:
                parts = tuple(self.parts(terminal, self.known[context]))
                self.read[key] = self.token_moves(terminal, parts)
        return self.read[key]

    def token_moves(self, terminal: Terminal, parts: tuple[TokenPart, ...]) -> list[tuple[_Symbol, int]]:
        """Return the moves over a token, and the context behind each."""
        if self.indenting is not None and terminal.name == self.indenting.newline and not terminal.is_ignored:
            return self.line_breaks(terminal, parts)
        copied = sum(len(part.moves) * len(part.ends) for part in parts)
        if copied > _MAX_COPIED or any(is_wide(part.moves) for part in parts):
            entry = self.token_rule(terminal, parts)
            return [(Call(entry, after), after) for after in self.explored[entry[0]].ends]
        return [*copies(terminal.name, parts)]

    def line_moves(
        self, terminal: Terminal, before: Context, indenting: Indenting
    ) -> Iterator[tuple[LineMove, int]]:
        """Yield the indents or dedents behind a context."""
        if terminal.name in before.banned:
            return
        layout = before.layout
        after = before._replace(lexer=terminal.lexer_after, banned=frozenset())
        if terminal.name == indenting.indent:
            if layout.pending == INDENT:
                yield LineMove("indent"), self.number(after._replace(layout=layout._replace(pending=NONE)))
        elif layout.pending == DEDENT:
            yield LineMove("dedent"), self.number(after._replace(layout=layout._replace(pending=NONE)))
            yield LineMove("dedent"), self.number(after)
        elif layout.pending == CLOSED:
            yield LineMove("close"), self.number(before)
        elif layout.pending == NONE and self.contexts.may_end(before._replace(banned=frozenset())):
            closed = self.contexts.start()._replace(layout=layout._replace(pending=CLOSED))
            yield LineMove("close"), self.number(closed)

    def line_breaks(self, terminal: Terminal, parts: tuple[TokenPart, ...]) -> list[tuple[_Symbol, int]]:
        """Return the moves over a line break: the next line is indented as much, more or less."""
        texts = copies(terminal.name, parts)
        afters = {
            (after, pending): self.number(context._replace(layout=context.layout._replace(pending=pending)))
            for _, after in texts
            for context in [self.known[after]]
            for pending in (NONE, INDENT, DEDENT)
        }
        key = terminal.name, parts
        entry = self.token_rules.setdefault(key, (f"${terminal.name}/{len(self.token_rules)}", 0))
        if entry[0] not in self.explored:
            rule = self.explored[entry[0]] = Explored(is_line_break=True)
            states = {after: state for state, after in enumerate(dict.fromkeys(a for _, a in texts), 1)}
            rule.outgoing[0] = [(part, states[after]) for part, after in texts]
            for (after, _), number in afters.items():
                rule.ends[number] = states[after]
                rule.following[number] = self.allowed(self.following[terminal], number)
        return [(Call(entry, number), number) for number in afters.values()]

    def end(self, rule: str, number: int, context: int) -> None:
        """Note that entries of a rule can end with a context; continue where they are called."""
        explored = self.explored[rule]
        if context not in explored.ends:
            explored.ends[context] = number
            if self.lexing is not None:
                first = self.ahead.class_of(self.ahead.at(rule, 1))
                explored.following[context] = self.allowed(first, context)
        for bit, (start, ends) in enumerate(explored.exits.items()):
            if explored.entries[number] >> bit & 1 and context not in ends:
                ends[context] = None
                for caller in list(self.callers.get((rule, start), ())):
                    self.call((rule, start), context, *caller)

    def parts(self, terminal: Terminal, before: Context) -> Iterator[TokenPart]:
        """Yield the texts of a terminal behind a context, with the context behind it."""
        if self.lexing is not None:
            yield from self.token_parts(terminal, before, self.lexing)
            return
        way = Way(terminal.name, is_complete=self.complete and not terminal.is_ignored)
        texts = self.reader.read(way, before, self.ahead.behind(terminal))
        yield TokenPart(
            texts.moves, tuple((self.number(after), states) for after, states in texts.ends.items())
        )

    def token_rule(self, terminal: Terminal, parts: tuple[TokenPart, ...]) -> Entry:
        """Return the rule of a token, so that all its uses share rows."""
        key = terminal.name, parts
        entry = self.token_rules.setdefault(key, (f"${terminal.name}/{len(self.token_rules)}", 0))
        if entry[0] not in self.explored:
            rule = self.explored[entry[0]] = token_rule(parts)
            rule.following.update(
                (after, self.allowed(self.following[terminal], after)) for after in rule.ends
            )
        return entry

    def allowed(self, characters: CharClass, context: int) -> CharClass:
        """Return the characters that a context allows."""
        return intersection(characters, complement(self.known[context].forbidden))

    def read_plain(self, terminal: Terminal, context: int) -> list[tuple[_Symbol, int]]:
        """Read a terminal whose texts are not known character by character: its first one must end all requirements."""
        before = self.known[context]
        nothing = self.contexts.start()
        for charset in partition([*self.contexts.classes(before), terminal.first]):
            code_point = charset.ranges[0][0]
            if before == nothing or not contains(terminal.first, code_point):
                continue
            if self.contexts.behind or self.contexts.step(before, code_point) != [nothing]:
                raise UnseparatedTerminals(
                    f"the terminal before {terminal.name} would be longer if `{chr(code_point)}` followed, and "
                    f"{terminal.name} can begin with it; put a separator between them"
                )
        return [(terminal, self.number(self.behind_plain(terminal)))]

    def behind_plain(self, terminal: Terminal) -> Context:
        """Return the context behind a terminal whose texts are not known character by character."""
        start = self.contexts.start()
        if terminal.longer is None or self.complete:
            return start
        longer = Exit(never=terminal.longer.threads.start())
        return self.contexts.after(
            start, self.reader.numbers[terminal.name], longer, self.following[terminal]
        )

    def token_parts(self, terminal: Terminal, before: Context, lexing: Lexing) -> Iterator[TokenPart]:
        """Yield the texts of a token of the lexer, with the context behind it."""
        if terminal.name in before.banned and not terminal.is_ignored:
            return
        plain = before._replace(lexer=0, banned=frozenset(), layout=Layout())
        dropped = {self.indenting.newline} if self.indenting is not None and terminal.is_ignored else set()
        opened = open_brackets(terminal, before.layout, self.indenting)
        for way in lexing.classes[before.lexer].get(terminal.name, ()):
            is_dropped = terminal.name in lexing.ignored or terminal.name in dropped
            if (way.renamed is None and is_dropped) != terminal.is_ignored:
                continue
            texts = self.reader.read(way, plain, self.ahead.behind(terminal))
            ends: list[tuple[int, tuple[int, ...]]] = []
            for context, states in texts.ends.items():
                if self.contexts.may_last(context, self.following[terminal]):
                    self.lasting.add(terminal.name)
                    if not self.reserve:
                        continue
                self.kept.add(terminal.name)
                if terminal.is_ignored:
                    after = context._replace(lexer=before.lexer, banned=before.banned, layout=before.layout)
                else:
                    layout = before.layout._replace(opened=opened)
                    after = context._replace(lexer=terminal.lexer_after, layout=layout)
                ends.append((self.number(after), states))
            if ends:
                yield TokenPart(texts.moves, tuple(ends))
