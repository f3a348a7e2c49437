"""A tokenizer and a Llama with random weights, small enough to be created quickly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

import structkit as sk

__all__ = ["byte_level", "tiny_llama"]


def byte_level(texts: Iterable[str], size: int, special: Sequence[str] = ()) -> Any:
    """Byte-level BPE of the package tokenizers, trained on texts."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(special),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    return made


def tiny_llama(tokenizer: Any, *, thinking_tags: tuple[str, str] | None = None, **changes: int) -> Any:
    """A model of transformers; `changes` are passed to its configuration."""
    torch = pytest.importorskip("torch", reason="needs torch")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    torch.manual_seed(0)
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "max_position_embeddings": 512,
    }
    config = transformers.LlamaConfig(**shape | changes)
    return sk.from_transformers(transformers.LlamaForCausalLM(config), tokenizer, thinking_tags=thinking_tags)
