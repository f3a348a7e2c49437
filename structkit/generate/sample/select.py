"""Token selection for a batch: from logits and one request per row to one token per row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError
from structkit.generate.sample.select_numpy import select_tokens_on_cpu
from structkit.generate.sample.step import SampledToken, SampleRequest
from structkit.models.protocols import Logits

__all__ = ["on_cpu", "select_tokens"]


def on_cpu(logits: Logits) -> NDArray[np.float32]:
    """Return logits as an array of numpy."""
    if isinstance(logits, np.ndarray):
        return logits
    from structkit.generate.sample.select_torch import rows_on_cpu

    return rows_on_cpu(logits, range(len(logits)))


def select_tokens(logits: Logits, requests: Sequence[SampleRequest]) -> list[SampledToken | ModelError]:
    """Select a token for each row.

    Args:
        logits: float[rows, width]; may be overwritten. Logits past the vocabulary are padding; tokens past the width
            cannot be selected.
        requests: One request per row.

    Returns:
        The token of each row, or its error: a row with invalid logits does not affect the others.

    >>> logits = np.array([[1, 9, 5]], np.float32)
    >>> select_tokens(logits, [SampleRequest(token_ids=[0], mask=np.array([0b101], np.uint32))])[0].token_id
    2
    """
    if isinstance(logits, np.ndarray):
        return select_tokens_on_cpu(logits, requests)
    from structkit.generate.sample.select_torch import rows_on_cpu, select_tokens_on_device

    selected: list[SampledToken | ModelError | None] = [*select_tokens_on_device(logits, requests)]
    others = [number for number, each in enumerate(selected) if each is None]
    if others:
        # Sampling, log-probabilities and transforms are implemented on the CPU only.
        chosen = select_tokens_on_cpu(rows_on_cpu(logits, others), [requests[number] for number in others])
        for number, each in zip(others, chosen, strict=True):
            selected[number] = each
    return [each for each in selected if each is not None]
