"""Models of llama.cpp with the weights of models of transformers, where the packages are installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import structkit as sk
from tests.models.demo_gguf import write_gguf
from tests.models.tiny import byte_level

if TYPE_CHECKING:
    from structkit.models.llama_cpp.model import LlamaCppModel
    from structkit.models.transformers.model import TransformersModel

SENTENCES = [
    "Ana Souza, 34, works as a nurse in Porto.",
    '{"name": "Ana Souza", "age": 34, "job": null}',
    "The quick brown fox jumps over the lazy dog.",
]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}\n{% generation %}"
    "{{ message.content | trim }}{% endgeneration %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}{% if enable_thinking %}<think>\n{% endif %}"
)


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch", reason="needs torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def library() -> Any:
    pytest.importorskip("gguf", reason="needs the package gguf")
    return pytest.importorskip("llama_cpp", reason="needs the package llama-cpp-python")


@pytest.fixture(scope="session")
def demo_path(library: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "demo.gguf"
    write_gguf(path, np.float32)
    return path


@pytest.fixture(scope="session")
def demo() -> TransformersModel:
    return sk.load()


@pytest.fixture(scope="session")
def demo_gguf(library: Any, demo_path: Path, demo: TransformersModel) -> LlamaCppModel:
    """The demo model in llama.cpp, with the tokens of its tokenizer, whose pre-tokenizer llama.cpp does not have."""
    model = sk.from_llama_cpp(new_llama(library, demo_path))
    model._encoder = demo._encoder
    return model


@pytest.fixture(scope="session")
def tiny(library: Any, tmp_path_factory: pytest.TempPathFactory) -> TransformersModel:
    """A random Llama with a tokenizer that llama.cpp has too."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    inner = byte_level(SENTENCES, 320, ["<s>", "</s>", "<|im_start|>", "<|im_end|>"])
    inner.add_tokens([tokenizers.AddedToken("<think>", special=False)])
    inner.add_tokens([tokenizers.AddedToken("</think>", special=False)])
    inner.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE
    )
    torch = pytest.importorskip("torch", reason="needs torch")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=256,
        bos_token_id=0,
        eos_token_id=1,
    )
    folder = tmp_path_factory.mktemp("tiny")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sk.load(folder)  # type: ignore[return-value]


@pytest.fixture(scope="session")
def tiny_path(tiny: TransformersModel) -> Path:
    path = Path(tiny.name) / "tiny.gguf"
    write_gguf(path, np.float32, folder=path.parent, pre_tokenizer="gpt-2")
    return path


@pytest.fixture(scope="session")
def tiny_gguf(library: Any, tiny_path: Path) -> LlamaCppModel:
    return sk.from_llama_cpp(new_llama(library, tiny_path, n_ctx=256))


def new_llama(library: Any, path: Path, **options: Any) -> Any:
    """A `Llama` whose key-value cache has the precision of transformers."""
    return library.Llama(
        str(path),
        **{"n_ctx": 1024, "n_threads": 1, "n_threads_batch": 1, "verbose": False, "type_k": 0, "type_v": 0}
        | options,
    )
