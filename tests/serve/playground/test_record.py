"""The likely tokens that a mask forbids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.serve.playground.record import Forbidden, MaskRecorder
from structkit.testing import byte_vocabulary


def _forbidden(row: NDArray[np.float32], allowed: list[int]) -> tuple[Forbidden, ...]:
    """Return what is kept at position 1 if only some tokens are allowed."""
    recorder = MaskRecorder()
    before, _, after = recorder.processors
    masked = row.copy()
    for processor, given in ((before, row), (after, masked)):
        if given is masked:
            masked[[token for token in range(len(row)) if token not in allowed]] = -np.inf
        assert not isinstance(processor, type)
        assert processor.begin(byte_vocabulary())([7], given) is given
    return recorder.at(1)


def test_six_of_the_24_most_likely_tokens_are_kept() -> None:
    row = np.linspace(0, -2.9, 30).astype(np.float32)[::-1].copy()  # the last token is the most likely
    probabilities = np.exp(row.astype(float)) / np.exp(row.astype(float)).sum()
    for allowed in ([], [29], [*range(8, 30)], [*range(7, 30)], [*range(6, 30)], [*range(30)]):
        among = [token for token in range(29, 5, -1) if token not in allowed][:6]
        found = _forbidden(row, allowed)
        assert [each.token_id for each in found] == among
        assert np.allclose([each.probability for each in found], probabilities[among], rtol=1e-6)


def test_a_token_is_kept_from_a_thousandth() -> None:
    for count in (5, 24, 1_000):
        assert len(_forbidden(np.zeros(count, np.float32), [])) == min(count, 6)
    assert _forbidden(np.zeros(1_001, np.float32), []) == ()
    assert [each.token_id for each in _forbidden(np.array([0, -6.8, -7], np.float32), [])] == [0, 1]


def test_forbidden_logits_have_no_probability() -> None:
    row = np.array([-np.inf, 3, -np.inf, 2], np.float32)
    first, second = _forbidden(row, [])
    assert (first.token_id, second.token_id) == (1, 3) and first.probability + second.probability == 1


def test_large_logits_are_weighed() -> None:
    row = np.array([1_000, 999, -1_000], np.float32)
    first, second = _forbidden(row, [])
    assert np.isclose(first.probability / second.probability, np.e) and first.token_id == 0
    assert _forbidden(np.full(3, -np.inf, np.float32), []) == ()
