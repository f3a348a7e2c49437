"""Token healing: the end of a plain-text prompt, generated again with the start of the answer."""

from __future__ import annotations

import base64
import copy
import gzip
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.guide.healing import HealedCursor, count_healed_tokens
from structkit.testing import RandomModel, ScriptedModel
from tests.guide.healing import GUIDES, PROMPTS, SMALL, TARGETS, allowed_tokens
from tests.models.tiny import tiny_llama
from tests.shared import SHARED, cases

REAL = SHARED / "data" / "tokenizers"


class Follower:
    """A model that prefers the tokenizer's encoding of the prompt and its answer together."""

    name, context_length = "follower", None

    def __init__(
        self, encode: Callable[[str], list[int]], vocabulary: sk.Vocabulary, answer: str = ""
    ) -> None:
        self.vocabulary = vocabulary
        self.encode_text = encode
        self.answer = answer
        self.prompt = ""
        self.fed: list[int] = []
        self._ids = {token: i for i, token in reversed(list(enumerate(vocabulary.tokens))) if token}

    def encode(self, prompt: object) -> list[int]:
        assert isinstance(prompt, str)
        self.prompt = prompt
        return self.encode_text(prompt)

    @property
    def preferred_ids(self) -> list[int]:
        return self.encode_text(self.prompt + self.answer)

    def session(self) -> Follower:
        self.fed = []
        return self

    @property
    def length(self) -> int:
        return len(self.fed)

    def crop(self, length: int) -> None:
        del self.fed[length:]

    def logits(self, token_ids: Sequence[int]) -> np.ndarray:
        self.fed += token_ids
        logits = np.zeros(self.vocabulary.size, np.float32)
        preferred_ids = [*self.preferred_ids, self.vocabulary.eos_token_ids[0]]
        written = b"".join(self.vocabulary.tokens[token] for token in self.fed)
        rest = (self.prompt + self.answer).encode()[len(written) :]
        for length in range(1, min(len(rest), 40) + 1):
            if rest[:length] in self._ids:
                logits[self._ids[rest[:length]]] = 10 + length / 100
        if not rest:
            logits[preferred_ids[-1]] = 10
        if preferred_ids[: len(self.fed)] == self.fed and len(self.fed) < len(preferred_ids):
            logits[preferred_ids[len(self.fed)]] = 20
        return logits


def _real(name: str) -> tuple[Callable[[str], list[int]], sk.Vocabulary]:
    if name == "demo":
        model = sk.load()
        return model.encode_text, model.vocabulary
    path = REAL / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    if name.endswith(".json.gz"):
        tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
        tokenizer = tokenizers.Tokenizer.from_str(gzip.decompress(path.read_bytes()).decode())
        return (
            lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
            sk.Vocabulary.from_tokenizer(tokenizer),
        )
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    lines = (line.split() for line in gzip.decompress(path.read_bytes()).splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    # The pattern of o200k_base, without its distinction of upper and lower case.
    pattern = (
        r"'(?:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer = tiktoken.Encoding(
        "o200k", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 199999}
    )
    return tokenizer.encode_ordinary, sk.Vocabulary.from_tokenizer(tokenizer)


@pytest.fixture(
    scope="module",
    params=[
        "demo",
        pytest.param("deepseek.tokenizer.json.gz", marks=pytest.mark.long),
        "o200k_base.tiktoken.gz",
    ][: cases(2, of=3)],
)
def tokenizer_and_vocabulary(
    request: pytest.FixtureRequest,
) -> tuple[Callable[[str], list[int]], sk.Vocabulary]:
    return _real(request.param)


