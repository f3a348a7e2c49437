"""Thinking: unconstrained text before the answer, which is constrained."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, field_validator

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel, small_vocabulary
from tests.models.tiny import byte_level, tiny_llama

SMALL = small_vocabulary()


class Even(BaseModel):
    value: int

    @field_validator("value")
    @classmethod
    def even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value


def test_thinking_is_unconstrained_and_the_answer_is_a_value() -> None:
    model = ScriptedModel(['Is it {"so"}? Yes.</think>\n\n{"value": 4}'])
    result = sk.generate(model, "x", Even, thinking=True)
    assert result.value == Even(value=4)
    assert result.thinking == 'Is it {"so"}? Yes.'
    assert result.text == '{"value": 4}'


def test_thinking_is_none_by_default() -> None:
    assert sk.generate(ScriptedModel(["true"]), "x", bool).thinking is None


@pytest.mark.parametrize("seed", range(5))
def test_thinking_ends_at_its_budget(seed: int) -> None:
    result = sk.generate(RandomModel(seed, SMALL), "x", list[bool], thinking=20, max_tokens=30)
    assert result.thinking
    assert all(type(item) is bool for item in result.value)


def test_a_rejected_value_is_generated_again_after_the_same_thinking() -> None:
    model = ScriptedModel(['So be it</think>\n\n{"value": 3}', 'So be it</think>\n\n{"value": 4}'])
    result = sk.generate(model, "x", Even, thinking=True)
    assert (result.value.value, result.thinking, len(result.attempts)) == (4, "So be it", 2)


def _tiny(begin: str, end: str, opened: str | None, tags: tuple[str, str] | None = None):
    """Return a tiny model; `opened` is the end of its chat template, or `None` for no template."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    inner = byte_level(["a"], 300, ["<end>", begin, end])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>")
    if opened is not None:
        tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}" + opened
    return tiny_llama(tokenizer, thinking_tags=tags)


@pytest.mark.parametrize(
    ("begin", "end", "opened", "tags"),
    [
        ("<think>", "</think>", "", None),
        ("<think>", "</think>", "{% if enable_thinking %}<think>{% endif %}", None),
        ("<think>", "</think>", None, None),
        ("[THINK]", "[/THINK]", "{% if enable_thinking %}[THINK]{% endif %}{# [/THINK] #}", None),
        ("<|START_THINKING|>", "<|END_THINKING|>", "", None),
        ("<hm>", "<so>", "{% if enable_thinking %}<hm>{% endif %}", ("<hm>", "<so>")),
        ("<hm>", "<so>", None, ("Hm:", "So:")),
    ],
)
def test_a_model_of_transformers_uses_its_own_tags(
    begin: str, end: str, opened: str | None, tags: tuple[str, str] | None
) -> None:
    model = _tiny(begin, end, opened, tags)
    begin, end = tags or (begin, end)
    text = model.decode(model.encode_thinking("Hi"))
    assert text.rstrip() == "Hi" + begin
    assert model.decode(model.encode("Hi")) == "Hi"
    assert model.decode(model.end_of_thinking) == end
    assert len(model.end_of_thinking) == (3 if end == "So:" else 1)
    result = sk.generate(model, "Hi", bool, thinking=12)
    assert type(result.value) is bool
    assert result.thinking is not None
    assert sk.generate_many(model, ["Hi", "Ho!"], bool, thinking=12)[0].token_ids == result.token_ids


def test_invalid_tags_raise() -> None:
    for tags, error in ((("<hm>", ""), ValueError), ("<hm>", TypeError), (("<hm>", 3), TypeError)):
        with pytest.raises(error, match="thinking_tags must"):
            _tiny("<think>", "</think>", "", tags)


def test_invalid_options_and_models_raise() -> None:
    with pytest.raises(ValueError, match="thinking"):
        sk.extract(RandomModel(), "x", int, thinking=-1)

    class Plain:
        vocabulary, context_length, name = SMALL, None, "plain"

        def encode(self, prompt: object) -> list[int]:
            return [1]

        def encode_text(self, text: str) -> list[int]:
            return []

        def session(self) -> object:
            raise NotImplementedError

    with pytest.raises(sk.GenerationError, match="has no thinking mode"):
        sk.extract(Plain(), "x", int, thinking=True)


def test_thinking_ends_at_the_timeout() -> None:
    result = sk.generate(RandomModel(1, SMALL), "x", bool, thinking=100_000, timeout=0.05)
    assert type(result.value) is bool


def test_the_end_tag_can_be_inside_a_token() -> None:
    vocabulary = sk.Vocabulary([*SMALL.tokens[:300], b">\n\n"], eos_token_ids=[301])
    model = ScriptedModel(["So be it</think>\n\ntrue"], vocabulary)
    result = sk.generate(model, "x", bool, thinking=40)
    assert (result.value, result.thinking) == (True, "So be it")
