"""Sequences computed side by side by a model of transformers, on one KV cache.

A row's tokens stand at the right end of the cache, without holes: before them is padding, which the attention mask
hides. So every position scheme and every window sees a row as it would see it alone. When rows are fed different
numbers of tokens, the padding of the shorter ones is moved to their front while the cache takes the tokens in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from structkit.errors import ModelFailed
from structkit.models.protocols import Logits

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["TransformersRows", "can_batch"]


def can_batch(model: PreTrainedModel) -> bool:
    """Whether the rows of a model can be cut, moved and joined: not if it keeps a state instead of the tokens."""
    parameters = inspect.signature(model.forward).parameters
    if not {"attention_mask", "past_key_values"} <= parameters.keys():
        return False
    try:
        layers = DynamicCache(config=model.config).layers
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)


class _Layer(DynamicLayer):
    """The keys and values of one layer: views of larger tensors, `[rows, heads, tokens, size]`.

    Attributes:
        held: The larger tensors.
        seen: The views; `keys` and `values` are the same, for transformers.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
        self.held = keys, values
        self.see(keys.shape[-2])

    def see(self, length: int) -> None:
        """Look at the first `length` tokens of what is held."""
        self.length = length
        keys, values = self.held
        self.seen = keys[:, :, :length], values[:, :, :length]
        self.keys, self.values = self.seen

    def shrink(self) -> None:
        """Hold no more than what is seen."""
        keys, values = self.seen
        self.held = keys.clone(), values.clone()
        self.see(self.length)

    def extend(self, keys: torch.Tensor, values: torch.Tensor, moves: Sequence[tuple[int, int]]) -> None:
        """Take in the keys and values of new tokens, and move their padding to the front of their row."""
        old, length = self.length, self.length + keys.shape[-2]
        if self.held[0].shape[-2] < length:
            larger = _room(keys, 2 * length), _room(values, 2 * length)
            for new, seen in zip(larger, self.seen, strict=True):
                new[:, :, :old] = seen
            self.held = larger
        self.see(length)
        for seen, fresh in zip(self.seen, (keys, values), strict=True):
            seen[:, :, old:] = fresh
        for row, padding in moves:
            self.shift(row, padding, old)

    def shift(self, row: int, by: int, length: int) -> None:
        """Move the first `length` tokens of a row to the right."""
        for seen in self.seen:
            seen[row, :, by : by + length] = seen[row, :, :length].clone()

    def take(self, rows: torch.Tensor, start: int) -> _Layer:
        """Some of the rows, from a token on, as a layer of their own."""
        keys, values = self.seen
        return _Layer(keys[rows, :, start:], values[rows, :, start:])

    def joined(self, other: _Layer) -> _Layer:
        """With the rows of another layer below; the shorter rows get padding at the front."""
        length = max(self.length, other.length)
        keys, values = (_joined(a, b, length) for a, b in zip(self.seen, other.seen, strict=True))
        return _Layer(keys, values)


