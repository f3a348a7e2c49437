"""Assistant models, thinking and the loop of transformers, with random models of four architectures."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk

torch = pytest.importorskip("torch", reason="needs torch")

from tests.generate.test_architectures import OPTIONS, PROMPTS, TARGETS, Item, random_model  # noqa: E402
from tests.shared import ALL, cases  # noqa: E402

KINDS = ["gpt2", "gemma2", "llama", "bloom"][: cases(2, of=4)]


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest):
    return random_model(request.param, 1)


@pytest.fixture(scope="module")
def assistants(model):
    """Assistant models: one that is always right, one that is rarely right, and one with a short context."""
    return [
        random_model(model.model.config.model_type, 1),
        random_model("llama", 2),
        random_model("llama", 2, context=24),
    ]


def _generate_each(model, **options: object) -> list[sk.Result]:
    return [
        sk.generate(model, prompt, target, **options) for prompt, target in zip(PROMPTS, TARGETS, strict=True)
    ]


def _ids(results: list[sk.Result]) -> list[tuple[int, ...]]:
    return [result.token_ids for result in results]


@pytest.mark.long(every=2)
def test_an_assistant_model_does_not_change_the_tokens(model, assistants) -> None:
    separate = _ids(_generate_each(model, **OPTIONS))
    drafted = _generate_each(model, assistant_model=assistants[0], **OPTIONS)
    assert _ids(drafted) == separate
    assert sum(each.usage.accepted_tokens for each in drafted) > 0
    for assistant in assistants[1 if ALL else 2 :]:
        assert _ids(_generate_each(model, assistant_model=assistant, **OPTIONS)) == separate
    for assistant in assistants[: cases(1, of=3)]:
        together = sk.generate_many(
            model, PROMPTS, TARGETS, batch_size=3, assistant_model=assistant, **OPTIONS
        )
        assert _ids(together) == separate


THINKING = {"include_schema": False, "thinking": 12, "max_tokens": 30, "confidence": False}


@pytest.mark.long(every=4)
@pytest.mark.parametrize("options", [{}, {"temperature": 1.2, "seed": 4}], ids=str)
def test_a_batch_with_thinking_gives_the_tokens_of_separate_calls(model, options: dict[str, object]) -> None:
    """One batch contains rows that think, rows that answer and rows that start."""
    options = THINKING | options
    seeded = "seed" in options
    prompts, targets = (PROMPTS[:1] * 4, [Item] * 4) if seeded else (PROMPTS, TARGETS)
    by_size = [sk.generate_many(model, prompts, targets, batch_size=size, **options) for size in (1, 2, 5)]
    written = [[(each.thinking, each.token_ids) for each in results] for results in by_size]
    assert written[0] == written[1] == written[2]
    assert all(each.thinking is not None for each in by_size[0])
    assert max(each.usage.thinking_tokens for each in by_size[0]) <= 12
    separate = (
        [sk.generate(model, prompts[0], Item, **options)] if seeded else _generate_each(model, **options)
    )
    assert [(each.thinking, each.token_ids) for each in separate] == written[0][: len(separate)]


@pytest.mark.long(every=2)
def test_thinking_in_a_batch_with_errors_and_rejections(model) -> None:
    rejected: list[str] = []

    def reject_new(size: str) -> str:
        if size not in rejected:
            rejected.append(size)
            assert len(rejected) == 2, "not this one"
        return size

    target = Annotated[Literal["small", "medium", "large"], AfterValidator(reject_new)]
    results = sk.generate_many(
        model, [PROMPTS[0], "A" * 3000, PROMPTS[2], PROMPTS[3]], [target, Item, Item, bool],
        batch_size=2, return_exceptions=True, **THINKING,
    )  # fmt: skip
    assert len(results[0].attempts) == 2
    assert isinstance(results[1], sk.GenerationError)
    separate = [
        sk.generate(model, PROMPTS[2], Item, **THINKING),
        sk.generate(model, PROMPTS[3], bool, **THINKING),
    ]
    assert _ids(results[2:]) == _ids(separate)


def _written(model, processor: sk.LogitsProcessor, prompts: list[str], **options: object) -> list[str]:
    """Texts that `generate` of transformers writes after each prompt."""
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


@pytest.mark.long(every=4)
@pytest.mark.parametrize("count", [1, 2], ids=["one", "two of each"])
def test_beam_search_of_transformers(model, count: int) -> None:
    processor = sk.LogitsProcessor(sk.compile(Small, model.vocabulary))
    for prompts in (PROMPTS[:3], PROMPTS[3:4], PROMPTS[:3])[: cases(2, of=3)]:
        texts = _written(model, processor, prompts, num_beams=3, num_return_sequences=count)
        assert len(texts) == count * len(prompts)
        for text in texts:
            assert isinstance(Small.model_validate_json(text), Small)


@pytest.mark.long(every=2)
def test_assisted_generation_of_transformers(model, assistants) -> None:
    processor = sk.LogitsProcessor(sk.compile(Small, model.vocabulary))
    for prompt in PROMPTS[: cases(1, of=2)]:
        plain = _written(model, processor, [prompt])
        assert isinstance(Small.model_validate_json(plain[0]), Small)
        assert _written(model, processor, [prompt], prompt_lookup_num_tokens=3) == plain
        for assistant in assistants:
            assert _written(model, processor, [prompt], assistant_model=assistant.model) == plain
