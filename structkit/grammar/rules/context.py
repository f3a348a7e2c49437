"""What the text so far requires of the text that follows, at the end of a terminal.

A terminal of Lark's dynamic lexers ends where `re.match` ends in the whole text. So threads that are preferred to the
match must never match, lookaheads beyond the end must succeed, and lookbehinds depend on the terminals before. All of
this is finite: a `Context` is a state of an automaton over code points that reads along with the terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from structkit.grammar.rules.futures import Futures, Running
from structkit.limits import Work
from structkit.regex.charset import ANY, char_class, complement, contains, intersection, partition, union
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.threads import (
    ENDED,
    MATCH,
    Condition,
    State,
    TerminalAutomaton,
    Thread,
    Threads,
)

__all__ = [
    "CLOSED",
    "DEDENT",
    "INDENT",
    "NONE",
    "Context",
    "Contexts",
    "Exit",
    "Layout",
    "ascii_size",
    "exits",
    "overlap",
]

_NONE = char_class([])

_LASTING = 64
"""ASCII characters after which threads are still open, so that they may stay open for long; names have 63."""

_STEPS_PER_CLASS, _STEPS_PER_THREAD = 100, 50
"""The work of a class of characters with which a lookahead is tried, and of each thread there; see `Limits.work`."""


NONE, INDENT, DEDENT, CLOSED = range(4)
"""What must come next for an indenter: nothing, an indent, a dedent; or the text has ended, and dedents may follow."""


class Layout(NamedTuple):
    """The state of an indenter, except for its columns.

    Attributes:
        pending: What must come next.
        inside: Whether the rule is called inside brackets.
        opened: The brackets that are open in the rule.
    """

    pending: int = NONE
    inside: bool = False
    opened: int = 0


class Context(NamedTuple):
    """Open requirements, and the progress of the lookbehinds.

    Attributes:
        never: Threads that may not match.
        looks: Lookaheads.
        must: Threads, at least one of which must match.
        behind: The progress of the lookbehinds of each terminal that depends on the text before it; empty where
            something else keeps it.
        lexer: The class of the lexer; see `structkit.grammar.rules.lexing`.
        banned: The names of terminals that cannot come next.
        forbidden: The characters that cannot come next.
        cannot_end: Whether the text cannot end here.
        layout: The state of the indenter, if there is one.
    """

    never: frozenset[Running] = frozenset()
    looks: frozenset[tuple[int, Condition]] = frozenset()
    must: frozenset[Running] = frozenset()
    behind: tuple[tuple[frozenset[int], ...], ...] = ()
    lexer: int = 0
    banned: frozenset[str] = frozenset()
    forbidden: CharClass = _NONE
    cannot_end: bool = False
    layout: Layout = Layout()


class Effect(NamedTuple):
    """What a lookahead requires of the next character.

    Attributes:
        forbidden: The characters that break it.
        open: The characters after which it is still open.
        cannot_end: Whether the end of the text breaks it.
    """

    forbidden: CharClass
    open: CharClass
    cannot_end: bool


class Exit(NamedTuple):
    """A way to end a terminal: what it requires of the text behind it."""

    never: State | None = None
    looks: frozenset[Condition] = frozenset()
    must: State | None = None


def exits(state: State, alone: State | None) -> Iterator[Exit]:
    """Iterate over the ways to end a terminal in a state.

    Args:
        state: The state in the whole text.
        alone: The state as if nothing came before, for `dynamic_complete`, which also tries shorter texts on their own
            where the match in the whole text is longer; `None` for `dynamic`.
    """
    if alone == state and not any(thread.pending for thread in state.threads):
        # The match ends here or later, whatever follows, and both count.
        if state.is_accepting:
            yield Exit()
        return
    for position, (instruction, looks) in enumerate(state.threads):
        if instruction == MATCH:
            preferred = state.threads[:position]
            yield Exit(State(preferred, state.behind) if preferred else None, looks)
    if alone is not None and alone.is_accepting:
        longer = tuple(thread for thread in state.threads if thread.instruction not in (MATCH, ENDED))
        if longer:
            yield Exit(must=State(longer, state.behind))


@dataclass(frozen=True)
class Contexts:
    """The steps of contexts.

    Attributes:
        automata: The terminals whose ends make requirements, by number.
        behind: The numbers of those that depend on the text before them.
        work: What the work is taken from.
    """

    automata: tuple[TerminalAutomaton, ...]
    behind: tuple[int, ...]
    work: Work
    _effects: dict[tuple[int, Condition], Effect] = field(default_factory=dict)
    _moves: dict[Context, tuple[tuple[CharClass, Context], ...]] = field(default_factory=dict)

    @cached_property
    def futures(self) -> Futures:
        """What the threads that must not match require of the text behind a terminal."""
        return Futures(self.threads, self.work)

    @staticmethod
    def size(context: Context) -> int:
        """Return the number of threads and instructions at which a step looks."""
        size = sum(len(each) for progress in context.behind for each in progress)
        for _, state in (*context.never, *context.must):
            size += state.size
        return size + sum(condition.size for _, condition in context.looks)

    def start(self) -> Context:
        """Return the context of the start of the text."""
        return Context(behind=tuple(self.automata[number].threads.start().behind for number in self.behind))

    def threads(self, number: int) -> Threads:
        """Return the steps of a terminal."""
        return self.automata[number].threads

    def moves(self, context: Context) -> tuple[tuple[CharClass, Context], ...]:
        """Return the characters that a context allows, and the context after them."""
        if context not in self._moves:
            classes = partition([*self.classes(context), ANY])
            steps = len(classes) * (_STEPS_PER_CLASS + _STEPS_PER_THREAD * self.size(context))
            self.work.pay(steps, "what the terminals of a grammar require of the text behind them")
            found: dict[Context, list[CharClass]] = {}
            for charset in classes:
                after = self.step(context, charset.ranges[0][0])
                if after is not None:
                    found.setdefault(after, []).append(charset)
            everything = ANY if len(classes) == 1 else None
            self._moves[context] = tuple(
                (everything or union(parts), after) for after, parts in found.items()
            )
        return self._moves[context]

    def step(self, context: Context, code_point: int) -> Context | None:
        """Return the context after a code point; `None` if a requirement fails."""
        if contains(context.forbidden, code_point):
            return None
        never = set()
        for running in context.never:
            moved = self.futures.step(running, code_point)
            if moved is None:
                return None
            if moved[1].threads:
                never.add(moved)
        must = set()
        for number, state in context.must:
            after = self.threads(number).step_or_match(state, code_point)
            if after is not None:
                if not after.threads:
                    return None
                must.add((number, after))
        looks: set[tuple[int, Condition]] = set()
        for number, condition in context.looks:
            left = self.threads(number).look_step(frozenset([condition]), code_point)
            if left is None:
                return None
            looks.update((number, each) for each in left)
        behind = tuple(
            self.threads(number).step(State((), progress), code_point).behind
            for number, progress in zip(self.behind, context.behind, strict=False)
        )
        return self.tidied(
            context._replace(
                never=frozenset(never),
                looks=frozenset(looks),
                must=frozenset(must),
                behind=behind,
                forbidden=_NONE,
                cannot_end=False,
            )
        )

    def enter(self, context: Context, number: int) -> State:
        """Return the state of a terminal at its start."""
        if number in self.behind:
            return self.threads(number).start(context.behind[self.behind.index(number)])
        return self.threads(number).start()

    def after(self, context: Context, number: int, requirements: Exit, following: CharClass) -> Context:
        """Return the context behind a terminal that ends with requirements.

        `following` are the characters that may follow.
        """
        never, must, looks = context.never, context.must, context.looks
        if requirements.never is not None:
            never |= {(number, requirements.never)}
        if requirements.must is not None:
            must |= {(number, requirements.must)}
        looks |= {(number, condition) for condition in requirements.looks}
        return self.tidied(context._replace(never=never, looks=looks, must=must), following)

    def tidied(self, context: Context, following: CharClass = ANY, *, may_end: bool = True) -> Context:
        """Return the context with the requirements that the next character settles as a class of characters.

        Requirements that have the same effect become equal, so that there are few contexts.

        Args:
            context: The context.
            following: The characters that may come next.
            may_end: Whether the text may end here.
        """
        if not (context.never or context.looks or context.forbidden.ranges or context.cannot_end):
            return context
        futures = {each: self.futures.of(each) for each in context.never}
        effects = {each: self._effect(*each) for each in context.looks}
        forbidden = union(
            [
                context.forbidden,
                *(future.matched for future in futures.values()),
                *(effect.forbidden for effect in effects.values()),
            ]
        )
        allowed = intersection(following, complement(forbidden))
        never = frozenset(each for each, future in futures.items() if overlap([future.open], allowed))
        cannot_end = any(future.at_end for future in futures.values())
        return context._replace(
            never=self.futures.reduced(never, allowed) if never else never,
            looks=frozenset(each for each, effect in effects.items() if overlap([effect.open], allowed)),
            forbidden=intersection(forbidden, following),
            cannot_end=may_end
            and (context.cannot_end or cannot_end or any(e.cannot_end for e in effects.values())),
        )

    def _effect(self, number: int, condition: Condition) -> Effect:
        key = number, condition
        if key not in self._effects:
            threads = self.threads(number)
            broken, still_open = [], []
            for charset in self._tried(threads, State((Thread(ENDED, frozenset([condition])),))):
                left = threads.look_step(frozenset([condition]), charset.ranges[0][0])
                if left is None:
                    broken.append(charset)
                elif left:
                    still_open.append(charset)
            self._effects[key] = Effect(union(broken), union(still_open), not condition.holds_at_end)
        return self._effects[key]

    def _tried(self, threads: Threads, state: State) -> list[CharClass]:
        """Return the classes of characters with which a lookahead is tried, any other character included."""
        classes = partition([*threads.classes_at(state), ANY])
        steps = len(classes) * (_STEPS_PER_CLASS + _STEPS_PER_THREAD * state.size)
        self.work.pay(steps, "what the terminals of a grammar require of the text behind them")
        return classes

    def relevant(self, context: Context, following: CharClass, names: frozenset[str]) -> Context:
        """Return the context with only what matters to the terminals that can come next.

        Args:
            context: The context.
            following: The characters that they begin with.
            names: Their names; `$END` is the end of the text.
        """
        return self.tidied(context, following, may_end="$END" in names)._replace(
            banned=context.banned & names
        )

    def may_last(self, context: Context, following: CharClass) -> bool:
        """Return whether threads that must not match may stay open for long.

        Args:
            context: The context behind a terminal.
            following: The characters that may follow it.
        """
        if not context.never:
            return False
        allowed = intersection(following, complement(context.forbidden))
        opened = [self.futures.of(each).open for each in context.never]
        return any(
            ascii_size(each) >= _LASTING and 2 * ascii_size(intersection(each, allowed)) > ascii_size(allowed)
            for each in opened
        )

    def may_end(self, context: Context) -> bool:
        """Return whether the text may end here."""
        return (
            "$END" not in context.banned
            and context.layout.pending in (NONE, CLOSED)
            and not context.cannot_end
            and all(state.can_match_at_end for _, state in context.must)
        )

    def classes(self, context: Context) -> Iterator[CharClass]:
        """Yield the classes that decide on the next step."""
        yield context.forbidden
        for running in context.never:
            future = self.futures.of(running)
            yield future.matched
            yield from (charset for charset, _ in future.moves)
        for number, state in context.must:
            yield from self.threads(number).classes_at(state)
        for number, condition in context.looks:
            yield from self.threads(number).classes_at(State((Thread(ENDED, frozenset([condition])),)))
        for number, progress in zip(self.behind, context.behind, strict=False):
            yield from self.threads(number).classes_at(State((), progress))


def overlap(classes: Iterable[CharClass], following: CharClass) -> bool:
    """Return whether a character of `following` is in one of the classes."""
    return any(intersection(charset, following).ranges for charset in classes)


@lru_cache(maxsize=1024)
def ascii_size(charset: CharClass) -> int:
    """Return the number of ASCII characters in a class."""
    return sum(max(0, min(last, 127) - first + 1) for first, last in charset.ranges)
