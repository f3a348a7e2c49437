"""Models of llama.cpp, in this process: GGUF files, and instances of `llama_cpp.Llama`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from structkit.arguments.names import names_arguments
from structkit.errors import ModelError
from structkit.models.llama_cpp.batch import LlamaCppBatch, LlamaCppSession
from structkit.models.llama_cpp.kv_cache import KVCache
from structkit.models.llama_cpp.library import Weights, load_weights, weights_of
from structkit.models.llama_cpp.tokenizer import GgufTokenizer, read_vocabulary
from structkit.models.local import LocalModel
from structkit.models.protocols import Batch

if TYPE_CHECKING:
    import llama_cpp

__all__ = ["LlamaCppModel", "from_llama_cpp", "load_gguf"]


@names_arguments
def from_llama_cpp(llama: llama_cpp.Llama, *, thinking_tags: tuple[str, str] | None = None) -> LlamaCppModel:
    """Wrap a model that llama-cpp-python has loaded, so that every token is masked.

    The model keeps its weights, its LoRA adapter and the parameters of its context, such as `n_ctx`, `n_threads` or
    `type_k`. It gets a key-value cache of its own beside that of the `Llama`, which is unchanged and can be used in
    between, though not at the same time in another thread. Prompts are rendered by the chat template of the file;
    `chat_format` and `chat_handler` are not used.

    Args:
        llama: The loaded model.
        thinking_tags: See `from_transformers`.

    Raises:
        ModelError: The object is not a `llama_cpp.Llama`, it is closed, or the model is not a causal language model.
        VocabularyError: No token ends a sequence.

    >>> from_llama_cpp("model.gguf")
    Traceback (most recent call last):
    structkit.errors.ModelError: a str is not a llama_cpp.Llama
      pass llama_cpp.Llama(model_path=...)
    """
    weights = weights_of(llama)
    return LlamaCppModel(
        weights, name=llama.model_path, context_length=llama.n_ctx(), thinking_tags=thinking_tags
    )


def load_gguf(
    path: Path,
    *,
    device: str | None = None,
    thinking_tags: tuple[str, str] | None = None,
) -> LlamaCppModel:
    """Load a GGUF file; see `structkit.load`.

    Args:
        path: The file; of a model in several files, the first.
        device: `"cpu"`, or any other name for the GPU; by default the GPU, if llama.cpp was built for one.
        thinking_tags: See `from_transformers`.

    Raises:
        ModelError: The file is missing or no causal language model; or llama-cpp-python is not installed, or was built
            without GPU.
        VocabularyError: No token ends a sequence.

    >>> load_gguf(Path("no/such.gguf"))
    Traceback (most recent call last):
    structkit.errors.ModelError: at `no/such.gguf`:
      the file does not exist
      give the path of a GGUF file
    """
    if not path.is_file():
        raise ModelError("the file does not exist; give the path of a GGUF file", place=str(path))
    weights = load_weights(path, device)
    return LlamaCppModel(
        weights, name=str(path), context_length=weights.training_length, thinking_tags=thinking_tags
    )


class LlamaCppModel(LocalModel):
    """A model of llama.cpp as a `LogitsModel`.

    Attributes:
        name: The path of the file.
        vocabulary: The tokens of the model.
        context_length: Maximum number of tokens of a sequence: `n_ctx` of a `Llama`, else the length in training.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        name: str,
        context_length: int,
        thinking_tags: tuple[str, str] | None = None,
    ) -> None:
        weights.check_causal(name)
        self._weights = weights
        self._cache = KVCache(weights, name)
        pieces = weights.pieces()
        super().__init__(
            GgufTokenizer(weights, pieces),
            read_vocabulary(pieces, name),
            context_length,
            name=name,
            thinking_tags=thinking_tags,
        )

    @property
    def width(self) -> int:
        """Number of tokens that the model can read."""
        return self._weights.width

    def decode(self, token_ids: Sequence[int]) -> str:
        """Decode tokens, including control tokens, to readable text."""
        return self._weights.decode(token_ids)

    def session(self) -> LlamaCppSession:
        """Start a sequence."""
        return LlamaCppSession(self._cache, self.check_readable)

    def batch(self) -> Batch | None:
        """Start a batch; see `SupportsBatching`. `None` for recurrent models."""
        if self._weights.is_recurrent:
            return None
        return LlamaCppBatch(self._cache, self.check_readable, uses_gpu=self._weights.uses_gpu)