WORDS = st.sampled_from(
    [
        "The",
        " answer",
        " is",
        " = ",
        ":",
        '"',
        ' "',
        "  ",
        "\n",
        "\n\n",
        "{",
        "}",
        " 12",
        "3",
        "(",
        " new",
        "é",
        "東",
        "'",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map("".join)


class Item(BaseModel):
    code: str = Field(pattern="^[A-Z]{2}[0-9]{3}$")
    note: str


ANSWERS = st.one_of(
    st.tuples(st.just(sk.Regex(r"(?s).{1,200}")), TEXTS),
    st.tuples(st.just(sk.Regex(r"[a-z ]*")), st.sampled_from(["ing", "land", " is", "s", "  a b", ""])),
    st.tuples(st.just(int), st.integers(-10_000, 10**9).map(str)),
    st.tuples(
        st.just(sk.Choice(["yes", "no", " maybe", "\nno"])), st.sampled_from(["yes", "no", " maybe", "\nno"])
    ),
    st.tuples(st.just(str), st.sampled_from(['"yes"', '"é"', '" "', '""'])),
    st.tuples(st.just(Item), st.just('{"code": "AB123", "note": "it is new"}')),
    st.tuples(st.just(list[int]), st.sampled_from(["[]", "[1, 22, 333]"])),
)


@settings(max_examples=cases(12, of=150), suppress_health_check=list(HealthCheck))
@given(TEXTS, ANSWERS, st.booleans())
@example(" is:{", (str, '""'), True)
@example("x = ", (sk.Regex("[a-z]+"), "new"), True)
@example("def f():\n  ", (sk.Regex("[a-z]+"), "return"), True)
@example("It costs 12", (int, "345"), False)
@example('{"name": "', (sk.Regex('[^"]+"'), 'The"'), False)
@example("}}(", (list[int], "[]"), False)
def test_the_tokens_are_the_encoding_of_prompt_and_answer_together(
    tokenizer_and_vocabulary: tuple[Callable[[str], list[int]], sk.Vocabulary],
    prompt: str,
    target_and_answer: tuple[object, str],
    prompt_lookup: bool,
) -> None:
    encode, vocabulary = tokenizer_and_vocabulary
    target, answer = target_and_answer
    model = Follower(encode, vocabulary, answer)
    result = sk.generate(
        model,
        "x\n" + prompt,
        target,
        include_schema=False,
        max_tokens=400,
        prompt_lookup=prompt_lookup,
        confidence=False,
    )
    assert result.text == answer
    assert b"".join(token.text for token in result.events).decode() == answer
    prompt_ids, preferred_ids = encode(model.prompt), model.preferred_ids
    kept = prompt_ids[: len(prompt_ids) - count_healed_tokens(sk.compile(target, vocabulary), prompt_ids)]
    if preferred_ids[: len(kept)] == kept:
        assert model.fed == preferred_ids[: len(model.fed)]
        assert list(result.token_ids) == preferred_ids[len(preferred_ids) - len(result.token_ids) :]


def _never_true(value: bool) -> bool:
    assert not value, "it is never true"
    return value


PLAIN = {"include_schema": False}


def _id(text: str) -> int:
    return SMALL.tokens.index(text.encode())


def test_a_healed_token_contains_bytes_of_the_prompt_and_its_text_does_not() -> None:
    result = sk.generate(ScriptedModel(["true"]), "Is it ", bool, **PLAIN)
    assert (result.value, result.text, result.token_ids) == (True, "true", (_id(" true"),))
    (token,) = result.events
    assert (token.text, token.forced) == (b"true", False)
    assert token.masked_probability == pytest.approx(0, abs=1e-5)
    assert result.usage.generated_tokens == 1
    assert result.usage.prompt_tokens == len(ScriptedModel([]).encode("Is it "))
    confidence = result.confidence["$"]
    assert confidence.logprob == pytest.approx(token.logprob)
    assert list(confidence.choices) == [True, False]
    assert sum(confidence.choices.values()) == pytest.approx(1)


@pytest.mark.parametrize("target", [bool, sk.Choice([" no", " not now", "7"]), sk.Regex(r"[a-z]+|[0-9]")])
def test_the_mask_of_a_healed_token_counts_among_the_tokens_that_continue_the_prompt(target: Any) -> None:
    """A model that wants another answer is noticed; that it would not repeat the prompt is no disagreement."""
    prompt, guide, found = "Is it ", sk.compile(target, SMALL), 0
    for seed in range(12):
        model = RandomModel(seed, SMALL)
        result, ids = sk.generate(model, prompt, target, max_tokens=6, **PLAIN), model.encode(prompt)
        kept = len(ids) - count_healed_tokens(guide, ids)
        before = b"".join(SMALL.tokens[token] for token in ids[kept:])
        if result.events[0].text == SMALL.tokens[result.token_ids[0]]:
            continue  # the model repeated the tokens of the prompt
        found += 1
        row = RandomModel(seed, SMALL).session().logits(ids[:kept]).astype(np.float64)
        chances = np.exp(row - row.max())
        texts = enumerate(SMALL.tokens)
        continuing = [t for t, text in texts if text and (text.startswith(before) or before.startswith(text))]
        allowed = sum(chances[token] for token in allowed_tokens(HealedCursor(guide, before)))
        token = result.events[0]
        assert token.masked_probability == pytest.approx(1 - allowed / chances[continuing].sum(), abs=1e-6)
        assert token.logprob == pytest.approx(np.log(chances[result.token_ids[0]] / allowed), abs=1e-5)
    assert found


def test_a_model_can_repeat_the_tokens_of_the_prompt() -> None:
    """The tokens of the answer are then the same as without healing."""
    unhealed = sk.generate(
        ScriptedModel(["7"]), "Is it ", sk.Regex("[a-z]+|[0-9]"), fast_forward=False, **PLAIN
    )
    result = sk.generate(ScriptedModel(["7"]), "Is it ", sk.Regex("[a-z]+|[0-9]"), **PLAIN)
    assert result.token_ids == unhealed.token_ids == (ord("7"),)
    assert [token.text for token in result.events] == [b"7"]


def test_there_is_no_healing_without_fast_forward_in_messages_and_after_thinking() -> None:
    off = sk.generate(ScriptedModel(["true"]), "Is it ", bool, fast_forward=False, **PLAIN)
    assert off.token_ids == (_id("true"),)
    turns = [{"role": "user", "content": "Is it "}]
    assert sk.generate(ScriptedModel(["true"]), turns, bool, **PLAIN).token_ids == (_id("true"),)
    thought = sk.generate(ScriptedModel(["It is.</think>true"]), "Is it ", bool, thinking=True, **PLAIN)
    assert thought.token_ids == (_id("true"),)
    assert thought.thinking == "It is."


def test_the_attempt_after_a_rejected_value_reads_the_error() -> None:
    rejecting = Annotated[bool, AfterValidator(_never_true)]
    model = ScriptedModel(["true", "false"])
    result = sk.generate(model, "Is it ", rejecting, **PLAIN)
    assert result.value is False
    assert result.attempts == ("true", "false")
    assert b"".join(token.text for token in result.events) == b"false"
    assert model.prompts[1].startswith("Is it \n\nThe answer true is wrong: ")


def _tiny_model() -> Any:
    """Return a tiny model of transformers without a chat template."""
    tokenizer = copy.deepcopy(sk.load().tokenizer)
    tokenizer.chat_template = None
    return tiny_llama(tokenizer)


def test_a_batch_heals_like_single_prompts() -> None:
    model = _tiny_model()
    words = sk.Regex("[a-z ]{1,9}")
    prompts = ["Is it ", "The name is", '{"name": "', "Wh", "Is it ", "a  ", "It is a"]
    targets = [words, words, sk.Regex('.{1,9}"'), words, bool, TARGETS["person"], sk.Regex("[a-z]{3}")]
    options = {"include_schema": False, "max_tokens": 40}
    healed = [
        count_healed_tokens(sk.compile(target, model.vocabulary), model.encode(prompt))
        for prompt, target in zip(prompts, targets, strict=True)
    ]
    assert sum(map(bool, healed)) >= 3
    batch = sk.generate_many(model, prompts, targets, batch_size=4, **options)
    single = [
        sk.generate(model, prompt, target, **options) for prompt, target in zip(prompts, targets, strict=True)
    ]
    assert [each.token_ids for each in batch] == [each.token_ids for each in single]
    drafts = [
        sk.generate(model, prompt, target, prompt_lookup=False, **options)
        for prompt, target in zip(prompts, targets, strict=True)
    ]
    assert [each.token_ids for each in drafts] == [each.token_ids for each in single]


@pytest.mark.parametrize("context", range(3, 12))
def test_a_context_that_is_nearly_full(context: int) -> None:
    """The prompt is not healed if its end does not fit the context again; no value that fits raises an error."""
    prompt_tokens = len(ScriptedModel([]).encode("it "))
    needed = sk.compile(bool, SMALL).cursor().min_tokens_to_end()
    model = ScriptedModel(["true"], context_length=context)
    if context < prompt_tokens + needed:
        with pytest.raises(sk.StructkitError):
            sk.generate(model, "it ", bool, **PLAIN)
        return
    result = sk.generate(model, "it ", bool, **PLAIN)
    assert result.text in ("true", "false")


@settings(max_examples=cases(20, of=60))
@given(st.sampled_from(sorted(TARGETS)), PROMPTS, st.integers(0, 20), st.integers(0, 10**6))
def test_max_tokens_bounds_the_answer_only(name: str, prompt: str, slack: int, seed: int) -> None:
    budget = GUIDES[name].cursor().min_tokens_to_end() + slack
    model = RandomModel(seed, brevity=seed % 5)
    result = sk.generate(
        model, prompt, TARGETS[name], max_tokens=budget, temperature=1.0, seed=seed, include_schema=False
    )
    assert len(result.token_ids) <= budget
    assert b"".join(token.text for token in result.events).decode() == result.text
    text = b"".join(SMALL.tokens[token] for token in result.token_ids).decode()
    assert text.endswith(result.text)
    assert prompt.endswith(text[: len(text) - len(result.text)])


def test_a_stream_yields_the_answer_only() -> None:
    stream = sk.stream(ScriptedModel(["true story"]), "A ", sk.Regex("[a-z ]+"), **PLAIN)
    text = "".join(event.text for event in stream if isinstance(event, sk.TextDelta))
    assert text == stream.text == stream.result.text == "true story"
    assert stream.result.token_ids[0] == _id(" true")


@pytest.mark.parametrize("pattern", ["", "b?", "b"])
def test_a_text_does_not_end_before_the_prompt_is_written_again(pattern: str) -> None:
    guide = sk.compile(sk.Regex(pattern), sk.Vocabulary([b"a", b"b", b"ab"], eos_token_ids={3}))
    cursor = HealedCursor(guide, b"a")
    assert (cursor.is_accepting, cursor.is_finished) == (False, False)
    cursor.advance(0)
    assert cursor.pending_prompt == b""
    assert (cursor.is_accepting, cursor.is_finished) == (pattern != "b", pattern == "")
    if pattern:
        cursor.rollback(1)
        cursor.advance(2)
        assert (cursor.is_accepting, cursor.is_finished) == (True, True)
