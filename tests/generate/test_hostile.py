"""Random combinations of options, prompts and targets give a complete value or a `GenerationError`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, model_validator

import structkit as sk
from structkit.generate.schedule.locks import MODEL_LOCKS
from structkit.processors import Suppress
from structkit.targets.targets import read_target
from structkit.testing import RandomModel
from tests.shared import cases


def _even_length(value: object) -> object:
    if len(repr(value)) % 2:
        raise ValueError("of odd length")
    return value


def _reject(value: object) -> object:
    raise ValueError("never")


class Part(BaseModel):
    key: Annotated[str, AfterValidator(_even_length)]
    sure: bool


class Machine(BaseModel):
    parts: list[Part]
    kind: Literal["a", "b", "ab"]

    @model_validator(mode="after")
    def check_parts(self) -> Machine:
        if len(self.parts) % 2:
            raise ValueError("an odd number of parts")
        return self


TARGETS: list[object] = [
    Machine,
    Part,
    Annotated[int, AfterValidator(_even_length)],
    Annotated[bool, AfterValidator(_reject)],
    Annotated[list[Annotated[str, AfterValidator(_even_length)]], Field(max_length=3)],
    sk.Choice(["yes", "yes please", '"...', '"..."', "...", '\\"', "é漢", "\n", ""]),
    sk.Choice([1, 1.5, "1", None]),
    sk.Regex(r"(?s).{0,20}"),
    sk.Regex("[é漢😀]{1,6}"),
    Annotated[str, Field(min_length=3, max_length=9, pattern="^[漢é]+$")],
    Literal['"quoted"', "...", '"..."'],
    dict[str, Annotated[int, AfterValidator(_even_length)]],
    Annotated[str, sk.MaxTokens(3)],
    str,
]
TEXTS = [
    "x",
    " ",
    "a ",
    "Is it ",
    '{"key": "',
    "<|endoftext|>",
    "</think>",
    "é",
    "x\n\n",
    "```json\n",
    '"',
    "tr",
]
PROMPTS = st.sampled_from([*TEXTS, [{"role": "user", "content": "x "}], [{"role": "user", "content": ""}]])
OPTIONS = st.fixed_dictionaries(
    {"max_tokens": st.sampled_from([0, 1, 2, 3, 5, 8, 13, 30, 60])},
    optional={
        "temperature": st.sampled_from([0.5, 1.0, 3.0]),
        "seed": st.integers(0, 99),
        "retries": st.sampled_from([0, 1, 5]),
        "timeout": st.sampled_from([0, 0.001, 60]),
        "fast_forward": st.booleans(),
        "include_schema": st.booleans(),
        "confidence": st.booleans(),
        "thinking": st.sampled_from([1, 7]),
        "processors": st.sampled_from([[Suppress("a")], [Suppress('"')], [Suppress(" ")]]),
        "repetition_penalty": st.just(1.3),
    },
)


def _streamed(model: RandomModel, prompt: object, target: object, **options: object) -> list[sk.Result]:
    stream = sk.stream(model, prompt, target, **options)
    for _ in stream:
        _ = stream.partial, stream.text
    return [stream.result]


def _sampled(model: RandomModel, prompt: object, target: object, **options: object) -> list[sk.Result]:
    options = {"temperature": 1.0, "seed": 1} | options
    return sk.generate(model, prompt, target, n=2, **options)


def _batched(model: RandomModel, prompt: object, target: object, **options: object) -> list[sk.Result]:
    results = sk.generate_many(
        model, [prompt, "y", prompt], [target, Part, target], return_exceptions=True, **options
    )
    assert all(isinstance(result, (sk.Result, sk.StructkitError)) for result in results)
    return [result for result in results[::2] if isinstance(result, sk.Result)]


def _single(model: RandomModel, prompt: object, target: object, **options: object) -> list[sk.Result]:
    return [sk.generate(model, prompt, target, **options)]


@settings(max_examples=cases(40, of=120))
@given(
    st.sampled_from([_single, _streamed, _sampled, _batched]),
    PROMPTS,
    st.sampled_from(TARGETS),
    OPTIONS,
    st.integers(0, 999),
)
def test_every_combination_gives_a_complete_value_or_an_error(
    run: object, prompt: object, target: object, options: dict[str, object], seed: int
) -> None:
    try:
        results = run(RandomModel(seed, brevity=seed % 5), prompt, target, **options)
    except sk.GenerationError:
        return
    for result in results:
        assert b"".join(token.text for token in result.events).decode() == result.text
        assert len(result.token_ids) <= options["max_tokens"]
        assert repr(read_target(target).parse(result.text)) == repr(result.value)
        assert result.attempts[-1] == result.text
        assert len(set(result.attempts)) == len(result.attempts)
        for confidence in result.confidence.values():
            assert confidence.logprob <= 1e-6
            assert not confidence.choices or sum(confidence.choices.values()) == pytest.approx(1, abs=1e-3)


@pytest.mark.long(every=4)
@pytest.mark.parametrize("delay", [0, 0.001, 0.003, 0.01, 0.03])
@pytest.mark.parametrize("kind", ["one", "samples", "many", "classify", "stream"])
def test_a_cancelled_task_releases_the_model(kind: str, delay: float) -> None:
    model, options = RandomModel(1), {"max_tokens": 2_000, "include_schema": False}

    async def streamed() -> None:
        async with sk.astream(model, "x", list[str], **options) as stream:
            async for _ in stream:
                pass

    async def main() -> bool:
        work = {
            "one": lambda: sk.aextract(model, "x", list[str], **options),
            "samples": lambda: sk.agenerate(model, "x", list[str], n=5, temperature=1.0, seed=1, **options),
            "many": lambda: sk.aextract_many(model, ["x"] * 40, list[str], return_exceptions=True, **options),
            "classify": lambda: sk.aclassify(model, "x", bool),
            "stream": streamed,
        }
        task = asyncio.create_task(work[kind]())
        await asyncio.sleep(delay)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return await asyncio.wait_for(sk.aextract(model, "x", bool, include_schema=False), 20)

    assert asyncio.run(main()) in (True, False)
    assert MODEL_LOCKS.lock_of(model).acquire(blocking=False)


def test_nan_in_one_row_does_not_affect_the_others() -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    demo = sk.load()

    class Rows:
        """A batch of the demo model whose second row is NaN from the third step on."""

        max_rows = None

        def __init__(self) -> None:
            self.inner = demo.batch()
            self.overhead, self.steps = self.inner.overhead, 0

        def corrupt(self, logits: np.ndarray) -> np.ndarray:
            self.steps += 1
            if self.steps >= 3 and len(logits) == 3:
                logits[1] = np.nan
            return logits

        def add(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
            return self.corrupt(self.inner.add(sequences))

        def feed(self, token_ids: Sequence[Sequence[int]]) -> np.ndarray:
            return self.corrupt(self.inner.feed(token_ids))

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    class Model:
        name, context_length, vocabulary = demo.name, demo.context_length, demo.vocabulary
        encode, encode_text, session = demo.encode, demo.encode_text, demo.session

        def batch(self) -> Rows:
            return Rows()

    prompts = ["Ana is 34 years old.", "Tom is five, or so.", "Eva is 60."]
    options = {"max_tokens": 40, "prompt_lookup": False}
    batch = sk.generate_many(Model(), prompts, dict[str, int], return_exceptions=True, **options)
    failed = [isinstance(result, Exception) for result in batch]
    assert sum(failed) == 1
    error = batch[failed.index(True)]
    assert isinstance(error, sk.ModelError)
    assert "is nan, not a finite number" in str(error)
    assert "at `token" in str(error)
    for prompt, result in zip(prompts, batch, strict=True):
        if isinstance(result, sk.Result):
            assert result.text == sk.generate(demo, prompt, dict[str, int], **options).text
            json.loads(result.text)
