"""The probabilities of the values of a choice, from those of their tokens."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from structkit.generate.decode.choice_scores import ChoicePoint
from structkit.generate.sample.step import SampledToken
from structkit.schema.view.choices import OTHER


def _point(branches: list[list[int]], logprobs: list[list[float]], *, other: float | None) -> ChoicePoint:
    """Return a choice whose tokens have given log-probabilities; `other` is the probability of forbidden tokens."""
    point = ChoicePoint((), 0, [str(branch) for branch in branches], branches, other is not None)
    sampled = SampledToken(0, masked_probability=other or 0.0, candidates=tuple(each[0] for each in logprobs))
    point.set_probabilities(sampled, [np.array([0.0, *each[1:]], np.float32) for each in logprobs])
    return point


@pytest.mark.parametrize("is_open", [False, True])
def test_the_probability_of_tokens_is_that_of_all_values_that_start_with_them(is_open: bool) -> None:
    random = Random(2)
    for _ in range(100):
        of_token = {token: random.uniform(0.05, 0.4) for token in range(2)}
        texts = {tuple(random.choices(range(2), k=random.randrange(1, 5))) for _ in range(5)}
        branches = [list(text) for text in sorted(texts, key=lambda _: random.random())]
        masked = random.uniform(0, 0.2) if is_open else None
        logprobs = [[math.log(of_token[token]) for token in branch] for branch in branches]
        point = _point(branches, logprobs, other=masked)
        exact = [point.probabilities[text] for text in point.texts]
        starts = [
            sum(
                value
                for value, longer in zip(exact, branches, strict=True)
                if longer[: len(branch)] == branch
            )
            for branch in branches
        ]
        expected = [math.exp(sum(each)) for each in logprobs]
        if is_open:
            assert starts == pytest.approx([value / (1 - (masked or 0)) for value in expected], rel=1e-5)
            assert point.probabilities[OTHER] == pytest.approx(1 - sum(exact))
        else:
            assert starts == pytest.approx([value * starts[0] / expected[0] for value in expected], rel=1e-5)
            assert sum(exact) == pytest.approx(1) and OTHER not in point.probabilities


def test_the_values_of_a_closed_choice_may_be_improbable() -> None:
    point = _point([[0, 1], [1, 1]], [[-900.0, -900.0], [-900.0, -900.0 + math.log(3)]], other=None)
    assert list(point.probabilities.values()) == pytest.approx([0.25, 0.75], rel=1e-3)
    point = _point([[0], [1]], [[-math.inf], [-800.0]], other=None)
    assert list(point.probabilities.values()) == [0, 1]


def test_probabilities_that_are_not_known_are_left_out() -> None:
    assert _point([[0], [1]], [[-1.0], [-2.0]], other=1.0).probabilities == {}
    point = _point([[0]], [[-0.1]], other=0.5)
    assert point.probabilities == {"[0]": 1, OTHER: 0}
