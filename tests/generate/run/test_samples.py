"""Several samples of one prompt, and the time that a call has."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.generate.input.guide_cache import GUIDE_CACHE
from structkit.generate.schedule.locks import MODEL_LOCKS
from structkit.models.protocols import Session
from structkit.testing import RandomModel, ScriptedModel

DRAWN = {"temperature": 1.5, "seed": 3}


class Item(BaseModel):
    name: str = Field(max_length=12)
    size: Literal["small", "medium", "large"]


def _ids(results: Sequence[sk.Result[object]]) -> list[tuple[int, ...]]:
    return [result.token_ids for result in results]


def test_each_sample_draws_its_own_numbers_and_the_same_again() -> None:
    drawn = sk.generate(RandomModel(1), "x", Item, n=6, **DRAWN)
    assert len(drawn) == len(set(_ids(drawn))) == 6
    assert _ids(sk.generate(RandomModel(1), "x", Item, n=6, **DRAWN)) == _ids(drawn)
    assert _ids(sk.generate(RandomModel(1), "x", Item, n=2, **DRAWN)) == _ids(drawn)[:2]
    assert sk.generate(RandomModel(1), "x", Item, **DRAWN).token_ids == drawn[0].token_ids
    assert _ids(asyncio.run(sk.agenerate(RandomModel(1), "x", Item, n=6, **DRAWN))) == _ids(drawn)
    assert _ids(sk.generate_many(RandomModel(1), ["x"] * 6, Item, **DRAWN)) == _ids(drawn)


def test_one_is_a_list_of_one() -> None:
    (only,) = sk.generate(ScriptedModel(["true"]), "x", bool, n=1)
    assert (only.value, only.confidence["$"].choices is not None) == (True, True)


def test_a_prompt_is_read_once_for_all_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by random models, which have but one row."""
    pytest.importorskip("transformers", reason="needs transformers")
    from structkit.models.transformers.kv_batch import TransformersBatch

    demo, forward = sk.load(), TransformersBatch._forward
    read: list[int] = []

    def noted(batch: TransformersBatch, token_ids: Sequence[Sequence[int]], last: int) -> object:
        read.append(max(map(len, token_ids)))
        return forward(batch, token_ids, last)

    monkeypatch.setattr(TransformersBatch, "_forward", noted)
    text = "Ana Souza, 34, works as a nurse in Porto."
    drawn = sk.generate(demo, text, Item, n=40, **DRAWN)
    (length,) = [length for length in read if length > 20]
    assert length >= drawn[0].usage.prompt_tokens - 1  # with the forced start of the answer
    assert _ids(drawn[:9]) == _ids(sk.generate_many(demo, [text] * 9, Item, batch_size=4, **DRAWN))


def test_samples_are_ranked_by_the_mean_of_their_sampled_tokens() -> None:
    samples = sk.generate(RandomModel(1), "x", Item, n=6, **DRAWN)

    def mean(result: sk.Result[Item]) -> float:
        scores = [token.logprob for token in result.events if not token.forced]
        return sum(scores) / len(scores)

    assert [sample.mean_logprob for sample in samples] == [mean(sample) for sample in samples]
    assert len({sample.mean_logprob for sample in samples}) == 6
    assert sk.generate(ScriptedModel(["7"]), "x", sk.Choice(["7"])).mean_logprob == 0.0


def test_the_error_of_a_sample_says_which() -> None:
    def short(text: str) -> str:
        assert len(text) < 3, "too long"
        return text

    model = ScriptedModel(['"a"', '"b"', '"longer"', '"c"'])
    with pytest.raises(sk.OutputValidationError, match=r"at `samples\[2\]`"):
        sk.generate(model, "x", Annotated[str, AfterValidator(short)], n=4, temperature=1, seed=1, retries=0)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"n": 0, "temperature": 1}, ValueError, "n must be at least 1"),
        ({"n": 2.5, "temperature": 1}, TypeError, "n must be an integer"),
        ({"n": True, "temperature": 1}, TypeError, "n must be"),
        ({"n": 10**9, "temperature": 1}, ValueError, "n must be at most 100,000, not 1000000000"),
        ({"n": 2}, ValueError, "temperature above 0"),
    ],
)
def test_what_cannot_be_meant(options: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        sk.generate(RandomModel(), "x", int, **options)
    with pytest.raises(TypeError, match="extract\\(\\) has no argument 'n'"):
        sk.extract(RandomModel(), "x", int, n=2)


ENDLESS = ScriptedModel([json.dumps("a b " * 100)] * 20, strict=False)
LONG = {"max_tokens": 300, "retries": 0, "confidence": False}


class Slow(ScriptedModel):
    """A scripted model that takes a moment for each token."""

    def session(self) -> Session:
        session = super().session()
        logits = session.logits

        def slowly(token_ids: Sequence[int]) -> np.ndarray:
            time.sleep(0.01)
            return logits(token_ids)

        session.logits = slowly  # type: ignore[method-assign]
        return session


@pytest.mark.long
def test_compiling_is_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    get = type(GUIDE_CACHE).get

    def slowly(*arguments: object) -> object:
        time.sleep(0.8)
        return get(*arguments)

    assert len(sk.generate(ENDLESS, "x", str, timeout=60, **LONG).text) > 200
    monkeypatch.setattr(type(GUIDE_CACHE), "get", slowly)
    assert len(sk.generate(ENDLESS, "x", str, timeout=0.2, **LONG).text) < 9
    assert len(sk.stream(ENDLESS, "x", str, timeout=0.2, **LONG).result.text) < 9
    assert len(sk.generate_many(ENDLESS, ["x"], str, timeout=0.7, **LONG)[0].text) > 9


def test_waiting_for_the_model_is_part_of_the_time() -> None:
    results: list[int] = []

    def ask() -> None:
        results.append(len(sk.generate(ENDLESS, "x", str, timeout=0.2, **LONG).token_ids))

    with MODEL_LOCKS.lock_of(ENDLESS):
        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.3)
    thread.join(timeout=20)
    assert results[0] < 4


@pytest.mark.long
def test_samples_share_their_time_and_prompts_do_not() -> None:
    options = {"timeout": 1.5, "temperature": 1.0, "seed": 1, **LONG}
    model = Slow([json.dumps("a b " * 100)] * 20, strict=False)
    samples = sk.generate(model, "x", str, n=4, **options)
    assert len(samples[0].text) > 9
    assert max(len(sample.text) for sample in samples[1:]) < 9
    assert all(len(each.text) > 9 for each in sk.generate_many(model, ["x"] * 3, str, **options))
