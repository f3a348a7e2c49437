"""Sampling one token."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import ModelError
from structkit.generate.sample.sample import Sampling, only_id, only_ids, probabilities, sample_token

rows = st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=40).map(
    lambda row: np.array(row, np.float32)
)


def _mask(ids: Iterable[int], words: int) -> np.ndarray:
    mask = np.zeros(words, np.uint32)
    for token_id in ids:
        mask[token_id // 32] |= np.uint32(1 << token_id % 32)
    return mask


def _sample(logits: list[float], ids: list[int], words: int = 2, **options: object) -> int:
    sampling = Sampling(**options)
    return sample_token(np.array(logits, np.float32), _mask(ids, words), sampling, sampling.generator())


@given(st.sets(st.integers(0, 32 * 7 - 1), max_size=3))
def test_only_id_is_the_only_bit_set(ids: set[int]) -> None:
    assert only_id(_mask(ids, 7)) == (next(iter(ids)) if len(ids) == 1 else None)


@given(st.lists(st.sets(st.integers(0, 95), max_size=6), min_size=1, max_size=3), st.integers(1, 6))
def test_only_ids_are_the_bits_of_each_mask_padded_with_the_first(rows: list[set[int]], most: int) -> None:
    found = only_ids(np.array([_mask(ids, 3) for ids in rows]), most)
    width = max(map(len, rows))
    if all(rows) and width <= most:
        plain = [sorted(ids) + [min(ids)] * (width - len(ids)) for ids in rows]
        assert found is not None and found.tolist() == plain
    else:
        assert found is None


@given(
    st.sets(st.integers(0, 32 * 20 - 1), min_size=1), st.integers(0, 1000), st.integers(1, 800), st.booleans()
)
def test_greedy_reads_allowed_logits_only_in_sparse_and_dense_masks(
    ids: set[int], seed: int, width: int, dense: bool
) -> None:
    if dense:
        ids = set(range(32 * 20)) - ids
    row = np.random.default_rng(seed).standard_normal(width).astype(np.float32)
    row[[i for i in range(width) if i not in ids]] = np.nan
    candidates = [i for i in ids if i < width]
    if candidates:
        assert _sample(row, ids, words=20) == max(candidates, key=lambda i: row[i])
    else:
        with pytest.raises(
            ModelError, match="none of the allowed tokens has a logit" if ids else "max_tokens"
        ):
            _sample(row, ids, words=20)


@given(rows, st.data())
def test_greedy_selects_the_most_likely_allowed_token(row: np.ndarray, data: st.DataObject) -> None:
    ids = sorted(data.draw(st.sets(st.integers(0, len(row) - 1), min_size=1)))
    assert row[_sample(row.tolist(), ids)] == max(row[i] for i in ids)


@given(rows, st.data())
def test_sampled_tokens_are_allowed_and_reproducible(row: np.ndarray, data: st.DataObject) -> None:
    ids = sorted(data.draw(st.sets(st.integers(0, len(row) - 1), min_size=1)))
    options = {
        "temperature": data.draw(st.floats(1e-300, 10, exclude_min=True)),
        "top_k": data.draw(st.none() | st.integers(1, 50)),
        "top_p": data.draw(st.none() | st.floats(0, 1, exclude_min=True)),
        "min_p": data.draw(st.none() | st.floats(0, 1)),
        "seed": data.draw(st.integers(0, 2**40)),
    }
    token = _sample(row.tolist(), ids, **options)
    assert token in ids
    assert token == _sample(row.tolist(), ids, **options)


@given(rows, st.integers(1, 40))
def test_top_k_keeps_the_k_most_likely_and_ties(row: np.ndarray, k: int) -> None:
    chances = probabilities(row, Sampling(temperature=1, top_k=k))
    last = sorted(row.tolist(), reverse=True)[min(k, len(row)) - 1]
    assert ((chances > 0) == (row >= last)).all() or (chances[row < last] == 0).all()
    assert chances.sum() == pytest.approx(1)


@given(rows, st.floats(0.01, 1))
def test_top_p_keeps_the_smallest_set_that_reaches_p(row: np.ndarray, p: float) -> None:
    plain = probabilities(row, Sampling(temperature=1))
    kept = probabilities(row, Sampling(temperature=1, top_p=p)) > 0
    assert plain[kept].sum() >= p - 1e-9
    if kept.sum() > 1:
        assert plain[kept].sum() - plain[kept].min() < p + 1e-9


@given(rows, st.floats(0, 1))
def test_min_p_keeps_tokens_near_the_most_likely(row: np.ndarray, p: float) -> None:
    plain = probabilities(row, Sampling(temperature=1))
    kept = probabilities(row, Sampling(temperature=1, min_p=p)) > 0
    assert (kept == ((plain >= p * plain.max()) & (plain > 0))).all()


def test_sampling_follows_the_probabilities() -> None:
    row, mask = np.log(np.array([0.5, 0.3, 0.2], np.float32)), _mask(range(3), 1)
    sampling = Sampling(temperature=1, seed=1)
    generator = sampling.generator()
    drawn = (
        np.bincount([sample_token(row, mask, sampling, generator) for _ in range(4000)], minlength=3) / 4000
    )
    assert drawn == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_a_temperature_near_zero_is_greedy() -> None:
    assert {_sample([1.0, 1.001, 0.5], [0, 1, 2], temperature=1e-320, seed=seed) for seed in range(20)} == {1}


def test_logits_of_other_widths() -> None:
    assert _sample([0, 1, 2, 99, 99], [0, 1, 2]) == 2  # padding is not read
    assert _sample([0, 5], [0, 1, 2, 7]) == 1  # tokens without a logit are skipped
    assert _sample([float("nan"), 1, 2], [1, 2]) == 2  # forbidden logits are not read


@pytest.mark.parametrize(
    ("logits", "ids", "message"),
    [
        ([0.0, float("nan"), 3.0], [0, 1, 2], "token 1, is nan"),
        ([0.0, float("inf")], [0, 1], "token 1, is inf"),
        ([float("-inf"), float("-inf"), 3.0], [0, 1], "token 0, is -inf"),
        ([0.0], [4, 5], "none of the allowed tokens has a logit"),
        ([0.0], [], "within max_tokens\n  pass a larger max_tokens"),
        ([[0.0, 1.0]], [0], "shape"),
    ],
)
def test_invalid_logits_raise(logits: list[float], ids: list[int], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        sample_token(
            np.array(logits, np.float32),
            _mask(ids, 1),
            Sampling(),
            np.random.default_rng(),
            location="token 7",
        )
    assert caught.value.place == "token 7"


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_k": 0},
        {"top_p": 0},
        {"top_p": 1.01},
        {"min_p": -1},
        {"min_p": 2},
        {"seed": -1},
    ],
)
def test_options_out_of_range(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Sampling(**options)


@pytest.mark.parametrize(
    "options", [{"temperature": "1"}, {"temperature": None}, {"top_k": 1.5}, {"top_k": True}, {"seed": "x"}]
)
def test_options_of_the_wrong_type(options: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        Sampling(**options)


def test_numpy_numbers_are_accepted() -> None:
    assert Sampling(temperature=np.float32(0.5), top_k=np.int64(3), seed=np.int64(1)).generator()


def test_an_empty_mask_names_the_budget() -> None:
    """A budget of distinct items in distinct items is an estimate; see "What is enforced" in the docs."""
    with pytest.raises(ModelError, match=r"within max_tokens\n  pass a larger max_tokens"):
        _sample([1.0, 2.0], [])
