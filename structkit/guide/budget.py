"""Budgets: of the allowed tokens, those after which a complete value still fits.

Three measures say how many tokens a state needs, each closer and slower than the one before:

- `need`: a way to the end that surely exists, summed over the stack. Any sequence whose budget is at least the
  `need` of its start can be held within it by this measure alone. With unique texts it is an estimate only.
- `way`: tokens that were seen to lead to the end; those of a shortest text, if it repeats no unique text.
  A state on the way inherits the rest of it, so a budget that once held a way holds one to the end.
- `fewest`: exact, by a breadth-first search over states; for budgets below the `way`, and for vocabularies that
  cannot spell every byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.distinct import forbidden_suffixes
from structkit.automaton.runtime.shortest import shortest_length, shortest_text
from structkit.automaton.runtime.stack import Below, Frame, SeenTexts, stack_frames
from structkit.errors import LimitExceeded
from structkit.guide.state import State, mask_of, max_cost_of, possible_repeats, reachable_rows
from structkit.index.index import UNREACHABLE, Index

__all__ = ["Budgets"]

T = TypeVar("T")

Step: TypeAlias = Callable[[State, int], State]
"""The state after a token that is known to be allowed; one without frames if it repeats a unique text."""


@dataclass(frozen=True, eq=False, slots=True)
class TokenGroups:
    """Allowed tokens by where they lead.

    Attributes:
        group_of: int32[32 * words], the group of each token, -1 where it is not allowed.
        representatives: int64[groups], one token of each group.
    """

    group_of: NDArray[np.int32]
    representatives: NDArray[np.int64]


_MAX_TOKENIZED_BYTES = 200_000
"""Bytes of a shortest text that is spelled in tokens; the tokens of a longer one are only bounded."""


_EFFORT = 1_000
"""States looked at to find fewer tokens than a shortest text takes: about a second."""


class Budgets:
    """Answers about budgets for one index; remembers the searches it made.

    Args:
        index: The masks.
        step: The state after a token that is known to be allowed.
    """

    def __init__(self, index: Index, step: Step) -> None:
        self.index = index
        self.step = step
        self._min_tokens: dict[State, int] = {}
        self._groups: dict[State, TokenGroups] = {}

    def upper_bound(self, state: State) -> int:
        """Tokens that surely lead to an end; `FAR` where this measure knows no way."""
        if state.is_accepting:
            return 0
        return min((self.index.upper_bound(frame) for frame in state.frames), default=UNREACHABLE)

    def completion_length(self, state: State) -> int:
        """How many tokens a way to the end takes; `FAR` if none was found."""
        if state.is_accepting:
            return 0
        if state.completion is None and not self._is_long(state):
            state.completion = ()
            self._record_completion(state, self._shortest(state) or self._greedy_completion(state))
        return len(state.completion) if state.completion else UNREACHABLE

    def fits(self, state: State, budget: int) -> bool:
        """Whether a value can be completed within `budget` more tokens."""
        if self._rough_upper_bound(state) <= budget:
            return True
        self.index.make_exact()
        automaton = self.index.automaton
        shortest = min((shortest_length(self.index.shortest, frame) for frame in state.frames), default=0)
        # With unique texts the length is an upper bound.
        if (
            not (state.is_accepting or automaton.has_distinct)
            and shortest > budget * self.index.vocabulary.max_token_length
        ):
            return False
        return self._quick_upper_bound(state) <= budget or self.min_tokens(state, budget) <= budget

    def every_token_fits(self, state: State, remaining: int) -> bool:
        """Whether, whatever allowed token comes next, at most `remaining` more surely complete the value."""
        return self._with_margin(state, max_cost_of(state, self.index)) <= remaining

    def mask(self, state: State, remaining: int) -> NDArray[np.uint32]:
        """uint32[words]: the allowed tokens after which at most `remaining` more complete the value."""
        if self.every_token_fits(state, remaining):
            return mask_of(state, self.index)
        if not state.is_exact:
            self.index.make_exact()
            state.max_cost_after = None
            return self.mask(state, remaining)
        remembers = self.index.automaton.has_distinct
        if not remembers and remaining < UNREACHABLE - 1 and self.upper_bound(state) <= remaining + 1:
            narrow = mask_of(state, self.index) & self._budget_mask(state, remaining)
            if narrow.any():
                return narrow
        return self._searched(state, remaining)

    def min_tokens(self, state: State, max_tokens: int = UNREACHABLE) -> int:
        """The fewest tokens to an end; `FAR` if none are known, or more than `max_tokens`.

        Exact unless that takes too long a search, as in very long values and wide open ones: there it is the length
        of a way, which is enough, if not always the fewest.

        Raises:
            LimitExceeded: The vocabulary cannot spell a shortest text, and the search for another was given up.
        """
        known = self._min_tokens.get(state)
        if known is None:
            self.index.make_exact()
            if self._is_long(state):
                return self.upper_bound(state)
            length = self.completion_length(state)
            way = self._search(state, min(max_tokens, length - 1))
            if way is None and max_tokens < length - 1:
                return UNREACHABLE
            if way is not None:
                self._record_completion(state, way)
            known = _remember(self._min_tokens, state, length if way is None else len(way))
        return known

    def inherit_completion(self, state: State, token: int, successor: State) -> None:
        """Let the state after a token have the way for which a budget allowed the token, if it is shorter."""
        groups = self.groups(state)
        way = self.step(state, int(groups.representatives[groups.group_of[token]])).completion
        at, rest = successor, way or ()
        while rest and at.frames and self._allows(at, rest[0]):
            at, rest = self.step(at, rest[0]), rest[1:]
        if way and not rest and at.is_accepting:
            self._record_completion(successor, way)

    def groups(self, state: State) -> TokenGroups:
        """The allowed tokens by where they lead, as far as that matters to what may follow."""
        known = self._groups.get(state)
        if known is not None:
            return known
        size = self.index.vocabulary.mask_words * 32
        signs = np.zeros(size, np.int64)
        for exits, frame, _ in reachable_rows(state, self.index):
            self.index.row_within_budget(exits, frame, 1 << 40, _salt(frame.below), signs)
        if self.index.automaton.has_distinct:
            alone = np.fromiter(possible_repeats(state, self.index), np.int64)
            signs[alone] = alone
        number, first = self.index.group_tokens(signs, mask_of(state, self.index))
        return _remember(
            self._groups, state, TokenGroups(number, first), max_entries=32
        )  # each is 4 bytes a token

    def _rough_upper_bound(self, state: State) -> int:
        """Tokens that are enough, and perhaps far too many."""
        return self._with_margin(state, self.upper_bound(state))

    def _quick_upper_bound(self, state: State) -> int:
        """The quickest answer to how many tokens are enough."""
        if self.index.automaton.has_distinct and not self._is_long(state):
            return self.completion_length(state)
        need = self.upper_bound(state)
        return need if need < UNREACHABLE else self.completion_length(state)

    def _with_margin(self, state: State, tokens: int) -> int:
        """The tokens, and more where there are unique texts, or may be: they may be long to differ."""
        if self.index.is_exact and not self.index.automaton.has_distinct:
            return tokens
        return 2 * tokens + max(map(len, _seen(state)), default=0)

    def _search(self, state: State, max_tokens: int) -> tuple[int, ...] | None:
        """The fewest tokens to an end, breadth first; `None` if there are more than `max_tokens`, or perhaps."""
        automaton = self.index.automaton
        hopeful = (
            max_tokens < UNREACHABLE - 1 or automaton.has_distinct
        )  # with unique texts there may be no end of new states
        effort = _EFFORT if hopeful else automaton.limits.search_states
        ways: dict[State, tuple[int, ...]] = {state: ()}
        frontier = [state]
        for _ in range(max_tokens + 1):
            ended = next((s for s in frontier if s.is_accepting), None)
            if ended is not None or not frontier:
                return ways.get(ended) if ended is not None else None
            reached = []
            for current in frontier:
                for token in self.groups(current).representatives.tolist():
                    after = self.step(current, token)
                    if after not in ways:
                        ways[after] = (*ways[current], token)
                        reached.append(after)
                if len(ways) > effort:
                    if hopeful:
                        return None
                    raise LimitExceeded(
                        "search_states", effort, "the search for a text that the vocabulary can spell"
                    )
            frontier = reached
        return None

    def _shortest(self, state: State) -> tuple[int, ...]:
        """The tokens of a shortest text to the end; empty if none spell it, or it repeats a unique text."""
        automaton, shortest = self.index.automaton, self.index.shortest
        frames = [frame for frame in state.frames if shortest_length(shortest, frame) <= _MAX_TOKENIZED_BYTES]
        texts = [shortest_text(shortest, frame) for frame in frames]
        if automaton.has_distinct:
            texts = [
                text
                for text in texts
                if automaton.is_accepting(self.index.reader.read(state.frames, state.buffer, text)[0])
            ]
        return min(filter(None, map(self.index.tokenize, texts)), key=len, default=())

    def _is_long(self, state: State) -> bool:
        return (
            min((shortest_length(self.index.shortest, frame) for frame in state.frames), default=0)
            > _MAX_TOKENIZED_BYTES
        )

    def _greedy_completion(self, state: State) -> tuple[int, ...]:
        """A way to an end past unique texts, found by taking the token that needs least after it; empty if none is."""
        way: list[int] = []
        need = self.upper_bound(state)
        if need >= UNREACHABLE or not self.index.automaton.has_distinct:
            return ()
        while not state.is_accepting:
            tokens = self.groups(state).representatives.tolist()
            if not tokens or len(way) > min(4 * need, self.index.automaton.limits.search_states):
                return ()
            reached = {token: self.step(state, token) for token in tokens}
            way.append(
                min(
                    tokens,
                    key=lambda token: (self.upper_bound(reached[token]), _count_conflicts(reached[token])),
                )
            )
            state = reached[way[-1]]
        return tuple(way)

    def _record_completion(self, state: State, completion: tuple[int, ...]) -> None:
        """Remember a way in all states along it."""
        while completion and (not state.completion or len(completion) < len(state.completion)):
            state.completion = completion
            state, completion = self.step(state, completion[0]), completion[1:]

    def _allows(self, state: State, token: int) -> bool:
        return bool(mask_of(state, self.index)[token >> 5] >> np.uint32(token & 31) & 1)

    def _budget_mask(self, state: State, remaining: int) -> NDArray[np.uint32]:
        union = np.zeros(self.index.vocabulary.mask_words, np.uint32)
        for exits, frame, _ in reachable_rows(state, self.index):
            below = self.index.upper_bound(frame.below)
            if below <= remaining:
                self.index.row_within_budget(exits, frame, remaining - below, 0, None).mask.or_into(union)
        return union

    def _searched(self, state: State, remaining: int) -> NDArray[np.uint32]:
        groups = self.groups(state)
        tokens = groups.representatives.tolist()
        after = [self.step(state, token) for token in tokens]
        fits = np.array(
            [self._quick_upper_bound(s) <= remaining or self.completion_length(s) <= remaining for s in after]
            + [False]
        )
        if remaining >= UNREACHABLE - 1 or not fits.any():
            fits = np.array(
                [
                    fit or self.min_tokens(s, remaining) <= remaining
                    for fit, s in zip(fits, after, strict=False)
                ]
                + [False]
            )
        mask = np.packbits(fits[groups.group_of], bitorder="little").view(np.uint32)
        if self.index.automaton.has_distinct:
            state.searched = True
            for token in self._rival_tokens(state, after, groups):
                if self._allows(state, token) and self.completion_length(self.step(state, token)) > remaining:
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        return mask

    def _rival_tokens(self, state: State, successors: list[State], groups: TokenGroups) -> set[int]:
        """The tokens after which the way found for their group may repeat what they write: these are tried alone.

        All tokens of a group lead to the same frames, but write different texts; where the way of the group's first
        goes on with more unique texts, one of them may be the text that another token of the group begins.
        """
        rivals: set[int] = set()
        for group, reached in enumerate(successors):
            written = self._completion_texts(reached)
            if _depth(state) < _depth(reached) and len(written) > 1:
                rivals.update(np.flatnonzero(groups.group_of == group).tolist())
            for begun in _open_texts(state):
                for text in written:
                    if text.startswith(begun):
                        rivals.update(self.index.prefix_and_extension_tokens(text[len(begun) :]))
        return rivals

    def _completion_texts(self, state: State) -> set[bytes]:
        """The unique texts that a state's way writes, those before it apart."""
        before = _seen(state)
        written: set[bytes] = set()
        for token in state.completion or ():
            state = self.step(state, token)
            written |= _seen(state)
        return written - before


