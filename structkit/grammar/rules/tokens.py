"""Terminals as automata over characters, behind what the text before requires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from structkit.errors import LimitExceeded
from structkit.grammar.rules.context import Context, Contexts, ascii_size, exits
from structkit.grammar.rules.graph import reached
from structkit.grammar.rules.lexing import Way
from structkit.limits import Limits, Work
from structkit.regex.charset import ANY, contains, intersection, partition, union
from structkit.regex.nodes import CharClass, Network, Node
from structkit.regex.pattern.threads import State, TerminalAutomaton, Threads, network_of

__all__ = ["TokenReader", "is_wide"]

_WIDE = 16
"""Minimum number of ASCII characters that leave a state of a token, so that the token is a rule of its own."""

_STEPS_PER_CLASS, _STEPS_PER_THREAD = 60, 8
"""The work of a class of characters with which a state of a terminal is left, and of each thread there; see
`Limits.work`."""

_STEPS_PER_PLACE, _STEPS_PER_MOVE = 80, 25
"""The work of a state of a terminal with what is multiplied with it, and of each move."""

_STEPS_PER_COPY = 10
"""The work of a move of a token for each way in which the token can end; each of these ways has an automaton."""

_Moves: TypeAlias = "Sequence[tuple[CharClass, int]]"
"""Characters, and the number of the state after them."""

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


class _Walk(NamedTuple):
    """The automaton of a token behind a context.

    Attributes:
        moves: The moves.
        ends: The states that end with what the token requires itself, and with what is open of the context.
    """

    moves: list[tuple[int, CharClass, int]]
    ends: dict[tuple[Context, Context], list[int]]


@dataclass
class TokenReader:
    """Reads terminals.

    Args:
        numbers: The number of each terminal in the contexts.
        contexts: The steps of contexts.
        limits: Bounds on the states.
        work: What the work is taken from.
    """

    numbers: Mapping[str, int]
    contexts: Contexts
    limits: Limits
    work: Work
    _states: dict[int, _States] = field(default_factory=dict)
    _built: dict[tuple[Way, Context], _Token] = field(default_factory=dict)
    _tokens: dict[tuple[Way, Context], _Token] = field(default_factory=dict)
    _walks: dict[tuple[Way, Context], _Walk] = field(default_factory=dict)
    _read: dict[tuple[Way, Context, CharClass], list[tuple[Network, Context]]] = field(default_factory=dict)
    _size: int = 0

    def read(self, way: Way, before: Context, following: CharClass) -> list[tuple[Network, Context]]:
        """Return the texts of a token behind a context, for each context behind the token.

        Args:
            way: How the token is read.
            before: The context before it, without the lexer and the excluded terminals.
            following: The characters that may follow.
        """
        token = self._token(way, before.behind)
        before = self.contexts.tidied(before, union(charset for charset, _ in token.moves[0]), may_end=False)
        key = way, before, following
        if key not in self._read:
            if (way, before) not in self._walks:
                self._walks[way, before] = self._walk(token, way.scanned, before)
            walk = self._walks[way, before]
            ends: dict[Context, list[int]] = {}
            for (own, open_context), states in walk.ends.items():
                ends.setdefault(self._joined(own, open_context, following), []).extend(states)
            self._pay(_STEPS_PER_COPY * len(walk.moves) * len(ends), way.scanned)
            self._read[key] = [(_network(walk.moves, states), after) for after, states in ends.items()]
        return self._read[key]

    def _walk(self, token: _Token, name: str, before: Context) -> _Walk:
        """Return the automaton of a token behind what matters of a context."""
        places: list[tuple[int, Context]] = [(0, before._replace(behind=()))]
        numbers = {places[0]: 0}
        walk = _Walk([], {})
        for source, (state, open_context) in enumerate(places):
            for own in token.ends[state] if source else ():
                walk.ends.setdefault((own, open_context), []).append(source)
            targets: dict[tuple[int, Context], list[CharClass]] = {}
            size = 0
            for charset, target, after in self._steps(token.moves[state], open_context):
                targets.setdefault((target, after), []).append(charset)
                size += 1
            self._count(size, name)
            for place, parts in targets.items():
                target = numbers.setdefault(place, len(places))
                if target == len(places):
                    places.append(place)
                walk.moves.append((source, union(parts), target))
        return walk

    def _steps(self, moves: _Moves, before: Context) -> Iterator[tuple[CharClass, int, Context]]:
        """Yield the moves of a state that a context before it allows, and the context after each."""
        after_context = self.contexts.moves(before)
        for charset, target in moves:
            for allowed, after in after_context:
                common = charset if allowed is ANY else intersection(charset, allowed)
                if common.ranges:
                    yield common, target, after

    def _joined(self, own: Context, before: Context, following: CharClass) -> Context:
        """Return the context of a token's own requirements and of those of the text before it."""
        joined = own._replace(
            never=own.never | before.never,
            looks=own.looks | before.looks,
            must=own.must | before.must,
            cuts=own.cuts | before.cuts,
            forbidden=union([own.forbidden, before.forbidden]),
            cannot_end=own.cannot_end or before.cannot_end,
        )
        return self.contexts.tidied(joined, following)

    def _token(self, way: Way, behind: tuple[tuple[frozenset[int], ...], ...]) -> _Token:
        """Return the automaton of a token."""
        nothing = Context(behind=behind)
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


def _network(moves: Iterable[tuple[int, CharClass, int]], ends: Iterable[int]) -> Network:
    """Return the part of an automaton from which an end can be reached."""
    into: dict[int, list[tuple[int, CharClass]]] = {}
    for source, charset, target in moves:
        into.setdefault(target, []).append((source, charset))
    alive = dict.fromkeys(ends)
    pending = list(alive)
    while pending:
        for source, _ in into.get(pending.pop(), ()):
            if source not in alive:
                alive[source] = None
                pending.append(source)
    numbers = {state: number for number, state in enumerate(sorted({0, *alive}))}
    kept = [(numbers[a], charset, numbers[b]) for b in alive for a, charset in into.get(b, ()) if a in alive]
    return network_of(len(numbers), kept, [numbers[state] for state in ends])


@lru_cache(maxsize=1024)
def is_wide(node: Node) -> bool:
    """Return whether many bytes can continue a token, as in names and comments."""
    counts = Counter[int]()
    for source, part, _ in node.moves if isinstance(node, Network) else ():
        if isinstance(part, CharClass):
            counts[source] += ascii_size(part)
    return max(counts.values(), default=0) >= _WIDE
