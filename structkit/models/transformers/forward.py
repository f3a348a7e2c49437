"""What a model of transformers takes: the parameters of its `forward`, its cache, and the device of its input."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

__all__ = ["cache_parameter", "forward_parameters", "input_device", "is_compiled"]


def forward_parameters(model: PreTrainedModel) -> Collection[str]:
    """Return the names of the parameters of `forward`; those of the original model if `torch.compile` wraps it.

    The wrapper takes `*args` and `**kwargs`, which would look like a model without positions.
    """
    original: PreTrainedModel = getattr(model, "_orig_mod", model)
    return inspect.signature(original.forward).parameters


def cache_parameter(model: PreTrainedModel) -> str | None:
    """Return the name of the cache in the parameters and the output of `forward`; `None` for recurrent models.

    It is `past_key_values` before transformers 5.24. Since then it is `cache`, also for recurrent models, which took
    `cache_params`, and some of which do not continue a state with several tokens.
    """
    parameters = forward_parameters(model)
    if "past_key_values" in parameters:
        return "past_key_values"
    if "cache" not in parameters:
        return None
    from transformers.cache_utils import DynamicCache, DynamicLayer

    try:
        layers = DynamicCache(config=model.config).layers
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return "cache" if any(isinstance(layer, DynamicLayer) for layer in layers) else None


def is_compiled(model: PreTrainedModel) -> bool:
    """Return whether `torch.compile` traces the model: a wrapper, `model.compile()`, or a compiled `forward`."""
    return (
        hasattr(model, "_orig_mod")
        or getattr(model, "_compiled_call_impl", None) is not None
        or hasattr(model.forward, "_torchdynamo_orig_callable")
    )


def input_device(model: PreTrainedModel) -> torch.device:
    """Return the device of token ids: that of the embeddings, or the CPU if `device_map` keeps them on a disk."""
    import torch

    device = cast("torch.nn.Embedding", model.get_input_embeddings()).weight.device
    return torch.device("cpu") if device.type == "meta" else device
