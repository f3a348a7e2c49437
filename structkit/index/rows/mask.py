"""Sparse token masks.

Allocating a page of memory costs as much as a short walk over the trie. Therefore a mask of a few tokens is stored as
a few words, and a mask similar to another mask as the words that differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_SPARSE_WORDS", "Mask", "sparse_mask", "union", "write_union"]

MAX_SPARSE_WORDS = 256
"""Words of a mask, if no more are set or differ from another's, that are held alone: a fifth of 128,000 tokens'."""

_NO_WORDS: NDArray[np.int64] = np.empty(0, np.int64)
_NO_VALUES: NDArray[np.uint32] = np.empty(0, np.uint32)


class Mask:
    """An immutable mask: bit t % 32 of word t // 32 is set if token t is allowed.

    Attributes:
        bits: uint32[ceil(vocabulary.size / 32)], perhaps those of another mask; `None` for zeros.
        words: int64[k], the places of words that are others.
        values: uint32[k], and what they are.
    """

    __slots__ = ("bits", "values", "words")

    def __init__(
        self,
        bits: NDArray[np.uint32] | None,
        words: NDArray[np.int64] = _NO_WORDS,
        values: NDArray[np.uint32] = _NO_VALUES,
    ) -> None:
        self.bits = bits
        self.words = words
        self.values = values

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return 400 + 12 * len(self.words) + (0 if self.bits is None else self.bits.nbytes)

    @property
    def word_count(self) -> int:
        """The number of words that are set."""
        return len(self.words) if self.bits is None else int(np.count_nonzero(self._overlay(self.bits)))

    def or_into(self, out: NDArray[np.uint32]) -> None:
        """Set the bits of this mask in `out`."""
        values = out[self.words] | self.values
        if self.bits is not None:
            out |= self.bits
        out[self.words] = values

    def any(self) -> bool:
        """Return whether any token is allowed."""
        return bool((self.values if self.bits is None else self._overlay(self.bits)).any())

    def tokens(self) -> list[int]:
        """Return the tokens of a mask without a base mask."""
        if not len(self.words):
            return []
        at, bits = np.nonzero(np.unpackbits(self.values.view(np.uint8), bitorder="little").reshape(-1, 32))
        tokens: list[int] = (32 * self.words[at] + bits).tolist()
        return tokens

    def dense(self, words: int) -> NDArray[np.uint32]:
        """Return all words, as read-only uint32[words]: for numba read-only arrays have a type of their own."""
        bits = self._overlay(np.zeros(words, np.uint32) if self.bits is None else self.bits)
        bits.setflags(write=False)
        return bits

    def sparse_words(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the indices of the words that are set, int64[k] ascending, and their values, uint32[k]."""
        if self.bits is None:
            order = np.argsort(self.words)
            return self.words[order], self.values[order]
        bits = self._overlay(self.bits)
        words = np.flatnonzero(bits)
        return words, bits[words]

    def _overlay(self, bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
        if len(self.words):
            bits = bits.copy()
            bits[self.words] = self.values
        return bits


def sparse_mask(words: NDArray[np.int64], values: NDArray[np.uint32], size: int) -> Mask:
    """Return a mask of `size` words from the words that are not 0."""
    if len(words) <= MAX_SPARSE_WORDS:
        return Mask(None, words, values)
    bits = np.zeros(size, np.uint32)
    bits[words] = values
    bits.setflags(write=False)
    return Mask(bits)


def union(masks: Sequence[Mask]) -> tuple[Mask, ...]:
    """Return masks with the same union that are faster to write: a sparse mask is merged into a dense one.

    >>> wide, narrow = Mask(np.full(4, 6, np.uint32)), Mask(None, np.array([2]), np.array([1], np.uint32))
    >>> [(mask.words.tolist(), mask.values.tolist()) for mask in union([narrow, wide])]
    [([2], [7])]
    """
    if len(masks) == 2:
        wide, narrow = masks if masks[1].bits is None else reversed(masks)
        if wide.bits is not None and narrow.bits is None and not len(wide.words):
            return (Mask(wide.bits, narrow.words, wide.bits[narrow.words] | narrow.values),)
    return tuple(masks)


def write_union(masks: Sequence[Mask], out: NDArray[np.uint32]) -> None:
    """Write the union of masks.

    >>> out = np.full(4, 7, np.uint32)
    >>> write_union([Mask(None, np.array([2]), np.array([1], np.uint32))], out)
    >>> out.tolist()
    [0, 0, 1, 0]
    """
    if not masks:
        out[:] = 0
        return
    first = masks[0]
    out[:] = 0 if first.bits is None else first.bits
    if len(first.words):
        out[first.words] = first.values
    for mask in masks[1:]:
        mask.or_into(out)
