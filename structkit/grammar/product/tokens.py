"""Terminals as automata over characters, behind what the text before requires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from structkit.errors import LimitExceeded
from structkit.grammar.product.explored import Explored
from structkit.grammar.rules.cfg import Terminal
from structkit.grammar.rules.context import Context, Contexts, ascii_size, exits
from structkit.grammar.rules.following import Following
from structkit.grammar.rules.graph import reached
from structkit.grammar.rules.lexing import Way
from structkit.limits import Limits, Work
from structkit.regex.charset import ANY, contains, intersection, partition, union
from structkit.regex.nodes import CharClass, Network
from structkit.regex.pattern.threads import State, TerminalAutomaton, Threads, network_of

__all__ = ["TokenPart", "TokenReader", "TokenTexts", "copies", "is_wide", "token_rule"]

_WIDE = 16
"""Minimum number of ASCII characters that leave a state of a token, so that the token is a rule of its own."""

_STEPS_PER_CLASS, _STEPS_PER_THREAD = 60, 8
"""The work of a class of characters with which a state of a terminal is left, and of each thread there; see
`Limits.work`."""

_STEPS_PER_PLACE, _STEPS_PER_MOVE = 80, 25
"""The work of a state of a terminal with what is multiplied with it, and of each move."""

_STEPS_PER_COPY = 10
"""The work of a move of a token behind a context, which has an automaton of its own."""

_Moves: TypeAlias = "Sequence[tuple[CharClass, int]]"
"""Characters, and the number of the state after them."""

_Move: TypeAlias = "tuple[int, CharClass, int]"
"""A source, characters and a target."""

_Following: TypeAlias = "frozenset[Terminal | None]"
"""The terminals that may follow; `None` is the end of the text."""

_Words: TypeAlias = "tuple[tuple[int, int, int], ...]"
"""The keywords that a text may still become: the rank, the number and the state of each."""


class _Place(NamedTuple):
    """A state of the automaton of a token, and what is multiplied with it.

    Attributes:
        state: The state of its terminal.
        alone: The state as if nothing came before, where a shorter text ends the token too.
        words: Its keywords.
        context: What it requires itself.
    """

    state: int
    alone: int | None
    words: _Words
    context: Context


@dataclass
class _Token:
    """The automaton of a token behind nothing.

    Attributes:
        moves: The moves of each state: the characters and the state after them.
        ends: What the token requires of the text behind it, for each way to end in each state.
        spelled: The rank of the keyword that is the text of each state, if any.
    """

    moves: list[_Moves] = field(default_factory=list)
    ends: list[list[Context]] = field(default_factory=list)
    spelled: list[int | None] = field(default_factory=list)

    @cached_property
    def sources(self) -> dict[int, list[int]]:
        """The states from which a move leads to each state."""
        found: dict[int, list[int]] = {}
        for source, moves in enumerate(self.moves):
            for _, target in moves:
                found.setdefault(target, []).append(source)
        return found

    def renamed(self, keyword: int | None) -> _Token:
        """Return the automaton of the texts that are a keyword, or none of them, as far as these lead to an end."""
        ends = [
            found if spelled == keyword else []
            for found, spelled in zip(self.ends, self.spelled, strict=True)
        ]
        alive = reached((state for state, found in enumerate(ends) if found), self.sources)
        moves: list[_Moves] = [
            [(charset, target) for charset, target in found if target in alive] if state in alive else []
            for state, found in enumerate(self.moves)
        ]
        return _Token(moves, ends, self.spelled)


@dataclass
class _Walk:
    """The automaton of a token behind contexts, as far as it has been reached. What contexts have in common is shared.

    Attributes:
        token: The automaton of the token behind nothing.
        places: Its states, each with what is open of the context before the token.
        numbers: The number of each place.
        moves: The moves of each place, as far as they are known.
        after: The contexts behind the token, by a place that ends it and the terminals that may follow.
    """

    token: _Token
    places: list[tuple[int, Context]] = field(default_factory=list)
    numbers: dict[tuple[int, Context], int] = field(default_factory=dict)
    moves: dict[int, _Moves] = field(default_factory=dict)
    after: dict[tuple[int, _Following], list[Context]] = field(default_factory=dict)

    def number(self, place: tuple[int, Context]) -> int:
        """Return the number of a place."""
        found = self.numbers.setdefault(place, len(self.places))
        if found == len(self.places):
            self.places.append(place)
        return found


class TokenTexts(NamedTuple):
    """The texts of a token behind a context.

    Attributes:
        moves: The moves, from state 0 on.
        ends: The states that end with each context behind the token.
    """

    moves: tuple[_Move, ...]
    ends: dict[Context, tuple[int, ...]]


class TokenPart(NamedTuple):
    """Texts of a token, as one automaton.

    Attributes:
        moves: The moves, from state 0 on.
        ends: The states that end with each context behind the token, by its number.
    """

    moves: tuple[_Move, ...]
    ends: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass
class TokenReader:
    """Reads terminals.

    Args:
        numbers: The number of each terminal in the contexts.
        contexts: The steps of contexts.
        ahead: The terminals that can follow each other.
        limits: Bounds on the states.
        work: What the work is taken from.
    """

    numbers: Mapping[str, int]
    contexts: Contexts
    ahead: Following
    limits: Limits
    work: Work
    _states: dict[int, _States] = field(default_factory=dict)
    _built: dict[tuple[Way, Context], _Token] = field(default_factory=dict)
    _tokens: dict[tuple[Way, Context], _Token] = field(default_factory=dict)
    _walks: dict[tuple[Way, Context], _Walk] = field(default_factory=dict)
    _read: dict[tuple[Way, Context, _Following], TokenTexts] = field(default_factory=dict)
    _size: int = 0

    def read(self, way: Way, before: Context, following: _Following) -> TokenTexts:
        """Return the texts of a token behind a context.

        Args:
            way: How the token is read.
            before: The context before it, without the lexer and the excluded terminals.
            following: The terminals that may follow.
        """
        nothing = Context(behind=before.behind)
        if (way, nothing) not in self._walks:
            self._walks[way, nothing] = _Walk(self._token(way, nothing))
        walk = self._walks[way, nothing]
        first = union(charset for charset, _ in walk.token.moves[0])
        before = self.contexts.tidied(before, first, may_end=False)._replace(behind=())
        key = way, before._replace(behind=nothing.behind), following
        if key not in self._read:
            self._read[key] = self._texts(walk, way.scanned, before, following)
        return self._read[key]

    def _texts(self, walk: _Walk, name: str, before: Context, following: _Following) -> TokenTexts:
        """Return the texts of a token behind what matters of a context."""
        start = walk.number((0, before))
        found = {start: 0}
        pending = [start]
        moves: list[_Move] = []
        for place in pending:
            if place not in walk.moves:
                walk.moves[place] = self._place_moves(walk, name, place)
            for charset, target in walk.moves[place]:
                if found.setdefault(target, len(pending)) == len(pending):
                    pending.append(target)
                moves.append((found[place], charset, found[target]))
        self._pay(_STEPS_PER_COPY * len(moves), name)
        ends: dict[Context, list[int]] = {}
        for number, place in enumerate(pending[1:], 1):
            for after in self._after(walk, place, following):
                ends.setdefault(after, []).append(number)
        kept, numbers = _trimmed(moves, (state for states in ends.values() for state in states))
        return TokenTexts(kept, {after: tuple(numbers[s] for s in states) for after, states in ends.items()})

    def _place_moves(self, walk: _Walk, name: str, place: int) -> _Moves:
        """Return the moves of a place."""
        state, open_context = walk.places[place]
        targets: dict[tuple[int, Context], list[CharClass]] = {}
        size = 0
        for charset, target, after in self._steps(walk.token.moves[state], open_context):
            targets.setdefault((target, after), []).append(charset)
            size += 1
        self._count(size, name)
        return [(union(parts), walk.number(target)) for target, parts in targets.items()]

    def _after(self, walk: _Walk, place: int, following: _Following) -> list[Context]:
        """Return the contexts behind a token that ends at a place."""
        key = place, following
        if key not in walk.after:
            state, open_context = walk.places[place]
            found = [self._joined(own, open_context, following) for own in walk.token.ends[state]]
            walk.after[key] = [*dict.fromkeys(found)]
        return walk.after[key]

    def _steps(self, moves: _Moves, before: Context) -> Iterator[tuple[CharClass, int, Context]]:
        """Yield the moves of a state that a context before it allows, and the context after each."""
        after_context = self.contexts.moves(before)
        for charset, target in moves:
            for allowed, after in after_context:
                common = charset if allowed is ANY else intersection(charset, allowed)
                if common.ranges:
                    yield common, target, after

    def _joined(self, own: Context, before: Context, following: _Following) -> Context:
        """Return the context of a token's own requirements and of those of the text before it."""
        never = own.never | before.never
        joined = own._replace(
            never=self.ahead.matching(self.contexts.futures, never, following),
            looks=own.looks | before.looks,
            must=own.must | before.must,
            cuts=own.cuts | before.cuts,
            forbidden=union([own.forbidden, before.forbidden]),
            cannot_end=own.cannot_end or before.cannot_end,
        )
        return self.contexts.tidied(joined, self.ahead.class_of(following))

    def _token(self, way: Way, nothing: Context) -> _Token:
        """Return the automaton of a token."""
        key = way, nothing
        if key not in self._tokens:
            whole = way._replace(renamed=None), nothing
            if whole not in self._built:
                self._built[whole] = self._build(*whole)
            keyword = None if way.renamed is None else way.words.index(way.renamed)
            self._tokens[key] = self._built[whole].renamed(keyword)
        return self._tokens[key]

    def _build(self, way: Way, nothing: Context) -> _Token:
        """Return the automaton of a token, with all keywords among its texts."""
        contexts, number = self.contexts, self.numbers[way.scanned]
        terminal = self._terminal(number)
        above = frozenset((self.numbers[n], contexts.enter(nothing, self.numbers[n])) for n in way.above)
        words = tuple((rank, self.numbers[n], 0) for rank, n in enumerate(way.words))
        state, alone = terminal.number(contexts.enter(nothing, number)), 0 if way.is_complete else None
        start = _Place(state, alone, words, contexts.tidied(nothing._replace(never=above)))
        numbers, places, token = {start: 0}, [start], _Token()
        for place in places:
            state, alone, words, context = place
            token.spelled.append(
                next(
                    (rank for rank, n, word in words if self._terminal(n).states[word].can_match_at_end), None
                )
            )
            ends = exits(terminal.states[state], None if alone is None else terminal.states[alone])
            token.ends.append([contexts.after(context, number, requirements, ANY) for requirements in ends])
            targets: dict[int, list[CharClass]] = {}
            size = 0
            for charset, moved, after in self._steps(self._moves(number, state), context):
                tracks = [self._moves(n, word) for _, n, word in words]
                tracks += [] if alone is None else [self._moves(number, alone)]
                for part, found in _split(charset, tracks):
                    lone = None if alone is None else found.pop()
                    still = tuple(
                        (rank, n, word)
                        for (rank, n, _), word in zip(words, found, strict=True)
                        if word is not None
                    )
                    following = _Place(moved, lone, still, after)
                    target = numbers.setdefault(following, len(places))
                    if target == len(places):
                        places.append(following)
                    targets.setdefault(target, []).append(part)
                    size += 1 + len(tracks)
            self._count(size, way.scanned)
            token.moves.append([(union(found), target) for target, found in targets.items()])
        return token

    def _terminal(self, number: int) -> _States:
        """Return the states of a terminal."""
        if number not in self._states:
            self._states[number] = _States.of(self.contexts.automata[number])
        return self._states[number]

    def _moves(self, number: int, state: int) -> _Moves:
        """Return the moves of a state of a terminal."""
        terminal = self._terminal(number)
        if state not in terminal.moves:
            threads = terminal.threads
            classes = partition(threads.classes_at(terminal.states[state]))
            steps = len(classes) * (_STEPS_PER_CLASS + _STEPS_PER_THREAD * terminal.states[state].size)
            self.work.pay(steps, "what the terminals of a grammar require of the text before them")
            found: dict[int, list[CharClass]] = {}
            for charset in classes:
                moved = threads.step(terminal.states[state], charset.ranges[0][0])
                if moved.threads:
                    found.setdefault(terminal.number(moved), []).append(charset)
            terminal.moves[state] = [(union(parts), target) for target, parts in found.items()]
        return terminal.moves[state]

    def _pay(self, steps: int, name: str) -> None:
        self.work.pay(steps, f"the tokens of a grammar, the last that of {name},", name)

    def _count(self, moves: int, name: str) -> None:
        """Count a state of the token of a terminal, and its work."""
        self._pay(_STEPS_PER_PLACE + _STEPS_PER_MOVE * moves, name)
        self._size += 1
        if self._size > self.limits.nfa_states:
            raise LimitExceeded("nfa_states", self.limits.nfa_states, "the tokens of a grammar", place=name)


