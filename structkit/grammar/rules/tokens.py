"""The tokens of a lexer as automata over characters, behind what the text before requires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from structkit.errors import LimitExceeded
from structkit.grammar.rules.context import Context, Contexts, exits
from structkit.grammar.rules.lexing import Lexing, Way
from structkit.limits import Limits, Work
from structkit.regex.charset import ANY, contains, union
from structkit.regex.nodes import CharClass, Network, Node
from structkit.regex.pattern.threads import State, network_of, partition

__all__ = ["TokenReader", "is_wide"]

_WIDE = 16
"""ASCII characters on which a state of a token is left, so that the token is a rule of its own."""

_STEPS_PER_CLASS, _STEPS_PER_THREAD = 60, 8
"""The work of a class of characters in a state of a token, and of each thread there; see `Limits.work`."""

_Words: TypeAlias = "tuple[tuple[int, int, State], ...]"
"""The keywords that a text may still become: the rank, the number and the threads of each."""


class _Place(NamedTuple):
    """A state of the automaton of a token: the threads of its terminal, its keywords, and what it requires itself."""

    state: State
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

    moves: list[list[tuple[CharClass, int]]] = field(default_factory=list)
    ends: list[list[Context]] = field(default_factory=list)
    spelled: list[int | None] = field(default_factory=list)

    def renamed(self, keyword: int | None) -> _Token:
        """Return the automaton of the texts that are a keyword, or none of them."""
        ends = [
            found if spelled == keyword else []
            for found, spelled in zip(self.ends, self.spelled, strict=True)
        ]
        return replace(self, ends=ends)


@dataclass
class TokenReader:
    """Reads the tokens of a lexer.

    Args:
        lexing: The lexer.
        contexts: The steps of contexts; the terminals are in the order of the automata of the lexer.
        limits: Bounds on the states.
        work: What the work is taken from.
    """

    lexing: Lexing
    contexts: Contexts
    limits: Limits
    work: Work
    _numbers: Mapping[str, int] = field(init=False)
    _built: dict[tuple[Way, Context], _Token] = field(default_factory=dict)
    _tokens: dict[tuple[Way, Context], _Token] = field(default_factory=dict)
    _read: dict[tuple[Way, Context, CharClass], list[tuple[Network, Context]]] = field(default_factory=dict)
    _size: int = 0

    def __post_init__(self) -> None:
        self._numbers = {name: number for number, name in enumerate(self.lexing.automata)}

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
            self._read[key] = self._behind(token, way.scanned, before, following)
        return self._read[key]

    def _behind(
        self, token: _Token, name: str, before: Context, following: CharClass
    ) -> list[tuple[Network, Context]]:
        """Return the texts of a token behind what matters of a context."""
        places: list[tuple[int, Context]] = [(0, before._replace(behind=()))]
        numbers = {places[0]: 0}
        moves: list[tuple[int, CharClass, int]] = []
        ends: dict[Context, list[int]] = {}
        for source, (state, open_context) in enumerate(places):
            for own in token.ends[state] if source else ():
                ends.setdefault(self._joined(own, open_context, following), []).append(source)
            targets: dict[tuple[int, Context], list[CharClass]] = {}
            steps = 1
            if open_context != Context():
                steps = _STEPS_PER_CLASS + _STEPS_PER_THREAD * self.contexts.size(open_context)
            self._count(len(token.moves[state]) * steps, name)
            for charset, target, after in self._steps(token.moves[state], open_context):
                targets.setdefault((target, after), []).append(charset)
            for place, parts in targets.items():
                target = numbers.setdefault(place, len(places))
                if target == len(places):
                    places.append(place)
                moves.append((source, union(parts), target))
        return [(_network(moves, sources), after) for after, sources in ends.items()]

    def _steps(
        self, moves: Iterable[tuple[CharClass, int]], before: Context
    ) -> Iterator[tuple[CharClass, int, Context]]:
        """Yield the moves of a state that a context before the token allows, and the context after each."""
        if before == Context():
            for charset, target in moves:
                yield charset, target, before
            return
        moves = tuple(moves)
        for charset in partition([*(charset for charset, _ in moves), *self.contexts.classes(before)]):
            code_point = charset.ranges[0][0]
            found = _at(moves, code_point)
            after = None if found is None else self.contexts.step(before, code_point)
            if found is not None and after is not None:
                yield charset, found, after

    def _joined(self, own: Context, before: Context, following: CharClass) -> Context:
        """Return the context of a token's own requirements and of those of the text before it."""
        joined = own._replace(
            never=own.never | before.never,
            looks=own.looks | before.looks,
            must=own.must | before.must,
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
        contexts, number = self.contexts, self._numbers[way.scanned]
        threads = contexts.threads(number)
        above = frozenset((self._numbers[n], contexts.enter(nothing, self._numbers[n])) for n in way.above)
        words = tuple(
            (rank, self._numbers[n], contexts.threads(self._numbers[n]).start())
            for rank, n in enumerate(way.words)
        )
        start = _Place(contexts.enter(nothing, number), words, contexts.tidied(nothing._replace(never=above)))
        numbers, places, token = {start: 0}, [start], _Token()
        for state, alive, context in places:
            token.spelled.append(next((rank for rank, _, word in alive if word.can_match_at_end), None))
            ends = exits(state, None)
            token.ends.append([contexts.after(context, number, requirements, ANY) for requirements in ends])
            targets: dict[int, list[CharClass]] = {}
            classes = [*threads.classes_at(state), *contexts.classes(context)]
            classes += [each for _, n, word in alive for each in contexts.threads(n).classes_at(word)]
            parts = partition(classes)
            size = state.size + contexts.size(context) + sum(word.size for _, _, word in alive)
            self._count(len(parts) * (_STEPS_PER_CLASS + _STEPS_PER_THREAD * size), way.scanned)
            for charset in parts:
                code_point = charset.ranges[0][0]
                moved = threads.step(state, code_point)
                after = contexts.step(context, code_point) if moved.threads else None
                if after is None:
                    continue
                still = tuple(
                    (rank, n, stepped)
                    for rank, n, word in alive
                    if (stepped := contexts.threads(n).step(word, code_point)).threads
                )
                place = _Place(moved, still, after)
                target = numbers.setdefault(place, len(places))
                if target == len(places):
                    places.append(place)
                targets.setdefault(target, []).append(charset)
            token.moves.append([(union(found), target) for target, found in targets.items()])
        return token

    def _count(self, steps: int, name: str) -> None:
        """Count a state of the token of a terminal, and its work."""
        self.work.pay(steps, f"the tokens of the lexer, the last that of {name},", name)
        self._size += 1
        if self._size > self.limits.nfa_states:
            raise LimitExceeded(
                "nfa_states", self.limits.nfa_states, "the tokens of the lexer of a grammar", place=name
            )


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
            counts[source] += _ascii_size(part)
    return max(counts.values(), default=0) >= _WIDE


@lru_cache(maxsize=1024)
def _ascii_size(charset: CharClass) -> int:
    return sum(max(0, min(last, 127) - first + 1) for first, last in charset.ranges)
