"""The masked step on the CPU: greedy rows are done in place.

Where few tokens are allowed only their logits are read; elsewhere the likeliest token of all is mostly an allowed one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelFailed
from structkit.generate.sample import kernels
from structkit.generate.sample.sample import allowed_logits, allows, failure, logsumexp, pick
from structkit.generate.sample.step import Ask, Told

__all__ = ["choose_on_cpu"]

_SPARSE = 16
"""A row allows few tokens if less than one in so many words of its mask has a bit."""


def choose_on_cpu(logits: NDArray[np.float32], asks: Sequence[Ask]) -> list[Told | ModelFailed]:
    """Choose a token for each row; see `structkit.generate.sample.select.choose`.

    Args:
        logits: float32[rows, width]; they may be written over.
        asks: One for each row.

    Raises:
        ModelFailed: The logits have another shape.
    """
    if logits.ndim != 2 or len(logits) != len(asks):
        raise ModelFailed(
            f"the model gave logits of shape {list(logits.shape)} for {len(asks)} rows; give float32[rows, width]"
        )
    ids, values = np.full(len(asks), -2, np.int64), np.empty(len(asks), np.float32)
    masks = np.stack([ask.mask for ask in asks])
    kernels.best_of_few(logits, masks, masks.shape[1] // _SPARSE, ids, values)
    return [
        _chosen(row, ask, best, value)
        for row, ask, best, value in zip(logits, asks, ids.tolist(), values.tolist(), strict=True)
    ]


def _chosen(row: NDArray[np.float32], ask: Ask, best: int, value: float) -> Told | ModelFailed:
    """Choose for one row; `best` is the likeliest allowed token where few are allowed, else -2."""
    total = logsumexp(row) if ask.scored else 0.0
    candidates = tuple(
        float(row[token]) - total if token < len(row) else -math.inf for token in ask.candidates
    )
    wanted = None if ask.free is None else _likeliest(row, ask.free)
    try:
        if ask.adjust is not None:
            token = pick(ask.adjust(row, ask.mask), ask.mask, ask.sampling, ask.generator, place=ask.place)
        elif ask.sampling.temperature > 0:
            token = pick(row, ask.mask, ask.sampling, ask.generator, place=ask.place)
        else:
            token, value = (best, value) if best != -2 else _greedy(row, ask.mask)
            if not math.isfinite(value):
                return failure(row, ask.mask, ask.place)
    except ModelFailed as error:
        return error
    if not ask.scored:
        return Told(token, wanted)
    among = logsumexp(allowed_logits(row, ask.mask)[1])
    removed = max(0.0, 1 - math.exp(among - total))
    return Told(token, wanted, float(row[token]) - among, removed, candidates)


def _greedy(row: NDArray[np.float32], mask: NDArray[np.uint32]) -> tuple[int, float]:
    """The likeliest allowed token and its logit; that is NaN if an allowed one is, -inf if none is allowed."""
    token = _likeliest(row, mask)
    return token, float(row[token])


def _likeliest(row: NDArray[np.float32], mask: NDArray[np.uint32]) -> int:
    """The likeliest allowed token, the first NaN if there is one; any token if none is allowed."""
    best = int(row.argmax())
    if not allows(mask, best):
        kernels.blot(row, mask)
        best = int(row.argmax())
    return best
