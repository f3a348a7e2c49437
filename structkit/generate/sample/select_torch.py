"""The masked step on an accelerator: the packed masks are sent once, and only the chosen tokens come back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from structkit.generate.sample.sample import only_ids
from structkit.generate.sample.step import SampledToken, SampleRequest

__all__ = ["apply_masks", "rows_on_cpu", "select_tokens_on_device"]

_MAX_SPARSE = 64
"""If no row allows more tokens than so many, only their logits are read."""


def apply_masks(logits: torch.Tensor, masks: NDArray[np.uint32]) -> None:
    """Write -inf over the logits that are not allowed, in place and without waiting for the device.

    Args:
        logits: float[rows, width].
        masks: uint32[rows, words], bit t % 32 of word t // 32 for an allowed token t.

    >>> logits = torch.tensor([[1.0, 9.0, 5.0]])
    >>> apply_masks(logits, np.array([[0b101]], np.uint32))
    >>> logits.tolist()
    [[1.0, -inf, 5.0]]
    """
    packed = _to_device(masks.view(np.int32), logits.device)
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    allowed = ((packed.unsqueeze(-1) >> shifts) & 1).bool().view(len(packed), -1)
    width = min(allowed.shape[1], logits.shape[1])
    logits[:, :width].masked_fill_(~allowed[:, :width], -torch.inf)
    logits[:, width:] = -torch.inf


def select_tokens_on_device(
    logits: torch.Tensor, requests: Sequence[SampleRequest]
) -> list[SampledToken | None]:
    """Choose a token for each row that is greedy, and neither scored nor adjusted.

    Args:
        logits: float[rows, width]; they may be written over.
        requests: One for each row.

    Returns:
        What was chosen; `None` for the other rows, and for those whose best logit is not finite.
    """
    told: list[SampledToken | None] = [None] * len(requests)
    plain = [
        number
        for number, ask in enumerate(requests)
        if ask.sampling.temperature == 0
        and not (ask.with_logprobs or ask.transform or ask.unbudgeted_mask is not None)
    ]
    if plain:
        rows = logits if len(plain) == len(requests) else logits[_to_device(np.array(plain), logits.device)]
        tokens, values = _argmax(rows, np.stack([requests[number].mask for number in plain]))
        for number, token, value in zip(plain, tokens, values, strict=True):
            if np.isfinite(value):
                told[number] = SampledToken(token)
    return told


def rows_on_cpu(logits: torch.Tensor, numbers: Sequence[int]) -> NDArray[np.float32]:
    """float32[rows, width]: some rows of the logits.

    >>> rows_on_cpu(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), [1]).tolist()
    [[3.0, 4.0]]
    """
    rows: NDArray[np.float32] = logits[_to_device(np.array(numbers), logits.device)].float().cpu().numpy()
    return rows


def _argmax(logits: torch.Tensor, masks: NDArray[np.uint32]) -> tuple[list[int], list[float]]:
    """The likeliest allowed token of each row, and its logit."""
    few = only_ids(masks, _MAX_SPARSE)
    if few is not None and few.max(initial=0) < logits.shape[1]:
        ids = _to_device(few, logits.device)
        values, places = logits.gather(1, ids).float().max(dim=1)
        tokens = ids.gather(1, places.unsqueeze(1)).squeeze(1)
    else:
        apply_masks(logits, masks)
        values, tokens = logits.float().max(dim=1)
    # One transfer, and one wait: floats hold token ids exactly up to 2**53.
    both = torch.stack([tokens.double(), values.double()]).cpu()
    return [int(token) for token in both[0].tolist()], both[1].tolist()


def _to_device(array: NDArray[np.int32] | NDArray[np.int64], device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
