"""Token budgets: the allowed tokens after which a complete value still fits.

Two measures estimate how many tokens a state needs to complete the value:

- `upper_bound`: the length of a completion that always exists, summed over the stack. A sequence whose budget is at
  least the `upper_bound` of its start can be completed within the budget by this measure alone.
- `min_tokens`: the fewest tokens of a completion that a bounded search finds; for budgets below `upper_bound`. See
  `structkit.guide.completion`.

Both depend on the state only, so masks do not depend on earlier questions. If a measure of a state is n tokens, some
token leads to a state for which it is n - 1 or less, so a sequence whose budget fits can always be completed.

Distinct texts are an exception: tokens that lead to the same frames begin different texts, and `upper_bound` is an
estimate, for which `DistinctBounds` finds an upper bound. `completion_length` is the length of a concrete completion,
the tokens of a shortest text that repeats no distinct text. States along a completion inherit the rest of it, so a
budget that fits a completion keeps fitting: this does not depend on the estimates, nor on how much is searched. The
same holds for vocabularies that cannot spell every byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.distinct import Fuel
from structkit.automaton.runtime.parse_kernels import upper_bound
from structkit.automaton.runtime.short_text import count_conflicts, short_text
from structkit.automaton.runtime.shortest import shortest_distinct, shortest_length, shortest_texts
from structkit.automaton.runtime.stack import Below, Frame, FrameSet
from structkit.errors import LimitExceeded
from structkit.guide.completion import CompletionSearch
from structkit.guide.completion_texts import completion_texts, texts_after
from structkit.guide.room import DistinctBounds
from structkit.guide.state import (
    State,
    distinct_depth,
    mask_of,
    max_cost_of,
    open_texts,
    possible_repeats,
    reachable_rows,
)
from structkit.index.index import UNREACHABLE, Index
from structkit.index.rows.mask_kernels import write_fitting
from structkit.limits import Work

__all__ = ["Budgets"]

T = TypeVar("T")

Step: TypeAlias = Callable[[State, int], State]
"""Returns the state after an allowed token; a state without frames if the token repeats a distinct text."""


@dataclass(frozen=True, eq=False, slots=True)
class TokenGroups:
    """Allowed tokens, grouped by the frames that they lead to.

    Attributes:
        group_of: int32[32 * words], the group of each token, -1 if the token is not allowed.
        representatives: int64[groups], one token of each group.
    """

    group_of: NDArray[np.int32]
    representatives: NDArray[np.int64]


_MAX_TOKENIZED_BYTES = 200_000
"""Maximum length of a shortest text to tokenize, in bytes; for longer texts only an upper bound is used."""

_MAX_READS, _MAX_TEXTS = 4_000, 8
"""Maximum reads that search a completion with distinct texts, which take up to 0.3 s, most often 10 ms, and maximum
shortest texts of a state that are made before."""

_MAX_TRIED, _MAX_MASK_READS = 8, 300
"""Maximum tokens for which a mask searches completions with distinct texts, and maximum reads of these searches, about
20 ms. Other tokens are not allowed."""

_MAX_SEARCHED_STATES, _MAX_SEARCHED_NODES = 1_000, 1_000_000
"""Maximum states to search for a completion with distinct texts that is shorter than the known one, and maximum nodes
of the trie that are visited for it; takes up to 0.3 s with a small vocabulary, and about 10 ms with a large one."""


class Budgets:
    """Budget queries for one index, with memoized searches.

    Args:
        index: The masks.
        step: Returns the state after an allowed token.
        advance: Returns the configuration after an allowed token.
        context: What the kernels read, see `structkit.automaton.core.memory`.
    """

    def __init__(
        self, index: Index, step: Step, advance: Callable[[int, int], int], context: NDArray[np.int64]
    ) -> None:
        self.index = index
        self.step = step
        self._advance = advance
        self._context = context
        self._min_tokens: dict[State, int] = {}
        self._groups: dict[State, TokenGroups] = {}
        self._max_searched_bytes = _MAX_TOKENIZED_BYTES
        self._distinct = DistinctBounds(index)

    def upper_bound(self, state: State) -> int:
        """Return an upper bound on the tokens to the end; `UNREACHABLE` if there is no bound."""
        if state.is_accepting:
            return 0
        if self.index.automaton.has_labels:
            return int(upper_bound(self._context, state.configuration))
        known: dict[Frame | FrameSet, int] = {}
        return min((self.index.upper_bound(frame, known) for frame in state.frames), default=UNREACHABLE)

    def completion_length(self, state: State, fuel: Fuel | None = None) -> int:
        """Return the length of a completion; `UNREACHABLE` if none was found.

        Args:
            state: The state.
            fuel: The reads that may be made; `None` allows as many as are ever made.
        """
        if state.is_accepting:
            return 0
        if state.completion is None:
            if self._is_long(state):
                return UNREACHABLE
            spent = fuel or Fuel(_MAX_READS)
            found = self._shortest(state) or self._changed(state, spent) or self._greedy_completion(state)
            if found or spent.reads > 0:
                state.completion = found
            elif fuel is None:
                # A sequence reaches states with texts of this length one after another, so none of them is searched.
                self._max_searched_bytes = self._shortest_length(state) * 3 // 4
        return len(state.completion) if state.completion else UNREACHABLE

    def fits(self, state: State, budget: int) -> bool:
        """Return whether the value can be completed within `budget` more tokens."""
        if self._rough_upper_bound(state) <= budget:
            return True
        if self.index.automaton.has_labels:
            return False
        if not self.index.is_exact:
            self.index.make_exact()
            return self.fits(state, budget)
        automaton = self.index.automaton
        shortest = self._shortest_length(state)
        # With distinct texts the shortest length is only an upper bound.
        if (
            not (state.is_accepting or automaton.has_distinct)
            and shortest > budget * self.index.vocabulary.max_token_length
        ):
            return False
        return self._quick_upper_bound(state) <= budget or self.min_tokens(state, budget) <= budget

    def every_token_fits(self, state: State, remaining: int) -> bool:
        """Return whether `remaining` tokens are enough to complete the value after any allowed token."""
        if self.index.automaton.has_labels:
            return False  # the parser has checked this for the configuration
        tokens = max_cost_of(state, self.index)
        if not self.index.automaton.has_distinct:
            return (tokens if self.index.is_exact else 2 * tokens) <= remaining
        if not self.index.vocabulary.has_all_bytes:
            return False  # other texts than those that were counted may be the only ones that tokens spell
        return self._distinct.after_any_token(state, tokens) <= remaining

    def mask(self, state: State, remaining: int) -> NDArray[np.uint32]:
        """Return the allowed tokens after which `remaining` tokens can complete the value, as uint32[words]."""
        if self.index.automaton.has_labels:
            return self._mask_of_bounds(state, remaining)
        if self.every_token_fits(state, remaining):
            return mask_of(state, self.index)
        if not state.is_exact:
            self.index.make_exact()
            state.max_cost_after = None
            return self.mask(state, remaining)
        if not self._has_bounded_search:
            return self._searched(state, remaining)
        mask = mask_of(state, self.index) & self._budget_mask(state, remaining)
        if not (state.is_accepting or mask.any()):
            for token in self._search.first_tokens(state, remaining + 1):
                mask[token >> 5] |= np.uint32(1 << (token & 31))
        return mask

    def _mask_of_bounds(self, state: State, remaining: int) -> NDArray[np.uint32]:
        """Return the tokens after which the upper bound fits, or the first of a completion if it fits after none."""
        groups = self.groups(state)
        # Most groups are in rows that fit as a whole: to advance by a token of each takes most of the time.
        fitting = self.fitting_rows(state, remaining)
        fits = [
            fitting.item(token >> 5) >> (token & 31) & 1
            or upper_bound(self._context, self._advance(state.configuration, token)) <= remaining
            for token in groups.representatives.tolist()
        ]
        mask = np.packbits(np.array([*fits, False], np.bool_)[groups.group_of], bitorder="little").view(
            np.uint32
        )
        # The bound is looser after a token that enters a rule with labels, so it can fit before the token only.
        if not (state.is_accepting or mask.any()):
            for token in (self._search_states(state, min(remaining + 1, UNREACHABLE - 2)) or ())[:1]:
                mask[token >> 5] |= np.uint32(1 << (token & 31))
        return mask

    def fitting_rows(self, state: State, remaining: int) -> NDArray[np.uint32]:
        """Return the tokens of rows for which the upper bound fits after each token, as uint32[words]."""
        out = np.zeros(self.index.vocabulary.mask_words, np.uint32)
        write_fitting(self._context, state.configuration, remaining, out)
        return out

    def min_tokens(self, state: State, max_tokens: int = UNREACHABLE, fuel: Fuel | None = None) -> int:
        """Return the minimum number of tokens to the end; `UNREACHABLE` if unknown or above `max_tokens`.

        If the exact search takes too long (long values, or many allowed texts), the result is the length of a
        completion, which is an upper bound.

        Args:
            state: The state.
            max_tokens: The tokens that matter.
            fuel: The reads that may be made to find a completion with distinct texts; see `completion_length`.

        Raises:
            LimitExceeded: The vocabulary cannot spell a shortest text, and the search for another text exceeded the
                limit.
        """
        cached = self._min_tokens.get(state)
        if self.index.automaton.has_labels:
            return self.upper_bound(state)
        if cached is None:
            self.index.make_exact()
            if self._has_bounded_search:
                upper_bound = self.upper_bound(state)
                fewest = len(self._search.fewest(state, upper_bound - 1)) or upper_bound
                return _remember(self._min_tokens, state, fewest)
            if self._is_long(state):
                return self._rough_upper_bound(state)
            length = self.completion_length(state, fuel)
            if length >= UNREACHABLE and self.index.vocabulary.has_all_bytes:
                return self._rough_upper_bound(state)
            if self.index.automaton.has_distinct:  # less than what was found can be proven to be enough
                length = min(length, self._distinct.of_state(state, self.upper_bound(state), proven=True))
            completion = self._search_states(state, min(max_tokens, length - 1))
            if completion is None and max_tokens < length - 1:
                return UNREACHABLE
            if completion is not None:
                state.completion, state.completion_texts = completion, None
            cached = _remember(self._min_tokens, state, length if completion is None else len(completion))
        return cached

    def inherit_completion(self, state: State, token: int, successor: State) -> None:
        """Set the completion of the state after a token to that of its group, if it is valid there and shorter."""
        groups = self.groups(state)
        alike = self.step(state, int(groups.representatives[groups.group_of[token]]))
        completion = alike.completion
        if not completion or (successor.completion and len(successor.completion) <= len(completion)):
            return
        added = texts_after(alike, successor, self.index)
        if added is None:
            text = b"".join(map(self.index.vocabulary.tokens.__getitem__, completion))
            frames, _ = self.index.reader.read(successor.frames, successor.buffer, text)
            if not self.index.automaton.is_accepting(frames):
                return
        successor.completion, successor.completion_texts = completion, added

    def groups(self, state: State) -> TokenGroups:
        """Return the allowed tokens, grouped by the frames that they lead to."""
        cached = self._groups.get(state)
        if cached is not None:
            return cached
        size = self.index.vocabulary.mask_words * 32
        signs = np.zeros(size, np.int64)
        # The same tokens leave frames that differ only in the frames below: one walk signs them all.
        alike: dict[tuple[int, int, int], tuple[NDArray[np.int32] | None, list[Frame]]] = {}
        for exits, frame, _ in reachable_rows(state, self.index):
            alike.setdefault((id(exits), frame.state, frame.count), (exits, []))[1].append(frame)
        for exits, frames in alike.values():
            salt = _salt([frame.below for frame in frames])
            self.index.row_within_budget(exits, frames[0], 1 << 40, salt, signs)
        if self.index.automaton.has_distinct:
            tried_singly = np.fromiter(possible_repeats(state, self.index), np.int64)
            signs[tried_singly] = tried_singly
        group_of, representatives = self.index.group_tokens(signs, mask_of(state, self.index))
        return _remember(
            self._groups, state, TokenGroups(group_of, representatives), max_entries=32
        )  # an entry takes 4 bytes per token

    @property
    def _has_bounded_search(self) -> bool:
        """Whether completions depend on the state only, and `_search` finds them."""
        return self.index.vocabulary.has_all_bytes and not self.index.automaton.has_distinct

    @cached_property
    def _search(self) -> CompletionSearch:
        return CompletionSearch(self.index)

    def _rough_upper_bound(self, state: State) -> int:
        """Return a loose upper bound on the tokens to the end, without a search."""
        tokens = self.upper_bound(state)
        if not self.index.automaton.has_distinct:
            return tokens if self.index.is_exact else 2 * tokens
        return self._distinct.of_state(state, tokens)

    def _quick_upper_bound(self, state: State) -> int:
        """Return the upper bound that is cheapest to compute."""
        if self.index.automaton.has_distinct:
            return self.completion_length(state)
        upper_bound = self.upper_bound(state)
        return upper_bound if upper_bound < UNREACHABLE else self.completion_length(state)

    def _search_states(self, state: State, max_tokens: int) -> tuple[int, ...] | None:
        """Search breadth-first for a shortest completion; `None` if none is found within `max_tokens` and the limit."""
        automaton = self.index.automaton
        # With distinct texts the number of states may be infinite.
        may_stop = max_tokens < UNREACHABLE - 1 or automaton.has_distinct
        max_states = _MAX_SEARCHED_STATES if may_stop else automaton.limits.search_states
        if may_stop and self.index.vocabulary.has_all_bytes:
            max_states = min(max_states, _MAX_SEARCHED_NODES // len(self.index.vocabulary.trie.byte))
        paths: dict[State, tuple[int, ...]] = {state: ()}
        frontier = [state]
        for _ in range(max_tokens + 1):
            accepting = next((s for s in frontier if s.is_accepting), None)
            if accepting is not None or not frontier:
                return paths.get(accepting) if accepting is not None else None
            reached = []
            for current in frontier:
                for token in self.groups(current).representatives.tolist():
                    after = self.step(current, token)
                    if after not in paths:
                        paths[after] = (*paths[current], token)
                        reached.append(after)
                if len(paths) > max_states:
                    if may_stop:
                        return None
                    raise LimitExceeded(
                        "search_states", max_states, "the search for a text that the vocabulary can spell"
                    )
            frontier = reached
        return None

    def _shortest(self, state: State) -> tuple[int, ...]:
        """Return the tokens of a shortest text to the end; empty if none spell it or it repeats a distinct text."""
        automaton, shortest = self.index.automaton, self.index.shortest
        frames = [frame for frame in state.frames if shortest_length(shortest, frame) <= _MAX_TOKENIZED_BYTES]
        if not automaton.has_distinct:
            return self.index.texts.fewest_tokens(shortest_texts(shortest, frames))
        frames.sort(key=lambda frame: (shortest_length(shortest, frame), frame.state, frame.count))
        texts = (shortest_distinct(shortest, frame, state.buffer) for frame in frames[:_MAX_TEXTS])
        text, added = next((found for found in texts if found is not None), (b"", None))
        tokens = self.index.texts.tokenize(text) or ()
        state.completion_texts = added if tokens else None
        return tokens

    def _changed(self, state: State, fuel: Fuel) -> tuple[int, ...]:
        """Return the tokens of a short text that repeats no distinct text; empty if none was found."""
        index = self.index
        if not index.automaton.has_distinct:
            return ()
        text = short_text(index.shortest, index.reader, state.frames, state.buffer, fuel)
        return (index.texts.tokenize(text) or ()) if text else ()

    def _is_long(self, state: State) -> bool:
        return self._shortest_length(state) > self._max_searched_bytes

    def _shortest_length(self, state: State) -> int:
        return min((shortest_length(self.index.shortest, frame) for frame in state.frames), default=0)

    def _greedy_completion(self, state: State) -> tuple[int, ...]:
        """Search greedily for a completion with distinct texts, by the lowest upper bound; empty if none was found."""
        completion: list[int] = []
        upper_bound = self.upper_bound(state)
        is_needed = self.index.automaton.has_distinct and not self.index.vocabulary.has_all_bytes
        if upper_bound >= UNREACHABLE or not is_needed:
            return ()
        while not state.is_accepting:
            tokens = self.groups(state).representatives.tolist()
            if not tokens or len(completion) > min(
                4 * upper_bound, self.index.automaton.limits.search_states
            ):
                return ()
            reached = {token: self.step(state, token) for token in tokens}
            completion.append(
                min(
                    tokens,
                    key=lambda token: (
                        self.upper_bound(reached[token]),
                        count_conflicts(reached[token].frames, reached[token].buffer),
                    ),
                )
            )
            state = reached[completion[-1]]
        return tuple(completion)

    def _budget_mask(self, state: State, remaining: int) -> NDArray[np.uint32]:
        union = np.zeros(self.index.vocabulary.mask_words, np.uint32)
        known: dict[Frame | FrameSet, int] = {}
        walks = []
        for exits, frame, row in reachable_rows(state, self.index):
            left = remaining - self.index.upper_bound(frame.below, known)
            lacking = row.max_cost_after + self.index.pending_tokens(frame) - left
            if lacking <= 0:
                row.mask.or_into(union)
            elif left >= 0:
                walks.append((lacking, left, exits, frame, row))
        # Of many frames, most have tokens that others allow; those with the most room allow the most.
        work = Work(self.index.automaton.limits.work)
        for _, left, exits, frame, row in sorted(walks, key=itemgetter(0)):
            if (row.mask.dense(len(union)) & ~union).any():
                self.index.row_within_budget(exits, frame, left, 0, None, work).mask.or_into(union)
        return union

    def _searched(self, state: State, remaining: int) -> NDArray[np.uint32]:
        groups = self.groups(state)
        after = [self.step(state, token) for token in groups.representatives.tolist()]
        has_completion = self.completion_length(state) < UNREACHABLE
        fits = self._fit(after, remaining, has_completion)
        if remaining >= UNREACHABLE - 1 or not any(fits):
            fuel = Fuel(_MAX_MASK_READS if has_completion else _MAX_READS)
            fits = [
                fit or self.min_tokens(s, remaining, fuel) <= remaining
                for fit, s in zip(fits, after, strict=True)
            ]
        mask = np.packbits(np.array([*fits, False])[groups.group_of], bitorder="little").view(np.uint32)
        if self.index.automaton.has_distinct:
            state.searched = True
            conflicting = sorted(self._conflicting_tokens(state, after, fits, remaining, groups))
            reached = [self.step(state, token) for token in conflicting]
            for token, is_fitting in zip(
                conflicting, self._fit(reached, remaining, has_completion), strict=True
            ):
                if not is_fitting:
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
            if state.completion and len(state.completion) <= remaining + 1:
                mask[state.completion[0] >> 5] |= np.uint32(1 << (state.completion[0] & 31))
            if not (has_completion or mask.any()):  # no completion was found, so the estimate decides
                mask = mask_of(state, self.index) & self._budget_mask(state, remaining)
        return mask

    def _fit(self, states: list[State], remaining: int, search: bool) -> list[bool]:
        """Return for each state whether `remaining` tokens complete it; with distinct texts, search few states."""
        if not (self.index.automaton.has_distinct and self.index.vocabulary.has_all_bytes):
            return [
                self._quick_upper_bound(s) <= remaining or self.completion_length(s) <= remaining
                for s in states
            ]
        tried, fuel = 0, Fuel(_MAX_MASK_READS)
        fits = [self._rough_upper_bound(state) <= remaining for state in states]
        for i in sorted(range(len(states)), key=lambda i: self.upper_bound(states[i])):
            if not fits[i] and search:
                is_new = states[i].completion is None
                tried += is_new
                if not is_new or (tried <= _MAX_TRIED and fuel.reads > 0):
                    fits[i] = self.completion_length(states[i], fuel) <= remaining
        return fits

    def _conflicting_tokens(
        self, state: State, successors: list[State], fits: list[bool], remaining: int, groups: TokenGroups
    ) -> set[int]:
        """Return the tokens that the completion of their group may repeat; each must be tried by itself.

        All tokens of a group lead to the same frames but write different texts. If the completion of the group's
        representative writes more distinct texts, one of them may be the text that another token of the group starts.
        """
        conflicting: set[int] = set()
        for group, reached in enumerate(successors):
            if not fits[group] or self._rough_upper_bound(reached) <= remaining:
                continue  # no token of the group needs the completion
            tokens = np.flatnonzero(groups.group_of == group)
            if len(tokens) == 1:
                continue
            is_deeper = distinct_depth(state) < distinct_depth(reached)
            if not (is_deeper or open_texts(state)):
                continue
            written = completion_texts(reached, self.index)
            if is_deeper and len(written) > 1:
                conflicting.update(tokens.tolist())
            for prefix in open_texts(state):
                for text in written:
                    if text.startswith(prefix):
                        conflicting.update(self.index.texts.prefix_and_extension_tokens(text[len(prefix) :]))
        return {
            token for token in conflicting if groups.group_of[token] >= 0 and fits[groups.group_of[token]]
        }


def _salt(below: Sequence[Below]) -> int:
    """Return a hash of 63 bits of the frames below others."""
    first, *others = sorted(0 if each is None else id(each) for each in below)
    return hash((first, *others)) & ((1 << 63) - 1) if others else first


def _remember(cache: dict[State, T], state: State, answer: T, max_entries: int = 2048) -> T:
    """Memoize an answer; clear the cache when it is full."""
    if len(cache) >= max_entries:
        cache.clear()
    cache[state] = answer
    return answer
