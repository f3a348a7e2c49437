"""Numba kernels of greedy selection; the reference is `structkit.generate.sample.sample.sample_token`."""

from __future__ import annotations

import numpy as np

from structkit.automaton.core.jit import kernel

__all__ = ["apply_mask", "sparse_argmax"]


@kernel
def sparse_argmax(logits, masks, max_allowed, ids, values):
    """Select the most likely allowed token of each row with a sparse mask; reads only the logits of allowed tokens.

    Args:
        logits: float32[rows, width].
        masks: uint32[rows, words], bit t % 32 of word t // 32 for an allowed token t.
        max_allowed: Maximum number of nonzero mask words of a sparse row.
        ids: int64[rows], written: the token; -1 if no allowed token has a logit, -2 if the row is not sparse.
        values: float32[rows], written: the logit of the token; NaN if an allowed logit is NaN.
    """
    width = logits.shape[1]
    for row in range(len(masks)):
        nonzero_words = 0
        for word in masks[row]:
            nonzero_words += word != 0
        if nonzero_words > max_allowed:
            ids[row] = -2
            continue
        best = np.float32(-np.inf)
        best_token = -1
        for number in range(masks.shape[1]):
            bits = masks[row, number]
            token = 32 * number
            while bits and token < width and best == best:
                value = logits[row, token]
                if bits & np.uint32(1) and (best_token < 0 or not value <= best):
                    best, best_token = value, token
                bits >>= np.uint32(1)
                token += 1
        ids[row], values[row] = best_token, best


@kernel
def apply_mask(row, mask):
    """Set the logits of forbidden tokens to -inf, in place.

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
