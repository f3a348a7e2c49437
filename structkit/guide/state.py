"""Where a sequence stands: an immutable value, with the answers found for it so far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.automaton import Frame
from structkit.index.index import Index
from structkit.index.rows import Row

__all__ = ["State", "mask_of", "rows"]


class State:
    """The frames at which a text stands, each a way to read it.

    Attributes:
        frames: The frames.
        can_end: Whether the text may end here.
        next: The states after tokens taken from here before.
        mask: uint32[words], the allowed tokens without the end tokens, once asked for.
        growth: With `mask`, the most tokens that may be needed to an end after any allowed token.
    """

    __slots__ = ("can_end", "frames", "growth", "mask", "next")

    def __init__(self, frames: frozenset[Frame], can_end: bool) -> None:
        self.frames = frames
        self.can_end = can_end
        self.next: dict[int, State] = {}
        self.mask: NDArray[np.uint32] | None = None
        self.growth = 0


def mask_of(state: State, index: Index) -> NDArray[np.uint32]:
    """uint32[words]: the tokens that the state allows, without the end tokens."""
    if state.mask is None:
        growth = 0
        masks = []
        for row, frame in rows(state, index):
            masks.append(row.mask)
            growth = max(growth, row.growth + index.pending(frame) + index.need(frame.below))
        state.mask = masks[0] if len(masks) == 1 else _union(masks, index.vocabulary.words)
        state.growth = growth
    return state.mask


def rows(state: State, index: Index) -> Iterator[tuple[Row, Frame]]:
    """For each frame its row, then those of the frames below it that a token can reach."""
    for frame in state.frames:
        row = index.row(frame)
        yield row, frame
        below = frame.below
        while below is not None and len(row.exits):
            row = index.after(row.exits, below)
            yield row, below
            below = below.below


def _union(masks: list[NDArray[np.uint32]], words: int) -> NDArray[np.uint32]:
    union = np.zeros(words, np.uint32)
    for mask in masks:
        union |= mask
    union.setflags(write=False)
    return union
