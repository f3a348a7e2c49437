"""Llama models, such as the demo model, in the file format of llama.cpp."""

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
_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def write_gguf(
    path: Path,
    dtype: type[np.floating] = np.float16,
    *,
    folder: Path = MODEL_PATH,
    pre_tokenizer: str = "default",
) -> None:
    """Write a Llama with byte-level BPE from a folder of transformers; needs the package `gguf`.

    The pre-tokenizer of the demo model has no name in llama.cpp, so text becomes other tokens than with transformers.
    """
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(folder.name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    _add_tokenizer(writer, folder, pre_tokenizer)
    for name, tensor in load_file(folder / "model.safetensors").items():
        count = heads if "q_proj" in name else kv_heads if "k_proj" in name else None
        writer.add_tensor(_renamed(name), _converted(tensor, count, dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: object, folder: Path, pre_tokenizer: str) -> None:
    import gguf

    assert isinstance(writer, gguf.GGUFWriter)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    added = {each["content"]: each for each in tokenizer["added_tokens"]}
    ids = tokenizer["model"]["vocab"] | {content: each["id"] for content, each in added.items()}
    tokens = sorted(ids, key=ids.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre_tokenizer)
    writer.add_token_list(tokens)
    writer.add_token_types([_kind(added.get(token)) for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    for name in ("bos", "eos", "pad"):
        if content := settings.get(f"{name}_token"):
            getattr(writer, f"add_{name}_token_id")(ids[content])
    writer.add_add_bos_token("bos_token" in settings)
    template = folder / "chat_template.jinja"
    if source := template.read_text() if template.exists() else settings.get("chat_template"):
        writer.add_chat_template(source)


def _kind(added: dict[str, object] | None) -> int:
    import gguf

    if added is None:
        return int(gguf.TokenType.NORMAL)
    return int(gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED)


def _renamed(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    layer, _, rest = name.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{_LAYER[rest.removesuffix('.weight')]}.weight"


def _converted(tensor: np.ndarray, heads: int | None, dtype: type[np.floating]) -> np.ndarray:
    """Return a tensor as llama.cpp stores it: the halves of each head's rotation side by side; vectors as floats."""
    if tensor.ndim == 1:
        return tensor.astype(np.float32)
    if heads is not None:
        rows, columns = tensor.shape
        halves = tensor.reshape(heads, 2, rows // heads // 2, columns)
        tensor = halves.swapaxes(1, 2).reshape(rows, columns)
    return np.ascontiguousarray(tensor, dtype)
