"""Models of transformers: any causal language model, with its tokenizer and KV cache.

torch and transformers are imported when a model is loaded.
"""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

import structkit.demo
from structkit.arguments.names import closest_name, names_arguments
from structkit.error_notes import safe_str
from structkit.errors import MissingExtra, ModelError, VocabularyError
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

__all__ = ["DeviceMap", "TransformersModel", "TransformersSession", "from_transformers", "load_transformers"]

DeviceMap: TypeAlias = "str | Mapping[str, str | int | torch.device] | int | torch.device"
"""The places of the parts of a model, as transformers takes them."""

_WEIGHT_SUFFIXES = ".gguf", ".ggml", ".safetensors", ".bin", ".ckpt", ".onnx"

_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len")


def load_transformers(
    name_or_folder: str | Path | None = None,
    *,
    device: str | None = None,
    dtype: str | torch.dtype | None = None,
    thinking_tags: tuple[str, str] | None = None,
    device_map: DeviceMap | None = None,
    attn_implementation: str | None = None,
    quantization_config: object = None,
) -> TransformersModel:
    """Load a causal language model and its tokenizer with transformers; see `structkit.load`.

    Raises:
        ModelError: A package or the model is missing, or the model is not a causal language model.
        VocabularyError: The tokenizer cannot be read as bytes.
    """
    source = _demo_folder() if name_or_folder is None else _resolve_folder(name_or_folder)
    _check_packages()
    import torch
    import transformers

    location = str(source)
    if device is not None and device_map is not None:
        raise ModelError("device and device_map both place the model; give one of them", place=location)
    torch_device = _device(device)
    if dtype is None:
        # The places of `device_map`, and the type of quantized weights, are those of the checkpoint.
        is_plain = device_map is None and quantization_config is None
        dtype = torch.float32 if is_plain and torch_device.type == "cpu" else "auto"
    elif isinstance(dtype, str) and dtype != "auto":
        dtype = _dtype(dtype)
    given = {
        "device_map": device_map,
        "attn_implementation": attn_implementation,
        "quantization_config": quantization_config,
    }
    try:
        with _without_progress_bars(isinstance(source, Path)):
            config = transformers.AutoConfig.from_pretrained(source, trust_remote_code=False)
            _check_causal(config, location)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=False)
            _freeze_garbage_collector()
            loader: Any = transformers.AutoModelForCausalLM  # its annotation omits the loading info
            model, report = loader.from_pretrained(
                source,
                config=config,
                dtype=dtype,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **{name: value for name, value in given.items() if value is not None},
            )
            if device_map is None and (device is not None or quantization_config is None):
                model.to(torch_device)
    except ModelError:
        raise
    except Exception as error:  # the exceptions depend on the checkpoint and the libraries
        raise _model_error(error, location) from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"the checkpoint lacks weights of a causal language model ({', '.join(missing[:3])}); "
            "choose one that was saved with its language-model head",
            place=location,
        )
    name = "demo" if name_or_folder is None else location
    return TransformersModel(model, tokenizer, name=name, thinking_tags=thinking_tags)


@cache  # later loads need not count the frozen objects, which takes up to 0.1 s
def _freeze_garbage_collector() -> None:
    """Exempt the objects that exist from garbage collection, unless a caller froze objects."""
    if not gc.get_freeze_count():
        gc.collect()  # what is garbage already would never be freed
        gc.freeze()
        atexit.register(gc.unfreeze)  # nanobind, which triton uses, reports objects that remain as leaks


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
    _check_causal(model.config, name)
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


def _check_causal(config: PreTrainedConfig, location: str) -> None:
    """Reject models that are not causal; transformers loads many of them as causal ones, with a warning."""
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


def _check_packages() -> None:
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("transformers", "models of transformers need", package)


def _demo_folder() -> Path:
    folder = Path(structkit.demo.__file__).parent / "model"
    if not (folder / "config.json").is_file():
        raise ModelError(
            "the demo model is not installed; install structkit from its wheel", place=str(folder)
        )
    return folder


