"""Parse states of a guide: a compiled step at every token, and Python where a budget or a distinct text decides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.memory import Memory
from structkit.automaton.runtime.configurations import Configurations
from structkit.automaton.runtime.frame_kernels import REJECTED
from structkit.automaton.runtime.parse_kernels import advance, upper_bound
from structkit.errors import VocabularyError
from structkit.guide.budget import Budgets
from structkit.guide.state import State, States, masks_of
from structkit.index.index import UNREACHABLE, Index
from structkit.index.mask_builder import MaskBuilder, vocabulary_memory
from structkit.index.rows.mask import write_union
from structkit.index.rows.mask_kernels import (
    CONFIGURATION,
    LIMIT,
    OUT_ROW,
    PLAN_COLUMNS,
    RESULT,
    write_mask,
)
from structkit.index.rows.row_kernels import DONE, SLOTS

__all__ = ["Parser"]

_MAX_FORCED_BYTES = 4096
"""Maximum length of forced text returned by one call, in bytes."""

_MIN_BYTES = 1 << 18
"""Maximum size of the arrays if the limit is smaller: room for a few long texts."""

_BYTES_PER_CONFIGURATION = 64
"""Size of a configuration in the arrays, approximately."""

_MAX_STATES = 50_000
"""Maximum number of `State` objects; one takes about 500 bytes, plus its mask."""

_MAX_PLACES = 64
"""Rules that are examined for the place of an error."""

_NO_BUDGET = 1 << 40
"""More tokens than any value needs."""


class Parser:
    """Advances configurations of an index and computes their masks, until its arrays are full.

    Every method raises `Outdated` when the arrays are full; then a new parser continues from the frames of the
    configurations.

    Args:
        index: The masks of frames.
        configurations: The number of configurations to make room for beyond the limit.

    Attributes:
        start: The configuration of the empty text.
    """

    def __init__(self, index: Index, configurations: int = 0) -> None:
        # Read before the distances: if they become exact in between, they count twice, which is safe.
        self._is_exact = index.is_exact
        limit = max(index.automaton.limits.row_bytes, _MIN_BYTES)
        memory = Memory(SLOTS, vocabulary_memory(index.vocabulary, index.automaton.limits.parse_states))
        self._context = memory.context
        self._index = index
        self._configurations = Configurations(
            index.reader,
            lambda: index.token_distances,
            memory,
            limit + _BYTES_PER_CONFIGURATION * configurations,
        )
        self._masks = MaskBuilder(self._configurations, index, limit)
        max_states = max(256, min(_MAX_STATES, limit // (4 * index.vocabulary.mask_words)))
        self._states = States(self._configurations, max_states)
        self._has_all_bytes = index.vocabulary.has_all_bytes
        self._unlimited = _NO_BUDGET if self._has_all_bytes else UNREACHABLE - 1
        self.start = self._configurations.start

    @cached_property
    def budgets(self) -> Budgets:
        """Answers questions about budgets."""
        return Budgets(self._index, self._states.step, self._configurations.advance, self._context)

    @property
    def size(self) -> int:
        """The number of frames, lists and rows in the arrays."""
        return self._configurations.size + self._masks.size

    def advance(self, configuration: int, token_id: int) -> int:
        """Return the configuration after a token; negative if the mask forbids the token."""
        after: int = advance(self._context, configuration, token_id)
        if after < REJECTED:
            after = self._configurations.advance(configuration, token_id)
        if after < 0 or not (self._has_all_bytes or self._can_complete_after(configuration, token_id)):
            return -1
        state = self._states.get(configuration)
        if state is not None and (state.completion or state.searched):
            self._pass_completion(state, token_id)
        return after

    def advance_bytes(self, configuration: int, text: bytes) -> int:
        """Return the configuration after a text; negative if the language does not allow the text."""
        return self._configurations.advance_bytes(configuration, text)

    def forced_bytes(self, configuration: int) -> bytes:
        """Return the bytes that must come next; see `Cursor.forced_bytes`."""
        return self._configurations.forced_bytes(configuration, _MAX_FORCED_BYTES)

    def fill_mask(self, configuration: int, budget: int | None, out: NDArray[np.uint32]) -> None:
        """Write the mask of the allowed tokens, with the end tokens if the text may end; see `Cursor.fill_mask`."""
        remaining = self._remaining(budget)
        limit = self._limit(remaining)
        result = write_mask(self._context, configuration, limit, out)
        if result == DONE or self._masks.write(configuration, limit, out, result) == DONE:
            return
        state = self.state(configuration)
        if remaining == _NO_BUDGET or self.budgets.every_token_fits(state, remaining):
            write_union(masks_of(state, self._index), out)
        else:
            state.is_asked = True
            out[:] = self.budgets.mask(state, remaining)
        if state.is_accepting:
            for token in self._index.vocabulary.eos_token_ids:
                out[token >> 5] |= np.uint32(1 << (token & 31))

    def fill_masks(
        self,
        configurations: Sequence[int],
        budgets: Sequence[int | None] | None,
        rows: Sequence[int],
        out: NDArray[np.uint32],
    ) -> list[int]:
        """Write the masks of a batch that need no new rows and no counts of tokens.

        Args:
            configurations: One for each mask.
            budgets: As in `fill_mask`, one for each mask.
            rows: The row of `out` that receives each mask.
            out: uint32[rows, words], C-contiguous.

        Returns:
            The rows that are not written; `fill_mask` writes them.
        """
        plan = np.empty((len(configurations), PLAN_COLUMNS), np.int64)
        plan[:, CONFIGURATION] = configurations
        plan[:, OUT_ROW] = rows
        if budgets is None:
            plan[:, LIMIT] = self._limit(self._unlimited)
        else:
            plan[:, LIMIT] = [self._limit(self._remaining(budget)) for budget in budgets]
        self._masks.write_many(plan, out)
        failed = plan[:, RESULT] != DONE
        return plan[failed, OUT_ROW].tolist() if failed.any() else []

    def _remaining(self, budget: int | None) -> int:
        """Return the tokens that may follow the next one."""
        # A budget too large for a counter is unlimited.
        return budget - 1 if budget is not None and budget < UNREACHABLE - 1 else self._unlimited

    def _limit(self, remaining: int) -> int:
        """Return the cost that a mask may have; distances that are not exact count twice, as in `Budgets`."""
        return remaining if self._is_exact else remaining // 2

    def has_continuation(self, configuration: int) -> bool:
        """Return whether a token other than an end token is allowed."""
        out = np.empty(self._index.vocabulary.mask_words, np.uint32)
        if self._masks.write(configuration & ~1, self._unlimited, out) == DONE:
            return bool(out.any())
        state = self.state(configuration)
        if self._has_all_bytes:
            return any(mask.any() for mask in masks_of(state, self._index))
        return bool(self.budgets.mask(state, UNREACHABLE - 1).any())

    def min_tokens(self, configuration: int) -> int:
        """Return the minimum number of tokens that complete the value; see `Cursor.min_tokens_to_end`."""
        return self.budgets.min_tokens(self.state(configuration))

    def fits(self, configuration: int, budget: int) -> bool:
        """Return whether the value can be completed within `budget` more tokens."""
        bound = upper_bound(self._context, configuration)
        if 0 <= (bound if self._is_exact else 2 * bound) <= budget:
            return True
        return self.budgets.fits(self.state(configuration), budget)

    def check_spelling(self) -> None:
        """Check that tokens spell a text of the language.

        Raises:
            VocabularyError: No sequence of tokens spells a text, or none was found with enough distinct items.
        """
        if not self._is_spelled(self.start):
            raise _unspelled(self._index, self._unspelled_rule())

    def _is_spelled(self, configuration: int) -> bool:
        """Return whether tokens are known to spell a rest of the text."""
        state, budgets = self.state(configuration), self.budgets
        if not self._index.automaton.has_distinct:
            return min(budgets.upper_bound(state), budgets.min_tokens(state)) < UNREACHABLE
        # The bounds may count a text several times. `min_tokens` searches longer for a completion.
        found = budgets.completion_length(state) < UNREACHABLE or budgets.min_tokens(state) < UNREACHABLE
        return found and budgets.completion_length(state) < UNREACHABLE

    def _unspelled_rule(self) -> int | None:
        """Return the last rule that requires distinct texts and of which no text is spelled, if one is found."""
        automaton, distinct, found = self._index.automaton, self._index.reader.distinct, None
        for rule in automaton.built[:_MAX_PLACES] if automaton.has_distinct else ():
            if distinct.requires_distinct(rule, only_finite=False)[0]:
                frames = automaton.epsilon_closure([automaton.frame(automaton.start_state(rule))])
                if not self._is_spelled(self._configurations.number(frames, b"")):
                    found = rule
        return found

    def state(self, configuration: int) -> State:
        """Return the Python view of a configuration."""
        return self._states.state(configuration)

    def adopt(self, other: Parser, configuration: int) -> int:
        """Return the configuration of this parser for one of another, with the completion that is known for it."""
        adopted = self._configurations.number(*other._configurations.frames(configuration))
        known = other._states.get(configuration)
        if known is not None and known.completion:
            state = self.state(adopted)
            state.completion, state.is_asked = known.completion, True
        return adopted

    def _can_complete_after(self, configuration: int, token_id: int) -> bool:
        """Return whether tokens can spell the rest of a value after a token that the language allows."""
        state, remaining = self.state(configuration), UNREACHABLE - 1
        if self.budgets.every_token_fits(state, remaining):
            return True
        return bool(int(self.budgets.mask(state, remaining)[token_id >> 5]) >> (token_id & 31) & 1)

    def _pass_completion(self, state: State, token_id: int) -> None:
        """Set the completion of the state after a token to the rest of one that starts with the token or its group."""
        after = self._states.step(state, token_id)
        after.is_asked = True
        if state.searched:
            self.budgets.inherit_completion(state, token_id, after)


def _unspelled(index: Index, rule: int | None) -> VocabularyError:
    """Return the error of a target of which tokens spell no text, because of a rule that requires distinct texts."""
    tokens = index.vocabulary.tokens
    missing = bytes(
        sorted(index.automaton.tables.bytes_used() - {token[0] for token in tokens if len(token) == 1})
    )
    lacking = f"the target uses these bytes, which are not tokens: {missing!r}"
    if rule is None:
        return VocabularyError(f"no sequence of tokens spells any text of the target; {lacking}")
    return VocabularyError(
        f"no sequence of tokens was found that spells as many different items or keys as are required, and {lacking}; "
        "require fewer, or pass a vocabulary with all bytes",
        place=index.automaton.builder.place(rule),
    )
