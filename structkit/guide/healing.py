"""Token healing: the last tokens of a prompt are removed, and generated again together with the text after them.

A prompt is tokenized without the text that follows it: `x = ` ends in a separate token for the space, where the
tokenizer would write ` 12` or ` y` as one token. Models have rarely seen a text continue after such a token. Therefore
the last tokens are removed, and the first tokens of the answer must spell their bytes before they continue in the
language (Lundberg 2023, "The art of prompt design: prompt boundaries and token healing").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.stack import Frame
from structkit.guide.guide import Cursor, Guide
from structkit.guide.parser import Parser
from structkit.guide.state import State, rows_below
from structkit.index.index import UNREACHABLE, Index
from structkit.limits import Work

__all__ = ["HealedCursor", "count_healed_tokens"]

_UNLIMITED = 1 << 40
"""A budget larger than any value needs."""


def count_healed_tokens(guide: Guide, prompt_ids: Sequence[int]) -> int:
    """Return how many of the last prompt tokens to generate again.

    They cover the longest suffix of the prompt that starts a token which continues into the language. The first token
    is kept, and so are control tokens and the tokens before them.

    Args:
        guide: The language that follows the prompt.
        prompt_ids: The prompt.

    Returns:
        The number of tokens; 0 if no token starts in the prompt and continues into the language.
    """
    tokens, max_length = guide.vocabulary.tokens, guide.vocabulary.max_token_length
    suffix = b""
    counts: list[int] = []
    for count, token_id in enumerate(reversed(prompt_ids[1:]), 1):
        text = tokens[token_id] if token_id < len(tokens) else b""
        if not text or len(suffix) >= max_length - 1:
            break
        suffix = text + suffix
        counts += [count] * len(text)
    for length in range(min(len(suffix), max_length - 1), 0, -1):
        if HealedCursor(guide, suffix[-length:]).can_cross():
            return counts[length - 1]
    return 0


class HealedCursor(Cursor):
    """A cursor whose first tokens spell a suffix of the prompt; the last of them may continue into the language.

    Budgets and counts of tokens to the end cover the language only: tokens that lie completely within the prompt's
    suffix do not count.

    Args:
        guide: The language.
        prompt_suffix: The suffix of the prompt to spell.

    >>> import structkit as sk
    >>> vocabulary = sk.Vocabulary([b" ", b"t", b"rue", b"false", b" tr", b" no", b"u", b"e"], eos_token_ids=[8])
    >>> cursor = HealedCursor(sk.compile(bool, vocabulary, cache=False), b" ")
    >>> mask = np.zeros(1, np.uint32)
    >>> cursor.fill_mask(mask)
    >>> bin(mask[0]), cursor.forced_bytes()
    ('0b10001', b' ')
    >>> cursor.advance(4)
    >>> cursor.pending_prompt, cursor.forced_bytes()
    (b'', b'ue')
    """

    def __init__(self, guide: Guide, prompt_suffix: bytes) -> None:
        super().__init__(guide)
        self._prompt_suffix = prompt_suffix
        self._offsets = [0]
        self._crossings: dict[int, _Crossing] = {}

    @property
    def pending_prompt(self) -> bytes:
        """See `Cursor.pending_prompt`."""
        return self._prompt_suffix[self._offsets[-1] :]

    def continuing_mask(self) -> NDArray[np.uint32] | None:
        """See `Cursor.continuing_mask`."""
        if not self.pending_prompt:
            return None
        mask = np.zeros(self.guide.vocabulary.mask_words, np.uint32)
        tokens = np.array(self.guide.index.texts.prefix_and_extension_tokens(self.pending_prompt), np.int64)
        np.bitwise_or.at(mask, tokens >> 5, np.left_shift(1, tokens & 31).astype(np.uint32))
        return mask

    @property
    def is_accepting(self) -> bool:
        """See `Cursor.is_accepting`."""
        return not self.pending_prompt and super().is_accepting

    @property
    def is_finished(self) -> bool:
        """See `Cursor.is_finished`."""
        return not self.pending_prompt and super().is_finished

    def fill_mask(self, out: NDArray[np.uint32], budget: int | None = None) -> None:
        """See `Cursor.fill_mask`."""
        if not self.pending_prompt:
            super().fill_mask(out, budget)
            return
        self._check(out)
        out[:] = self._crossing_mask(budget)
        for token in self._suffix_tokens():
            out[token >> 5] |= np.uint32(1 << (token & 31))

    def advance(self, token_id: int) -> None:
        """See `Cursor.advance`."""
        pending, size = self.pending_prompt, self.guide.vocabulary.size
        if not pending:
            super().advance(token_id)
            self._offsets.append(len(self._prompt_suffix))
            return
        text = self.guide.vocabulary.tokens[token_id] if 0 <= token_id < size else b""
        configuration = self._configurations[-1]
        if token_id not in self._suffix_tokens():
            if not text or not int(self._crossing_mask(None)[token_id >> 5]) >> (token_id & 31) & 1:
                raise self._rejected(token_id, f"the prompt ends in {pending!r}")
            configuration = self._ask(
                lambda parser, before: parser.advance_bytes(before, text[len(pending) :])
            )
        self._configurations.append(configuration)
        self._tokens.append(token_id)
        self._offsets.append(min(self._offsets[-1] + len(text), len(self._prompt_suffix)))

    def forced_bytes(self) -> bytes:
        """See `Cursor.forced_bytes`."""
        return self.pending_prompt + super().forced_bytes()

    def fork(self) -> HealedCursor:
        """See `Cursor.fork`."""
        copy = HealedCursor(self.guide, self._prompt_suffix)
        copy._copy_from(self)
        copy._offsets = self._offsets.copy()
        copy._crossings = self._crossings
        return copy

    def rollback(self, n: int) -> None:
        """See `Cursor.rollback`."""
        super().rollback(n)
        del self._offsets[len(self._offsets) - n :]

    def _suffix_tokens(self) -> list[int]:
        """Return the tokens that spell the pending suffix, or a prefix of it whose rest can be tokenized."""
        pending, index, tokens = self.pending_prompt, self.guide.index, self.guide.vocabulary.tokens
        return [
            token
            for token in index.texts.prefix_tokens(pending)
            if len(tokens[token]) == len(pending) or index.texts.tokenize(pending[len(tokens[token]) :])
        ]

    def can_cross(self) -> bool:
        """Return whether a token starts with the pending suffix and continues into the language."""
        return bool(self._crossing_mask(None).any())

    def _crossing_mask(self, budget: int | None) -> NDArray[np.uint32]:
        """Return the tokens that start with the pending suffix and continue into the language."""

        def mask(parser: Parser, configuration: int) -> NDArray[np.uint32]:
            offset = self._offsets[-1]
            if offset not in self._crossings:
                state = parser.state(configuration)
                self._crossings[offset] = _Crossing(self.guide.index, parser, state, self.pending_prompt)
            return self._crossings[offset].mask(budget)

        return self._ask(mask)

    def _continue_with(self, parser: Parser) -> None:
        super()._continue_with(parser)
        self._crossings = {}


class _Crossing:
    """The tokens that start with a prefix and continue in the language from a state.

    Args:
        index: The masks of the language.
        parser: The parse states.
        state: The state after the prefix.
        prefix: At least one byte.
    """

    def __init__(self, index: Index, parser: Parser, state: State, prefix: bytes) -> None:
        self._index = index
        self._parser = parser
        self._state = state
        self._prefix = prefix
        self._reached: list[tuple[NDArray[np.int32], Frame]] = []
        self._walk()

    def mask(self, budget: int | None) -> NDArray[np.uint32]:
        """Return the tokens that fit a budget, as uint32[words]; see `Cursor.fill_mask`."""
        remaining = UNREACHABLE - 1 if budget is None else min(budget, UNREACHABLE) - 1
        if self._reached and self._max_cost_after > remaining and not self._index.is_exact:
            self._index.make_exact()
            self._walk()
        mask: NDArray[np.uint32] = (
            self._mask if self._max_cost_after <= remaining else self._budget_mask(remaining)
        )
        return self._without_repeats(mask, remaining) if self._index.automaton.has_distinct else mask

    def _walk(self) -> None:
        """Collect the rows from the trie node of the prefix, as for a frame that a token enters from a called rule."""
        index = self._index
        node = index.texts.trie_node(self._prefix)
        self._mask, self._max_cost_after = np.zeros(index.vocabulary.mask_words, np.uint32), 0
        self._reached.clear()
        for frame in self._state.frames if node is not None else ():
            first = np.array([node], np.int32)
            for nodes, at, row in rows_below(
                index.automaton,
                [(first, frame)],
                lambda nodes, at: index.row_within_budget(nodes, at, _UNLIMITED, 0, None),
                Work(index.automaton.limits.work),
            ):
                self._reached.append((nodes, at))
                row.mask.or_into(self._mask)
                self._max_cost_after = max(
                    self._max_cost_after,
                    row.max_cost_after + index.pending_tokens(at) + index.upper_bound(at.below),
                )

    def _budget_mask(self, remaining: int) -> NDArray[np.uint32]:
        index = self._index
        mask = np.zeros_like(self._mask)
        for nodes, frame in self._reached:
            below = index.upper_bound(frame.below)
            if below <= remaining:
                index.row_within_budget(nodes, frame, remaining - below, 0, None).mask.or_into(mask)
        return mask

    def _without_repeats(self, mask: NDArray[np.uint32], remaining: int) -> NDArray[np.uint32]:
        """Remove the tokens that repeat a distinct text.

        Rows do not depend on the texts seen, so tokens are tried one by one; few tokens start an array or object.
        """
        tokens, allowed = self._index.vocabulary.tokens, np.zeros_like(mask)
        for token in np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist():
            rest = tokens[token][len(self._prefix) :]
            after = self._parser.advance_bytes(self._state.configuration, rest)
            if after >= 0 and self._parser.fits(after, remaining):
                allowed[token >> 5] |= np.uint32(1 << (token & 31))
        return allowed
