"""Guides, compiled languages over a vocabulary, and cursors, single sequences that follow a guide."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.automaton import Automaton
from structkit.errors import TokenRejected, VocabularyError
from structkit.guide.budget import Budgets
from structkit.guide.state import State, masks_of
from structkit.guide.state_cache import StateCache
from structkit.index.guide_file import GuideFile
from structkit.index.index import UNREACHABLE, Index
from structkit.index.rows.mask import write_union
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Cursor", "Guide"]

_UINT32 = np.dtype(np.uint32)

_MAX_FORCED_BYTES = 4096
"""Maximum length of forced text returned by one call, in bytes."""

_MAX_STATES = 50_000
"""Maximum number of states in a guide's cache; a state takes about 500 bytes, plus its mask."""


class Guide:
    """A compiled language over a vocabulary, shared by any number of sequences and threads.

    Returned by `structkit.compile`.

    Attributes:
        vocabulary: The tokens.
        automaton: The language.
        reader: Reader of the automaton.
        compile_seconds: Duration of the compilation.
        is_json: Whether all texts of the language are JSON.
        eos_mask: uint32[words], the end tokens.
    """

    def __init__(
        self,
        automaton: Automaton,
        vocabulary: Vocabulary,
        *,
        address: str = "",
        source: bytes = b"",
        guide_file: GuideFile | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.automaton = automaton
        self.compile_seconds = 0.0
        self.is_json = True
        self.index = Index(automaton, vocabulary, address=address, source=source, guide_file=guide_file)
        self.reader = self.index.reader
        self.eos_mask = _packed(vocabulary)
        self._has_all_bytes = vocabulary.has_all_bytes
        self._texts = vocabulary.tokens
        max_states = max(256, min(_MAX_STATES, automaton.limits.row_bytes // (4 * vocabulary.mask_words)))
        self._states = StateCache(self.reader, self._texts, max_states)
        self.budgets = Budgets(self.index, self._states.step)
        self._start = self._states.state(automaton.start_frames(), b"")
        # If every byte is a token, every text can be tokenized, and the automaton accepts at least one text.
        may_be_unspellable = not self._has_all_bytes and self.budgets.upper_bound(self._start) >= UNREACHABLE
        if may_be_unspellable and self.budgets.min_tokens(self._start) >= UNREACHABLE:
            raise VocabularyError(_unspellable_message(automaton, vocabulary))

    def cursor(self) -> Cursor:
        """Return a new cursor at the start of the language."""
        return Cursor(self, self._start)

    def warm_up(self) -> None:
        """Compute the mask of the start state."""
        masks_of(self._start, self.index)

    def precompute(self, max_states: int = 10_000) -> int:
        """Compute the masks of all states reachable by tokens, up to `max_states` states, and save them.

        Returns:
            The number of states visited.
        """
        seen, pending = {self._start}, [self._start]
        while pending and len(seen) < max_states:
            state = pending.pop()
            for token in self.budgets.groups(state).representatives.tolist():
                after = self._states.step(state, token)
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
        self.save()
        return len(seen)

    def save(self) -> None:
        """Write the rules and masks built so far to the disk cache, unless few of them are new."""
        self.index.save()

    def advance(self, state: State, token_id: int) -> State | None:
        """Return the state after a token, or `None` if the mask forbids it; `Cursor` handles end tokens."""
        after = state.successors.get(token_id)
        if after is None:
            if not 0 <= token_id < len(self._texts) or not self._texts[token_id]:
                return None
            after = self._states.compute_successor(state, token_id)
        if not after.frames or not (self._has_all_bytes or self._can_complete_after(state, token_id)):
            return None
        if state.searched:
            self.budgets.inherit_completion(state, token_id, after)
        return after

    def advance_bytes(self, state: State, text: bytes) -> State:
        """Return the state after a text; a state without frames if the language does not allow the text."""
        return self._states.state(*self.reader.read(state.frames, state.buffer, text))

    def forced_bytes(self, state: State) -> bytes:
        """Return the bytes that must come next; see `Cursor.forced_bytes`."""
        if state.forced is None:
            frames, buffer = state.frames, state.buffer
            forced = bytearray()
            while not self.automaton.is_accepting(frames) and len(forced) < _MAX_FORCED_BYTES:
                byte = self.automaton.sole_byte(frames)
                if byte is None:
                    break
                forced.append(byte)
                frames, buffer = self.reader.read(frames, buffer, bytes((byte,)))
            state.forced = bytes(forced)
        return state.forced

    def fill_mask(self, state: State, budget: int | None, out: NDArray[np.uint32]) -> None:
        """Write the mask of the allowed tokens, without the end tokens; see `Cursor.fill_mask`."""
        masks = state.masks
        if masks is None:
            masks = masks_of(state, self.index)
        if budget is None and self._has_all_bytes:
            write_union(masks, out)
            return
        remaining = UNREACHABLE - 1 if budget is None else min(budget, UNREACHABLE) - 1
        if self.budgets.every_token_fits(state, remaining):
            write_union(masks, out)
        else:
            out[:] = self.budgets.mask(state, remaining)

    def has_continuation(self, state: State) -> bool:
        """Return whether a token other than an end token is allowed."""
        if self._has_all_bytes:
            return any(mask.any() for mask in masks_of(state, self.index))
        return bool(self.budgets.mask(state, UNREACHABLE - 1).any())

    def _can_complete_after(self, state: State, token_id: int) -> bool:
        """Return whether tokens can spell the rest of a value after a token that the language allows."""
        if self.budgets.every_token_fits(state, UNREACHABLE - 1):
            return True
        return bool(int(self.budgets.mask(state, UNREACHABLE - 1)[token_id >> 5]) >> (token_id & 31) & 1)


class Cursor:
    """One sequence that follows a guide. Mutable and not thread-safe.

    A cursor allows values of any depth, while pydantic rejects JSON nested more than 200 levels deep. A custom loop
    that may reach this depth can end the value with `budget=cursor.min_tokens_to_end()`.

    >>> from structkit.testing import byte_vocabulary
    >>> import structkit as sk
    >>> cursor = sk.compile(bool, byte_vocabulary()).cursor()
    >>> cursor.advance(ord("t"))
    >>> cursor.forced_bytes()
    b'rue'
    """

    def __init__(self, guide: Guide, state: State) -> None:
        self.guide = guide
        self._states = [state]
        self._tokens: list[int] = []
        self._terminated = False

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens so far, including end tokens."""
        return tuple(self._tokens)

    @property
    def state(self) -> State:
        """The current parse state."""
        return self._states[-1]

    @property
    def pending_prompt(self) -> bytes:
        """The suffix of the prompt that must still be spelled; see `HealedCursor`."""
        return b""

    @property
    def is_accepting(self) -> bool:
        """Whether the value is complete, so that an end token is allowed."""
        return self._states[-1].is_accepting

    @property
    def is_terminated(self) -> bool:
        """Whether an end token was taken."""
        return self._terminated

    @property
    def is_finished(self) -> bool:
        """Whether nothing but an end token can follow."""
        state = self._states[-1]
        return self._terminated or (state.is_accepting and not self.guide.has_continuation(state))

    def fill_mask(self, out: NDArray[np.uint32], budget: int | None = None) -> None:
        """Write the mask of the tokens that may come next.

        Args:
            out: uint32[ceil(vocabulary.size / 32)]; bit t % 32 of word t // 32 is set if token t is allowed. End
                tokens are allowed if the value is complete; after an end token, only end tokens are allowed.
            budget: The number of tokens that may still be written, including the next one and excluding the end token.
                Only tokens after which the value can be completed within the budget are allowed.

        Raises:
            ValueError: `out` has the wrong shape or dtype.
        """
        self._check(out)
        state = self._states[-1]
        if self._terminated or (budget is not None and budget <= 0):
            out[:] = 0
        else:
            self.guide.fill_mask(state, budget, out)
        if state.is_accepting:
            out |= self.guide.eos_mask

    def advance(self, token_id: int) -> None:
        """Append a token to the sequence.

        Raises:
            TokenRejected: The mask forbids the token; the cursor is unchanged.
        """
        state = self._states[-1]
        if token_id in self.guide.vocabulary.eos_token_ids:
            if not (state.is_accepting or self._terminated):
                raise self._rejected(token_id, "the value is not complete")
            self._terminated = True
            self._states.append(state)
        else:
            after = None if self._terminated else self.guide.advance(state, token_id)
            if after is None:
                raise self._rejected(
                    token_id, "the text has ended" if self._terminated else "the language does not allow it"
                )
            self._states.append(after)
        self._tokens.append(token_id)

    def min_tokens_to_end(self) -> int:
        """Return the minimum number of tokens that complete the value, excluding the end token."""
        return self.guide.budgets.min_tokens(self._states[-1])

    def fits(self, budget: int) -> bool:
        """Return whether the value can be completed within `budget` more tokens."""
        return self.guide.budgets.fits(self._states[-1], budget)

    def forced_bytes(self) -> bytes:
        """Return the bytes that must come next; empty if there is a choice or the value may end."""
        return b"" if self._terminated else self.guide.forced_bytes(self._states[-1])

    def fork(self) -> Cursor:
        """Return an independent copy of the cursor."""
        copy = Cursor(self.guide, self._states[0])
        copy._copy_from(self)
        return copy

    def rollback(self, n: int) -> None:
        """Remove the last `n` tokens.

        Raises:
            ValueError: The sequence has fewer than `n` tokens.
        """
        if not 0 <= n <= len(self._tokens):
            raise ValueError(f"cannot roll back {n} of {len(self._tokens)} tokens")
        if n:
            del self._states[-n:], self._tokens[-n:]
            self._terminated = bool(self._tokens) and self._tokens[-1] in self.guide.vocabulary.eos_token_ids

    def _copy_from(self, other: Cursor) -> None:
        self._states = other._states.copy()
        self._tokens = other._tokens.copy()
        self._terminated = other._terminated

    def _check(self, out: NDArray[np.uint32]) -> None:
        shape = self.guide.eos_mask.shape
        if out.shape != shape or out.dtype != _UINT32:
            raise ValueError(f"out must be uint32[{shape[0]}], not {out.dtype}{list(out.shape)}")

    def _rejected(self, token_id: int, reason: str) -> TokenRejected:
        vocabulary = self.guide.vocabulary
        text = vocabulary.tokens[token_id] if 0 <= token_id < vocabulary.size else None
        name = f"token {token_id}" if text is None else f"token {token_id} ({text!r})"
        return TokenRejected(token_id, f"{name} is not allowed: {reason}", place=f"token {len(self._tokens)}")


@lru_cache(maxsize=4)
def _packed(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """Return the end tokens as a mask, uint32[words]."""
    ends = np.zeros(32 * vocabulary.mask_words, bool)
    ends[list(vocabulary.eos_token_ids)] = True
    packed = np.packbits(ends, bitorder="little").view(np.uint32)
    packed.setflags(write=False)
    return packed


def _unspellable_message(automaton: Automaton, vocabulary: Vocabulary) -> str:
    missing = bytes(
        sorted(automaton.bytes_used() - {token[0] for token in vocabulary.tokens if len(token) == 1})
    )
    return (
        "no sequence of tokens spells any text of the target; "
        f"the target uses these bytes, which are not tokens: {missing!r}"
    )
