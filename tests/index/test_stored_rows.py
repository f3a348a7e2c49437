"""The rows of a guide that its file holds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit.index.rows.mask import Mask
from structkit.index.rows.row import Row, RowKey
from structkit.index.stored_rows import MIN_WORDS, RowArrays, StoredRows

WORDS = MIN_WORDS + 40
LISTS = {number: np.arange(number, 2 * number + 3, dtype=np.int32) for number in (4, 7, 11)}
"""Lists of exit nodes by the numbers that a process gives them."""

KEYS = st.tuples(st.sampled_from([-1, *LISTS]), st.integers(0, 9), st.integers(0, 3), st.integers(-1, 3))


def _row(seed: int, count: int, exits: int) -> Row:
    places = np.sort(np.random.default_rng(seed).permutation(WORDS)[:count])
    bits = np.zeros(WORDS, np.uint32)
    bits[places] = places + 1
    mask = Mask(bits) if seed % 2 else Mask(None, places, (places + 1).astype(np.uint32))
    return Row(mask, np.arange(exits, dtype=np.int32), 1 << 40 if exits == 5 else exits)


def _content(stored: StoredRows, key: RowKey) -> object:
    row = stored.get(key)
    return row and (row.mask.dense(WORDS).tolist(), row.exit_nodes.tolist(), min(row.max_cost_after, 1 << 20))


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(KEYS, st.tuples(st.integers(0, 3), st.integers(MIN_WORDS - 1, WORDS), st.integers(0, 5)))
)
def test_a_file_has_the_rows_of_many_words_with_the_lists_of_their_keys(
    given_rows: dict[RowKey, tuple[int, int, int]],
) -> None:
    stored = StoredRows(None, WORDS)
    for key, arguments in given_rows.items():
        stored.add(key, _row(*arguments), LISTS.get(key[0], np.empty(0, np.int32)))
    large = {key for key, (_, count, _) in given_rows.items() if count > MIN_WORDS}
    assert {key for key in given_rows if stored.get(key)} == large
    assert stored.has_new == bool(large)
    read = StoredRows(RowArrays(*map(np.copy, stored.pack())), WORDS)
    assert not stored.has_new and not read.has_new
    for key in given_rows:
        number = -1 if key[0] < 0 else read.numbers.get(LISTS[key[0]].tobytes())
        if key in large:
            assert number is not None
            assert _content(read, (number, *key[1:])) == _content(stored, key)
    again = StoredRows(RowArrays(*map(np.copy, read.pack())), WORDS)
    assert again.numbers == read.numbers
    for exit_list, state, needed, allowed in read.pack().row_keys[:, :4].tolist():
        key = exit_list, state, needed, allowed
        assert _content(again, key) == _content(read, key)
