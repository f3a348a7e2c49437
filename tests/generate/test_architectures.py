"""Generation with random models: rotary, learned and ALiBi positions; full and sliding-window caches."""

from __future__ import annotations

import copy
from functools import cache
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from structkit.generate.run import request  # noqa: E402
from tests.models.transformers.test_kv_batch import ARCHITECTURES, SHAPE  # noqa: E402
from tests.shared import cases  # noqa: E402

KINDS = ["gpt2", "gemma3_text", "bloom", "llama", "qwen3", "mistral", "gemma2"][: cases(4, of=7)]


class Item(BaseModel):
    name: str = Field(max_length=12)
    size: Literal["small", "medium", "large"]
    price: int | None


PROMPTS = [
    "The lamp is ",
    "Ana bought two large lamps and a small chair for 34 euros on Monday, and a table",
    'x = "',
    "It was",
    "The lamp is small, and the chair",
    "A",
    "The lamp is not medium",
]
TARGETS: list[object] = [
    Item,
    list[bool],
    sk.Regex(r'[a-z ]{2,9}"'),
    sk.Choice(["yes", "not now", " no"]),
    int,
    Item,
    dict[str, bool],
]
OPTIONS = {"include_schema": False, "max_tokens": 30, "confidence": False}


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest):
    return random_model(request.param, 1)


