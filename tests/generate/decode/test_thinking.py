"""Thoughts come first, and then the answer is a value all the same."""

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


def test_thoughts_are_free_and_the_answer_is_not() -> None:
    model = ScriptedModel(['Is it {"so"}? Yes.</think>\n\n{"value": 4}'])
    result = sk.generate(model, "x", Even, thinking=True)
    assert result.value == Even(value=4)
    assert result.thinking == 'Is it {"so"}? Yes.'
    assert result.text == '{"value": 4}'


def test_without_thinking_there_are_no_thoughts() -> None:
    assert sk.generate(ScriptedModel(["true"]), "x", bool).thinking is None


@pytest.mark.parametrize("seed", range(5))
def test_thoughts_that_find_no_end_are_ended(seed: int) -> None:
    result = sk.generate(RandomModel(seed, SMALL), "x", list[bool], thinking=20, max_tokens=30)
    assert result.thinking
    assert all(type(item) is bool for item in result.value)


def test_what_is_refused_is_written_anew_after_the_same_thoughts() -> None:
    model = ScriptedModel(['So be it</think>\n\n{"value": 3}', 'So be it</think>\n\n{"value": 4}'])
    result = sk.generate(model, "x", Even, thinking=True)
    assert (result.value.value, result.thinking, len(result.attempts)) == (4, "So be it", 2)


def _tiny(begin: str, end: str, opened: str | None, marks: tuple[str, str] | None = None):
    """A tiny model; its chat template opens thoughts, or knows of them, or there is none."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    inner = byte_level(["a"], 300, ["<end>", begin, end])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>")
    if opened is not None:
        tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}" + opened
    return tiny_llama(tokenizer, thinking_tags=marks)


@pytest.mark.parametrize(
    ("begin", "end", "opened", "marks"),
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
def test_a_model_of_transformers_thinks_with_its_own_marks(
    begin: str, end: str, opened: str | None, marks: tuple[str, str] | None
) -> None:
    model = _tiny(begin, end, opened, marks)
    begin, end = marks or (begin, end)
    shown = model.decode(model.encode_thinking("Hi"))
    assert shown.rstrip() == "Hi" + begin
    assert model.decode(model.encode("Hi")) == "Hi"
    assert model.decode(model.end_of_thinking) == end
    assert len(model.end_of_thinking) == (3 if end == "So:" else 1)
    result = sk.generate(model, "Hi", bool, thinking=12)
    assert type(result.value) is bool
    assert result.thinking is not None
    assert sk.generate_many(model, ["Hi", "Ho!"], bool, thinking=12)[0].token_ids == result.token_ids


def test_marks_that_cannot_be_meant() -> None:
    for marks, error in ((("<hm>", ""), ValueError), ("<hm>", TypeError), (("<hm>", 3), TypeError)):
        with pytest.raises(error, match="thinking_tags must"):
            _tiny("<think>", "</think>", "", marks)


def test_what_cannot_be_meant() -> None:
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


def test_thoughts_end_when_the_time_is_over() -> None:
    result = sk.generate(RandomModel(1, SMALL), "x", bool, thinking=100_000, timeout=0.05)
    assert type(result.value) is bool


def test_the_end_of_thoughts_is_seen_inside_of_a_token() -> None:
    vocabulary = sk.Vocabulary([*SMALL.tokens[:300], b">\n\n"], eos_token_ids=[301])
    model = ScriptedModel(["So be it</think>\n\ntrue"], vocabulary)
    result = sk.generate(model, "x", bool, thinking=40)
    assert (result.value, result.thinking) == (True, "So be it")
