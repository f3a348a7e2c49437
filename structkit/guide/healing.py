"""Token healing: the last tokens of a prompt, written again together with what follows them.

A prompt that ends in the middle of a text was cut into tokens without what follows: `x = ` ends in a space of its own,
where the tokenizer would have written ` 12` or ` y` as one token. A model has hardly seen a text go on after such a
token. So the last tokens are taken back, and the first tokens of the answer must spell their bytes before they go on
in the language (Lundberg 2023, "The art of prompt design: prompt boundaries and token healing").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.stack import Frame
from structkit.guide.guide import Cursor, Guide
from structkit.guide.state import State, downwards
from structkit.index.index import FAR

__all__ = ["HealedCursor", "healed_tokens"]

_FREE = 1 << 40
"""More tokens than any value needs."""


def healed_tokens(guide: Guide, prompt_ids: Sequence[int]) -> int:
    """How many of the last tokens of a prompt to write again: the fewest without which some token could not be chosen.

    These are the ones that hold the longest end of the prompt which a token goes on from, into the language. The first
    token stays, and so does what is before a control token.

    Args:
        guide: The language that follows the prompt.
        prompt_ids: The prompt.

    Returns:
        The number of tokens; 0 if no token reaches from the prompt into the language.
    """
    tokens, longest, start = guide.vocabulary.tokens, guide.vocabulary.longest, guide.cursor().state
    end = b""
    counts: list[int] = []
    for count, token_id in enumerate(reversed(prompt_ids[1:]), 1):
        text = tokens[token_id] if token_id < len(tokens) else b""
        if not text or len(end) >= longest - 1:
            break
        end = text + end
        counts += [count] * len(text)
    for length in range(min(len(end), longest - 1), 0, -1):
        if _Crossing(guide, start, end[-length:]).mask(None).any():
            return counts[length - 1]
    return 0


class HealedCursor(Cursor):
    """A cursor whose tokens first spell the end of a prompt again; the last of these may go on in the language.

    Budgets and counts of tokens to the end are those of the language alone: a token that spells nothing but the end
    of the prompt takes nothing of them.

    Args:
        guide: The language.
        before: The end of the prompt.

    >>> import structkit as sk
    >>> vocabulary = sk.Vocabulary([b" ", b"t", b"rue", b"false", b" tr", b" no", b"u", b"e"], end_ids=[8])
    >>> cursor = HealedCursor(sk.compile(bool, vocabulary, cache=False), b" ")
    >>> mask = np.zeros(1, np.uint32)
    >>> cursor.fill_mask(mask)
    >>> bin(mask[0]), cursor.forced_bytes()
    ('0b10001', b' ')
    >>> cursor.advance(4)
    >>> cursor.pending, cursor.forced_bytes()
    (b'', b'ue')
    """

    def __init__(self, guide: Guide, before: bytes) -> None:
        super().__init__(guide, guide.cursor().state)
        self._before = before
        self._spelled = [0]
        self._crossings: dict[int, _Crossing] = {}

    @property
    def pending(self) -> bytes:
        """See `Cursor.pending`."""
        return self._before[self._spelled[-1] :]

    @property
    def can_end(self) -> bool:
        """See `Cursor.can_end`."""
        return not self.pending and super().can_end

    @property
    def must_end(self) -> bool:
        """See `Cursor.must_end`."""
        return not self.pending and super().must_end

    def fill_mask(self, out: NDArray[np.uint32], budget: int | None = None) -> None:
        """See `Cursor.fill_mask`."""
        if not self.pending:
            super().fill_mask(out, budget)
            return
        self._check(out)
        out[:] = self._crossing().mask(budget)
        for token in self._inside():
            out[token >> 5] |= np.uint32(1 << (token & 31))

    def advance(self, token_id: int) -> None:
        """See `Cursor.advance`."""
        pending, size = self.pending, self.guide.vocabulary.size
        if not pending:
            super().advance(token_id)
            self._spelled.append(len(self._before))
            return
        text = self.guide.vocabulary.tokens[token_id] if 0 <= token_id < size else b""
        state = self._states[-1]
        if token_id not in self._inside():
            if not text or not int(self._crossing().mask(None)[token_id >> 5]) >> (token_id & 31) & 1:
                raise self._refused(token_id, f"the prompt ends in {pending!r}")
            state = self.guide.read(state, text[len(pending) :])
        self._states.append(state)
        self._tokens.append(token_id)
        self._spelled.append(min(self._spelled[-1] + len(text), len(self._before)))

    def forced_bytes(self) -> bytes:
        """See `Cursor.forced_bytes`."""
        return self.pending + super().forced_bytes()

    def fork(self) -> HealedCursor:
        """See `Cursor.fork`."""
        copy = HealedCursor(self.guide, self._before)
        copy._take_over(self)
        copy._spelled = self._spelled.copy()
        copy._crossings = self._crossings
        return copy

    def rollback(self, n: int) -> None:
        """See `Cursor.rollback`."""
        super().rollback(n)
        del self._spelled[len(self._spelled) - n :]

    def _inside(self) -> list[int]:
        """The tokens that spell nothing but the end of the prompt, or a part after which tokens spell the rest."""
        pending, index, tokens = self.pending, self.guide.index, self.guide.vocabulary.tokens
        return [
            token
            for token in index.beginnings(pending)
            if len(tokens[token]) == len(pending) or index.split(pending[len(tokens[token]) :])
        ]

    def _crossing(self) -> _Crossing:
        at = self._spelled[-1]
        if at not in self._crossings:
            self._crossings[at] = _Crossing(self.guide, self._states[-1], self.pending)
        return self._crossings[at]


class _Crossing:
    """The tokens that begin with a text, and go on in the language from a state.

    Args:
        guide: The language.
        state: Where the text ends in it.
        before: The text, at least one byte.
    """

    def __init__(self, guide: Guide, state: State, before: bytes) -> None:
        self._guide = guide
        self._state = state
        self._before = before
        self._reached: list[tuple[NDArray[np.int32], Frame]] = []
        self._walk()

    def mask(self, budget: int | None) -> NDArray[np.uint32]:
        """uint32[words]: those of them that a budget has room for; see `Cursor.fill_mask`."""
        left = FAR - 1 if budget is None else min(budget, FAR) - 1
        if self._reached and self._growth > left and not self._guide.index.tight:
            self._guide.index.tighten()
            self._walk()
        mask: NDArray[np.uint32] = self._mask if self._growth <= left else self._within(left)
        return self._without_repeats(mask, left) if self._guide.automaton.remembers else mask

    def _walk(self) -> None:
        """Read on from the text, as masks are read on in frames that a token enters by leaving others."""
        index = self._guide.index
        node = index.node(self._before)
        self._mask, self._growth = np.zeros(index.vocabulary.words, np.uint32), 0
        self._reached.clear()
        for frame in self._state.frames if node is not None else ():
            first = np.array([node], np.int32)
            for nodes, at, row in downwards(
                first, frame, lambda nodes, at: index.within(nodes, at, _FREE, 0, None)
            ):
                self._reached.append((nodes, at))
                row.mask.add(self._mask)
                self._growth = max(self._growth, row.growth + index.pending(at) + index.need(at.below))

    def _within(self, left: int) -> NDArray[np.uint32]:
        index = self._guide.index
        mask = np.zeros_like(self._mask)
        for nodes, frame in self._reached:
            below = index.need(frame.below)
            if below <= left:
                index.within(nodes, frame, left - below, 0, None).mask.add(mask)
        return mask

    def _without_repeats(self, mask: NDArray[np.uint32], left: int) -> NDArray[np.uint32]:
        """Rows know nothing of unique texts, so tokens are tried one by one; few begin an array or object."""
        guide, narrow = self._guide, np.zeros_like(mask)
        for token in np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist():
            after = guide.read(self._state, guide.vocabulary.tokens[token][len(self._before) :])
            if after.frames and guide.budgets.fits(after, left):
                narrow[token >> 5] |= np.uint32(1 << (token & 31))
        return narrow
