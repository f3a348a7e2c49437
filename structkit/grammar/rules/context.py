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

_STEPS_PER_CLASS, _STEPS_PER_THREAD, _STEPS_PER_REQUIREMENT = 100, 50, 10
"""The work of a class of characters with which a lookahead is tried, of each thread there, and of a requirement that
the next character may settle; see `Limits.work`."""


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


class Cut(NamedTuple):
    """A match that ends where a terminal ends, in some beginning of a longer match; see `exits`.

    Attributes:
        above: The threads that are preferred to this match; none may have matched where the beginning is cut off.
        looks: The lookaheads of this match, which succeed there.
        whole: The threads in the whole text, one of which must match behind the cut.
    """

    above: State
    looks: frozenset[Condition]
    whole: State


class Context(NamedTuple):
    """Open requirements, and the progress of the lookbehinds.

    Attributes:
        never: Threads that may not match.
        looks: Lookaheads.
        must: Threads, at least one of which must match.
        cuts: Matches that must end in some beginning of a longer match.
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
    cuts: frozenset[tuple[int, Cut]] = frozenset()
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
    cut: Cut | None = None


def exits(state: State, alone: State | None) -> Iterator[Exit]:
    """Iterate over the ways to end a terminal in a state.

    `dynamic_complete` also tries the beginnings of the text that matches, each on its own, and takes the ends of the
    matches in them. A match that ends where its beginning is cut off counts if the whole match is longer. Otherwise the
    beginning may be cut off later, where a lookahead succeeds or a preferred thread has not matched yet.

    Args:
        state: The state in the whole text.
        alone: The state as if nothing came before, for `dynamic_complete`; `None` for `dynamic`.
    """
    threads = state.threads
    ends = [number for number, thread in enumerate(threads) if thread.instruction == MATCH]
    if alone is not None and alone.is_accepting:
        last = next((n for n, thread in enumerate(threads) if thread.instruction in (MATCH, ENDED)), None)
        if last in ends:
            # If the lookaheads of the first end succeed, the match ends here or later, and both count. If one fails,
            # threads that need it fail too.
            needed = threads[ends.pop(0)].pending
            yield Exit(looks=needed)
            ends = [number for number in ends if not needed <= threads[number].pending]
            threads = tuple(
                thread
                for thread in threads
                if thread.instruction in (MATCH, ENDED) or not needed <= thread.pending
            )
        for must, looks in _longer(threads):
            yield Exit(must=State(must, state.behind), looks=looks)
    elif alone is not None:
        for number, (instruction, looks) in enumerate(alone.threads):
            if instruction == MATCH:
                yield Exit(cut=Cut(State(alone.threads[:number], alone.behind), looks, state))
    for number in ends:
        looks = state.threads[number].pending
        # A preferred thread that needs these lookaheads too matches as if it did not: they succeed.
        preferred = dict.fromkeys(Thread(n, pending - looks) for n, pending in state.threads[:number])
        yield Exit(State(tuple(preferred), state.behind) if preferred else None, looks)


def _longer(threads: Iterable[Thread]) -> Iterator[tuple[tuple[Thread, ...], frozenset[Condition]]]:
    """Yield the ways in which a match ends later than here: threads that must match, and lookaheads.

    Ends that are preferred to the threads fail: of each, one lookahead.
    """
    running: list[Thread] = []
    ways: list[frozenset[Condition]] = [frozenset()]
    for thread in threads:
        if thread.instruction not in (MATCH, ENDED):
            running.append(thread)
            continue
        for looks in ways if running else ():
            yield tuple(running), looks
        running = []
        ways = [
            looks | {condition._replace(negate=not condition.negate)}
            for looks in ways
            for condition in thread.pending
        ]
    for looks in ways if running else ():
        yield tuple(running), looks


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
        for _, cut in context.cuts:
            size += cut.above.size + cut.whole.size + sum(condition.size for condition in cut.looks)
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
                for after in self.step(context, charset.ranges[0][0]):
                    found.setdefault(after, []).append(charset)
            everything = ANY if len(classes) == 1 else None
            self._moves[context] = tuple(
                (everything or union(parts), after) for after, parts in found.items()
            )
        return self._moves[context]

    def step(self, context: Context, code_point: int) -> list[Context]:
        """Return the contexts after a code point: none if a requirement fails, several if it has several ways."""
        if contains(context.forbidden, code_point):
            return []
        never = set()
        for running in context.never:
            moved = self.futures.step(running, code_point)
            if moved is None:
                return []
            if moved[1].threads:
                never.add(moved)
        must = self._step_must(context.must, code_point)
        looks = self._step_looks(context.looks, code_point)
        if must is None or looks is None:
            return []
        behind = tuple(
            self.threads(number).step(State((), progress), code_point).behind
            for number, progress in zip(self.behind, context.behind, strict=False)
        )
        after = context._replace(
            never=frozenset(never),
            looks=looks,
            must=must,
            cuts=frozenset(),
            behind=behind,
            forbidden=_NONE,
            cannot_end=False,
        )
        found = [after]
        for number, cut in context.cuts:
            ways = list(self._step_cut(number, cut, code_point))
            found = [
                each._replace(must=each.must | must, looks=each.looks | looks, cuts=each.cuts | cuts)
                for each in found
                for must, looks, cuts in ways
            ]
        return [self.tidied(each) for each in found]

    def _step_must(self, must: Iterable[Running], code_point: int) -> frozenset[Running] | None:
        """Return the threads that must match after a code point; `None` if none of some can."""
        found = set()
        for number, state in must:
            after = self.threads(number).step_or_match(state, code_point)
            if after is not None:
                if not after.threads:
                    return None
                found.add((number, after))
        return frozenset(found)

    def _step_looks(
        self, looks: Iterable[tuple[int, Condition]], code_point: int
    ) -> frozenset[tuple[int, Condition]] | None:
        """Return the lookaheads that are open after a code point; `None` if one fails."""
        found: set[tuple[int, Condition]] = set()
        for number, condition in looks:
            left = self.threads(number).look_step(frozenset([condition]), code_point)
            if left is None:
                return None
            found.update((number, each) for each in left)
        return frozenset(found)

    def _step_cut(
        self, number: int, cut: Cut, code_point: int
    ) -> Iterator[tuple[frozenset[Running], frozenset[tuple[int, Condition]], frozenset[tuple[int, Cut]]]]:
        """Yield the ways after a code point: threads that must match and lookaheads if the cut is here, or the cut."""
        threads = self.threads(number)
        above = threads.step_or_match(cut.above, code_point)
        looks = threads.look_step(cut.looks, code_point)
        whole = threads.step(cut.whole, code_point)
        if above is None or looks is None:
            return
        if not above.can_match_at_end and all(condition.holds_at_end for condition in looks):
            for must, needed in _longer(whole.threads):
                running = frozenset([(number, State(must, whole.behind))])
                yield running, frozenset((number, each) for each in needed), frozenset()
        if above.threads or looks:
            yield frozenset(), frozenset(), frozenset([(number, Cut(above, looks, whole))])

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
        cuts = context.cuts if requirements.cut is None else context.cuts | {(number, requirements.cut)}
        return self.tidied(context._replace(never=never, looks=looks, must=must, cuts=cuts), following)

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
        steps = _STEPS_PER_REQUIREMENT * (len(context.never) + len(context.looks))
        self.work.pay(steps, "what the terminals of a grammar require of the text behind them")
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
            and not context.cuts
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
        for number, cut in context.cuts:
            ended = Thread(ENDED, cut.looks)
            for state in (cut.above, State((*cut.whole.threads, ended), cut.whole.behind)):
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