class _Cache(Cache):
    """The layers of a batch.

    Attributes:
        parts: One for each layer of the model, made when it is first used; `layers` are the same, for transformers.
        moves: Rows whose new tokens begin with padding, and how much of it.
    """

    def __init__(self, parts: Iterable[_Layer] = ()) -> None:
        self.parts = list(parts)
        self.moves: list[tuple[int, int]] = []
        super().__init__(layers=[*self.parts])

    @property
    def length(self) -> int:
        """The tokens of the longest row."""
        return self.parts[0].length if self.parts else 0

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,
        *args: object,
        **kwargs: object,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take in the keys and values of new tokens."""
        while len(self.parts) <= layer_idx:
            self.parts.append(_Layer(_room(key_states, 0), _room(value_states, 0)))
            self.layers.append(self.parts[-1])
        layer = self.parts[layer_idx]
        layer.extend(key_states, value_states, self.moves)
        return layer.seen

    def take(self, rows: Sequence[int], start: int) -> _Cache:
        """Some of the rows, from a token on, as a cache of their own."""
        if not self.parts:
            return _Cache()
        index = torch.tensor(list(rows), dtype=torch.long, device=self.parts[0].device)
        return _Cache(layer.take(index, start) for layer in self.parts)


class TransformersRows:
    """See `Rows`.

    Args:
        model: The model of transformers.
        prefix: Tokens that all sequences may begin with; they are read once.
        name: The name of the model, for errors.
        check_readable: Raises `ModelFailed` if the model cannot read the tokens after so many others.
    """

    most = None

    def __init__(
        self,
        model: PreTrainedModel,
        prefix: Sequence[int] = (),
        *,
        name: str,
        check_readable: Callable[[Sequence[int], int], None],
    ) -> None:
        self._model = model
        self._name = name
        self._check_readable = check_readable
        parameters = inspect.signature(self._model.forward).parameters
        self._keeps_last = "logits_to_keep" in parameters
        self._takes_positions = "position_ids" in parameters
        self._device = cast("torch.nn.Embedding", self._model.get_input_embeddings()).weight.device
        # A CPU computes as fast as it reads weights for a few tokens, an accelerator for some hundreds.
        self.overhead = 24 if self._device.type == "cpu" else 256
        self._cache = _Cache()
        self._lengths: list[int] = []
        self._surplus: list[int] = []
        self._prefix = list(prefix)
        self._prefix_cache = _Cache()
        if prefix:
            with torch.inference_mode():
                self._run(self._prefix_cache, [0], [self._prefix], 1)

    @torch.inference_mode()
    def add(self, sequences: Sequence[Sequence[int]]) -> Logits:
        """Begin sequences; see `Rows.add`."""
        known = len(self._prefix)
        shared = known > 0 and all(
            len(ids) > known and list(ids[:known]) == self._prefix for ids in sequences
        )
        cache, lengths = _Cache(), [0] * len(sequences)
        if shared:
            cache, lengths = self._prefix_cache.take([0] * len(sequences), 0), [known] * len(sequences)
        fresh = [list(ids[known:] if shared else ids) for ids in sequences]
        logits = self._run(cache, lengths, fresh, 1)[:, -1]
        if self._lengths:
            self._settle()
            cache = _Cache(
                mine.joined(theirs) for mine, theirs in zip(self._cache.parts, cache.parts, strict=True)
            )
        self._cache = cache
        self._lengths += lengths
        self._surplus += [0] * len(lengths)
        return _host(logits)

    @torch.inference_mode()
    def feed(self, token_ids: Sequence[Sequence[int]]) -> Logits:
        """Feed tokens to each row; see `Rows.feed`."""
        self._settle()
        return _host(self._run(self._cache, self._lengths, token_ids, 1)[:, -1])

    @torch.inference_mode()
    def read(self, token_ids: Sequence[Sequence[int]], last: int) -> Logits:
        """Feed tokens to each row and tell the logits after several; see `ReadsAhead`."""
        self._settle()
        return _host(self._run(self._cache, self._lengths, token_ids, last)[:, -last:])

    @torch.inference_mode()
    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """What the model thinks of several ways to go on; see `Rows.score`."""
        longest = max(map(len, branches))
        scores = [np.zeros(len(branch), np.float32) for branch in branches]
        asked = [number for number, branch in enumerate(branches) if len(branch) > 1]
        if not asked:
            return scores
        self._settle()
        length = self._lengths[row]
        cache = self._cache.take([row] * len(asked), self._total - length)
        fresh = [branches[number][:-1] for number in asked]
        logits = self._run(cache, [length] * len(asked), fresh, longest - 1).float()
        for number, found in zip(asked, torch.log_softmax(logits, -1), strict=True):
            wanted = torch.tensor(list(branches[number][1:]), device=self._device)
            rest = found[-len(wanted) :].gather(1, wanted.unsqueeze(1)).squeeze(1)
            scores[number][1:] = rest.cpu().numpy()
        return scores

    @torch.inference_mode()
    def back(self, row: int, count: int) -> None:
        """Take back tokens of a row; see `Rows.back`."""
        if not 0 <= count <= self._lengths[row]:
            raise ModelFailed(f"row {row} has {self._lengths[row]} tokens, so {count} cannot be taken back")
        self._lengths[row] -= count
        self._surplus[row] += count

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Let go of other rows; see `Rows.keep`."""
        if list(rows) == list(range(len(self._lengths))):
            return
        total = self._total
        self._lengths = [self._lengths[row] for row in rows]
        self._surplus = [self._surplus[row] for row in rows]
        if not rows:
            self._cache = _Cache()
            return
        held = map(sum, zip(self._lengths, self._surplus, strict=True))
        self._cache = self._cache.take(rows, total - max(held))

    @torch.inference_mode()
    def shrink(self) -> None:
        """Let go of the room to grow; see `Shrinking`."""
        self._settle()
        for layer in self._cache.parts:
            layer.shrink()

    @property
    def _total(self) -> int:
        return self._cache.length

    def _settle(self) -> None:
        """Take out of the cache what was taken back: what all rows have too much of is cut, the rest moves them."""
        if not any(self._surplus):
            return
        total, common = self._total, min(self._surplus)
        for layer in self._cache.parts:
            layer.see(total - common)
            for row, surplus in enumerate(self._surplus):
                if surplus > common:
                    layer.shift(row, surplus - common, total - surplus)
        self._surplus = [0] * len(self._surplus)

    def _run(
        self, cache: _Cache, lengths: list[int], fresh: Sequence[Sequence[int]], last: int
    ) -> torch.Tensor:
        """Read tokens; `lengths` grows by them.

        Returns:
            float[rows, tokens, width], of which the last `last` tokens are those asked for.
        """
        for length, row in zip(lengths, fresh, strict=True):
            self._check_readable(row, length)
        width = max(map(len, fresh))
        total = cache.length + width
        after = [length + len(ids) for length, ids in zip(lengths, fresh, strict=True)]
        options: dict[str, object] = {"past_key_values": cache, "use_cache": True, "return_dict": True}
        if self._keeps_last:
            options["logits_to_keep"] = last
        if min(after) < total:
            columns = torch.arange(total, device=self._device).unsqueeze(0)
            positions = columns - torch.tensor([[total - length] for length in after], device=self._device)
            options["attention_mask"] = (positions >= 0).long()
            if self._takes_positions:
                options["position_ids"] = positions[:, total - width :].clamp(min=0)
        ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in fresh], device=self._device)
        cache.moves = [(number, width - len(row)) for number, row in enumerate(fresh) if len(row) < width]
        try:
            output = self._model(input_ids=ids, **options)
        except Exception as error:  # out of memory, or anything from the model's own code
            raise ModelFailed(
                f"the model broke while reading: {error}", place=f"{self._name}, token {max(after)}"
            ) from error
        lengths[:] = after
        return cast("torch.Tensor", output.logits)


def _room(like: torch.Tensor, length: int) -> torch.Tensor:
    rows, heads, _, size = like.shape
    return like.new_zeros((rows, heads, length, size))


def _joined(above: torch.Tensor, below: torch.Tensor, length: int) -> torch.Tensor:
    joined = above.new_zeros((len(above) + len(below), above.shape[1], length, above.shape[3]))
    joined[: len(above), :, length - above.shape[2] :] = above
    joined[len(above) :, :, length - below.shape[2] :] = below
    return joined


def _host(logits: torch.Tensor) -> Logits:
    """The logits as they are, or as an array where they are in the memory of the CPU anyway."""
    return cast("NDArray[np.float32]", logits.float().numpy()) if logits.device.type == "cpu" else logits