def _seen_texts_of(state: State) -> Iterator[SeenTexts]:
    for frame in state.frames:
        for at in stack_frames(frame):
            if at.seen_texts is not None:
                yield at.seen_texts


def _seen(state: State) -> set[bytes]:
    """The unique texts that the state remembers."""
    return {text for memory in _seen_texts_of(state) for text in memory.texts}


def _open_texts(state: State) -> set[bytes]:
    """The unique texts that are open, as far as they were written."""
    return {
        state.buffer[memory.open_start :] for memory in _seen_texts_of(state) if memory.open_start is not None
    }


def _count_conflicts(state: State) -> int:
    """How many unique texts seen before go on from the open ones: where there are few, little is needed to differ."""
    stack = [frame for frame in state.frames if frame.inside_distinct]
    crowd = 0
    while stack:
        frame = stack.pop()
        crowd += len(forbidden_suffixes(frame, state.buffer))
        if isinstance(frame.below, Frame):  # what is below a fork is not open
            stack.append(frame.below)
    return crowd


def _depth(state: State) -> int:
    """How many unique texts are open, one in another."""
    return sum(memory.open_start is not None for memory in _seen_texts_of(state))


def _salt(below: Below) -> int:
    return 0 if below is None else id(below)


def _remember(cache: dict[State, T], state: State, answer: T, max_entries: int = 2048) -> T:
    """Keep an answer; when there are too many, begin anew."""
    if len(cache) >= max_entries:
        cache.clear()
    cache[state] = answer
    return answer
