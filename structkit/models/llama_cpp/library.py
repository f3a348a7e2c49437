"""The functions of llama.cpp that structkit calls, through llama-cpp-python."""

from __future__ import annotations

import ctypes
import logging
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structkit.errors import MissingExtra, ModelError

__all__ = ["Context", "NoRoom", "Piece", "Weights", "load_weights", "weights_of"]


class Piece(NamedTuple):
    """A token of the vocabulary."""

    text: bytes
    """The bytes that the token adds to a text; empty if it is not text."""

    added: str | None
    """The text of a token that is no part of the learned vocabulary, such as `<|im_end|>`; `None` for other tokens."""

    is_end: bool
    """Whether the token ends a sequence."""


class Weights:
    """A model in memory, with its vocabulary.

    Args:
        library: The module `llama_cpp`.
        model: The pointer to the model.
        gpu_layers: Number of layers to run on a GPU, if there is one; negative for all.
        parameters: Parameters of contexts, a struct.
        is_open: Whether the model is in memory.
        adapter: Path and scale of a LoRA adapter.

    Attributes:
        width: Number of tokens.
        training_length: Number of tokens of a sequence in training.
        uses_gpu: Whether layers run on a GPU.
        is_recurrent: Whether the state of a sequence cannot be cut; also of models in which some layers are recurrent.
    """

    def __init__(
        self,
        library: Any,
        model: Any,
        gpu_layers: int,
        parameters: Any,
        is_open: Callable[[], bool],
        adapter: tuple[str, float] | None = None,
    ) -> None:
        self._library = library
        self._model = model
        self._vocabulary = library.llama_model_get_vocab(model)
        self._parameters = parameters
        self._adapters, self._scales = _load_adapter(library, model, adapter)
        self.is_open = is_open
        self.uses_gpu = bool(gpu_layers and library.llama_supports_gpu_offload())
        self.width = int(library.llama_vocab_n_tokens(self._vocabulary))
        self.training_length = int(library.llama_model_n_ctx_train(model))
        self.is_recurrent = bool(
            library.llama_model_is_recurrent(model) or library.llama_model_is_hybrid(model)
        )

    def check_causal(self, location: str) -> None:
        """Check that the model writes texts from left to right.

        Raises:
            ModelError: The model has an encoder, or is a diffusion model.
        """
        library = self._library
        if library.llama_model_has_encoder(self._model) or library.llama_model_is_diffusion(self._model):
            raise ModelError(
                "the model does not write a text from left to right; choose a causal language model",
                place=location,
            )

    def pieces(self) -> list[Piece]:
        """Read the vocabulary."""
        library, vocabulary = self._library, self._vocabulary
        added = (
            library.LLAMA_TOKEN_ATTR_CONTROL
            | library.LLAMA_TOKEN_ATTR_UNKNOWN
            | library.LLAMA_TOKEN_ATTR_USER_DEFINED
        )
        return [
            Piece(
                self._bytes_of(token_id, special=False),
                self.name_of(token_id)
                if library.llama_vocab_get_attr(vocabulary, token_id) & added
                else None,
                bool(library.llama_vocab_is_eog(vocabulary, token_id)),
            )
            for token_id in range(self.width)
        ]

    def name_of(self, token_id: int) -> str:
        """Return the text of a token in the tokenizer's own writing."""
        text: bytes = self._library.llama_vocab_get_text(self._vocabulary, token_id)
        return text.decode("utf-8", errors="replace")

    def special_tokens(self) -> dict[str, int]:
        """Return the ids of the special tokens that chat templates write, by the names of their variables."""
        found = {
            f"{name}_token": int(getattr(self._library, f"llama_vocab_{name}")(self._vocabulary))
            for name in ("bos", "eos", "pad", "sep")
        }
        return {name: token_id for name, token_id in found.items() if token_id >= 0}

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text; with `parse_special`, the names of control tokens are read as these tokens."""
        content = text.encode()
        size = len(content) + 8
        while True:
            ids = (ctypes.c_int32 * size)()
            count = self._library.llama_tokenize(
                self._vocabulary, content, len(content), ids, size, add_special, parse_special
            )
            if count >= 0:
                return ids[:count]
            size = -count

    def decode(self, token_ids: Sequence[int]) -> str:
        """Decode tokens, including control tokens, to readable text."""
        content = b"".join(self._bytes_of(token_id, special=True) for token_id in token_ids)
        return content.decode("utf-8", errors="replace")

    def chat_template(self, name: str | None = None) -> str | None:
        """Return the chat template of a name, by default the main one; `None` if there is none."""
        template: bytes | None = self._library.llama_model_chat_template(
            self._model, None if name is None else name.encode()
        )
        return None if template is None else template.decode("utf-8", errors="replace")

    def context(self, cells: int, sequences: int) -> Context | None:
        """Return a context for a number of tokens and sequences; `None` without memory for it.

        Raises:
            ModelError: The model is closed.
        """
        if not self.is_open():
            raise ModelError("the llama_cpp.Llama is closed; create another one")
        parameters = type(self._parameters).from_buffer_copy(self._parameters)
        parameters.n_ctx, parameters.n_seq_max = cells, sequences
        parameters.n_batch = max(parameters.n_batch, _MIN_BATCH)
        parameters.n_outputs_max = 0
        parameters.embeddings = False
        parameters.pooling_type = self._library.LLAMA_POOLING_TYPE_UNSPECIFIED
        # All sequences share the cells, and so can share a prefix.
        parameters.kv_unified = True
        # Without it, the keys before a sliding window are dropped, and a rewind would read on without them.
        parameters.swa_full = True
        with _captured_log(self._library):
            pointer = self._library.llama_init_from_model(self._model, parameters)
        if not pointer:
            return None
        if self._adapters is not None:
            self._library.llama_set_adapters_lora(pointer, self._adapters, 1, self._scales)
        return Context(self._library, self, pointer)

    def _bytes_of(self, token_id: int, *, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = self._library.llama_token_to_piece(self._vocabulary, token_id, buffer, size, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count


_MIN_BATCH = 512
"""Tokens of one call of llama.cpp; at least the number of sequences."""


_ERROR_LEVEL = 4
"""The level of errors in the log of llama.cpp."""


class NoRoom(Exception):
    """The cells of a context are occupied."""


class Context:
    """The state of sequences of one model, numbered from 0, in cells of one token each.

    Args:
        library: The module `llama_cpp`.
        weights: The model.
        pointer: The pointer to the context, which is freed with this object.

    Attributes:
        cells: Number of cells.
        batch_size: Maximum number of tokens of one call of `decode`.
    """

    def __init__(self, library: Any, weights: Weights, pointer: Any) -> None:
        self._library = library
        self._weights = weights
        self._pointer = pointer
        # The weights are freed after their contexts: the finalizer holds them.
        self.free = weakref.finalize(self, _free_context, library, pointer, weights)
        self._memory = library.llama_get_memory(pointer)
        self.cells = int(library.llama_n_ctx(pointer))
        self.batch_size = int(library.llama_n_batch(pointer))
        self._arrays = _BatchArrays(library, self.batch_size)

    @property
    def is_open(self) -> bool:
        """Whether the context and its model are in memory."""
        return self.free.alive and self._weights.is_open()

    @property
    def has_memory(self) -> bool:
        """Whether sequences have a state; false for models that read a text in both directions."""
        return bool(self._memory)

    def cut(self, sequence: int, length: int) -> bool:
        """Keep the first `length` tokens of a sequence; return whether that was possible, which it is for 0."""
        return self.is_open and bool(
            self._library.llama_memory_seq_rm(self._memory, sequence, length or -1, -1)
        )

    def copy(self, source: int, target: int, length: int) -> None:
        """Let an empty sequence share the first `length` tokens of another one."""
        self._library.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def decode(
        self,
        token_ids: Sequence[int],
        positions: Sequence[int],
        sequences: Sequence[int],
        wanted: Sequence[bool],
    ) -> list[NDArray[np.float32]]:
        """Read tokens, at most `batch_size`, and return the logits after each wanted one.

        The logits are valid until the next call.

        Raises:
            NoRoom: Too few cells are free, or the context is freed; nothing was read.
            ModelError: llama.cpp failed.
        """
        if not self.is_open:
            raise NoRoom
        batch = self._arrays.fill(token_ids, positions, sequences, wanted)
        code = self._library.llama_decode(self._pointer, batch)
        if code == 1:
            raise NoRoom
        if code:
            raise ModelError(f"the model failed: llama_decode returned {code}; llama.cpp logs the reason")
        return [
            np.ctypeslib.as_array(
                self._library.llama_get_logits_ith(self._pointer, place), (self._weights.width,)
            )
            for place, is_wanted in enumerate(wanted)
            if is_wanted
        ]


class _BatchArrays:
    """The memory of a `llama_batch` struct."""

    def __init__(self, library: Any, size: int) -> None:
        self._tokens, self._positions, self._sequences = np.zeros((3, size), np.int32)
        self._counts = np.ones(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        # Each token has an array of its sequences, here of one.
        self._addresses = self._sequences.ctypes.data + np.arange(size, dtype=np.uintp) * 4
        numbers, lists = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))
        self._batch = library.llama_batch(
            n_tokens=0,
            token=self._tokens.ctypes.data_as(numbers),
            embd=None,
            pos=self._positions.ctypes.data_as(numbers),
            n_seq_id=self._counts.ctypes.data_as(numbers),
            seq_id=self._addresses.ctypes.data_as(lists),
            logits=self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(
        self,
        token_ids: Sequence[int],
        positions: Sequence[int],
        sequences: Sequence[int],
        wanted: Sequence[bool],
    ) -> Any:
        """Write tokens, and return the struct."""
        size = len(token_ids)
        self._tokens[:size], self._positions[:size] = token_ids, positions
        self._sequences[:size], self._wanted[:size] = sequences, wanted
        self._batch.n_tokens = size
        return self._batch


def load_weights(path: Path, device: str | None) -> Weights:
    """Load a GGUF file.

    Raises:
        ModelError: llama-cpp-python is not installed, or was built without GPU; or it cannot read the file.
    """
    library = _library()
    if device not in (None, "cpu") and not library.llama_supports_gpu_offload():
        raise ModelError(
            "llama-cpp-python was built without support of a GPU; build it with one, or pass device='cpu'",
            place=device,
        )
    library.llama_backend_init()
    logger = logging.getLogger("llama-cpp-python")
    if logger.level == logging.NOTSET:  # it would print a page
        logger.setLevel(logging.CRITICAL)
    parameters = library.llama_model_default_params()
    parameters.n_gpu_layers = 0 if device == "cpu" else -1
    with _captured_log(library) as errors:
        model = library.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        raise ModelError(
            f"llama.cpp cannot load the file: {' '.join(errors)[:500]}; check that it is complete, and a language "
            "model whose architecture this version of llama-cpp-python knows",
            place=str(path),
        )
    contexts = library.llama_context_default_params()
    # Threads wait for each other in each layer, so more of them than free cores slow down all.
    contexts.n_threads = contexts.n_threads_batch = max(1, (os.cpu_count() or 1) // 2)
    weights = Weights(library, model, parameters.n_gpu_layers, contexts, lambda: True)
    weakref.finalize(weights, library.llama_model_free, model)
    return weights


def weights_of(llama: Any) -> Weights:
    """Return the model of a `llama_cpp.Llama`.

    Raises:
        ModelError: The object is not a `Llama`, or it is closed.
    """
    if not all(
        hasattr(llama, name)
        for name in ("model", "model_params", "context_params", "lora_path", "lora_scale")
    ):
        raise ModelError(
            f"a {type(llama).__name__} is not a llama_cpp.Llama; pass llama_cpp.Llama(model_path=...)"
        )

    if llama.model is None:
        raise ModelError("the llama_cpp.Llama is closed; create another one")
    adapter = (llama.lora_path, llama.lora_scale) if llama.lora_path else None
    return Weights(
        _library(),
        llama.model,
        llama.model_params.n_gpu_layers,
        llama.context_params,
        lambda: llama.model is not None,
        adapter,
    )


def _library() -> Any:
    try:
        import llama_cpp
    except ImportError as error:
        raise MissingExtra("llama-cpp", "GGUF files need", "llama-cpp-python") from error
    except (OSError, RuntimeError) as error:  # its shared library is missing, or lacks one
        raise ModelError(f"llama_cpp cannot be imported: {error}; install llama-cpp-python again") from error
    return llama_cpp


@contextmanager
def _captured_log(library: Any) -> Iterator[list[str]]:
    """Collect the errors that llama.cpp logs, and print nothing; the log is one for the process."""
    lines: list[str] = []

    def log(level: int, text: bytes, _: object) -> None:
        if level == _ERROR_LEVEL:
            lines.append(text.decode("utf-8", errors="replace").strip())

    callback = library.llama_log_callback(log)
    before, data = library.llama_log_callback(), ctypes.c_void_p()
    library.llama_log_get(ctypes.byref(before), ctypes.byref(data))
    library.llama_log_set(callback, None)
    try:
        yield lines
    finally:
        library.llama_log_set(before, data)


def _load_adapter(library: Any, model: Any, adapter: tuple[str, float] | None) -> tuple[Any, Any]:
    if adapter is None:
        return None, None
    path, scale = adapter
    pointer = library.llama_adapter_lora_init(model, path.encode())
    if not pointer:
        raise ModelError(
            "llama.cpp cannot read the LoRA adapter; convert it with convert_lora_to_gguf.py", place=path
        )
    return (library.llama_adapter_lora_p_ctypes * 1)(pointer), (ctypes.c_float * 1)(scale)


def _free_context(library: Any, pointer: Any, weights: Weights) -> None:
    if weights.is_open():  # a context must not be freed after its model
        library.llama_free(pointer)