def random_model(kind: str, seed: int, context: int = 256):
    """A random model with the demo model's tokenizer, without a chat template.

    Its weights are scaled up so that the logits differ between tokens.
    """
    tokenizer = copy.deepcopy(sk.load().tokenizer)
    tokenizer.chat_template = None
    torch.manual_seed(seed)
    shape = SHAPE | {"vocab_size": len(tokenizer), "max_position_embeddings": context, "n_positions": context}
    options = {name: value for name, value in ARCHITECTURES[kind].items() if name not in shape}
    ends = {"bos_token_id": tokenizer.eos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = transformers.AutoConfig.for_model(
        kind, **(shape | options | ends | {"pad_token_id": tokenizer.pad_token_id})
    )
    inner = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weights in inner.parameters():
            if weights.ndim > 1:
                weights.mul_(6)
    return sk.from_transformers(inner.eval(), tokenizer)


def _generate_each(model, **options: object) -> list[sk.Result]:
    return [
        sk.generate(model, prompt, target, **(OPTIONS | options))
        for prompt, target in zip(PROMPTS, TARGETS, strict=True)
    ]


@pytest.fixture(scope="module")
def separate(model):
    """The results of a call for each prompt, for options that several tests compare with."""
    return cache(lambda *options: _generate_each(model, **dict(options)))


PLAIN = (("fast_forward", False), ("prompt_lookup", False))


def _ids(results: list[sk.Result]) -> list[tuple[int, ...]]:
    return [result.token_ids for result in results]


@pytest.mark.long(every=3)
@pytest.mark.parametrize("options", [(), PLAIN], ids=str)
def test_a_batch_gives_the_tokens_of_separate_calls(
    model, separate, options: tuple[tuple[str, object], ...]
) -> None:
    """Rows have different lengths and targets; rows that end are replaced."""
    expected = separate(*options)
    assert len(set(_ids(expected))) > 4
    for size in (3, 5, 2)[: cases(1, of=3)]:
        together = sk.generate_many(model, PROMPTS, TARGETS, batch_size=size, **(OPTIONS | dict(options)))
        assert _ids(together) == _ids(expected)
    assert [each.value for each in together] == [each.value for each in expected]


@pytest.mark.long(every=3)
def test_drafts_and_confidence_do_not_change_the_tokens(model, separate) -> None:
    expected = _ids(separate())
    assert _ids(_generate_each(model, prompt_lookup=False)) == expected
    scored = _generate_each(model, confidence=True)
    assert _ids(scored) == expected
    for result, target in zip(scored, TARGETS, strict=True):
        choices = result.confidence["size" if target is Item else "$"].choices
        assert choices is None or sum(choices.values()) == pytest.approx(1, abs=1e-5)
        assert result.confidence["$"].logprob == pytest.approx(sum(token.logprob for token in result.events))


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    "options", [{}, {"max_tokens": 16}, {"prompt_lookup": False}][: cases(2, of=3)], ids=str
)
def test_forced_text_does_not_change_the_answers(
    model, separate, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    """A random model spells forced text in tokens that no tokenizer would choose, and continues it accordingly."""
    plain = separate(*options.items(), *PLAIN)
    monkeypatch.setattr(request, "count_healed_tokens", lambda *_: 0)  # the plain decode heals no prompt
    forced = _generate_each(model, **options)
    assert [each.text for each in forced] == [each.text for each in plain]
    assert [each.finish_reason for each in forced] == [each.finish_reason for each in plain]
    together = sk.generate_many(model, PROMPTS, TARGETS, batch_size=3, **(OPTIONS | options))
    assert [each.text for each in together] == [each.text for each in plain]
    assert sum(each.usage.forced_tokens for each in forced) > 20
    items = [each for each, target in zip(forced, TARGETS, strict=True) if target is Item]
    assert any(list(each.token_ids) != model.encode(each.text) for each in items)


@pytest.mark.long(every=3)
def test_samples_do_not_depend_on_the_batch_size(model) -> None:
    options = OPTIONS | {"temperature": 1.2, "top_p": 0.9, "seed": 4}
    by_size = [
        _ids(sk.generate_many(model, PROMPTS[:1] * 5, Item, batch_size=size, **options)) for size in (1, 2, 5)
    ]
    assert by_size[0] == by_size[1] == by_size[2]
    assert len(set(by_size[0])) > 2
    assert by_size[0][0] == sk.generate(model, PROMPTS[0], Item, **options).token_ids


@pytest.mark.long(every=3)
def test_a_stream_gives_the_tokens_of_generate_for_each_budget(model) -> None:
    shortest = sk.compile(Item, model.vocabulary).cursor().min_tokens_to_end()
    for budget in (shortest, shortest + 3):
        options = OPTIONS | {"max_tokens": budget}
        stream = sk.stream(model, PROMPTS[0], Item, **options)
        list(stream)
        assert stream.result.token_ids == sk.generate(model, PROMPTS[0], Item, **options).token_ids
        assert len(stream.result.token_ids) <= budget
    with pytest.raises(sk.BudgetTooSmall, match=f"needs {shortest} tokens"):
        sk.generate(model, PROMPTS[0], Item, **(OPTIONS | {"max_tokens": shortest - 1}))


@pytest.mark.long(every=3)
def test_rejected_values_are_removed_from_the_cache(model) -> None:
    """The attempts are the same with and without drafts, and in a batch."""

    def rejecting_type(rejected: set[str]) -> object:
        def reject_new(size: str) -> str:
            if size not in rejected:
                rejected.add(size)
                assert len(rejected) == 3, "not this one"
            return size

        class Order(BaseModel):
            name: str = Field(max_length=8)
            size: Annotated[Literal["small", "medium", "large"], AfterValidator(reject_new)]
            sure: bool

        return Order

    options = OPTIONS | {"retries": 2}
    first = sk.generate(model, PROMPTS[4], rejecting_type(set()), **options)
    assert len({*first.attempts}) == 3
    second = sk.generate(model, PROMPTS[4], rejecting_type(set()), prompt_lookup=False, **options)
    together = sk.generate_many(
        model,
        [PROMPTS[1], PROMPTS[4], PROMPTS[2]],
        [Item, rejecting_type(set()), bool],
        batch_size=3,
        **options,
    )
    assert first.attempts == second.attempts == together[1].attempts


@pytest.mark.long(every=3)
def test_logprobs_and_the_loop_of_transformers(model) -> None:
    result = sk.generate(model, PROMPTS[3], Item, **(OPTIONS | {"confidence": True}))
    cursor, prompt = sk.compile(Item, model.vocabulary).cursor(), model.encode(PROMPTS[3])
    mask, session = np.zeros(model.vocabulary.mask_words, np.uint32), model.session()
    logits, remaining = session.logits(prompt), OPTIONS["max_tokens"]
    for token in result.events:
        cursor.fill_mask(mask, remaining)
        allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(logits)].astype(bool)
        total = np.logaddexp.reduce(logits[allowed].astype(np.float64))
        if not token.forced:
            assert token.logprob == pytest.approx(logits[token.token_id] - total, abs=1e-3)
        cursor.advance(token.token_id)
        logits, remaining = session.logits([token.token_id]), remaining - 1
    prompts = [model.encode(prompt) for prompt in PROMPTS[:3]]
    width = max(map(len, prompts))
    pad = model.tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(each)) + each for each in prompts])
    processor = sk.LogitsProcessor(sk.compile(list[bool], model.vocabulary))
    for _ in range(2):  # the second call uses the same processor
        rows = model.model.generate(
            ids,
            attention_mask=(ids != pad).long(),
            logits_processor=[processor],
            max_new_tokens=8,
            do_sample=False,
            pad_token_id=pad,
        )
        for row, prompt in zip(rows.tolist(), PROMPTS, strict=False):
            tokens = tuple(row[width:])
            options = {
                "include_schema": False,
                "max_tokens": 60,
                "fast_forward": False,
                "prompt_lookup": False,
            }
            ours = sk.generate(model, prompt, list[bool], **options)
            length = min(len(ours.token_ids), len(tokens))
            assert tokens[:length] == ours.token_ids[:length]
