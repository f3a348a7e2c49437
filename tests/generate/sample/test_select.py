"""The masked step, against its plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import ModelFailed
from structkit.generate.sample.sample import Sampling, pick
from structkit.generate.sample.select import choose
from structkit.generate.sample.step import Ask, Told

SPECIAL = [float("nan"), float("inf"), float("-inf")]


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, list[Ask]]:
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
            Ask(
                token_ids=[0],
                mask=np.packbits(allowed, bitorder="little").view(np.uint32),
                sampling=Sampling(temperature=draw(st.sampled_from([0, 0, 1])), seed=row),
                place=f"token {row}",
            )
        )
    return logits, asks


def _plain(row: np.ndarray, ask: Ask) -> int | str:
    try:
        return pick(row, ask.mask, ask.sampling, ask.sampling.generator(), place=ask.place)
    except ModelFailed as error:
        return error.message.split(";")[0]


def _told(told: list[Told | ModelFailed]) -> list[int | str]:
    return [each.token if isinstance(each, Told) else each.message.split(";")[0] for each in told]


def _fresh(asks: list[Ask]) -> list[Ask]:
    for ask in asks:
        ask.generator = ask.sampling.generator()
    return asks


@given(batches())
def test_a_batch_is_chosen_as_its_rows_are(batch: tuple[np.ndarray, list[Ask]]) -> None:
    logits, asks = batch
    wanted = [_plain(row, ask) for row, ask in zip(logits, asks, strict=True)]
    assert _told(choose(logits.copy(), _fresh(asks))) == wanted


@given(batches())
def test_on_a_device_as_on_the_cpu(batch: tuple[np.ndarray, list[Ask]]) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    logits, asks = batch
    wanted = [_plain(row, ask) for row, ask in zip(logits, asks, strict=True)]
    assert _told(choose(torch.tensor(logits), _fresh(asks))) == wanted


@given(batches())
def test_scores_are_log_probabilities(batch: tuple[np.ndarray, list[Ask]]) -> None:
    logits, asks = batch
    for ask in asks:
        ask.scored = True
    for row, ask, told in zip(logits, asks, choose(logits.copy(), _fresh(asks)), strict=True):
        if isinstance(told, ModelFailed) or not np.isfinite(row).all():
            continue
        chances = np.exp(row.astype(np.float64))
        allowed = np.unpackbits(ask.mask.view(np.uint8), bitorder="little")[: len(row)].astype(bool)
        among = chances[: len(allowed)][allowed].sum()
        assert told.logprob == pytest.approx(np.log(chances[told.token] / among), abs=1e-4)
        assert told.removed == pytest.approx(1 - among / chances.sum(), abs=1e-4)


def test_the_likeliest_of_more_tokens_is_told() -> None:
    mask, free = np.array([0b0110], np.uint32), np.array([0b0111], np.uint32)
    logits = np.array([[3, 1, 2, 9]], np.float32)
    assert choose(logits, [Ask(token_ids=[0], mask=mask, free=free)]) == [Told(2, wanted=0)]


def test_one_broken_row_does_not_lose_the_other() -> None:
    mask = np.array([0b11], np.uint32)
    broken, whole = choose(np.array([[np.nan, 1], [1, 2]], np.float32), [Ask(token_ids=[0], mask=mask)] * 2)
    assert isinstance(broken, ModelFailed)
    assert whole == Told(1)


def test_logits_of_the_wrong_shape() -> None:
    with pytest.raises(ModelFailed, match=r"shape \[2\]"):
        choose(np.zeros(2, np.float32), [Ask(token_ids=[0], mask=np.array([1], np.uint32))])