@dataclass
class _States:
    """The states of a terminal behind any text, as far as they have been reached.

    Attributes:
        threads: The steps of the terminal.
        states: The threads of each state; those behind no text come first.
        numbers: The number of each state.
        moves: The moves of each state whose moves are known.
    """

    threads: Threads
    states: list[State]
    numbers: dict[State, int]
    moves: dict[int, _Moves]

    @classmethod
    def of(cls, automaton: TerminalAutomaton) -> _States:
        """Return the states behind no text."""
        moves: dict[int, _Moves] = {
            state: automaton.outgoing.get(state, ()) for state in range(len(automaton.states))
        }
        numbers = {state: number for number, state in enumerate(automaton.states)}
        return cls(automaton.threads, list(automaton.states), numbers, moves)

    def number(self, state: State) -> int:
        """Return the number of a state."""
        found = self.numbers.setdefault(state, len(self.states))
        if found == len(self.states):
            self.states.append(state)
        return found


def _split(charset: CharClass, tracks: Sequence[_Moves]) -> Iterator[tuple[CharClass, list[int | None]]]:
    """Yield the parts of a class in which the moves of each track agree, with their targets; `None` without a move."""
    if not tracks:
        yield charset, []
        return
    for part in partition([charset, *(each for moves in tracks for each, _ in moves)]):
        code_point = part.ranges[0][0]
        if contains(charset, code_point):
            yield part, [_at(moves, code_point) for moves in tracks]


