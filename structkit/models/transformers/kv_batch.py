"""Batched computation with a transformers model, on one KV cache.

Rows are right-aligned in the cache, without gaps: padding is at the left and hidden by the attention mask. So position
encodings and sliding windows treat a row as if it were computed individually. When rows are fed different numbers of
tokens, the cache moves the padding of the shorter ones to the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from structkit.error_notes import safe_str
from structkit.errors import ModelError
from structkit.models.protocols import Batch, Logits
from structkit.models.transformers.forward import (
    cache_parameter,
    forward_parameters,
    input_device,
    is_compiled,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["TransformersBatch", "can_batch"]


_ROOM = 64
"""Tokens by which rows can grow before they are copied again."""


def can_batch(model: PreTrainedModel) -> bool:
    """Return whether the cache of a model can be cropped, shifted and joined by row; false for recurrent models."""
    if "attention_mask" not in forward_parameters(model) or cache_parameter(model) is None:
        return False
    try:
        layers = DynamicCache(config=model.config).layers
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)


class _Layer(DynamicLayer):
    """Keys and values of one layer: views of larger tensors, `[rows, heads, tokens, size]`.

    Attributes:
        buffers: The larger tensors.
        views: The views; transformers reads them as `keys` and `values`.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
        self.buffers, self._start = (keys, values), 0
        self.set_length(length)

    def set_length(self, length: int) -> None:
        """Set the views to `length` tokens of the buffers."""
        self.length = length
        keys, values = (buffer[:, :, self._start : self._start + length] for buffer in self.buffers)
        self.views = self.keys, self.values = keys, values

    def drop(self, count: int) -> None:
        """Remove the first `count` tokens from the views."""
        self._start += count
        self.set_length(self.length - count)

    def shrink(self) -> None:
        """Replace the buffers by copies of the views."""
        keys, values = self.views
        self.buffers, self._start = (keys.clone(), values.clone()), 0
        self.set_length(self.length)

    def extend(
        self, keys: torch.Tensor, values: torch.Tensor, padding_moves: Sequence[tuple[int, int]]
    ) -> None:
        """Append keys and values of new tokens, and move their padding to the left of the row."""
        old, length = self.length, self.length + keys.shape[-2]
        if self.buffers[0].shape[-2] < self._start + length:
            larger = _reserve(keys, len(keys), 2 * length), _reserve(values, len(values), 2 * length)
            for buffer, view in zip(larger, self.views, strict=True):
                buffer[:, :, :old] = view
            self.buffers, self._start = larger, 0
        self.set_length(length)
        for view, new in zip(self.views, (keys, values), strict=True):
            view[:, :, old:] = new
        for row, padding in padding_moves:
            self.shift(row, padding, old)

    def shift(self, row: int, distance: int, length: int) -> None:
        """Move the first `length` tokens of a row to the right by `distance`."""
        for view in self.views:
            view[row, :, distance : distance + length] = view[row, :, :length].clone()

    def select(self, rows: torch.Tensor, start: int) -> _Layer:
        """Return some rows, from token `start` on, as a new layer with room for the next tokens."""
        length = self.length - start
        keys, values = (_reserve(view, len(rows), length + _ROOM) for view in self.views)
        for view, made in zip(self.views, (keys, values), strict=True):
            torch.index_select(view[:, :, start:], 0, rows, out=made[:, :, :length])
        return _Layer(keys, values, length)

    def concat(self, other: _Layer) -> _Layer:
        """Return this layer with the rows of another one appended; shorter rows are padded at the left."""
        length = max(self.length, other.length)
        keys, values = (_concat(a, b, length) for a, b in zip(self.views, other.views, strict=True))
        return _Layer(keys, values, length)


