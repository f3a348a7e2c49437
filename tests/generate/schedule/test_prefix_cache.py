"""The rows of conversations that are kept for the next turn."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from structkit.generate.schedule.prefix_cache import CachedRow, PrefixCache


def row(size: int) -> CachedRow:
    made = CachedRow()
    made.token_ids = list(range(size))
    return made


def test_the_oldest_rows_leave_above_the_maximum() -> None:
    cache, rows = PrefixCache(10), [row(size) for size in (0, 4, 6, 3)]
    counts = []
    for each in rows:
        cache.put(each)
        counts.append(len(cache))
    assert counts == [0, 1, 2, 2]
    assert cache.take(list(range(6))) is rows[2]
    assert len(cache) == 1


class GivenBatch:
    """A batch of one row that keeps what it is asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def rollback(self, row: int, count: int) -> None:
        self.calls.append(("rollback", row, count))

    def feed(self, token_ids: list[list[int]]) -> Any:
        self.calls.append(("feed", token_ids))
        return np.zeros((1, 4), np.float32)

    def shrink(self) -> None:
        self.calls.append(("shrink",))


def test_the_row_with_the_longest_prefix_is_taken_if_it_is_more_than_half() -> None:
    rng = random.Random(1)
    for _ in range(200):
        cache = PrefixCache(1000)
        rows = [row(0) for _ in range(rng.randrange(4))]
        for each in rows:
            each.token_ids = [rng.randrange(2) for _ in range(rng.randrange(1, 6))]
            cache.put(each)
        ids = [rng.randrange(2) for _ in range(6)]
        shared = [
            next(
                (n for n, (a, b) in enumerate(zip(each.token_ids, ids, strict=False)) if a != b),
                len(each.token_ids),
            )
            for each in rows
        ]
        best = shared.index(max(shared)) if rows else -1
        expected = rows[best] if rows and 2 * shared[best] > len(rows[best].token_ids) else None
        assert cache.take(ids) is expected
        assert len(cache) == len(rows) - (expected is not None)


def test_a_row_continues_behind_the_common_prefix() -> None:
    for ids, calls, read in [
        ([1, 2, 3, 4], [("feed", [[4]])], 11),
        ([1, 2, 9, 9], [("rollback", 0, 1), ("feed", [[9, 9]])], 12),
        ([1, 2], [("rollback", 0, 2), ("feed", [[2]])], 11),  # the last token is read for its logits
        ([1], [], 11),
        ([7, 8], [], 12),
    ]:
        kept, batch = CachedRow(), GivenBatch()
        assert kept.enter([1, 2]) is None and kept.read_tokens == 2
        kept.read_tokens = 0
        kept.store(batch, (1, 2, 3), 10)  # type: ignore[arg-type]
        assert kept.token_ids == [1, 2, 3]
        entered = kept.enter(ids)
        assert (entered is not None) == bool(calls) and batch.calls == calls
        assert (kept.read_tokens, kept.token_ids) == (read, [])
        assert kept.enter(ids) is None


def test_a_row_that_fits_is_shrunk_when_it_is_kept() -> None:
    for size, calls in ((3, [("shrink",)]), (4, [("shrink",)]), (5, [])):
        cache, kept, batch = PrefixCache(4), CachedRow(), GivenBatch()
        kept.store(batch, list(range(size)))  # type: ignore[arg-type]
        cache.put(kept)
        assert batch.calls == calls and len(cache) == (size <= 4)