def _at(moves: Iterable[tuple[CharClass, int]], code_point: int) -> int | None:
    return next((target for charset, target in moves if contains(charset, code_point)), None)


def copies(name: str, parts: Iterable[TokenPart]) -> list[tuple[Terminal, int]]:
    """Return a terminal for each context behind a token."""
    return [(Terminal(name, _ended(moves, states)), after) for moves, ends in parts for after, states in ends]


def token_rule(parts: Iterable[TokenPart]) -> Explored:
    """Return the automaton of a token that is a rule."""
    afters = dict.fromkeys(after for part in parts for after, _ in part.ends)
    ends = {after: state for state, after in enumerate(afters, 1)}
    rule = Explored(ends=ends)
    size = 1 + len(ends)
    for part in parts:
        start = size
        size += 1 + max((state for _, _, state in part.moves), default=0)
        moves: list[tuple[int, Terminal | None, int]] = [(0, None, start)]
        moves += [(start + a, Terminal("", charset), start + b) for a, charset, b in part.moves]
        moves += [(start + state, None, ends[after]) for after, states in part.ends for state in states]
        for source, symbol, target in moves:
            rule.add_move(source, symbol, target)
    return rule


def _ended(moves: Sequence[_Move], states: Sequence[int]) -> Network:
    """Return the texts of an automaton that end in some states."""
    kept, numbers = _trimmed(moves, states)
    return network_of(len(numbers), kept, [numbers[state] for state in states])


def _trimmed(moves: Sequence[_Move], ends: Iterable[int]) -> tuple[tuple[_Move, ...], dict[int, int]]:
    """Return the moves from which an end can be reached, and the new numbers of the states."""
    sources: dict[int, list[int]] = {}
    for source, _, target in moves:
        sources.setdefault(target, []).append(source)
    alive = reached(ends, sources)
    numbers = {state: number for number, state in enumerate(sorted({0, *alive}))}
    kept = tuple((numbers[a], charset, numbers[b]) for a, charset, b in moves if a in alive and b in alive)
    return kept, numbers


def is_wide(moves: Iterable[_Move]) -> bool:
    """Return whether many bytes can continue a token, as in names and comments."""
    counts = Counter[int]()
    for source, charset, _ in moves:
        counts[source] += ascii_size(charset)
    return max(counts.values(), default=0) >= _WIDE
