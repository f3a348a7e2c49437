"""Generation with llama.cpp: the values of transformers, and what tests ask of every model with logits."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.models.llama_cpp.library import Context
from tests.models.demo_gguf import write_gguf
from tests.models.llama_cpp.conftest import new_llama

if TYPE_CHECKING:
    from structkit.models.llama_cpp.model import LlamaCppModel

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from tests.generate.test_architectures import (
    OPTIONS,
    PROMPTS,
    TARGETS,
    random_model,
    separate,
    test_a_batch_gives_the_tokens_of_separate_calls,
    test_a_stream_gives_the_tokens_of_generate_for_each_budget,
    test_drafts_and_confidence_do_not_change_the_tokens,
    test_rejected_values_are_removed_from_the_cache,
    test_samples_do_not_depend_on_the_batch_size,
)

__all__ = [
    "separate",
    "test_a_batch_gives_the_tokens_of_separate_calls",
    "test_a_stream_gives_the_tokens_of_generate_for_each_budget",
    "test_drafts_and_confidence_do_not_change_the_tokens",
    "test_rejected_values_are_removed_from_the_cache",
    "test_samples_do_not_depend_on_the_batch_size",
]


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


class Order(BaseModel):
    item: str
    quantity: Annotated[int, Field(ge=1, le=99)]
    status: Literal["open", "closed"]


DEMO_TARGETS: list[Any] = [
    Person,
    Order,
    bool,
    Literal["positive", "negative", "neutral"],
    Annotated[list[int], Field(max_length=5)],
    Annotated[float, Field(ge=0, le=1000)],
    sk.Regex(r"[A-Z][a-z]{2,10} [A-Z][a-z]{2,10}"),
    list[Person],
]


def demo_prompts(count: int) -> list[str]:
    chance = random.Random(1)
    names = ["Ana Souza", "John Smith", "Maria Silva", "Li Wei", "Tom Brown", "Eva Klein"]
    jobs, cities = ["nurse", "teacher", "engineer", "driver"], ["Porto", "London", "Berlin"]
    people = [
        f"{chance.choice(names)}, {chance.randint(18, 80)}, is a {chance.choice(jobs)} in {chance.choice(cities)}."
        for _ in range(count)
    ]
    orders = [
        f"Order: {chance.randint(1, 20)} {chance.choice(['lamps', 'chairs', 'books'])}, "
        f"{chance.choice(['open', 'closed'])}, {chance.randint(1, 500)}.{chance.randint(10, 99)} euros"
        for _ in range(count)
    ]
    return [people[number] if number % 3 else orders[number] for number in range(count)]


@pytest.fixture(scope="module")
def model(library: Any, tmp_path_factory: pytest.TempPathFactory) -> LlamaCppModel:
    """The random Llama of the tests of architectures."""
    random_llama = random_model("llama", 1)
    folder = tmp_path_factory.mktemp("random")
    random_llama.model.save_pretrained(folder)
    random_llama.tokenizer.save_pretrained(folder)
    path = folder / "random.gguf"
    write_gguf(path, np.float32, folder=folder)
    found = sk.from_llama_cpp(new_llama(library, path, n_ctx=256))
    found._encoder = random_llama._encoder
    found._random_llama = random_llama  # type: ignore[attr-defined]
    return found


def test_random_values_are_those_of_transformers(model: Any) -> None:
    for prompt, target in zip(PROMPTS, TARGETS, strict=True):
        expected = sk.generate(model._random_llama, prompt, target, **OPTIONS)
        assert sk.generate(model, prompt, target, **OPTIONS).token_ids == expected.token_ids


@pytest.mark.parametrize("target", DEMO_TARGETS, ids=str)
def test_values_are_those_of_transformers(target: Any, demo_gguf, demo) -> None:
    """200 values, greedy; where they differ, the logits of the two tokens are a tie."""
    options: dict[str, Any] = {"max_tokens": 120, "finish": "shortest", "confidence": False}
    for prompt in demo_prompts(25):
        ours, expected = (sk.generate(each, prompt, target, **options) for each in (demo_gguf, demo))
        if ours.token_ids != expected.token_ids:
            pairs = list(zip(ours.events, expected.events, strict=False))
            one, other = next(pair for pair in pairs if pair[0].token_id != pair[1].token_id)
            assert one.logprob == pytest.approx(other.logprob, abs=1e-3)
            continue
        assert ours.value == expected.value
        assert ours.guarantee == "masked"


def test_a_file_gives_the_same_values(demo_path: Path, demo) -> None:
    """The cache of a file has half precision."""
    model = sk.load(demo_path)
    model._encoder = demo._encoder  # llama.cpp does not have its pre-tokenizer
    prompts = demo_prompts(12)
    assert sk.extract_many(model, prompts, Person) == sk.extract_many(demo, prompts, Person)


def test_a_batch_reads_the_common_prefix_once(demo_gguf, counts: list[int]) -> None:
    examples = [("Tom Brown, 50, is a driver.", Person(name="Tom Brown", age=50, job="driver"))]
    prompts = demo_prompts(8)
    one = sk.generate(demo_gguf, prompts[0], Person, examples=examples)
    alone = sum(counts)
    counts.clear()
    many = sk.generate_many(demo_gguf, prompts, Person, examples=examples, batch_size=8)
    assert many[0].value == one.value
    assert sum(counts) < 0.6 * 8 * alone
    assert [each.value for each in many] == [
        sk.extract(demo_gguf, prompt, Person, examples=examples) for prompt in prompts
    ]


def test_drafts_and_retries_cut_the_cache(demo_gguf, demo, counts: list[int]) -> None:
    """A rejected value costs only the tokens that are new."""

    def checked(age: int) -> int:
        rejected.append(age)
        assert len(rejected) > 2, "another one"
        return age

    class Checked(BaseModel):
        name: str
        age: Annotated[int, AfterValidator(checked)]

    prompt = demo_prompts(2)[1]
    results = []
    for model in (demo_gguf, demo):
        rejected: list[int] = []
        counts.clear()
        results.append(sk.generate(model, prompt, Checked, retries=3))
        if model is demo_gguf:
            assert sum(counts) < len(demo.encode(sk.render_prompt(demo, prompt, Checked))) + 60
    assert results[0].attempts == results[1].attempts
    assert len(results[0].attempts) == 3
    assert min(each.usage.accepted_tokens for each in results) > 0


def test_every_entry_point(demo_gguf, demo) -> None:
    prompt = demo_prompts(2)[1]
    expected = sk.extract(demo, prompt, Person)
    assert sk.extract(demo_gguf, prompt, Person) == expected
    assert asyncio.run(sk.aextract(demo_gguf, prompt, Person)) == expected
    stream = sk.stream(demo_gguf, prompt, Person)
    list(stream)
    assert stream.result.value == expected

    async def many() -> list[Person]:
        return await sk.aextract_many(demo_gguf, [prompt, prompt], Person)

    assert asyncio.run(many()) == [expected, expected]
    results = sk.generate(demo_gguf, prompt, Person, n=3, temperature=1, seed=1)
    assert len(results) == 3
    ours, theirs = (sk.generate(each, prompt, bool).confidence for each in (demo_gguf, demo))
    assert ours["$"].choices == pytest.approx(theirs["$"].choices, abs=1e-3)
    sentiments = Literal["good", "bad"]
    ours, theirs = (sk.classify(each, "I love it.", sentiments) for each in (demo_gguf, demo))
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert sk.extract(demo_gguf, prompt, Person, assistant_model=demo) == expected
    assert sk.extract(demo, prompt, Person, assistant_model=demo_gguf) == expected


def test_two_streams_by_turns(demo_gguf) -> None:
    first, second = demo_prompts(3)[1:]
    streams = [sk.stream(demo_gguf, prompt, Person) for prompt in (first, second)]
    for _ in zip(*streams, strict=False):
        pass
    for stream, prompt in zip(streams, (first, second), strict=True):
        list(stream)
        assert stream.result.value == sk.extract(demo_gguf, prompt, Person)


def test_a_step_of_an_agent_reads_only_what_is_new(demo_gguf, demo, counts: list[int]) -> None:
    def calculate(expression: str) -> int:
        """Calculate an expression."""
        return 391

    runs = []
    for model in (demo_gguf, demo):
        agent = sk.Agent(model, tools=[calculate])
        first = agent.run("Calculate 17 * 23.")
        counts.clear()
        runs.append([first, agent.run("And 17 * 23 again?", messages=first.messages)])
        if model is demo_gguf:
            row = agent._config.prefix_cache._rows[0]
            assert sum(counts) < len(row.token_ids) / 2
    assert [each.messages for each in runs[0]] == [each.messages for each in runs[1]]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of tokens of each call of llama.cpp."""
    counted: list[int] = []
    decode = Context.decode

    def count(context: Context, token_ids: list[int], *rest: Any) -> list[np.ndarray]:
        counted.append(len(token_ids))
        return decode(context, token_ids, *rest)

    monkeypatch.setattr(Context, "decode", count)
    return counted
