"""The masked step: from the logits of a batch and a mask for each row to one token for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structkit.errors import ModelFailed
from structkit.generate.sample.select_numpy import choose_on_cpu
from structkit.generate.sample.step import Ask, Told
from structkit.models.protocols import Logits

__all__ = ["choose"]


def choose(logits: Logits, asks: Sequence[Ask]) -> list[Told | ModelFailed]:
    """Choose a token for each row.

    Args:
        logits: float[rows, width]; logits past the vocabulary are padding, and tokens past the width are tokens that
            the model cannot say. They may be written over.
        asks: One for each row; their `token_ids` were read.

    Returns:
        What was chosen, or why nothing could be: a broken row does not lose the others.

    >>> logits = np.array([[1, 9, 5]], np.float32)
    >>> choose(logits, [Ask(token_ids=[0], mask=np.array([0b101], np.uint32))])
    [Told(token=2, wanted=None, logprob=0.0, removed=0.0, candidates=())]
    """
    if isinstance(logits, np.ndarray):
        return choose_on_cpu(logits, asks)
    from structkit.generate.sample.select_torch import choose_on_device, rows_on_cpu

    told: list[Told | ModelFailed | None] = [*choose_on_device(logits, asks)]
    others = [number for number, each in enumerate(told) if each is None]
    if others:
        # What is sampled, scored or adjusted is written once, on the CPU.
        chosen = choose_on_cpu(rows_on_cpu(logits, others), [asks[number] for number in others])
        for number, each in zip(others, chosen, strict=True):
            told[number] = each
    return [each for each in told if each is not None]
