"""Token selection, compared with `sample_token`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import ModelError
from structkit.generate.sample.sample import Sampling, sample_token
from structkit.generate.sample.select import on_cpu, select_tokens
from structkit.generate.sample.step import SampledToken, SampleRequest

SPECIAL = [float("nan"), float("inf"), float("-inf")]


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, list[SampleRequest]]:
    width, rows = draw(st.integers(1, 1100)), draw(st.integers(1, 4))
    words = draw(st.integers(1, 35))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    logits = random.standard_normal((rows, width)).astype(np.float32).round(1)
    for value in SPECIAL if draw(st.booleans()) else []:
        logits[random.random(logits.shape) < draw(st.sampled_from([0, 0.01, 0.5]))] = value
    requests = []
    for row in range(rows):
        allowed = random.random(32 * words) < draw(st.sampled_from([0, 0.002, 0.1, 0.9, 1]))
        requests.append(
            SampleRequest(
                token_ids=[0],
                mask=np.packbits(allowed, bitorder="little").view(np.uint32),
                sampling=Sampling(temperature=draw(st.sampled_from([0, 0, 1])), seed=row),
                location=f"token {row}",
            )
        )
    return logits, requests


def _reference(row: np.ndarray, request: SampleRequest) -> int | str:
    generator = request.sampling.generator()
    try:
        return sample_token(row, request.mask, request.sampling, generator, location=request.location)
    except ModelError as error:
        return error.message.split(";")[0]


def _outcomes(selected: list[SampledToken | ModelError]) -> list[int | str]:
    return [
        each.token_id if isinstance(each, SampledToken) else each.message.split(";")[0] for each in selected
    ]


def _seeded(requests: list[SampleRequest]) -> list[SampleRequest]:
    for request in requests:
        request.generator = request.sampling.generator()
    return requests


@given(batches())
def test_a_batch_agrees_with_sample_token(batch: tuple[np.ndarray, list[SampleRequest]]) -> None:
    logits, requests = batch
    expected = [_reference(row, request) for row, request in zip(logits, requests, strict=True)]
    assert _outcomes(select_tokens(logits.copy(), _seeded(requests))) == expected


@given(batches())
def test_torch_agrees_with_sample_token(batch: tuple[np.ndarray, list[SampleRequest]]) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    logits, requests = batch
    expected = [_reference(row, request) for row, request in zip(logits, requests, strict=True)]
    assert _outcomes(select_tokens(torch.tensor(logits), _seeded(requests))) == expected


@given(batches())
def test_scores_are_log_probabilities(batch: tuple[np.ndarray, list[SampleRequest]]) -> None:
    logits, requests = batch
    for request in requests:
        request.with_logprobs = True
    selected = select_tokens(logits.copy(), _seeded(requests))
    for row, request, token in zip(logits, requests, selected, strict=True):
        if isinstance(token, ModelError) or not np.isfinite(row).all():
            continue
        weights = np.exp(row.astype(np.float64))
        allowed = np.unpackbits(request.mask.view(np.uint8), bitorder="little")[: len(row)].astype(bool)
        total = weights[: len(allowed)][allowed].sum()
        assert token.logprob == pytest.approx(np.log(weights[token.token_id] / total), abs=1e-4)
        assert token.masked_probability == pytest.approx(1 - total / weights.sum(), abs=1e-4)


def test_the_most_likely_token_without_a_budget_is_reported() -> None:
    mask, unbudgeted = np.array([0b0110], np.uint32), np.array([0b0111], np.uint32)
    logits = np.array([[3, 1, 2, 9]], np.float32)
    assert select_tokens(logits, [SampleRequest(token_ids=[0], mask=mask, unbudgeted_mask=unbudgeted)]) == [
        SampledToken(2, unbudgeted_token_id=0)
    ]


def test_an_invalid_row_does_not_affect_the_others() -> None:
    mask = np.array([0b11], np.uint32)
    invalid, valid = select_tokens(
        np.array([[np.nan, 1], [1, 2]], np.float32), [SampleRequest(token_ids=[0], mask=mask)] * 2
    )
    assert isinstance(invalid, ModelError)
    assert valid == SampledToken(1)


def test_logits_of_the_wrong_shape() -> None:
    with pytest.raises(ModelError, match=r"shape \[2\]"):
        select_tokens(np.zeros(2, np.float32), [SampleRequest(token_ids=[0], mask=np.array([1], np.uint32))])


def test_logits_of_any_device_become_an_array() -> None:
    torch = pytest.importorskip("torch")
    logits = np.array([[1, 2.5, -1], [0, 3, 4]], np.float32)
    assert on_cpu(logits) is logits
    found = on_cpu(torch.from_numpy(logits).to(torch.bfloat16))
    assert isinstance(found, np.ndarray) and found.dtype == np.float32 and np.array_equal(found, logits)
