"""Models of transformers: any causal language model, with its tokenizer and KV cache.

torch and transformers are imported when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from structkit.arguments.names import names_arguments
from structkit.error_notes import safe_str
from structkit.errors import ModelError, VocabularyError
from structkit.models.chat_template import ChatTokenizer
from structkit.models.local import LocalModel
from structkit.models.protocols import Batch
from structkit.models.transformers.forks import limit_threads_in_forks
from structkit.models.transformers.forward import cache_parameter, forward_parameters, input_device
from structkit.vocabulary.tokenizers import find_eos_token_ids, find_named_tokens, read_tokens
from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch
    from transformers import Cache, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
    from transformers.modeling_outputs import CausalLMOutputWithPast

__all__ = ["TransformersModel", "TransformersSession", "check_causal", "from_transformers"]

_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len")


@names_arguments
def from_transformers(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    thinking_tags: tuple[str, str] | None = None,
) -> TransformersModel:
    """Wrap a loaded model; the model is set to evaluation mode and stays on its device.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its tokenizer.
        thinking_tags: Start and end tags of the model's thinking, such as `("<think>", "</think>")`; by default the
            tags in its chat template or tokenizer.

    Raises:
        ModelError: The model is not a causal language model, or an argument is not an object of transformers.
        VocabularyError: The tokenizer cannot be read as bytes.
    """
    if not hasattr(tokenizer, "apply_chat_template") or not hasattr(model, "get_input_embeddings"):
        own = next((each for each in (model, tokenizer) if isinstance(each, LocalModel)), None)
        if isinstance(model, str):
            remedy = f"write structkit.load({model!r:.200}), or pass loaded objects"
        elif own is not None:
            remedy = f"{own.name} is a model of structkit already: pass it to structkit.extract as it is"
        elif hasattr(model, "apply_chat_template") and hasattr(tokenizer, "get_input_embeddings"):
            remedy = "the order is model, tokenizer"
        else:
            remedy = "wrap a tokenizers.Tokenizer in PreTrainedTokenizerFast(tokenizer_object=...)"
        raise ModelError(
            f"a {type(model).__name__} with a {type(tokenizer).__name__} is not a model and tokenizer of transformers; "
            f"{remedy}"
        )
    name = getattr(model.config, "_name_or_path", "") or type(model).__name__
    check_causal(model.config, name)
    return TransformersModel(model, tokenizer, name=name, thinking_tags=thinking_tags)


class TransformersModel(LocalModel):
    """A causal language model of transformers as a `LogitsModel`.

    Attributes:
        model: The model, in evaluation mode.
        tokenizer: Its tokenizer.
        name: The folder or the Hub name; `demo` for the demo model.
        vocabulary: The tokens that the model can generate; the logits may be wider.
        context_length: Maximum number of tokens of a sequence, if the configuration has one.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str,
        thinking_tags: tuple[str, str] | None = None,
    ) -> None:
        limit_threads_in_forks()
        self.model = model
        self.model.train(False)
        self.tokenizer = tokenizer
        super().__init__(
            cast("ChatTokenizer", tokenizer),
            _vocabulary(model, tokenizer),
            _context_length(model.config),
            name=name,
            thinking_tags=thinking_tags,
        )

    @property
    def width(self) -> int:
        """Number of tokens that the model can read: the rows of its embeddings."""
        return cast("torch.nn.Embedding", self.model.get_input_embeddings()).weight.shape[0]

    def decode(self, token_ids: Sequence[int]) -> str:
        """Decode tokens, including control tokens, to readable text."""
        decoded = self.tokenizer.decode(list(token_ids), clean_up_tokenization_spaces=False)
        return decoded if isinstance(decoded, str) else "".join(decoded)

    def session(self) -> TransformersSession:
        """Start a sequence with an empty KV cache."""
        return TransformersSession(self)

    @cached_property
    def _cache_parameter(self) -> str | None:
        return cache_parameter(self.model)

    def batch(self) -> Batch | None:
        """Start a batch; see `SupportsBatching`. `None` for recurrent models."""
        from structkit.models.transformers.kv_batch import TransformersBatch, can_batch

        if not can_batch(self.model):
            return None
        return TransformersBatch(self.model, name=self.name, check_readable=self.check_readable)


