"""Greedy selection with torch: packed masks are copied to the device, and only the selected tokens are copied back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from structkit.generate.sample.sample import only_ids
from structkit.generate.sample.step import SampledToken, SampleRequest

__all__ = ["apply_masks", "rows_on_cpu", "select_tokens_on_device"]

_MAX_SPARSE = 64
"""If no row allows more tokens than this, only the logits of allowed tokens are read."""


def apply_masks(logits: torch.Tensor, masks: NDArray[np.uint32]) -> None:
    """Set the logits of forbidden tokens to -inf, in place and without synchronizing with the device.

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
    """Select a token for each greedy row that needs no log-probabilities, transform or unbudgeted token.

    Args:
        logits: float[rows, width]; may be overwritten.
        requests: One request per row.

    Returns:
        The tokens; `None` for all other rows, and for rows whose highest allowed logit is not finite.
    """
    selected: list[SampledToken | None] = [None] * len(requests)
    plain = [
        number
        for number, request in enumerate(requests)
        if request.sampling.temperature == 0
        and not (request.with_logprobs or request.transform or request.unbudgeted_mask is not None)
    ]
    if plain:
        rows = logits if len(plain) == len(requests) else logits[_to_device(np.array(plain), logits.device)]
        tokens, values = _argmax(rows, np.array([requests[number].mask for number in plain]))
        for number, token, value in zip(plain, tokens, values, strict=True):
            if np.isfinite(value):
                selected[number] = SampledToken(token)
    return selected


def rows_on_cpu(logits: torch.Tensor, numbers: Sequence[int]) -> NDArray[np.float32]:
    """Copy some rows of the logits to the CPU, as float32[rows, width].

    >>> rows_on_cpu(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), [1]).tolist()
    [[3.0, 4.0]]
    """
    rows: NDArray[np.float32] = logits[_to_device(np.array(numbers), logits.device)].float().cpu().numpy()
    return rows


def _argmax(logits: torch.Tensor, masks: NDArray[np.uint32]) -> tuple[list[int], list[float]]:
    """Return the most likely allowed token of each row, and its logit."""
    allowed = only_ids(masks, _MAX_SPARSE)
    if allowed is not None and allowed.max(initial=0) < logits.shape[1]:
        ids = _to_device(allowed, logits.device)
        values, positions = logits.gather(1, ids).float().max(dim=1)
        tokens = ids.gather(1, positions.unsqueeze(1)).squeeze(1)
    else:
        apply_masks(logits, masks)
        values, tokens = logits.float().max(dim=1)
    # One copy and one synchronization: float64 represents token ids exactly, up to 2**53.
    both = torch.stack([tokens.double(), values.double()]).cpu()
    return [int(token) for token in both[0].tolist()], both[1].tolist()


def _to_device(array: NDArray[np.int32] | NDArray[np.int64], device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
