"""Causal language models of transformers, loaded from a folder or from the Hub."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import structkit.demo
from structkit.arguments.names import closest_name
from structkit.errors import MissingExtra, ModelError
from structkit.models.transformers.model import TransformersModel, check_causal

if TYPE_CHECKING:
    import torch

__all__ = ["DeviceMap", "load_transformers"]

DeviceMap: TypeAlias = "str | Mapping[str, str | int | torch.device] | int | torch.device"
"""The places of the parts of a model, as transformers takes them."""

_WEIGHT_SUFFIXES = ".gguf", ".ggml", ".safetensors", ".bin", ".ckpt", ".onnx"


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
            check_causal(config, location)
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
    _check_complete(report["missing_keys"], location)
    name = "demo" if name_or_folder is None else location
    return TransformersModel(model, tokenizer, name=name, thinking_tags=thinking_tags)


@cache  # later loads need not count the frozen objects, which takes up to 0.1 s
def _freeze_garbage_collector() -> None:
    """Exempt the objects that exist from garbage collection, unless a caller froze objects."""
    if not gc.get_freeze_count():
        gc.collect()  # what is garbage already would never be freed
        gc.freeze()
        atexit.register(gc.unfreeze)  # nanobind, which triton uses, reports objects that remain as leaks


def _check_complete(missing_keys: Iterable[str], location: str) -> None:
    """Raise `ModelError` for a checkpoint without all weights; transformers would fill them with random numbers."""
    missing = sorted(missing_keys)
    if missing:
        raise ModelError(
            f"the checkpoint lacks weights of a causal language model ({', '.join(missing[:3])}); "
            "choose one that was saved with its language-model head",
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
