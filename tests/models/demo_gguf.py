"""The demo model in the file format of llama.cpp."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.shared import ROOT

__all__ = ["write_gguf"]

MODEL_PATH = ROOT / "structkit" / "demo" / "model"

_LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NAMES = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}


def write_gguf(path: Path, dtype: type[np.floating] = np.float16) -> None:
    """Write the demo model; needs the package `gguf`.

    Its pre-tokenizer has no name in llama.cpp, so text becomes other tokens than with transformers.
    """
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((MODEL_PATH / "config.json").read_text())
    heads = config["num_attention_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("structkit demo")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    _add_tokenizer(writer, config)
    for name, tensor in load_file(MODEL_PATH / "model.safetensors").items():
        writer.add_tensor(_renamed(name), _converted(name, tensor, heads, dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: object, config: dict[str, object]) -> None:
    import gguf

    assert isinstance(writer, gguf.GGUFWriter)
    tokenizer = json.loads((MODEL_PATH / "tokenizer.json").read_text())
    ids = tokenizer["model"]["vocab"] | {each["content"]: each["id"] for each in tokenizer["added_tokens"]}
    added = {each["content"] for each in tokenizer["added_tokens"]}
    tokens = sorted(ids, key=ids.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    kinds = [gguf.TokenType.CONTROL if token in added else gguf.TokenType.NORMAL for token in tokens]
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(json.loads((MODEL_PATH / "tokenizer_config.json").read_text())["chat_template"])


def _renamed(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    layer, _, rest = name.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{_LAYER[rest.removesuffix('.weight')]}.weight"


def _converted(name: str, tensor: np.ndarray, heads: int, dtype: type[np.floating]) -> np.ndarray:
    """Return a tensor as llama.cpp stores it: the halves of each head's rotation side by side; vectors as floats."""
    if tensor.ndim == 1:
        return tensor.astype(np.float32)
    if "q_proj" in name or "k_proj" in name:
        rows, columns = tensor.shape
        halves = tensor.reshape(heads, 2, rows // heads // 2, columns)
        tensor = halves.swapaxes(1, 2).reshape(rows, columns)
    return np.ascontiguousarray(tensor, dtype)