def _resolve_folder(name_or_folder: str | Path) -> str | Path:
    """Return a folder that contains a model, or else a possible name on the Hub."""
    folder = Path(name_or_folder).expanduser()
    if (folder / "config.json").is_file():
        return folder
    if folder.is_file():
        raise ModelError(
            "this is a file; give the folder that contains it and config.json, or a .gguf file",
            place=str(folder),
        )
    if folder.exists():
        raise ModelError(
            "the folder contains no model, because config.json is missing; "
            "give the folder that `save_pretrained` wrote",
            place=str(folder),
        )
    # A Hub name is `name` or `organization/name`, and no other kind of path.
    is_hub_name = re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", str(name_or_folder)) is not None
    if isinstance(name_or_folder, str) and is_hub_name and not _names_file(folder):
        if os.environ.get("STRUCTKIT_DOWNLOADS") == "0":
            raise ModelError(
                "downloads from the Hub are disabled by STRUCTKIT_DOWNLOADS=0; in a test, use the fixture "
                "structkit_model, or mark the test with @pytest.mark.structkit_downloads",
                place=name_or_folder,
            )
        return name_or_folder
    near, kind = None, "file" if _names_file(folder) else "folder"
    with suppress(OSError):
        near = closest_name(folder.name, (each.name for each in folder.parent.iterdir()))
    remedy = (
        f"write {str(folder.with_name(near))!r}"
        if near
        else "give a folder that contains config.json, or a .gguf file"
    )
    raise ModelError(f"the {kind} does not exist; {remedy}", place=str(folder))


def _names_file(path: Path) -> bool:
    """Return whether a path looks like a file of weights, and not like a name on the Hub."""
    suffix = path.suffix.lower()
    return suffix in _WEIGHT_SUFFIXES or closest_name(suffix, [".gguf", ".safetensors"]) is not None


def _device(device: str | None) -> torch.device:
    import torch

    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=device).device
    except (AssertionError, RuntimeError) as error:
        raise ModelError(_no_device(device), place=device) from error


def _no_device(device: str) -> str:
    """Return the message about a device that torch does not have."""
    import torch

    has_cuda, meant = torch.cuda.is_available(), device.split(":")[0].lower()
    if meant in ("gpu", "cuda", "nvidia") and not has_cuda:
        return "torch has no CUDA on this machine; write device='cpu', or leave device out"
    if meant in ("gpu", "nvidia"):
        return "the device is unknown; write device='cuda'"
    return "torch does not have this device; write device='cpu', 'cuda' or 'mps', or leave device out"


def _dtype(name: str) -> torch.dtype:
    import torch

    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        short = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}.get(name.lower())
        remedy = "try 'float32', 'bfloat16' or 'auto'" if short is None else f"write dtype={short!r}"
        raise ModelError(f"unknown dtype; {remedy}", place=name)
    if not dtype.is_floating_point:
        raise ModelError(
            "weights are loaded as floats; write dtype='bfloat16', or load quantized weights with transformers and "
            "call structkit.from_transformers(model, tokenizer)",
            place=name,
        )
    return dtype


@contextmanager
def _without_progress_bars(silence: bool) -> Iterator[None]:
    """Hide the progress bars of loading; downloads keep them."""
    import transformers

    logging: Any = transformers.utils.logging
    silence = silence and logging.is_progress_bar_enabled()
    if silence:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if silence:
            logging.enable_progress_bar()


def _model_error(error: Exception, location: str) -> ModelError:
    """Convert an exception of transformers, and add a remedy to its message."""
    text = str(error).strip().split("\n")[0] or type(error).__name__
    if "trust_remote_code" in str(error):
        remedy = "it needs custom code; load it with transformers and use from_transformers"
    elif "safetensors" in str(error):
        remedy = "only safetensors weights are read; load it with transformers and use from_transformers"
    elif "`accelerate`" in text:
        remedy = "install accelerate, or place the model with device"
    elif "quantization" in text.lower():
        remedy = "give a quantization_config of transformers whose package is installed"
    elif isinstance(error, ImportError):
        remedy = "install the missing package"
    elif "attn_implementation" in text:
        remedy = "leave out attn_implementation, or name one that the model has, such as 'sdpa' or 'eager'"
    elif "couldn't connect" in text:
        remedy = (
            "check the name, and set HF_HUB_OFFLINE=0 to download the model, or give a folder that contains it"
            if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE")
            else "check the name and the network, or give a folder that contains the model; HF_HUB_OFFLINE=1 uses what "
            "is downloaded, without a network and at once"
        )
    else:
        remedy = "check the name and the network, or give a folder that contains the model"
    return ModelError(f"the model could not be loaded: {text}; {remedy}", place=location)
