"""The logits processor for both interfaces of vLLM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from llvmlite.binding import ffi as llvm
from vllm.reasoning import ReasoningParserManager
from vllm.tokenizers import cached_tokenizer_from_config
from vllm.v1.sample.logits_processor import LogitsProcessor as _LogitsProcessor
from vllm.v1.sample.logits_processor import MoveDirectionality

from structkit.generate.sample.select_torch import apply_masks
from structkit.integrations.vllm.arguments import check_params, target_key
from structkit.integrations.vllm.rows import Guides, Row
from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from vllm import SamplingParams
    from vllm.config import VllmConfig
    from vllm.v1.sample.logits_processor import BatchUpdate

__all__ = ["Guided"]


class Guided(_LogitsProcessor):  # type: ignore[misc]  # vllm has no types here
    """Masks the logits of vLLM so that each request writes a value of its target.

    Pass the class as `LLM(logits_processors=[Guided])` or `--logits-processors structkit.integrations.vllm:Guided`.
    Requests without a target are not changed.

    A value is complete within `max_tokens` wherever it fits. With `--reasoning-parser` the target begins behind the
    thinking, as with vLLM's own constraints. After a preemption the generated tokens are read again.
    """

    def __init__(self, vllm_config: VllmConfig, device: torch.device, is_pin_memory: bool) -> None:
        self._tokenizer = cached_tokenizer_from_config(vllm_config.model_config)
        self._guides = Guides(_vocabulary(vllm_config, self._tokenizer))
        self._find_reasoner = _reasoner_of(vllm_config)
        self._rows: dict[int, tuple[Row, list[int]]] = {}

    @classmethod
    def validate_params(cls, params: SamplingParams) -> None:
        """Raise `ValueError` for a target that cannot be enforced, so that the request is answered with status 400."""
        check_params(params)

    def is_argmax_invariant(self) -> bool:
        """Return False: a mask can change the most likely token."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow the requests that leave, come, and move within the batch."""
        if batch_update is None:
            return
        for index in batch_update.removed:
            self._rows.pop(index, None)
        for index, params, prompt, output in batch_update.added:
            self._rows.pop(index, None)
            key = target_key(params)
            if key is not None:
                self._rows[index] = self._row(key, params.max_tokens, prompt or []), output
        for source, target, direction in batch_update.moved:
            moved, replaced = self._rows.pop(source, None), self._rows.pop(target, None)
            if moved is not None:
                self._rows[target] = moved
            if replaced is not None and direction == MoveDirectionality.SWAP:
                self._rows[source] = replaced

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Write -inf to the logits of forbidden tokens.

        Args:
            logits: float32[rows, width], changed in place.
        """
        if not self._rows:
            return logits
        for row, output in self._rows.values():
            # Only here the list has the last token: with asynchronous scheduling it is -1 in `update_state`.
            row.read(output[row.size :])
        rows = [self._rows[index][0] if index in self._rows else None for index in range(len(logits))]
        self._mask(logits, rows)
        return logits

    def _mask(self, logits: torch.Tensor, rows: Sequence[Row | None]) -> None:
        masks = np.empty((len(rows), self._guides.vocabulary.mask_words), np.uint32)
        self._guides.fill_masks(rows, masks)
        apply_masks(logits, masks)

    def _row(self, key: str, max_tokens: int | None, prompt: Sequence[int]) -> Row:
        end = None
        if self._find_reasoner is not None:
            reasoner = self._find_reasoner(self._tokenizer)
            if not reasoner.is_reasoning_end(list(prompt)):
                end = reasoner.is_reasoning_end_streaming
        return Row(self._guides.guide(key), max_tokens, prompt=prompt, end_of_thinking=end)


def _hide_names_of_llvm() -> None:
    """Let vLLM start on a CPU after numba was imported.

    Without Triton vLLM reads `__dict__` of everything in every module (`_rebind_kernels`, 0.32). The wrapper of LLVM's
    library returns a function for any name, also for this one; no function of LLVM has such a name.
    """
    wrapper: Any = type(llvm.lib)
    find = wrapper.__getattr__

    def find_public(self: object, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return find(self, name)

    wrapper.__getattr__ = find_public


def _vocabulary(config: VllmConfig, tokenizer: object) -> Vocabulary:
    """Return the tokens of the model; its end tokens are those at which vLLM ends a request."""
    model = config.model_config
    declared = model.try_get_generation_config().get("eos_token_id")
    ends = {declared} if isinstance(declared, int) else set(declared or ())
    own = getattr(tokenizer, "eos_token_id", None)
    return Vocabulary.from_tokenizer(
        tokenizer, eos_token_ids=ends if own is None else {own, *ends}, size=model.get_vocab_size()
    )


def _reasoner_of(config: VllmConfig) -> Callable[[object], Any] | None:
    """Return the class that finds the end of the thinking of this model; `None` if the target begins at once."""
    options = config.structured_outputs_config
    if not options.reasoning_parser or options.enable_in_reasoning:
        return None
    if options.reasoning_parser_plugin:
        ReasoningParserManager.import_reasoning_parser(options.reasoning_parser_plugin)
    found: Callable[[object], Any] = ReasoningParserManager.get_reasoning_parser(options.reasoning_parser)
    return found


_hide_names_of_llvm()
