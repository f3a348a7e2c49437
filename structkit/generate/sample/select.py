"""The masked step: from the logits of a batch and a mask for each row to one token for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structkit.errors import ModelError
from structkit.generate.sample.select_numpy import select_tokens_on_cpu
from structkit.generate.sample.step import SampledToken, SampleRequest
from structkit.models.protocols import Logits

__all__ = ["select_tokens"]


def select_tokens(logits: Logits, requests: Sequence[SampleRequest]) -> list[SampledToken | ModelError]:
    """Choose a token for each row.

    Args:
        logits: float[rows, width]; logits past the vocabulary are padding, and tokens past the width are tokens that
            the model cannot say. They may be written over.
        requests: One for each row; their `token_ids` were read.

    Returns:
        What was chosen, or why nothing could be: a broken row does not lose the others.

    >>> logits = np.array([[1, 9, 5]], np.float32)
    >>> select_tokens(logits, [SampleRequest(token_ids=[0], mask=np.array([0b101], np.uint32))])
    [SampledToken(token_id=2, unbudgeted_token_id=None, logprob=0.0, masked_probability=0.0, candidates=())]
    """
    if isinstance(logits, np.ndarray):
        return select_tokens_on_cpu(logits, requests)
    from structkit.generate.sample.select_torch import rows_on_cpu, select_tokens_on_device

    told: list[SampledToken | ModelError | None] = [*select_tokens_on_device(logits, requests)]
    others = [number for number, each in enumerate(told) if each is None]
    if others:
        # What is sampled, scored or adjusted is written once, on the CPU.
        chosen = select_tokens_on_cpu(rows_on_cpu(logits, others), [requests[number] for number in others])
        for number, each in zip(others, chosen, strict=True):
            told[number] = each
    return [each for each in told if each is not None]
