"""What the text so far requires of the text that follows, at the end of a terminal.

A terminal of Lark's dynamic lexers ends where `re.match` ends in the whole text. So threads that are preferred to the
match must never match, lookaheads beyond the end must succeed, and lookbehinds look at the terminals before. All of
this is finite: a `Context` is a state of an automaton over code points that reads along with the terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from structkit.regex.charset import intersection
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

__all__ = ["Context", "Contexts", "Exit", "exits", "overlap"]

Running: TypeAlias = "tuple[int, State]"
"""A terminal, by its number, and threads of it that continue behind its end."""


class Context(NamedTuple):
    """Open requirements, and the progress of the lookbehinds.

    Attributes:
        never: Threads of which none may match.
        looks: Lookaheads.
        must: Threads of which one must match.
        behind: The progress of the lookbehinds of each terminal that looks at the text before it.
        lexer: The class of the lexer; see `structkit.grammar.rules.lexing`.
        banned: The names of terminals that cannot come next.
    """

    never: frozenset[Running] = frozenset()
    looks: frozenset[tuple[int, Condition]] = frozenset()
    must: frozenset[Running] = frozenset()
    behind: tuple[tuple[frozenset[int], ...], ...] = ()
    lexer: int = 0
    banned: frozenset[str] = frozenset()


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
        behind: The numbers of those that look at the text before them.
    """

    automata: tuple[TerminalAutomaton, ...]
    behind: tuple[int, ...]

    def start(self) -> Context:
        """Return the context of the start of the text."""
        return Context(behind=tuple(self.automata[number].threads.start().behind for number in self.behind))

    def threads(self, number: int) -> Threads:
        """Return the steps of a terminal."""
        return self.automata[number].threads

    def step(self, context: Context, code_point: int) -> Context | None:
        """Return the context after a code point; `None` if a requirement fails."""
        never = set()
        for number, state in context.never:
            after = self.threads(number).step_or_match(state, code_point)
            if after is None:
                return None
            if after.threads:
                never.add((number, after))
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
            for number, progress in zip(self.behind, context.behind, strict=True)
        )
        return context._replace(
            never=frozenset(never), looks=frozenset(looks), must=frozenset(must), behind=behind
        )

    def enter(self, context: Context, number: int) -> State:
        """Return the state of a terminal at its start."""
        if number in self.behind:
            return self.threads(number).start(context.behind[self.behind.index(number)])
        return self.threads(number).start()

    def after(self, context: Context, number: int, requirements: Exit, following: CharClass) -> Context:
        """Return the context behind a terminal that ends with requirements.

        `following` are the characters that may follow. Requirements that none of them can break are left out, so that
        there are few contexts.
        """
        never, must, looks = context.never, context.must, context.looks
        if requirements.never is not None:
            never |= {(number, requirements.never)}
        never = frozenset(each for each in never if self._matters(*each, following))
        if requirements.must is not None:
            must |= {(number, requirements.must)}
        for condition in requirements.looks:
            ahead = State((Thread(ENDED, frozenset([condition])),))
            if (
                not condition.negate
                or condition.at_end
                or self._matters(number, ahead, following, ended=False)
            ):
                looks |= {(number, condition)}
        return context._replace(never=never, looks=looks, must=must)

    def relevant(self, context: Context, following: CharClass, names: frozenset[str]) -> Context:
        """Return the context with only what matters to the terminals that can come next.

        Args:
            context: The context.
            following: The characters that they begin with.
            names: Their names; `$END` is the end of the text.
        """
        never = frozenset(each for each in context.never if self._matters(*each, following))
        return context._replace(never=never, banned=context.banned & names)

    def _matters(self, number: int, state: State, following: CharClass, *, ended: bool = True) -> bool:
        if ended and any(thread.instruction in (MATCH, ENDED) for thread in state.threads):
            return True
        return overlap(self.threads(number).classes_at(State(state.threads)), following)

    def may_end(self, context: Context) -> bool:
        """Return whether the text may end here."""
        return (
            "$END" not in context.banned
            and all(condition.holds_at_end for _, condition in context.looks)
            and not any(state.can_match_at_end for _, state in context.never)
            and all(state.can_match_at_end for _, state in context.must)
        )

    def classes(self, context: Context) -> Iterator[CharClass]:
        """Yield the classes that decide on the next step."""
        for number, state in (*context.never, *context.must):
            yield from self.threads(number).classes_at(state)
        for number, condition in context.looks:
            yield from self.threads(number).classes_at(State((Thread(ENDED, frozenset([condition])),)))
        for number, progress in zip(self.behind, context.behind, strict=True):
            yield from self.threads(number).classes_at(State((), progress))


def overlap(classes: Iterable[CharClass], following: CharClass) -> bool:
    """Return whether a character of `following` is in one of the classes."""
    return any(intersection(charset, following).ranges for charset in classes)
