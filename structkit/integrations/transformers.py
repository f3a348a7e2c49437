"""A guide inside of transformers' own loop: for those who keep `model.generate(...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from structkit.errors import TokenRejected
from structkit.generate.output.json_reader import JsonReader
from structkit.guide.guide import Cursor, Guide
from structkit.lru_cache import LruCache

if TYPE_CHECKING:
    import torch

__all__ = ["LogitsProcessor"]

_MAX_STATES = 4_096
"""Sequences that are remembered; one that is not is read again from its start."""


@dataclass(frozen=True, slots=True)
class _RowState:
    """Where a row stands, and what reads its text, if that is JSON."""

    cursor: Cursor
    reader: JsonReader | None

    def fork(self) -> _RowState:
        return _RowState(self.cursor.fork(), None if self.reader is None else self.reader.fork())

    def advance(self, token: int) -> None:
        """Take a token; what follows the end, which is padding, is not looked at."""
        if not self.cursor.is_terminated:
            self.cursor.advance(token)
        if self.reader is not None and not self.cursor.is_terminated:
            self.reader.read(self.cursor.guide.vocabulary.tokens[token])

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        """Write what may follow; JSON that is very deep has only room for its end."""
        deep = self.reader is not None and self.reader.is_deep
        self.cursor.fill_mask(mask, self.cursor.min_tokens_to_end() if deep else None)


class LogitsProcessor:
    """Masks the logits of `model.generate(..., logits_processor=[...])` so that only values of a target come out.

    What a row has written is read from `input_ids` itself, so batches, beams that change places, candidates that a
    model with the same tokens drafts, and one processor for several calls, one after the other, are all the same to it.
    Only a prompt that is the one before with a beginning of its answer needs a processor of its own, for it looks as if
    that call went on; and so does each thread. structkit's own functions are faster, never cut a value at
    `max_new_tokens`, and return validated values; this is for loops that must stay. The prompt is as it was given: its
    last tokens are not healed, as those of a plain text are elsewhere.

    Args:
        guide: The target's guide over the model's vocabulary: `structkit.compile(target, vocabulary)`.

    >>> import torch
    >>> import structkit as sk
    >>> from structkit.testing import byte_vocabulary
    >>> processor = sk.LogitsProcessor(sk.compile(bool, byte_vocabulary()))
    >>> scores = processor(torch.tensor([[7]]), torch.zeros(1, 257))
    >>> bytes(torch.isfinite(scores[0]).nonzero().flatten().tolist())
    b'ft'
    """

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self._prompts: set[tuple[int, ...]] = set()
        self._length = self._max_length = 0
        self._states: LruCache[tuple[int, ...], _RowState | None] = LruCache(_MAX_STATES)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Write -inf over the logits of tokens that may not follow.

        Args:
            input_ids: int64[rows, tokens], the prompts and what was written after them.
            scores: float[rows, width], changed in place.

        Returns:
            The scores.
        """
        from structkit.generate.sample.select_torch import apply_masks

        rows = [tuple(row) for row in input_ids.tolist()]
        if not self._continues(rows):
            self._start(rows)
        self._max_length = max(self._max_length, len(rows[0]) if rows else 0)
        masks = np.zeros((len(rows), self.guide.vocabulary.mask_words), np.uint32)
        for row, mask in zip(rows, masks, strict=True):
            place = self._state_after(row[self._length :])
            if place is not None:
                place.fill_mask(mask)
            else:  # the logits of a row must not all be -inf
                for end in self.guide.vocabulary.eos_token_ids:
                    mask[end >> 5] |= np.uint32(1 << (end & 31))
        apply_masks(scores, masks)
        return scores

    def _start(self, rows: list[tuple[int, ...]]) -> None:
        self._prompts = set(rows)
        self._length = self._max_length = len(rows[0]) if rows else 0
        self._states.clear()

    def _continues(self, rows: list[tuple[int, ...]]) -> bool:
        """Whether the rows go on from the prompts of the calls before; else another generation has begun.

        A generation looks one token further than it did, or back. Where fewer tokens are allowed than a beam search
        follows beams, it fills up with rows of probability 0: those are refused, and the others go on.
        """
        if not rows or not self._length < len(rows[0]) <= self._max_length + 1:
            return False
        if any(row[: self._length] not in self._prompts for row in rows):
            return False
        return any(self._state_after(row[self._length :]) is not None for row in rows)

    def _state_after(self, token_ids: tuple[int, ...]) -> _RowState | None:
        """Where a row stands; `None` if the language refuses it."""
        if token_ids in self._states:
            return self._states.get(token_ids)
        before = self._states.get(token_ids[:-1]) if token_ids else None
        start = _RowState(self.guide.cursor(), JsonReader() if self.guide.is_json else None)
        found = start if before is None else before.fork()
        place: _RowState | None = found
        try:
            for token in token_ids if before is None else token_ids[-1:]:
                found.advance(token)
        except TokenRejected:
            place = None
        self._states.put(token_ids, place)
        return place
