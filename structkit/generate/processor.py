"""A guide inside of transformers' own loop: for those who keep `model.generate(...)`."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from structkit.errors import TokenRefused
from structkit.guide.guide import Cursor, Guide

if TYPE_CHECKING:
    import torch

__all__ = ["LogitsProcessor"]

_KEPT = 4_096
"""Sequences that are remembered; one that is not is read again from its start."""


class LogitsProcessor:
    """Masks the logits of `model.generate(..., logits_processor=[...])` so that only values of a target come out.

    What a row has written is read from `input_ids` itself, so batches, beams that change places, candidates of
    assisted generation, and one processor for several calls are all the same to it. structkit's own functions are
    faster, never cut a value at `max_new_tokens`, and return validated values; this is for loops that must stay. The
    prompt is as it was given: its last tokens are not healed, as those of a plain text are elsewhere.

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
        self._length = 0
        self._cursors: OrderedDict[tuple[int, ...], Cursor] = OrderedDict()

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Write -inf over the logits of tokens that may not follow.

        Args:
            input_ids: int64[rows, tokens], the prompts and what was written after them.
            scores: float[rows, width], changed in place.

        Returns:
            The scores.
        """
        from structkit.generate.device import put_mask

        rows = [tuple(row) for row in input_ids.tolist()]
        if not self._goes_on(rows):
            self._begin(rows)
        masks = np.zeros((len(rows), self.guide.vocabulary.words), np.uint32)
        for row, mask in zip(rows, masks, strict=True):
            self._cursor(row[self._length :]).fill_mask(mask)
        put_mask(scores, masks)
        return scores

    def _begin(self, rows: list[tuple[int, ...]]) -> None:
        self._prompts, self._length = set(rows), len(rows[0]) if rows else 0
        self._cursors.clear()

    def _goes_on(self, rows: list[tuple[int, ...]]) -> bool:
        """Whether the rows go on from the prompts of the last call; else another generation has begun."""
        if not rows or len(rows[0]) <= self._length or not self._prompts:
            return False
        try:
            for row in rows:
                if row[: self._length] not in self._prompts:
                    return False
                self._cursor(row[self._length :])
        except TokenRefused:
            return False
        return True

    def _cursor(self, written: tuple[int, ...]) -> Cursor:
        """Where a row stands; what follows its end, which is padding, is not looked at."""
        found = self._cursors.get(written)
        if found is None:
            before = self._cursors.get(written[:-1]) if written else None
            found = self.guide.cursor() if before is None else before.fork()
            for token in written if before is None else written[-1:]:
                if not found.ended:
                    found.advance(token)
            self._cursors[written] = found
            while len(self._cursors) > _KEPT:
                self._cursors.popitem(last=False)
        return found
