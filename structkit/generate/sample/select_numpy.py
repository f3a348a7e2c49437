"""Token selection on the CPU; greedy rows are processed in place.

For a sparse mask, only the logits of allowed tokens are read. For a dense mask, the mask is applied only if the most
likely token of all is forbidden, which is rare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError
from structkit.generate.sample import kernels
from structkit.generate.sample.sample import allowed_logits, is_allowed, logits_error, logsumexp, sample_token
from structkit.generate.sample.step import SampledToken, SampleRequest

__all__ = ["select_tokens_on_cpu"]

_SPARSE = 16
"""A mask is sparse if at most one in this many of its words is nonzero."""


def select_tokens_on_cpu(
    logits: NDArray[np.float32], requests: Sequence[SampleRequest]
) -> list[SampledToken | ModelError]:
    """Select a token for each row; see `structkit.generate.sample.select.select_tokens`.

    Args:
        logits: float32[rows, width]; may be overwritten.
        requests: One request per row.

    Raises:
        ModelError: The logits have the wrong shape.
    """
    if logits.ndim != 2 or len(logits) != len(requests):
        raise ModelError(
            f"the model returned logits of shape {list(logits.shape)} for {len(requests)} rows; "
            "expected float32[rows, width]"
        )
    ids, values = np.empty(len(requests), np.int64), np.empty(len(requests), np.float32)
    masks = np.array([request.mask for request in requests])  # much faster than `np.stack`
    kernels.sparse_argmax(logits, masks, masks.shape[1] // _SPARSE, ids, values)
    return [
        _select_row(row, request, best, value)
        for row, request, best, value in zip(logits, requests, ids.tolist(), values.tolist(), strict=True)
    ]


def _select_row(
    row: NDArray[np.float32], request: SampleRequest, best: int, value: float
) -> SampledToken | ModelError:
    """Select the token of one row; `best` is the most likely allowed token if the mask is sparse, otherwise -2."""
    total = 0.0
    if request.with_logprobs:
        total = logsumexp(row if request.possible is None else allowed_logits(row, request.possible)[1])
    candidates = tuple(
        float(row[token]) - total if token < len(row) else -math.inf for token in request.candidates
    )
    unbudgeted = None if request.unbudgeted_mask is None else _argmax(row, request.unbudgeted_mask)
    try:
        if request.transform is not None:
            token = sample_token(
                request.transform(row, request.mask),
                request.mask,
                request.sampling,
                request.generator,
                location=request.location,
            )
        elif request.sampling.temperature > 0:
            token = sample_token(
                row, request.mask, request.sampling, request.generator, location=request.location
            )
        else:
            token, value = (best, value) if best != -2 else _greedy(row, request.mask)
            if not math.isfinite(value):
                return logits_error(row, request.mask, request.location)
    except ModelError as error:
        return error
    if not request.with_logprobs:
        return SampledToken(token, unbudgeted)
    allowed = logsumexp(allowed_logits(row, request.mask)[1])
    masked = max(0.0, 1 - math.exp(allowed - total))
    return SampledToken(token, unbudgeted, float(row[token]) - allowed, masked, candidates)


def _greedy(row: NDArray[np.float32], mask: NDArray[np.uint32]) -> tuple[int, float]:
    """Return the most likely allowed token and its logit: NaN if an allowed logit is NaN, -inf if none is allowed."""
    token = _argmax(row, mask)
    return token, float(row[token])


def _argmax(row: NDArray[np.float32], mask: NDArray[np.uint32]) -> int:
    """Return the most likely allowed token: the first NaN if there is one, any token if none is allowed."""
    best = int(row.argmax())
    if not is_allowed(mask, best):
        kernels.apply_mask(row, mask)
        best = int(row.argmax())
    return best
