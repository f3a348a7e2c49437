"""The rows of conversations that are kept for the next turn."""

from __future__ import annotations

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
