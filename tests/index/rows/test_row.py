"""The cache of rows: bounded, and rows in use are not evicted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.index.rows.mask import Mask
from structkit.index.rows.row import NO_EXIT_NODES, CountedRow, Row, RowCache


def _row(words: int) -> Row:
    return Row(Mask(None, np.zeros(words, np.int64), np.zeros(words, np.uint32)), NO_EXIT_NODES, 0)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 100)), max_size=200),
    st.integers(1, 20_000),
)
def test_the_cache_is_bounded_and_keeps_recently_used_rows(
    uses: list[tuple[bool, int, int]], limit: int
) -> None:
    cache: RowCache[int, Row] = RowCache(limit)
    used: list[tuple[int, Row]] = []  # the rows in the order of their last use
    largest = 0
    for puts, key, words in uses:
        known = dict(used).get(key)
        row = cache.get(key)
        assert row is None or row is known
        if row is None and puts:
            row = _row(words)
            cache.put(key, row)
        if row is not None:
            used = [(other, each) for other, each in used if other != key] + [(key, row)]
            largest = max(largest, row.nbytes)
        cached = cache.items()
        assert sum(each.nbytes for each in cached.values()) <= limit + 2 * largest
        assert len(cached) <= len(cache)
        recent = 0
        for other, each in reversed(used):
            recent += each.nbytes
            if 2 * recent > limit:
                break
            assert cached[other] is each


def test_masks_of_counted_rows_cannot_be_changed() -> None:
    """A mask is shared by all sequences of a guide."""
    iterations = np.array([0, 2, 3, -1] * 8, np.int16)
    counted = CountedRow(iterations, NO_EXIT_NODES, np.empty(0, np.int16), np.zeros(4, np.int32))
    row = counted.row(0, 1, 1, 1)
    assert row.mask.bits is not None and bin(row.mask.bits[0]).count("1") == 24
    with pytest.raises(ValueError, match="read-only"):
        row.mask.bits[0] = 0


@pytest.mark.parametrize("count", [0, 1, 3, 1000])
def test_the_bytes_of_a_row_are_those_of_its_arrays(count: int) -> None:
    """Without those of the objects, which are the same for all rows."""
    exits = np.arange(count, dtype=np.int32)
    words = np.zeros(count, np.int64)
    row = Row(Mask(None, words, words.astype(np.uint32)), exits, 0)
    arrays = row.exit_nodes.nbytes + words.nbytes + 4 * count
    assert row.nbytes - _row(0).nbytes == arrays
