"""Batched sequences give the logits of individual sequences, for every architecture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from structkit.errors import ModelError
from tests.models.walk import walk

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from structkit.models.transformers.kv_batch import TransformersBatch, can_batch  # noqa: E402
from tests.shared import cases  # noqa: E402

SHAPE = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SHAPE |= {"num_key_value_heads": 2, "intermediate_size": 48, "max_position_embeddings": 128}
SHAPE |= {"bos_token_id": 0, "eos_token_id": 1}
NEO = {"num_layers": 2, "attention_types": [[["global", "local"], 1]], "window_size": 6, "num_heads": 4}

# Positions: rotary (full, partial), learned, from the attention mask, by ALiBi; windows: none, in all layers, in some.
ARCHITECTURES: dict[str, dict[str, object]] = {
    "llama": {},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "qwen3": {"head_dim": 8},
    "mistral": {"sliding_window": 6},
    "gemma2": {"head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8},
    "gemma3_text": {
        "head_dim": 8,
        "sliding_window": 6,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "bloom": {"n_layer": 2, "n_head": 4},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "gpt_neo": NEO,
    "phi": {},
}


class _Owner:
    def __init__(self, kind: str, **options: object) -> None:
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(kind, **(SHAPE | options))
        self.model = transformers.AutoModelForCausalLM.from_config(config).eval()

    def check_readable(self, token_ids: list[int], before: int) -> None:
        if before + len(token_ids) > 128:
            raise ModelError("too long")

    def batch(self) -> TransformersBatch:
        return TransformersBatch(self.model, name="tiny", check_readable=self.check_readable)

    def expected_logits(self, ids: list[int]) -> np.ndarray:
        """Return the logits after each token, by one forward pass without a cache."""
        with torch.inference_mode():
            return self.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float().numpy()


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.long(every=3)
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_row_equals_an_individual_sequence(kind: str) -> None:
    owner = _Owner(kind, **ARCHITECTURES[kind])
    assert can_batch(owner.model)
    for seed in range(cases(2, of=3)):
        walk(owner.batch, owner.expected_logits, seed)


@pytest.mark.parametrize(("kind", "options"), [("mamba", {}), ("qwen3_next", {"head_dim": 8})])
def test_recurrent_models_are_not_batched(kind: str, options: dict[str, object]) -> None:
    assert not can_batch(_Owner(kind, **options).model)


def test_rollback_beyond_the_start_is_rejected() -> None:
    rows = _Owner("llama").batch()
    rows.add([[5, 6]])
    with pytest.raises(ModelError, match="row 0 has 2 tokens"):
        rows.rollback(0, 3)


def test_a_sequence_that_is_too_long_changes_nothing() -> None:
    owner = _Owner("llama")
    rows = owner.batch()
    rows.add([[5, 6], [7]])
    with pytest.raises(ModelError, match="too long"):
        rows.feed([[8], [9] * 200])
    np.testing.assert_allclose(rows.feed([[8], [9]])[1], owner.expected_logits([7, 9])[-1], atol=1e-5)
