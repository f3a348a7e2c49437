"""The name of the cache in `forward`: `past_key_values`, and `cache` since transformers 5.24."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from structkit.models.transformers.forward import cache_parameter  # noqa: E402
from structkit.models.transformers.kv_batch import can_batch  # noqa: E402

PROMPTS = ["The lamp is ", "It was", "A chair and a table", "x"]


class Renamed(transformers.LlamaForCausalLM):  # type: ignore[misc]
    """A model whose cache has the other name."""

    read: list[int]

    def forward(
        self,
        input_ids: Any = None,
        attention_mask: Any = None,
        position_ids: Any = None,
        cache: Any = None,
        use_cache: bool | None = None,
        return_dict: bool | None = None,
        logits_to_keep: int = 0,
    ) -> Any:
        self.read.append(input_ids.shape[1])
        own = cache_parameter(PLAIN)
        assert own is not None
        output = super().forward(
            input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            use_cache=use_cache,
            logits_to_keep=logits_to_keep,
            **{own: cache},
        )
        return SimpleNamespace(logits=output.logits, cache=getattr(output, own))


def _config(vocabulary_size: int) -> Any:
    return transformers.LlamaConfig(
        vocab_size=vocabulary_size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
    )


PLAIN = transformers.LlamaForCausalLM(_config(8))


def test_both_names_are_used() -> None:
    tokenizer = sk.load().tokenizer
    torch.manual_seed(0)
    plain = transformers.LlamaForCausalLM(_config(len(tokenizer))).eval()
    renamed = Renamed(plain.config).eval()
    renamed.load_state_dict(plain.state_dict())
    renamed.read = []
    assert cache_parameter(renamed) == "cache"
    assert can_batch(plain) and can_batch(renamed)
    options: dict[str, Any] = {"max_tokens": 24, "include_schema": False, "prompt_lookup": False}
    one, other = (sk.from_transformers(model, tokenizer) for model in (plain, renamed))
    expected = sk.extract_many(one, PROMPTS, sk.Regex("[a-z ]{20}"), **options)
    assert sk.extract_many(other, PROMPTS, sk.Regex("[a-z ]{20}"), **options) == expected
    session = other.session()
    session.logits([1, 2, 3])
    session.logits([4])
    assert renamed.read[-2:] == [3, 1]  # the cache holds the first three


def test_a_recurrent_model_has_none() -> None:
    config = transformers.MambaConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1, state_size=4)
    model = transformers.MambaForCausalLM(config)
    assert cache_parameter(model) is None and not can_batch(model)
