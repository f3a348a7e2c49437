"""Faithful sampling: proper weights, against enumeration; potentials, seeds, limits and bad input."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from benchmarks.faithful import CASES, Case, TableModel, distance, exact_law, masked_law
from structkit.generate.threads.flows import Cancelled
from structkit.testing import RandomModel, ScriptedModel

WORDS, SEAMS, VALIDATOR = CASES
BIG = sk.Limits(batch_rows=512)


def _draw(case: Case, particles: int, seed: int, **options: Any) -> list[sk.Result[str]]:
    return sk.generate(
        case.model,
        "x",
        case.target,
        n=particles,
        sampling="faithful",
        validate=case.check,
        seed=seed,
        confidence=False,
        limits=BIG,
        **options,
    )


def _drawn(case: Case, particles: int, seed: int) -> list[sk.Result[str]]:
    """Draw particles; return none if validators refuse all of them, which counts as 0."""
    try:
        return _draw(case, particles, seed)
    except sk.OutputValidationError:
        return []


def _weights(results: list[sk.Result[Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.exp([result.log_weight for result in results])  # type: ignore[arg-type]


@pytest.mark.long(every=4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("particles", [1, 3, 12])
def test_the_mean_weight_is_the_probability_of_a_valid_answer(case: Case, particles: int) -> None:
    """Within 4 standard errors, with and without resampling; all particles refused count as 0."""
    _, exact = exact_law(case)
    means = []
    for seed in range(600 // particles):
        means.append(float(_weights(_drawn(case, particles, seed)).sum()) / particles)
    error = float(np.std(means)) / math.sqrt(len(means))
    assert abs(float(np.mean(means)) - exact) < 4 * error
    assert error < exact


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_weighted_values_have_the_distribution_of_the_model(case: Case) -> None:
    """Each text: weights times particles estimate its unnormalized probability, within 4.5 standard errors."""
    law, total = exact_law(case)
    runs = []
    for seed in range(60):
        found: Counter[str] = Counter()
        results = _drawn(case, 16, seed)
        for result, weight in zip(results, _weights(results), strict=True):
            found[result.value] += float(weight) / 16
        runs.append([found[text] for text in law])
    mean, deviation = np.mean(runs, axis=0), np.std(runs, axis=0)
    for text, found, spread in zip(law, mean, deviation, strict=True):
        bound = 4.5 * max(float(spread), 0.02 * total) / math.sqrt(len(runs))
        assert abs(found - law[text] * total) < bound, text


@pytest.mark.long(every=3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_more_particles_come_closer_and_masking_does_not(case: Case) -> None:
    exact, _ = exact_law(case)
    masked = distance(masked_law(case), exact)
    assert masked > 0.2

    def law_distance(particles: int, runs: int) -> float:
        found: Counter[str] = Counter()
        calls = [results for seed in range(runs) if (results := _drawn(case, particles, seed))]
        for results in calls:
            weights = _weights(results)
            for result, weight in zip(results, weights / weights.sum(), strict=True):
                found[result.value] += float(weight) / len(calls)
        return distance(found, exact)

    assert law_distance(128, 12) < law_distance(8, 100) < 0.75 * masked
    assert law_distance(128, 12) < 0.25 * masked


def test_one_value_is_drawn_by_weight_and_has_the_mean_weight() -> None:
    """The law of a single value is near the exact one, where greedy or masked decoding could not be."""
    exact, total = exact_law(WORDS)
    found: Counter[str] = Counter()
    log_weights = []
    for seed in range(300):
        one = sk.generate(WORDS.model, "x", WORDS.target, sampling="faithful", particles=24, seed=seed)
        assert one.log_weight is not None
        assert one.effective_sample_size is not None
        assert 1 <= one.effective_sample_size <= 24
        found[one.value] += 1 / 300
        log_weights.append(one.log_weight)
    assert np.mean(np.exp(log_weights)) == pytest.approx(total, rel=0.1)
    # 300 draws from the exact law itself have a mean distance of 0.11 to it, with a standard deviation of 0.016.
    assert distance(found, exact) < 0.17 < distance(masked_law(WORDS), exact)


def test_the_temperature_is_that_of_the_model() -> None:
    warm = Case("warm", TableModel(["a", "b"], 1), sk.Regex("a|b"))
    logits = warm.model.logits(warm.model.encode("")).astype(np.float64) / 3
    results = _draw(warm, 1, 1, temperature=3.0)
    end = warm.model.logits([0, warm.model.encode_text(results[0].value)[0]]).astype(np.float64) / 3
    chances = [np.exp(row - np.log(np.exp(row).sum())) for row in (logits, end)]
    assert results[0].log_weight == pytest.approx(math.log(chances[0][:2].sum() * chances[1][2]), abs=1e-5)


def test_forced_text_and_the_end_are_weighed() -> None:
    model = TableModel(["x", "y", "xy", "yx", "-"], 9)
    case = Case("forced", model, sk.Regex("xyx"))
    exact = exact_law(case)[1]
    assert exact < 0.5  # three spellings, and an end that the model is free not to write
    results = [result for seed in range(40) for result in _draw(case, 16, seed)]
    assert {result.value for result in results} == {"xyx"}
    assert float(_weights(results).mean()) == pytest.approx(exact, rel=0.15)
    assert not any(event.forced for event in results[0].events)


def test_the_same_seed_gives_the_same_values_and_another_gives_others() -> None:
    def values(seed: int) -> list[tuple[tuple[int, ...], float | None]]:
        return [(each.token_ids, each.log_weight) for each in _draw(WORDS, 8, seed)]

    assert values(1) == values(1)
    assert values(1) != values(2)
    again = asyncio.run(
        sk.agenerate(
            WORDS.model,
            "x",
            WORDS.target,
            n=8,
            sampling="faithful",
            seed=1,
            validate=WORDS.check,
            confidence=False,
            limits=BIG,
        )
    )
    assert [(each.token_ids, each.log_weight) for each in again] == values(1)


def test_equal_particles_are_read_once() -> None:
    model = TableModel(["a", "b"], 2, spread=0.0)
    model.passes = 0
    sk.generate(model, "x", sk.Regex("aaaa"), n=16, sampling="faithful", seed=1, confidence=False)
    assert model.passes == 5  # the prompt and four tokens, not sixteen times


class Pair(BaseModel):
    first: Annotated[int, Field(ge=0, le=9)]
    second: Annotated[int, Field(ge=0, le=9)]


def _ordered(pair: Pair) -> Pair:
    if pair.first >= pair.second:
        raise ValueError("second must be larger")
    return pair


def test_a_validator_weighs_values_out_and_invents_none() -> None:
    target = Annotated[Pair, AfterValidator(_ordered)]
    results = sk.generate(RandomModel(1), "x", target, n=32, sampling="faithful", seed=2)
    assert len(results) == 32
    for result in results:
        assert result.value.first < result.value.second
        assert (result.repaired, len(result.attempts)) == ((), 1)
        assert result.confidence["first"].choices is None
    assert len({result.text for result in results}) > 1


@pytest.mark.parametrize("is_async", [False, True])
def test_an_own_validator_is_a_potential(is_async: bool) -> None:
    seen: list[bool] = []

    def judge(value: bool) -> None:
        seen.append(value)
        if value:
            raise sk.Retry("false, please")

    async def judge_async(value: bool) -> None:
        judge(value)

    validate = judge_async if is_async else judge
    value = sk.extract(RandomModel(1), "x", bool, sampling="faithful", validate=validate, seed=1)
    assert value is False
    assert sorted(seen) == [False, True]  # once for each text, not for each particle


def test_an_error_of_a_validator_that_is_no_refusal_is_raised() -> None:
    def fail(value: bool) -> None:
        raise KeyError("no such customer")

    with pytest.raises(KeyError, match="no such customer"):
        sk.extract(RandomModel(1), "x", bool, sampling="faithful", validate=fail, seed=1)


def test_validators_that_refuse_everything_are_an_error_with_what_was_said() -> None:
    def never(value: bool) -> None:
        raise ValueError("nothing is good enough")

    with pytest.raises(sk.OutputValidationError, match=r"every value of 8 particles.*good enough") as caught:
        sk.extract(RandomModel(1), "x", bool, sampling="faithful", particles=8, validate=never, seed=1)
    assert set(caught.value.attempts) == {"true", "false"}
    assert caught.value.trace is not None


def test_a_target_that_the_model_gives_no_probability_is_an_error() -> None:
    rows = np.full((2, 3), -np.inf, np.float32)
    rows[:, 0] = 0
    model = ScriptedModel([rows], sk.Vocabulary([b"a", b"b", b"<end>"], eos_token_ids={2}))
    with pytest.raises(sk.GenerationError, match=r"gives no probability to what .* allows after ''"):
        sk.extract(model, "x", sk.Regex("b"), sampling="faithful")


def test_a_batch_of_a_real_model_draws_as_single_sequences_do() -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    demo = sk.load()

    class Single:
        """The same model without batches."""

        name, vocabulary, context_length = demo.name, demo.vocabulary, demo.context_length
        encode, encode_text, session = demo.encode, demo.encode_text, demo.session

    text = "Ana Souza, 34, works as a nurse in Porto."
    options: dict[str, Any] = {
        "n": 12,
        "sampling": "faithful",
        "seed": 3,
        "temperature": 1.5,
        "max_tokens": 40,
    }
    target = sk.Choice(["Porto", "Ana", "nurse", "a nurse in Porto"])
    batched = sk.generate(demo, text, target, **options)
    single = sk.generate(Single(), text, target, **options)
    assert [each.token_ids for each in batched] == [each.token_ids for each in single]
    assert [each.log_weight for each in batched] == pytest.approx(
        [each.log_weight for each in single], abs=1e-3
    )
    assert len({each.token_ids for each in batched}) > 1


def test_a_budget_and_a_field_limit_hold_for_every_particle() -> None:
    class Note(BaseModel):
        text: Annotated[str, sk.MaxTokens(3)]

    for result in sk.generate(RandomModel(1), "x", Note, n=8, sampling="faithful", max_tokens=24, seed=1):
        assert len(result.token_ids) <= 24
        assert Note.model_validate_json(result.text) == result.value
    with pytest.raises(sk.BudgetTooSmall):
        sk.generate(RandomModel(1), "x", Note, sampling="faithful", max_tokens=2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"particles": 0}, ValueError, "particles must be at least 1"),
        ({"particles": 2.5}, TypeError, "particles must be an integer"),
        ({"particles": 33}, ValueError, r"Limits\.batch_rows is 32"),
        ({"n": 0}, ValueError, "n must be at least 1"),
        ({"n": 33}, ValueError, r"Limits\.batch_rows is 32"),
        ({"n": 4, "particles": 4}, ValueError, r"n=\.\.\. is the number of particles"),
        ({"temperature": 0}, ValueError, "needs a temperature above 0"),
        ({"top_p": 0.9}, ValueError, r"cannot be used with top_p=.*own distribution"),
        ({"repetition_penalty": 1.2}, ValueError, "cannot be used with repetition_penalty"),
        ({"retries": 2}, ValueError, "refused value weighs 0"),
        ({"abstain": 0.5}, ValueError, "cannot be used with abstain"),
        ({"thinking": True}, ValueError, "a thought cannot be weighed"),
        ({"sampling": "exact"}, ValueError, "sampling must be 'masked' or 'faithful', not 'exact'"),
        ({"sampling": "masked", "particles": 4}, ValueError, r"particles=\.\.\. is for sampling='faithful'"),
    ],
)
def test_options_that_do_not_fit_are_errors_before_the_model_reads(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    model = ScriptedModel([])
    with pytest.raises(error, match=message):
        sk.generate(model, "x", bool, **{"sampling": "faithful", **options})
    assert model.prompts == []


@pytest.mark.parametrize("function", [sk.stream, sk.extract_many, sk.generate_many])
def test_other_functions_say_that_they_cannot(function: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot use sampling='faithful'.*call generate for each prompt"):
        function(RandomModel(1), ["x"], bool, sampling="faithful")


def test_a_model_that_returns_text_is_refused_before_its_first_reply() -> None:
    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        return "true"

    with pytest.raises(sk.GenerationError, match="returns text, and sampling='faithful' needs the logits"):
        sk.extract(sk.from_function(reply), "x", bool, sampling="faithful")
    assert asked == []


def test_particles_that_do_not_fit_into_memory_are_an_error_before_the_model_reads() -> None:
    model = TableModel(["a", "b"], 2)
    with pytest.raises(sk.LimitExceeded, match="batch_tokens"):
        sk.generate(
            model, "x", sk.Regex("a{3}"), sampling="faithful", particles=8, limits=sk.Limits(batch_tokens=7)
        )
    assert model.passes == 0


def test_a_call_that_is_cancelled_ends() -> None:
    from structkit.generate.input.request import Request
    from structkit.generate.input.settings import Settings
    from structkit.generate.run.batch import run

    cancelled = threading.Event()
    cancelled.set()
    settings = Settings.read("generate", {"sampling": "faithful"})
    request = Request(model=RandomModel(1), prompt="x", target=list[bool], settings=settings)
    with pytest.raises(Cancelled):
        run(request, cancelled)
