"""Batched sequences give the logits of individual sequences, for every architecture."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from structkit.errors import ModelError

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from structkit.models.transformers.kv_batch import TransformersBatch, can_batch  # noqa: E402

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

    def batch(self, prefix: Sequence[int] = ()) -> TransformersBatch:
        return TransformersBatch(self.model, prefix, name="tiny", check_readable=self.check_readable)

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


class _Walk:
    """Random operations on a batch, with each step compared to the individual sequences."""

    def __init__(self, owner: _Owner, seed: int) -> None:
        self.owner = owner
        self.random = random.Random(seed)
        self.prefix = self.tokens(seed % 4)
        self.rows = owner.batch(self.prefix)
        self.sequences: list[list[int]] = []

    def tokens(self, count: int) -> list[int]:
        return [self.random.randrange(2, 100) for _ in range(count)]

    def add(self) -> None:
        new = [
            self.prefix + self.tokens(self.random.randint(1, 12)) for _ in range(self.random.randint(1, 3))
        ]
        self.compare(self.rows.add(new), new)
        self.sequences += new

    def feed(self) -> None:
        fresh = [self.tokens(self.random.choice([1, 1, 1, 2, 4])) for _ in self.sequences]
        logits = self.rows.feed(fresh)
        self.sequences = [old + new for old, new in zip(self.sequences, fresh, strict=True)]
        self.compare(logits, self.sequences)

    def read(self) -> None:
        fresh = [self.tokens(self.random.choice([1, 1, 3, 5])) for _ in self.sequences]
        last = self.random.randint(1, max(map(len, fresh)))
        logits = self.rows.feed_multi(fresh, last)
        self.sequences = [old + new for old, new in zip(self.sequences, fresh, strict=True)]
        assert logits.shape[1] == last
        for row, new, sequence in zip(logits, fresh, self.sequences, strict=True):
            returned = min(last, len(new))
            np.testing.assert_allclose(
                row[-returned:], self.owner.expected_logits(sequence)[-returned:], atol=1e-5
            )

    def back(self) -> None:
        row, count = self.random.randrange(len(self.sequences)), self.random.randint(0, 3)
        self.rows.rollback(row, count)
        del self.sequences[row][len(self.sequences[row]) - count :]

    def keep(self) -> None:
        kept = [row for row in range(len(self.sequences)) if self.random.random() < 0.7]
        self.random.shuffle(kept)
        self.rows.select(kept)
        self.sequences = [self.sequences[row] for row in kept]

    def score(self) -> None:
        row = self.random.randrange(len(self.sequences))
        branches = [self.tokens(self.random.randint(1, 4)) for _ in range(3)]
        for branch, scored in zip(branches, self.rows.score(row, branches), strict=True):
            logits = self.owner.expected_logits(self.sequences[row] + branch)[len(self.sequences[row]) :]
            scores = torch.log_softmax(torch.tensor(logits), -1).numpy()
            expected = [0.0, *(scores[at, token] for at, token in enumerate(branch[1:]))]
            np.testing.assert_allclose(scored, expected, atol=1e-5)

    def compare(self, logits: np.ndarray, sequences: list[list[int]]) -> None:
        for row, sequence in zip(logits, sequences, strict=True):
            np.testing.assert_allclose(row, self.owner.expected_logits(sequence)[-1], atol=1e-5)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_row_equals_an_individual_sequence(kind: str) -> None:
    owner = _Owner(kind, **ARCHITECTURES[kind])
    assert can_batch(owner.model)
    for seed in range(3):
        walk = _Walk(owner, seed)
        for _ in range(24):
            if not walk.sequences:
                walk.add()
            step = walk.random.choice(
                ["add", "feed", "feed", "read", "read", "back", "back", "keep", "score"]
            )
            if step != "add" or len(walk.sequences) < 5:
                getattr(walk, step)()


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
