"""The masked step, against its plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import ModelError
from structkit.generate.sample.sample import Sampling, sample_token
from structkit.generate.sample.select import select_tokens
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
    asks = []
    for row in range(rows):
        allowed = random.random(32 * words) < draw(st.sampled_from([0, 0.002, 0.1, 0.9, 1]))
        asks.append(
            SampleRequest(
                token_ids=[0],
                mask=np.packbits(allowed, bitorder="little").view(np.uint32),
                sampling=Sampling(temperature=draw(st.sampled_from([0, 0, 1])), seed=row),
                location=f"token {row}",
            )
        )
    return logits, asks


def _plain(row: np.ndarray, ask: SampleRequest) -> int | str:
    try:
        return sample_token(row, ask.mask, ask.sampling, ask.sampling.generator(), location=ask.location)
    except ModelError as error:
        return error.message.split(";")[0]


def _told(told: list[SampledToken | ModelError]) -> list[int | str]:
    return [each.token_id if isinstance(each, SampledToken) else each.message.split(";")[0] for each in told]


def _fresh(asks: list[SampleRequest]) -> list[SampleRequest]:
    for ask in asks:
        ask.generator = ask.sampling.generator()
    return asks


@given(batches())
def test_a_batch_is_chosen_as_its_rows_are(batch: tuple[np.ndarray, list[SampleRequest]]) -> None:
    logits, asks = batch
    wanted = [_plain(row, ask) for row, ask in zip(logits, asks, strict=True)]
    assert _told(select_tokens(logits.copy(), _fresh(asks))) == wanted


@given(batches())
def test_on_a_device_as_on_the_cpu(batch: tuple[np.ndarray, list[SampleRequest]]) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    logits, asks = batch
    wanted = [_plain(row, ask) for row, ask in zip(logits, asks, strict=True)]
    assert _told(select_tokens(torch.tensor(logits), _fresh(asks))) == wanted


@given(batches())
def test_scores_are_log_probabilities(batch: tuple[np.ndarray, list[SampleRequest]]) -> None:
    logits, asks = batch
    for ask in asks:
        ask.with_logprobs = True
    for row, ask, told in zip(logits, asks, select_tokens(logits.copy(), _fresh(asks)), strict=True):
        if isinstance(told, ModelError) or not np.isfinite(row).all():
            continue
        chances = np.exp(row.astype(np.float64))
        allowed = np.unpackbits(ask.mask.view(np.uint8), bitorder="little")[: len(row)].astype(bool)
        among = chances[: len(allowed)][allowed].sum()
        assert told.logprob == pytest.approx(np.log(chances[told.token_id] / among), abs=1e-4)
        assert told.masked_probability == pytest.approx(1 - among / chances.sum(), abs=1e-4)


def test_the_likeliest_of_more_tokens_is_told() -> None:
    mask, free = np.array([0b0110], np.uint32), np.array([0b0111], np.uint32)
    logits = np.array([[3, 1, 2, 9]], np.float32)
    assert select_tokens(logits, [SampleRequest(token_ids=[0], mask=mask, unbudgeted_mask=free)]) == [
        SampledToken(2, unbudgeted_token_id=0)
    ]


def test_one_broken_row_does_not_lose_the_other() -> None:
    mask = np.array([0b11], np.uint32)
    broken, whole = select_tokens(
        np.array([[np.nan, 1], [1, 2]], np.float32), [SampleRequest(token_ids=[0], mask=mask)] * 2
    )
    assert isinstance(broken, ModelError)
    assert whole == SampledToken(1)


def test_logits_of_the_wrong_shape() -> None:
    with pytest.raises(ModelError, match=r"shape \[2\]"):
        select_tokens(np.zeros(2, np.float32), [SampleRequest(token_ids=[0], mask=np.array([1], np.uint32))])
