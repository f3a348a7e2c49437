"""A guide inside of transformers' own loop: for those who keep `model.generate(...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from structkit.errors import TokenRefused
from structkit.generate.output.json_reader import JsonReader
from structkit.guide.guide import Cursor, Guide
from structkit.lru_cache import LruCache

if TYPE_CHECKING:
    import torch

__all__ = ["LogitsProcessor"]

_KEPT = 4_096
"""Sequences that are remembered; one that is not is read again from its start."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a row stands, and what reads its text, if that is JSON."""

    cursor: Cursor
    reader: JsonReader | None

    def fork(self) -> _Place:
        return _Place(self.cursor.fork(), None if self.reader is None else self.reader.fork())

    def advance(self, token: int) -> None:
        """Take a token; what follows the end, which is padding, is not looked at."""
        if not self.cursor.ended:
            self.cursor.advance(token)
        if self.reader is not None and not self.cursor.ended:
            self.reader.read(self.cursor.guide.vocabulary.tokens[token])

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        """Write what may follow; JSON that is very deep has only room for its end."""
        deep = self.reader is not None and self.reader.is_deep
        self.cursor.fill_mask(mask, self.cursor.tokens_to_end() if deep else None)


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
        self._length = self._longest = 0
        self._places: LruCache[tuple[int, ...], _Place | None] = LruCache(_KEPT)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Write -inf over the logits of tokens that may not follow.

        Args:
            input_ids: int64[rows, tokens], the prompts and what was written after them.
            scores: float[rows, width], changed in place.

        Returns:
            The scores.
        """
        from structkit.generate.sample.select_torch import put_mask

        rows = [tuple(row) for row in input_ids.tolist()]
        if not self._goes_on(rows):
            self._begin(rows)
        self._longest = max(self._longest, len(rows[0]) if rows else 0)
        masks = np.zeros((len(rows), self.guide.vocabulary.words), np.uint32)
        for row, mask in zip(rows, masks, strict=True):
            place = self._place(row[self._length :])
            if place is not None:
                place.fill_mask(mask)
            else:  # the logits of a row must not all be -inf
                for end in self.guide.vocabulary.end_ids:
                    mask[end >> 5] |= np.uint32(1 << (end & 31))
        put_mask(scores, masks)
        return scores

    def _begin(self, rows: list[tuple[int, ...]]) -> None:
        self._prompts = set(rows)
        self._length = self._longest = len(rows[0]) if rows else 0
        self._places.clear()

    def _goes_on(self, rows: list[tuple[int, ...]]) -> bool:
        """Whether the rows go on from the prompts of the calls before; else another generation has begun.

        A generation looks one token further than it did, or back. Where fewer tokens are allowed than a beam search
        follows beams, it fills up with rows of probability 0: those are refused, and the others go on.
        """
        if not rows or not self._length < len(rows[0]) <= self._longest + 1:
            return False
        if any(row[: self._length] not in self._prompts for row in rows):
            return False
        return any(self._place(row[self._length :]) is not None for row in rows)

    def _place(self, written: tuple[int, ...]) -> _Place | None:
        """Where a row stands; `None` if the language refuses it."""
        if written in self._places:
            return self._places.get(written)
        before = self._places.get(written[:-1]) if written else None
        start = _Place(self.guide.cursor(), JsonReader() if self.guide.is_json else None)
        found = start if before is None else before.fork()
        place: _Place | None = found
        try:
            for token in written if before is None else written[-1:]:
                found.advance(token)
        except TokenRefused:
            place = None
        self._places.put(written, place)
        return place
