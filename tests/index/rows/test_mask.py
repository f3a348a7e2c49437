"""Sparse masks, compared with all their bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import structkit as sk
from structkit.index.rows.mask import Mask, sparse_mask, union, write_union

SIZE = 300
"""More words than a sparse mask has."""

VALUES = st.integers(0, 2**32 - 1) | st.sampled_from([0, 1, 1 << 31])


def _mask(base: NDArray[np.uint32] | None, changes: dict[int, int]) -> Mask:
    return Mask(base, np.array(list(changes), np.int64), np.array(list(changes.values()), np.uint32))


def _bits(base: NDArray[np.uint32] | None, changes: dict[int, int]) -> NDArray[np.uint32]:
    bits = np.zeros(SIZE, np.uint32) if base is None else base.copy()
    bits[list(changes)] = list(changes.values())
    return bits


MASKS = st.tuples(
    st.none() | st.dictionaries(st.integers(0, SIZE - 1), VALUES).map(lambda changes: _bits(None, changes)),
    st.dictionaries(st.integers(0, SIZE - 1), VALUES, max_size=6),
)


@given(MASKS)
def test_a_mask_has_the_words_of_its_base_with_the_changed_ones(
    given: tuple[NDArray[np.uint32] | None, dict[int, int]],
) -> None:
    mask, bits = _mask(*given), _bits(*given)
    assert (mask.dense(SIZE) == bits).all()
    with pytest.raises(ValueError, match="read-only"):
        mask.dense(SIZE)[0] = 1
    assert mask.any() == bits.any()
    words, values = mask.sparse_words()
    assert (sparse_mask(words, values, SIZE).dense(SIZE) == bits).all() and (np.diff(words) > 0).all()
    if mask.bits is None:
        allowed = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
        assert sorted(mask.tokens()) == allowed.tolist()
    else:
        assert mask.word_count == np.count_nonzero(bits)


@given(st.lists(MASKS, max_size=4), VALUES)
def test_a_union_has_the_bits_of_each_mask(
    given: list[tuple[NDArray[np.uint32] | None, dict[int, int]]], before: int
) -> None:
    masks = [_mask(*each) for each in given]
    expected = np.bitwise_or.reduce([_bits(*each) for each in given] or [np.zeros(SIZE, np.uint32)])
    out = np.full(SIZE, before, np.uint32)
    write_union(union(masks), out)
    assert (out == expected).all()
    out = np.full(SIZE, before, np.uint32)
    for mask in masks:
        mask.or_into(out)
    assert (out == expected | np.uint32(before)).all()


def test_the_bits_of_a_row_that_is_shared_cannot_be_written() -> None:
    """Rows are cached, and the masks of several cursors are made from them."""
    letters = range(97, 123)
    tokens = [bytes([a, b, c]) for a in letters for b in letters for c in letters]
    vocabulary = sk.Vocabulary(
        [*map(bytes, zip(range(256), strict=True)), *tokens], eos_token_ids=[256 + len(tokens)]
    )
    index = sk.compile(sk.Regex("[a-z]+|[0-9]"), vocabulary, cache=False).index
    frames = index.automaton.start_frames()
    rows = [index.row(frame) for frame in frames]
    dense = [row.mask.bits for row in rows if row.mask.bits is not None]
    assert dense and not any(bits.flags.writeable for bits in dense)