class _Cache(Cache):
    """The layers of a batch.

    Attributes:
        batch_layers: One per layer of the model, created on first use; transformers reads them as `layers`.
        padding_moves: Rows whose new tokens start with padding, and the length of the padding.
    """

    def __init__(self, parts: Iterable[_Layer] = ()) -> None:
        self.batch_layers = list(parts)
        self.padding_moves: list[tuple[int, int]] = []
        super().__init__(layers=[*self.batch_layers])

    @property
    def length(self) -> int:
        """Number of tokens of the longest row."""
        return self.batch_layers[0].length if self.batch_layers else 0

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *args: object,
        **kwargs: object,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the keys and values of new tokens."""
        while len(self.batch_layers) <= layer_idx:
            keys, values = (_reserve(states, len(states), 0) for states in (key_states, value_states))
            self.batch_layers.append(_Layer(keys, values, 0))
            self.layers.append(self.batch_layers[-1])
        layer = self.batch_layers[layer_idx]
        layer.extend(key_states, value_states, self.padding_moves)
        return layer.views

    def select(self, rows: Sequence[int], start: int) -> _Cache:
        """Return some rows, from token `start` on, as a new cache."""
        if not self.batch_layers:
            return type(self)()
        index = torch.tensor(list(rows), dtype=torch.long, device=self.batch_layers[0].device)
        # With `device_map`, layers are on several devices.
        return type(self)(layer.select(index.to(layer.device), start) for layer in self.batch_layers)


@lru_cache(maxsize=1)
def _untraced_cache() -> type[_Cache]:
    """Return the cache of a compiled model, into which `torch.compile` does not trace.

    Its compilers fail on views of buffers that live longer than a step, and would make a graph for each combination of
    rows with padding. `torch.compiler` is imported here, because that takes a second.
    """

    class UntracedCache(_Cache):
        update = torch.compiler.disable(_Cache.update)

    return UntracedCache


class TransformersBatch:
    """A batch of a transformers model; see `Batch`.

    Args:
        model: The transformers model.
        name: Name of the model in errors.
        check_readable: Raises `ModelError` if the model cannot read these tokens after that number of others.
    """

    max_rows = None

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        name: str,
        check_readable: Callable[[Sequence[int], int], None],
    ) -> None:
        self._model = model
        self._name = name
        self._check_readable = check_readable
        parameters = forward_parameters(model)
        self._cache_parameter = cache_parameter(model) or "past_key_values"
        self._supports_logits_to_keep = "logits_to_keep" in parameters
        self._supports_position_ids = "position_ids" in parameters
        self._device = input_device(model)
        # A CPU computes a few tokens in the time in which it reads the weights, an accelerator some hundreds.
        self.overhead = 24 if self._device.type == "cpu" else 256
        self._new_cache = _untraced_cache() if is_compiled(model) else _Cache
        self._cache = self._new_cache()
        self._lengths: list[int] = []
        self._surplus: list[int] = []

    @torch.inference_mode()
    def add(self, sequences: Sequence[Sequence[int]]) -> Logits:
        """Append rows; see `Batch.add`."""
        rows = self._new_batch(self._new_cache(), [0] * len(sequences))
        logits = rows.feed(sequences)
        self.merge(rows)
        return logits

    @torch.inference_mode()
    def feed(self, token_ids: Sequence[Sequence[int]]) -> Logits:
        """Feed tokens to each row; see `Batch.feed`."""
        return _to_host(self._forward(token_ids, 1)[:, -1])

    @torch.inference_mode()
    def feed_multi(self, token_ids: Sequence[Sequence[int]], logits_to_keep: int) -> Logits:
        """Feed tokens to each row and return the logits of the last ones; see `SupportsLookahead`."""
        return _to_host(self._forward(token_ids, logits_to_keep)[:, -logits_to_keep:])

    @torch.inference_mode()
    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Score continuations; see `Batch.score`."""
        max_length = max(map(len, branches))
        scores = [np.zeros(len(branch), np.float32) for branch in branches]
        scored = [number for number, branch in enumerate(branches) if len(branch) > 1]
        if not scored:
            return scores
        rows = self.fork(row, self._lengths[row], len(scored))
        logits = rows._forward([branches[number][:-1] for number in scored], max_length - 1).float()
        for number, logprobs in zip(scored, torch.log_softmax(logits, -1), strict=True):
            targets = torch.tensor(list(branches[number][1:]), device=self._device)
            score = logprobs[-len(targets) :].gather(1, targets.unsqueeze(1)).squeeze(1)
            scores[number][1:] = score.cpu().numpy()
        return scores

    @torch.inference_mode()
    def rollback(self, row: int, count: int) -> None:
        """Remove tokens of a row; see `Batch.rollback`."""
        if not 0 <= count <= self._lengths[row]:
            raise ModelError(
                f"row {row} has {self._lengths[row]} tokens, so {count} cannot be removed; remove fewer"
            )
        self._lengths[row] -= count
        self._surplus[row] += count

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        """Keep only some rows; see `Batch.select`."""
        if list(rows) == list(range(len(self._lengths))):
            return
        total = self._total
        self._lengths = [self._lengths[row] for row in rows]
        self._surplus = [self._surplus[row] for row in rows]
        if not rows:
            self._cache = self._new_cache()
            return
        cached_lengths = map(sum, zip(self._lengths, self._surplus, strict=True))
        self._cache = self._cache.select(rows, total - max(cached_lengths))

    @torch.inference_mode()
    def shrink(self) -> None:
        """Free reserved memory; see `SupportsShrink`."""
        self._align()
        for layer in self._cache.batch_layers:
            layer.shrink()

    @torch.inference_mode()
    def fork(self, row: int, length: int, count: int) -> TransformersBatch:
        """Copy the start of a row to a new batch; see `SupportsTransfer`."""
        self._align()
        cache = self._cache.select([row] * count, self._total - self._lengths[row])
        for layer in cache.batch_layers:
            layer.set_length(length)
        return self._new_batch(cache, [length] * count)

    @torch.inference_mode()
    def take(self, row: int) -> TransformersBatch:
        """Move a row to a new batch, without a copy if it is the only one; see `SupportsTransfer`."""
        self._align()
        length = self._lengths[row]
        cache = self._cache if len(self._lengths) == 1 else self._cache.select([row], self._total - length)
        self.select([number for number in range(len(self._lengths)) if number != row])
        return self._new_batch(cache, [length])

    @torch.inference_mode()
    def merge(self, other: Batch) -> None:
        """Append the rows of another batch, without a copy if this one has none; see `SupportsTransfer`."""
        if not isinstance(other, TransformersBatch):
            raise TypeError(f"the rows of a {type(other).__name__} are not those of this model")
        other._align()
        cache = other._cache
        if self._lengths:
            self._align()
            cache = self._new_cache(
                present.concat(added)
                for present, added in zip(self._cache.batch_layers, cache.batch_layers, strict=True)
            )
        self._cache = cache
        self._lengths += other._lengths
        self._surplus += other._surplus
        other.select([])

    def _new_batch(self, cache: _Cache, lengths: list[int]) -> TransformersBatch:
        """Return a batch of the same model with other rows."""
        batch = copy(self)
        batch._cache, batch._lengths, batch._surplus = cache, lengths, [0] * len(lengths)
        return batch

    @property
    def _total(self) -> int:
        return self._cache.length

    def _align(self) -> None:
        """Align the rows at the right after rollbacks: crop the common surplus, and shift the rows with a larger one.

        Rows that read different numbers of tokens leave padding at the left of all rows, which is removed.
        """
        total, common = self._total, min(self._surplus, default=0)
        padding = total - common - max(self._lengths, default=total - common)
        for layer in self._cache.batch_layers:
            if common:
                layer.set_length(total - common)
            for row, surplus in enumerate(self._surplus):
                if surplus > common:
                    layer.shift(row, surplus - common, total - surplus)
            if padding:
                layer.drop(padding)
        self._surplus = [0] * len(self._surplus)

    def _forward(self, token_ids: Sequence[Sequence[int]], logits_to_keep: int) -> torch.Tensor:
        """Compute the next tokens of each row.

        Returns:
            float[rows, tokens, width], with the last `logits_to_keep` tokens of each row.
        """
        for length, row in zip(self._lengths, token_ids, strict=True):
            self._check_readable(row, length)
        self._align()
        width = max(map(len, token_ids))
        total = self._total + width
        new_lengths = [length + len(ids) for length, ids in zip(self._lengths, token_ids, strict=True)]
        options: dict[str, object] = {
            self._cache_parameter: self._cache,
            "use_cache": True,
            "return_dict": True,
        }
        if self._supports_logits_to_keep:
            options["logits_to_keep"] = logits_to_keep
        if min(new_lengths) < total:
            columns = torch.arange(total, device=self._device).unsqueeze(0)
            padding = torch.tensor([[total - length] for length in new_lengths], device=self._device)
            positions = columns - padding
            options["attention_mask"] = (positions >= 0).long()
            if self._supports_position_ids:
                options["position_ids"] = positions[:, total - width :].clamp(min=0)
        ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in token_ids], device=self._device)
        self._cache.padding_moves = [
            (number, width - len(row)) for number, row in enumerate(token_ids) if len(row) < width
        ]
        try:
            output = self._model(input_ids=ids, **options)
        except Exception as error:  # out of memory, or an exception of the model's code
            raise ModelError(
                f"the model failed: {safe_str(error)}; see its traceback above",
                place=f"{self._name}, token {max(new_lengths)}",
            ) from error
        self._lengths = new_lengths
        return cast("torch.Tensor", output.logits)


def _reserve(like: torch.Tensor, rows: int, length: int) -> torch.Tensor:
    """Return a buffer whose content is undefined: all that a view shows is written before."""
    return like.new_empty((rows, like.shape[1], length, like.shape[3]))


def _concat(first: torch.Tensor, second: torch.Tensor, length: int) -> torch.Tensor:
    """Return a buffer whose first `length` tokens are the rows of both, with zeros at the left of shorter ones."""
    rows = _reserve(first, len(first) + len(second), length + _ROOM)
    for part, given in ((rows[: len(first)], first), (rows[len(first) :], second)):
        start = length - given.shape[2]
        part[:, :, :start] = 0  # the mask hides it, but it may not be infinite
        part[:, :, start:length] = given
    return rows


def _to_host(logits: torch.Tensor) -> Logits:
    """Return logits in CPU memory as an array, other logits unchanged."""
    return cast("NDArray[np.float32]", logits.float().numpy()) if logits.device.type == "cpu" else logits
