"""The training of the demo model: exercises with other words, and embeddings of tokens that training lacks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.docs.blocks import ROOT


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return __import__("train_demo")


def test_copied_words_are_replaced_wherever_they_occur(train: Any) -> None:
    ids, is_target = [1, 2, 3, 2, 4, 2, 5, 3], [False] * 5 + [True] * 3
    pieces = [2, 3, 6, 7, 8, 9]
    seen = set()
    for seed in range(50):
        swapped, targets = train.swap_words((ids, is_target), pieces, random.Random(seed))
        assert targets == is_target
        assert (swapped[0], swapped[4], swapped[6]) == (1, 4, 5)  # read only, generated only, or no piece
        assert swapped[1] == swapped[3] == swapped[5]
        assert swapped[2] == swapped[7]
        seen.add(swapped[1])
    assert len(seen) > 3


def test_rare_tokens_get_embeddings_like_those_of_common_words(train: Any) -> None:
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(ROOT / "structkit" / "demo" / "model")
    model = train.new_model(tokenizer, layers=1, width=32, heads=2)
    embedding = model.get_input_embeddings().weight
    torch.manual_seed(0)
    with torch.no_grad():
        embedding[:] = 3.0 + torch.randn_like(embedding)
        embedding[1000:1200] = 5.0  # as good as equal
    common = torch.ones(len(embedding), dtype=torch.bool)
    common[1000:1200] = common[tokenizer.all_special_ids] = False
    before = embedding.detach().clone()
    train.spread_rare(model, tokenizer, common)
    rare = embedding[1000:1200].detach()
    assert torch.equal(embedding[:1000], before[:1000])
    assert torch.equal(embedding[1200:], before[1200:])
    assert float((rare.mean() - 3.0).abs()) < 0.2
    deviation = (rare - rare.mean(0)).norm(dim=1)
    assert float((deviation / 32**0.5 - 1).abs().max()) < 0.5
    assert float(torch.cdist(rare, rare).fill_diagonal_(9).min()) > 2  # they can be told apart


def test_tokens_that_are_copied_rarely_are_not_trained(train: Any) -> None:
    import torch

    #               unseen, often, rarely copied, rarely read
    counts = torch.tensor([[0, 500, 9, 9], [0, 400, 4, 0]])
    assert train.trained_tokens(counts, 10_000).tolist() == [False, True, False, True]
    assert train.trained_tokens(counts, 100).tolist() == [True] * 4  # too few exercises to tell