class TransformersSession:
    """One sequence and its KV cache; see `Session`.

    The cache holds the first `_cached` of the fed tokens. A cache that cannot be cropped, such as that of a sliding
    window or a recurrent model, is dropped, and its tokens are fed again with the next ones.
    """

    def __init__(self, model: TransformersModel) -> None:
        self._owner = model
        self._model = model.model
        self._device = input_device(self._model)
        self._supports_logits_to_keep = "logits_to_keep" in forward_parameters(self._model)
        self._cache_parameter = model._cache_parameter
        self._fed: list[int] = []
        self._cached = 0
        self._cache: Cache | None = None

    @property
    def length(self) -> int:
        """Number of tokens fed so far."""
        return len(self._fed)

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed at least one token, and return the logits of the token that follows: float32[width].

        Raises:
            ModelError: The model failed, its logits are NaN or infinite, or the sequence is too long.
        """
        import torch

        fed = [*self._fed, *token_ids]
        self._owner.check_readable(token_ids, len(self._fed))
        try:
            with torch.inference_mode():
                output = self._forward(torch.tensor([fed[self._cached :]], device=self._device))
                row = cast("torch.Tensor", output.logits)[0, -1].float().cpu().numpy()
        except Exception as error:  # out of memory, or an exception of the model's code
            self._reset()
            raise ModelError(
                f"the model failed: {safe_str(error)}; see its traceback above",
                place=f"{self._owner.name}, token {len(fed)}",
            ) from error
        self._fed = fed
        self._cache = getattr(output, self._cache_parameter, None) if self._cache_parameter else None
        self._cached = 0 if self._cache is None else len(fed)
        if not np.isfinite(row.max()):
            raise ModelError(
                "the logits are NaN or infinite; load the model with dtype='float32'",
                place=f"{self._owner.name}, token {len(fed)}",
            )
        return cast("NDArray[np.float32]", row)

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens that were fed.

        Raises:
            ModelError: Fewer than `length` tokens were fed.
        """
        if not 0 <= length <= len(self._fed):
            raise ModelError(
                f"the sequence has {len(self._fed)} tokens, so it cannot be cropped to {length}; crop to fewer"
            )
        surplus = self._cached - length
        del self._fed[length:]
        if surplus <= 0:
            return
        if length and _crop_cache(self._cache, surplus, length):
            self._cached = length
        else:
            self._reset()

    def _forward(self, ids: torch.Tensor) -> CausalLMOutputWithPast:
        """Compute the tokens after the cache; the model derives positions and mask from the length of the cache."""
        options: dict[str, object] = {"use_cache": True, "return_dict": True}
        if self._supports_logits_to_keep:
            options["logits_to_keep"] = 1
        if self._cache is not None and self._cache_parameter:
            options[self._cache_parameter] = self._cache
        return cast("CausalLMOutputWithPast", self._model(input_ids=ids, **options))

    def _reset(self) -> None:
        self._cache = None
        self._cached = 0


def _crop_cache(cache: object, surplus: int, length: int) -> bool:
    """Remove the last `surplus` tokens from the cache; return whether that succeeded (if not, drop the cache)."""
    crop: Callable[[int], None] | None = getattr(cache, "crop", None)
    if crop is None:
        return False
    try:
        crop(-surplus)
    except (NotImplementedError, RuntimeError, ValueError):
        return False
    return cast("Cache", cache).get_seq_length() == length


def _vocabulary(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Vocabulary:
    """Return the tokenizer's tokens that have logits, with the end tokens of the model and the tokenizer."""
    tokens = read_tokens(tokenizer)
    head: object = cast(Any, model).get_output_embeddings()
    width = getattr(head, "out_features", None) or getattr(model.config.get_text_config(), "vocab_size", None)
    tokens = tokens[:width]
    declared = getattr(model.generation_config, "eos_token_id", None)
    declared = [declared] if isinstance(declared, int) else declared or []
    # A default configuration may declare a text token as end token, which could then not be generated as text.
    ends = find_eos_token_ids(tokenizer) | {end for end in declared if end < len(tokens) and not tokens[end]}
    ends_with_logits = [end for end in ends if width is None or end < width]
    if not ends_with_logits:
        raise VocabularyError("the tokenizer has no end-of-sequence token; set tokenizer.eos_token")
    return Vocabulary(tokens, ends_with_logits, find_named_tokens(tokenizer, len(tokens)))


def _context_length(config: PreTrainedConfig) -> int | None:
    text = config.get_text_config()
    for name in _CONTEXT_NAMES:
        length = getattr(text, name, None)
        if isinstance(length, int) and length > 0:
            return length
    return None


def check_causal(config: PreTrainedConfig, location: str) -> None:
    """Reject models that are not causal; transformers loads many of them as causal ones, with a warning.

    Raises:
        ModelError: The model has an encoder.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    is_bidirectional = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if getattr(config, "is_encoder_decoder", False):
        kind = "has an encoder and a decoder"
    elif is_bidirectional and getattr(config, "is_decoder", True) is False:
        kind = "is an encoder, which reads in both directions"
    else:
        return
    raise ModelError(
        f"a {config.model_type} model {kind}; choose a causal language model, such as Qwen/Qwen3-0.6B",
        place=location,
    )
