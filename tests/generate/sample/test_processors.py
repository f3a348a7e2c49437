"""Logits processors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import structkit as sk
from structkit.generate.sample.processors import LogitsRow, LogitsStep, ProcessorStack
from structkit.generate.sample.sample import Sampling, probabilities
from structkit.processors import MASK, Penalty, Suppress
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

BYTES, SMALL = byte_vocabulary(), small_vocabulary()

rows = arrays(np.float32, st.integers(2, 40), elements=st.floats(-20, 20, width=32))


@given(rows, st.floats(0.05, 0.99))
def test_typical_p_agrees_with_transformers(row: np.ndarray, mass: float) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    warper = transformers.TypicalLogitsWarper(mass=mass)
    theirs = torch.isfinite(warper(None, torch.tensor(row)[None].double()))[0].numpy()
    ours = probabilities(row, Sampling(temperature=1, typical_p=mass)) > 0
    plain = np.sort(probabilities(row, Sampling(temperature=1)))[::-1]
    if len(np.unique(row)) == len(row) and abs(plain.sum() - 1) < 1e-9:  # ties are cut differently
        assert abs(int(ours.sum()) - int(theirs.sum())) <= 1  # the sum may equal the mass


@given(rows, st.lists(st.integers(0, 39), max_size=10), st.floats(0.5, 2))
def test_the_penalty_agrees_with_transformers(row: np.ndarray, seen: list[int], factor: float) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    seen = [token for token in seen if token < len(row)] or [0]
    theirs = transformers.RepetitionPenaltyLogitsProcessor(factor)(
        torch.tensor([seen]), torch.tensor(row)[None]
    )
    ours = Penalty(factor).begin(BYTES)(seen, row.copy())
    np.testing.assert_allclose(ours, theirs[0].numpy(), rtol=1e-6)


def test_processors_and_mask_apply_in_order() -> None:
    seen = []

    class Recorder:
        def __init__(self, name: str) -> None:
            self.name = name

        def begin(self, vocabulary: sk.Vocabulary):
            def step(token_ids: list[int], row: np.ndarray) -> np.ndarray:
                seen.append((self.name, int(np.isfinite(row).sum())))
                return row + 1

            return step

    stack = ProcessorStack([Recorder("before"), MASK, Recorder("after")], BYTES)
    row, mask = np.zeros(40, np.float32), np.array([0b101, 0, 0], np.uint32)
    adjusted = stack.apply([1], row, mask)
    assert seen == [("before", 40), ("after", 2)]
    assert np.flatnonzero(np.isfinite(adjusted)).tolist() == [0, 2]
    assert not row.any()  # the logits of the model are not modified


def test_callables_of_transformers_are_processors() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    lengths = []

    def no_a(input_ids, scores):
        assert input_ids.dtype == torch.int64
        lengths.append(input_ids.shape[1])
        scores[:, ord("a")] = -torch.inf
        return scores

    text = sk.extract(
        RandomModel(3, BYTES), "xyz", sk.Regex("[ab]{8}"), processors=[no_a], include_schema=False
    )
    assert text == "bbbbbbbb"
    assert lengths == list(range(3, 3 + len(lengths)))


def test_suppressed_tokens_occur_only_in_forced_text() -> None:
    model = ScriptedModel(['{"a": "eel"}'], SMALL, strict=False)
    text = sk.generate(model, "x", dict[str, str], processors=[Suppress("e")], max_tokens=30).text
    assert "e" not in json.dumps(json.loads(text))
    assert sk.extract(ScriptedModel(["red"]), "x", sk.Choice(["red", "blue"]), processors=[Suppress([1])])


@pytest.mark.parametrize(
    ("tokens", "error"),
    [("(", sk.PatternError), (["a"], TypeError), ([True], TypeError), ([3, -1], ValueError)],
)
def test_suppress_checks_its_tokens(tokens: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="Suppress"):
        Suppress(tokens)


def test_suppress_takes_any_iterable() -> None:
    suppress = Suppress(iter([*b"aeiou"]))  # type: ignore[arg-type]
    target, options = sk.Regex("[a-z]{20}"), {"temperature": 1.0, "seed": 1}
    for result in sk.generate(RandomModel(1, BYTES), "x", target, processors=[suppress], n=3, **options):
        assert not set("aeiou") & set(result.text)


def test_processors_that_forbid_every_token_raise() -> None:
    with pytest.raises(sk.ModelError, match="forbid every token"):
        sk.extract(RandomModel(1, BYTES), "x", bool, processors=[Suppress(range(256))])


def test_nan_of_a_processor_and_nan_of_the_model_have_different_errors() -> None:
    with pytest.raises(sk.ModelError, match="the processors returned a logit that is NaN"):
        sk.extract(RandomModel(), "x", bool, processors=[lambda ids, scores: scores * np.nan])
    broken = ScriptedModel([np.full((1, RandomModel().vocabulary.size), np.nan, np.float32)])
    with pytest.raises(sk.ModelError, match="is nan, not a finite number"):
        sk.extract(broken, "x", bool, processors=[lambda ids, scores: scores])


def test_errors_name_their_cause_and_step() -> None:
    def late(ids: object, scores: object) -> object:
        return scores - np.inf if ids.shape[1] > 10 else scores

    with pytest.raises(sk.ModelError, match=r"at `token 9, processors`:\n  .*forbid every token.*"):
        sk.extract(RandomModel(3, BYTES), "xy", sk.Regex("[ab]{80}"), processors=[late], include_schema=False)
    empty = ScriptedModel([np.full((1, RandomModel().vocabulary.size), -np.inf, np.float32)] * 2)
    for processors in ([lambda ids, scores: scores], [MASK, lambda ids, scores: scores]):
        with pytest.raises(sk.ModelError, match="is -inf, not a finite number"):
            sk.extract(empty, "x", bool, processors=processors)
    with pytest.raises(sk.ModelError, match=r"returned logits of shape \[5\]\n  expected"):
        sk.extract(RandomModel(), "x", bool, processors=[lambda ids, scores: scores[:, :5]])


def test_processors_see_thinking_tokens() -> None:
    lengths: list[int] = []

    def record(ids: object, scores: object) -> object:
        lengths.append(ids.shape[1])
        return scores

    model = RandomModel(3, BYTES)
    sk.extract(model, "xyz", sk.Regex("[ab]{4}"), processors=[record], thinking=6, include_schema=False)
    assert lengths[:6] == list(range(3, 9))
    assert sorted(set(lengths)) == lengths
    with pytest.raises(sk.ModelError, match="at `token 4 of the thinking, processors`"):
        sk.extract(
            model, "xyz", bool, include_schema=False, thinking=6,
            processors=[lambda ids, scores: scores - np.inf if ids.shape[1] > 6 else scores],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"processors": Suppress("e")}, TypeError),
        ({"processors": ["e"]}, TypeError),
        ({"repetition_penalty": 0}, ValueError),
        ({"typical_p": 0}, ValueError),
        ({"timeout": -1}, ValueError),
        ({"timeout": "1"}, TypeError),
    ],
)
def test_invalid_options_raise(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(options))):
        sk.extract(RandomModel(), "x", int, **options)


def test_a_value_is_complete_after_a_timeout() -> None:
    result = sk.generate(RandomModel(1, SMALL), "x", dict[str, list[int]], timeout=0)
    assert result.text == "{}"
    assert result.finish_reason == "budget"
    endless = ScriptedModel(['"' + 100_000 * "a" + '"'], SMALL, strict=False)
    result = sk.generate(endless, "x", str, timeout=0.5, max_tokens=100_000)
    assert result.finish_reason == "budget"
    assert set(result.value) == {"a"}


def test_a_penalty_prevents_repetition() -> None:
    logits = np.zeros((1, 257), np.float32)
    logits[0, [ord("a"), ord("b"), ord("c")]] = 5, 4, 3
    target = sk.Regex("[a-z]{4}")
    assert sk.extract(ScriptedModel([logits], BYTES), "x", target) == "aaaa"
    varied = sk.extract(
        ScriptedModel([logits], BYTES), "x", target, repetition_penalty=2.0, include_schema=False
    )
    assert varied == "abca"


def test_a_processor_error_affects_one_sequence_only() -> None:
    class Failing:
        def begin(self, vocabulary: sk.Vocabulary) -> LogitsStep:
            def step(token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
                if token_ids[0] == ord("b"):
                    raise KeyError("mine")
                return row

            return step

    model = RandomModel(1, brevity=3)
    results = sk.extract_many(
        model, ["a", "b", "a"], bool, processors=[Failing()], include_schema=False, return_exceptions=True
    )
    assert [type(result) for result in results] == [bool, sk.ModelError, bool]
    assert "KeyError: 'mine'" in str(results[1])
