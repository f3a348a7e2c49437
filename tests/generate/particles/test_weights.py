"""Weights: the mass of a mask, unbiased resampling, and the effective sample size."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

import structkit as sk
from structkit.generate.particles import weights
from structkit.generate.particles.weights import (
    draw_tokens,
    effective_sample_size,
    mean_log_weight,
    resample,
)


def test_the_examples_of_the_docstrings_run() -> None:
    assert doctest.testmod(weights).failed == 0


@pytest.mark.parametrize("width", [7, 700])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_weight_is_the_mass_of_the_mask_and_tokens_follow_their_chances(
    width: int, temperature: float
) -> None:
    random = np.random.default_rng(4)
    logits = (3 * random.standard_normal(width)).astype(np.float32)
    allowed = [1, 2, 5]
    mask = np.zeros(-(-width // 32), np.uint32)
    mask[0] = sum(1 << token for token in allowed)
    chances = np.exp(logits.astype(np.float64) / temperature)
    chances /= chances.sum()
    log_mass, drawn = draw_tokens(logits, mask, temperature, 20_000, random)
    assert log_mass == pytest.approx(math.log(chances[allowed].sum()), abs=1e-6)
    expected = chances[allowed] / chances[allowed].sum()
    found = [drawn.count(token) / 20_000 for token in allowed]
    assert found == pytest.approx(expected.tolist(), abs=4 * math.sqrt(0.25 / 20_000))


def test_a_mask_of_all_tokens_weighs_1_and_one_of_impossible_tokens_0() -> None:
    logits = np.array([0.0, -np.inf, 1.0], np.float32)
    random = np.random.default_rng(0)
    assert draw_tokens(logits, np.array([0b111], np.uint32), 1.0, 2, random)[0] == pytest.approx(
        0.0, abs=1e-9
    )
    assert draw_tokens(logits, np.array([0b010], np.uint32), 1.0, 2, random) == (-math.inf, [])
    drawn = draw_tokens(logits, np.array([0b011], np.uint32), 1.0, 50, random)[1]
    assert set(drawn) == {0}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_logits_that_are_no_numbers_are_an_error(bad: float) -> None:
    with pytest.raises(sk.ModelError, match="not a finite number"):
        draw_tokens(
            np.array([0, bad], np.float32), np.array([3], np.uint32), 1.0, 1, np.random.default_rng(0)
        )


def test_a_mask_beyond_the_logits_is_an_error() -> None:
    with pytest.raises(sk.ModelError, match="none of the allowed tokens has a logit"):
        draw_tokens(np.zeros(3, np.float32), np.array([8], np.uint32), 1.0, 1, np.random.default_rng(0))


def test_resampling_is_unbiased_and_nearly_even() -> None:
    log_weights, counts = [-700.0, -701.0, -math.inf, -702.5], [3, 2, 4, 1]
    share = np.exp(np.array(log_weights) + 700) * counts
    expected = 10 * share / share.sum()
    random = np.random.default_rng(1)
    drawn = np.array([resample(log_weights, counts, 10, random) for _ in range(4_000)])
    assert (drawn.sum(axis=1) == 10).all()
    assert (np.abs(drawn - expected) < 1).all()
    assert drawn.mean(axis=0) == pytest.approx(expected, abs=4 * 0.5 / math.sqrt(4_000))


def test_few_heavy_particles_are_worth_few() -> None:
    assert effective_sample_size([0.0, -math.inf], [1, 31]) == pytest.approx(1)
    assert effective_sample_size([-900.0, -900.0], [8, 24]) == pytest.approx(32)
    assert effective_sample_size([-math.inf], [4]) == 0
    assert mean_log_weight([-math.inf], [4]) == -math.inf
    assert mean_log_weight([-900.0, -math.inf], [1, 1]) == pytest.approx(-900 - math.log(2))
