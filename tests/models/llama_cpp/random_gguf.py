"""GGUF files with random weights: kinds of tokenizers and caches that the demo model does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["write_adapter", "write_gemma", "write_mamba", "write_sentencepiece"]

_WIDTH, _HEADS, _SIZE = 32, 4, 48


def write_sentencepiece(path: Path) -> None:
    """A Llama whose tokenizer writes a space before a text, with bytes for other characters."""
    pieces = [
        "\u2581",
        "A",
        "n",
        "a",
        "\u2581A",
        "\u2581An",
        "\u2581Ana",
        "an",
        "ana",
        "<",
        ">",
        "/",
        "s",
        "\u2581\u2581",
    ]
    writer = _writer(path, "llama")
    writer.add_tokenizer_model("llama")
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 259 + [-float(number) for number in range(len(pieces))])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * len(pieces))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_chat_template("<s>{{ messages[0].content }}</s>")
    _add_attention(writer, len(tokens))
    _finish(writer)


def write_adapter(path: Path) -> None:
    """A LoRA adapter for the first layer of a Llama whose embeddings have 32 numbers."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 8.0)
    chance = np.random.default_rng(0)
    _add(writer, chance, "blk.0.attn_q.weight.lora_a", 4, _WIDTH)
    _add(writer, chance, "blk.0.attn_q.weight.lora_b", _WIDTH, 4)
    _finish(writer)


def write_gemma(path: Path) -> None:
    """A Gemma 3, with windows of 8 tokens in most layers."""
    writer = _writer(path, "gemma3")
    _add_bytes(writer)
    writer.add_sliding_window(8)
    writer.add_key_length(8)
    writer.add_value_length(8)
    _add_attention(
        writer, 259, extra=("attn_q_norm", "attn_k_norm", "post_attention_norm", "post_ffw_norm"), layers=6
    )
    _finish(writer)


def write_mamba(path: Path) -> None:
    """A Mamba, whose state cannot be cut."""
    import gguf

    writer = gguf.GGUFWriter(path, "mamba")
    inner, state, rank = 2 * _WIDTH, 8, 4
    writer.add_context_length(256)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(2)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_ssm_conv_kernel(4)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    _add_bytes(writer)
    chance = np.random.default_rng(0)
    _add(writer, chance, "token_embd.weight", 259, _WIDTH)
    _add(writer, chance, "output_norm.weight", _WIDTH)
    for layer in range(2):
        name = f"blk.{layer}."
        _add(writer, chance, f"{name}attn_norm.weight", _WIDTH)
        _add(writer, chance, f"{name}ssm_in.weight", 2 * inner, _WIDTH)
        _add(writer, chance, f"{name}ssm_conv1d.weight", inner, 4)
        _add(writer, chance, f"{name}ssm_conv1d.bias", inner)
        _add(writer, chance, f"{name}ssm_x.weight", rank + 2 * state, inner)
        _add(writer, chance, f"{name}ssm_dt.weight", inner, rank)
        _add(writer, chance, f"{name}ssm_dt.bias", inner)
        writer.add_tensor(f"{name}ssm_a", -np.tile(np.arange(1, state + 1, dtype=np.float32), (inner, 1)))
        _add(writer, chance, f"{name}ssm_d", inner)
        _add(writer, chance, f"{name}ssm_out.weight", _WIDTH, inner)
    _finish(writer)


def _writer(path: Path, kind: str) -> Any:
    import gguf

    writer = gguf.GGUFWriter(path, kind)
    writer.add_context_length(4096)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_SIZE)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    return writer


def _add_bytes(writer: Any) -> None:
    """A tokenizer of bytes, with an end token and a token to start with."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {
        byte: chr(256 + at) for at, byte in enumerate(others)
    }
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(["<s>", "</s>", *(letters[byte] for byte in range(256)), "ab"])
    writer.add_token_types([3, 3] + [1] * 257)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)


def _add_attention(writer: Any, vocabulary: int, extra: tuple[str, ...] = (), layers: int = 2) -> None:
    writer.add_block_count(layers)
    chance = np.random.default_rng(0)
    _add(writer, chance, "token_embd.weight", vocabulary, _WIDTH)
    _add(writer, chance, "output_norm.weight", _WIDTH)
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("attn_norm", "ffn_norm", *extra), (_WIDTH,)),
        **dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (_WIDTH, _WIDTH)),
        **dict.fromkeys(("ffn_gate", "ffn_up"), (_SIZE, _WIDTH)),
        "ffn_down": (_WIDTH, _SIZE),
    }
    for name in ("attn_q_norm", "attn_k_norm"):
        if name in shapes:
            shapes[name] = (_WIDTH // _HEADS,)
    for layer in range(layers):
        for name, shape in shapes.items():
            _add(writer, chance, f"blk.{layer}.{name}.weight", *shape)


def _add(writer: Any, chance: np.random.Generator, name: str, *shape: int) -> None:
    scale = 0.3 if len(shape) > 1 else 1.0
    writer.add_tensor(name, (scale * chance.standard_normal(shape)).astype(np.float32))


def _finish(writer: Any) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
