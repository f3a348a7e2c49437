"""Models by their names: a folder, a name on the Hub, or a provider and its model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, overload

from structkit.arguments.names import names_arguments
from structkit.errors import MissingExtra, ModelError
from structkit.models.hosted.anthropic import anthropic_from_environment
from structkit.models.hosted.gemini import gemini_from_environment
from structkit.models.hosted.model import HostedModel
from structkit.models.hosted.openai import openai_from_environment
from structkit.models.llama_cpp.model import LlamaCppModel, load_gguf
from structkit.models.servers.connect import connect
from structkit.models.servers.model import ServerModel
from structkit.models.transformers.loading import DeviceMap, load_transformers
from structkit.models.transformers.model import TransformersModel

if TYPE_CHECKING:
    import torch

__all__ = ["load"]


@dataclass(frozen=True, slots=True)
class _Server:
    """A kind of server: its usual address, and how it starts."""

    url: str
    start: str


_HOSTED: Mapping[str, Callable[[str], HostedModel]] = MappingProxyType(
    {
        "openai": openai_from_environment,
        "anthropic": anthropic_from_environment,
        "google": gemini_from_environment,
        "gemini": gemini_from_environment,
    }
)

_HOSTED_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "openai": r"(chatgpt-|gpt-[3-9]|o[1-9](-|\Z))(?!.*/)",
        "anthropic": r"claude-(?!.*/)",
        "google": r"gemini-(?!.*/)",
    }
)
"""The beginnings of names that no model on the Hub has."""

_PREFIXES = re.compile(r"\A((openai|anthropic|azure|gemini|google|models|openrouter)/)+", re.IGNORECASE)
"""What other libraries and hosts write before the name of a hosted model."""

_SERVERS: Mapping[str, _Server] = MappingProxyType(
    {
        "ollama": _Server(
            "http://localhost:11434", "`ollama serve` starts Ollama, and `ollama pull {name}` gets the model"
        ),
        "vllm": _Server("http://localhost:8000", "`vllm serve {name}` starts vLLM"),
        "sglang": _Server(
            "http://localhost:30000", "`python -m sglang.launch_server --model-path {name}` starts SGLang"
        ),
        "llama.cpp": _Server("http://localhost:8080", "`llama-server -m FILE.gguf` starts llama.cpp"),
        "lmstudio": _Server(
            "http://localhost:1234", "`lms server start` starts LM Studio, and `lms load {name}` the model"
        ),
    }
)


@overload
def load(
    name_or_path: None = None,
    *,
    device: str | None = None,
    dtype: str | torch.dtype | None = None,
    thinking_tags: tuple[str, str] | None = None,
    torch_dtype: str | torch.dtype | None = None,
    device_map: DeviceMap | None = None,
    attn_implementation: str | None = None,
    quantization_config: object = None,
) -> TransformersModel: ...
@overload
def load(
    name_or_path: str | Path | None,
    *,
    device: str | None = None,
    dtype: str | torch.dtype | None = None,
    thinking_tags: tuple[str, str] | None = None,
    torch_dtype: str | torch.dtype | None = None,
    device_map: DeviceMap | None = None,
    attn_implementation: str | None = None,
    quantization_config: object = None,
) -> TransformersModel | Any: ...  # a model of llama.cpp, or a text model if the name has a provider
@names_arguments
def load(
    name_or_path: str | Path | None = None,
    *,
    device: str | None = None,
    dtype: str | torch.dtype | None = None,
    thinking_tags: tuple[str, str] | None = None,
    torch_dtype: str | torch.dtype | None = None,
    device_map: DeviceMap | None = None,
    attn_implementation: str | None = None,
    quantization_config: object = None,
) -> TransformersModel | LlamaCppModel | HostedModel | ServerModel:
    """Load a causal language model and its tokenizer, or reach a model by the name of its provider.

    A path that ends with `.gguf` is loaded by llama.cpp, everything else by transformers. Of transformers, only
    safetensors weights are read, and code of the checkpoint is not run; for other models, load the model with
    transformers and call `from_transformers`.

    For the first model of transformers, if nothing is frozen yet, `gc.freeze()` is called before the weights are read:
    the objects that exist then, such as the imported packages, are not traversed by the garbage collector, which
    otherwise interrupts a token for up to 0.1 s. The model itself is not frozen. `gc.unfreeze()` undoes it.

    A name with a provider gives a model that returns text. Hosted models get the key from the environment variable of
    the official client, and servers are reached at their usual address, or at the one after `@`:

    | name | model |
    |---|---|
    | `openai:gpt-5-mini` | `from_openai`; the key is in `OPENAI_API_KEY` |
    | `anthropic:claude-opus-5` | `from_anthropic`; the key is in `ANTHROPIC_API_KEY` |
    | `google:gemini-3.5-flash`, `gemini:...` | `from_gemini`; the key is in `GEMINI_API_KEY` or `GOOGLE_API_KEY` |
    | `ollama:qwen3` | `connect`; likewise `vllm`, `sglang`, `llama.cpp` and `lmstudio` |
    | `vllm:org/name@http://host:8000` | `connect("http://host:8000", "org/name")` |
    | `llama.cpp:` | the only model of the server |

    Args:
        name_or_path: A folder in the Hugging Face format, a name on the Hub, a GGUF file (the first, of a model in
            several), or a provider and its model; by default, or by the name `"demo"`, the demo model that ships with
            structkit.
        device: Device of the model, such as `"cuda"`; by default a CUDA device if available, else the CPU. For a GGUF
            file `"cpu"` or any other name, which stands for the GPU that llama.cpp was built for.
        dtype: Type of the weights, such as `"bfloat16"`, or `"auto"` for the type of the checkpoint; by default
            float32 on a CPU, where half precision is slow, and the type of the checkpoint elsewhere. Not for a GGUF
            file, which is not converted.
        thinking_tags: See `from_transformers`.
        torch_dtype: The same as `dtype`, as older code of transformers spells it.
        device_map: The places of the parts of a model, such as `"auto"` for several cards, in place of `device`; for
            transformers, which needs the package accelerate for it. By default `dtype` is then that of the checkpoint.
        attn_implementation: The attention, such as `"sdpa"`, `"eager"` or `"flash_attention_2"`; for transformers.
        quantization_config: A quantization of transformers, such as `BitsAndBytesConfig(load_in_4bit=True)`; it needs
            the package of its kind. The model stays where transformers puts it, unless `device` is given.

    Raises:
        ModelError: A package, a key, the server or the model is missing, or the model is not a causal language model.
        VocabularyError: The tokenizer cannot be read as bytes.
        TypeError: The name is neither a string nor a path.

    >>> load("./no/such/folder")
    Traceback (most recent call last):
    structkit.errors.ModelError: at `no/such/folder`:
      the folder does not exist
      give a folder that contains config.json, or a .gguf file
    """
    if not isinstance(name_or_path, (str, PathLike, NoneType)):
        raise TypeError(
            f"a model is named by a string or a path, not {name_or_path!r:.60}; write load('...')"
        )
    if name_or_path == "demo" and not Path(name_or_path).exists():
        name_or_path = None
    dtype = _one_dtype(dtype, torch_dtype)
    placing: dict[str, Any] = {
        "device_map": device_map,
        "attn_implementation": attn_implementation,
        "quantization_config": quantization_config,
    }
    found = None if name_or_path is None else _split(name_or_path)
    if found is None and name_or_path is not None and str(name_or_path).lower().endswith(".gguf"):
        path = Path(name_or_path).expanduser()
        if dtype is not None:
            raise ModelError(
                "the weights of a GGUF file are not converted; leave out dtype, or choose another file",
                place=str(path),
            )
        _check_unset(placing, "models of transformers", str(path))
        return load_gguf(path, device=device, thinking_tags=thinking_tags)
    if found is None:
        return load_transformers(
            name_or_path, device=device, dtype=dtype, thinking_tags=thinking_tags, **placing
        )
    settings = {"device": device, "dtype": dtype, "thinking_tags": thinking_tags, **placing}
    _check_unset(settings, "models that run in this process", ":".join(found))
    return _reach(*found)


def _one_dtype(
    dtype: str | torch.dtype | None, torch_dtype: str | torch.dtype | None
) -> str | torch.dtype | None:
    """Return the type of the weights from its two names.

    Raises:
        ModelError: The two differ.
    """
    if dtype is not None and torch_dtype is not None and dtype != torch_dtype:
        raise ModelError(
            f"dtype is {dtype} and torch_dtype is {torch_dtype}, which are two names of one setting; give one of them"
        )
    return torch_dtype if dtype is None else dtype


def _check_unset(settings: Mapping[str, object], models: str, place: str) -> None:
    """Raise `ModelError` for a setting that only other models have."""
    for setting, value in settings.items():
        if value is not None:
            raise ModelError(f"{setting} is a setting of {models}; leave it out", place=place)


def _reach(provider: str, model: str) -> HostedModel | ServerModel:
    """Return a model of a provider.

    Raises:
        ModelError: An extra, a key, the server or the model is missing.
    """
    name = f"{provider}:{model}"
    try:
        if provider in _SERVERS:
            return _connect(provider, model)
        if not model:
            raise ModelError(f"the name of the model is missing; write {provider}:MODEL", place=name)
        return _HOSTED[provider](model)
    except MissingExtra as error:
        error.place = name
        raise


def _split(name: str | Path) -> tuple[str, str] | None:
    """Return the provider and the model of a name; `None` for a path and a name on the Hub.

    Raises:
        ModelError: The provider is unknown.

    >>> _split("openai:gpt-5-mini"), _split("org/name"), _split("C:/models/qwen")
    (('openai', 'gpt-5-mini'), None, None)
    """
    # One letter before the colon is a drive of Windows.
    found = re.fullmatch(r"([A-Za-z\d][\w.-]+):(.*)", name) if isinstance(name, str) else None
    if found is None:
        _check_elsewhere(name)
        return None
    provider = found[1].lower()
    if provider in _HOSTED or provider in _SERVERS:
        return provider, found[2]
    if Path(found[0]).exists():
        return None
    if provider in ("http", "https"):
        meant = f"pass it to structkit.connect, or write vllm:MODEL@{found[0]}"
        raise ModelError(f"an address is not the name of a model; {meant}", place=found[0])
    if re.fullmatch(r"\d{1,5}(/.*)?", found[2]):
        raise ModelError(f"an address begins with http://; write http://{found[0]}", place=found[0])
    known = (*_HOSTED, *_SERVERS)
    close = get_close_matches(provider, known, 1)
    meant = f"write {close[0]}:{found[2]}" if close else f"it is one of {', '.join(known)}"
    raise ModelError(f"the provider {found[1]!r} is unknown; {meant}", place=found[0])


def _check_elsewhere(name: str | Path) -> None:
    """Raise `ModelError` for a model that the Hub would be asked for, and only a host or a server has.

    >>> _check_elsewhere("openai/gpt-oss-20b")
    >>> _check_elsewhere("openai/gpt-4o")
    Traceback (most recent call last):
    structkit.errors.ModelError: at `openai/gpt-4o`:
      openai/gpt-4o is the name of a hosted model
      write openai:gpt-4o
    """
    if not isinstance(name, str) or Path(name).exists():
        return
    bare = _PREFIXES.sub("", name)
    for provider, names in _HOSTED_NAMES.items():
        if re.match(names, bare):
            raise ModelError(f"{name} is the name of a hosted model; write {provider}:{bare}", place=name)
    provider, separator, model = name.partition("/")
    if separator and provider.lower() in ("ollama", "lmstudio"):
        raise ModelError(f"{name} is the name of a model of a server; write {provider}:{model}", place=name)


def _connect(provider: str, model: str) -> ServerModel:
    """Return a model of a server.

    Raises:
        ModelError: The server does not answer, or does not have the model.
    """
    server = _SERVERS[provider]
    # Models of LM Studio have names such as qwen3@q4_k_m, so not each @ precedes an address.
    name, separator, address = model.rpartition("@http")
    name, url = (name, f"http{address}") if separator else (model, server.url)
    if host := re.fullmatch(r"(.*)@([\w.-]+:\d{1,5}(?:/.*)?)", name):
        meant = f"{provider}:{host[1]}@http://{host[2]}"
        raise ModelError(f"an address begins with http://; write {meant}", place=f"{provider}:{name}")
    try:
        return connect(url, name or None)
    except ValueError as error:
        raise ModelError(str(error), place=f"{provider}:{name}") from None
    except ModelError as error:
        start = server.start.format(name=name or "MODEL")
        remedy = f"{start}; for another address give {provider}:{name}@http://HOST:PORT"
        raise ModelError(f"{error.message}; {remedy}", place=error.place) from error
