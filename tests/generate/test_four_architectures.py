"""Drafts, thoughts and transformers' own loop on random models of four architectures."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk

torch = pytest.importorskip("torch", reason="needs torch")

from tests.generate.test_architectures import OPTIONS, PROMPTS, TARGETS, Item, made  # noqa: E402

FOUR = ["llama", "gpt2", "gemma2", "bloom"]


@pytest.fixture(scope="module", params=FOUR)
def model(request: pytest.FixtureRequest):
    return made(request.param, 1)


@pytest.fixture(scope="module")
def drafts(model):
    """Models that draft: one that is always right, one that is seldom right, and one that soon can read no further."""
    return [made(model.model.config.model_type, 1), made("llama", 2), made("llama", 2, context=24)]


def _alone(model, **options: object) -> list[sk.Result]:
    return [
        sk.generate(model, prompt, target, **options) for prompt, target in zip(PROMPTS, TARGETS, strict=True)
    ]


def _ids(results: list[sk.Result]) -> list[tuple[int, ...]]:
    return [result.token_ids for result in results]


def test_a_draft_model_changes_nothing(model, drafts) -> None:
    alone = _ids(_alone(model, **OPTIONS))
    drafted = _alone(model, assistant_model=drafts[0], **OPTIONS)
    assert _ids(drafted) == alone
    assert sum(each.usage.accepted_tokens for each in drafted) > 10
    for draft in drafts[1:]:
        assert _ids(_alone(model, assistant_model=draft, **OPTIONS)) == alone
    for draft in drafts:
        together = sk.generate_many(model, PROMPTS, TARGETS, batch_size=3, assistant_model=draft, **OPTIONS)
        assert _ids(together) == alone


THOUGHTS = {"include_schema": False, "thinking": 12, "max_tokens": 30, "confidence": False}


@pytest.mark.parametrize("options", [{}, {"temperature": 1.2, "seed": 4}], ids=str)
def test_rows_that_think_are_those_of_each_alone(model, options: dict[str, object]) -> None:
    """Rows that think, rows that answer and rows that begin stand in one batch."""
    options = THOUGHTS | options
    seeded = "seed" in options
    prompts, targets = (PROMPTS[:1] * 4, [Item] * 4) if seeded else (PROMPTS, TARGETS)
    several = [sk.generate_many(model, prompts, targets, batch_size=size, **options) for size in (1, 2, 5)]
    written = [[(each.thinking, each.token_ids) for each in results] for results in several]
    assert written[0] == written[1] == written[2]
    assert all(each.thinking is not None for each in several[0])
    assert max(each.usage.thinking_tokens for each in several[0]) <= 12
    alone = [sk.generate(model, prompts[0], Item, **options)] if seeded else _alone(model, **options)
    assert [(each.thinking, each.token_ids) for each in alone] == written[0][: len(alone)]


def test_thoughts_of_a_batch_with_errors_and_repairs(model) -> None:
    refused: list[str] = []

    def fresh(size: str) -> str:
        if size not in refused:
            refused.append(size)
            assert len(refused) == 2, "not this one"
        return size

    target = Annotated[Literal["small", "medium", "large"], AfterValidator(fresh)]
    results = sk.generate_many(
        model, [PROMPTS[0], "A" * 3000, PROMPTS[2], PROMPTS[3]], [target, Item, Item, bool],
        batch_size=2, return_exceptions=True, **THOUGHTS,
    )  # fmt: skip
    assert len(results[0].attempts) == 2
    assert isinstance(results[1], sk.GenerationError)
    alone = [
        sk.generate(model, PROMPTS[2], Item, **THOUGHTS),
        sk.generate(model, PROMPTS[3], bool, **THOUGHTS),
    ]
    assert _ids(results[2:]) == _ids(alone)


def _written(model, processor: sk.LogitsProcessor, prompts: list[str], **options: object) -> list[str]:
    """What transformers' own loop writes after each prompt."""
    encoded = [model.encode(prompt) for prompt in prompts]
    width, pad = max(map(len, encoded)), model.tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(each)) + each for each in encoded])
    mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in encoded])
    written = model.model.generate(
        ids, attention_mask=mask, logits_processor=[processor], max_new_tokens=90, do_sample=False,
        pad_token_id=pad, **options,
    )  # fmt: skip
    tokens, ends = model.vocabulary.tokens, {*model.vocabulary.eos_token_ids, pad}
    return [
        b"".join(tokens[token] for token in row if token not in ends).decode()
        for row in written[:, width:].tolist()
    ]


class Small(BaseModel):
    size: Literal["small", "medium", "large"]
    sure: bool
    parts: list[Literal["a", "bc"]] = Field(max_length=3)


@pytest.mark.parametrize("count", [1, 2], ids=["one", "two of each"])
def test_beams_of_transformers_own_loop(model, count: int) -> None:
    processor = sk.LogitsProcessor(sk.compile(Small, model.vocabulary))
    for prompts in (PROMPTS[:3], PROMPTS[3:4], PROMPTS[:3]):
        texts = _written(model, processor, prompts, num_beams=3, num_return_sequences=count)
        assert len(texts) == count * len(prompts)
        for text in texts:
            assert isinstance(Small.model_validate_json(text), Small)


def test_assistants_of_transformers_own_loop(model, drafts) -> None:
    processor = sk.LogitsProcessor(sk.compile(Small, model.vocabulary))
    for prompt in PROMPTS[:2]:
        plain = _written(model, processor, [prompt])
        assert isinstance(Small.model_validate_json(plain[0]), Small)
        assert _written(model, processor, [prompt], prompt_lookup_num_tokens=3) == plain
        for draft in drafts:
            assert _written(model, processor, [prompt], assistant_model=draft.model) == plain
