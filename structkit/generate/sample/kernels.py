"""The masked step as numba compiles it; its plain twin is `structkit.generate.sample.sample.pick`."""

from __future__ import annotations

import numpy as np

from structkit.automaton.core.jit import kernel

__all__ = ["apply_mask", "sparse_argmax"]


@kernel
def sparse_argmax(logits, masks, max_allowed, ids, values):
    """The likeliest allowed token of each row that allows few: only the logits of these are read.

    Args:
        logits: float32[rows, width].
        masks: uint32[rows, words], bit t % 32 of word t // 32 for an allowed token t.
        max_allowed: Words that hold a bit, at most, for a row to be looked at.
        ids: int64[rows], written: the token, -1 if the row allows none below its width, -2 if it was not looked at.
        values: float32[rows], written: its logit; the first NaN, if there is one.
    """
    width = logits.shape[1]
    for row in range(len(masks)):
        used = 0
        for word in masks[row]:
            used += word != 0
        if used > max_allowed:
            ids[row] = -2
            continue
        best = np.float32(-np.inf)
        where = -1
        for number in range(masks.shape[1]):
            bits = masks[row, number]
            token = 32 * number
            while bits and token < width and best == best:
                value = logits[row, token]
                if bits & np.uint32(1) and (where < 0 or not value <= best):
                    best, where = value, token
                bits >>= np.uint32(1)
                token += 1
        ids[row], values[row] = where, best


@kernel
def apply_mask(row, mask):
    """Write -inf over the logits that are not allowed.

    Args:
        row: float32[width], written.
        mask: uint32[words], bit t % 32 of word t // 32 for an allowed token t.
    """
    for number in range((len(row) + 31) // 32):
        bits = mask[number] if number < len(mask) else np.uint32(0)
        if bits != np.uint32(0xFFFFFFFF):
            first = 32 * number
            for bit in range(min(32, len(row) - first)):
                if not (bits >> np.uint32(bit)) & np.uint32(1):
                    row[first + bit] = -np.inf
