"""The LRU cache compared with a list of the recently used keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.lru_cache import LruCache


@given(st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 6))))
def test_the_least_recently_used_key_is_evicted(size: int, steps: list[tuple[bool, int]]) -> None:
    cache: LruCache[int, int | None] = LruCache(size)
    used: list[int] = []
    for at, (store, key) in enumerate(steps):
        if store:
            cache.put(key, at)
        assert (cache.get(key) is not None) is (store or key in used)
        if store or key in used:
            used = [*(each for each in used if each != key), key][-size:]
        assert [each for each in range(7) if each in cache] == sorted(used)
        assert len(cache) == len(used)
    cache.clear()
    assert len(cache) == 0


def test_a_value_may_be_none() -> None:
    cache: LruCache[str, None] = LruCache(1)
    cache.put("a", None)
    assert "a" in cache and cache.get("a") is None


def test_threads_can_share_a_cache() -> None:
    cache: LruCache[int, int] = LruCache(8)

    def use(seed: int) -> None:
        for number in range(500):
            cache.put(number * seed % 23, number)
            cache.get(number % 23)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(1, 9)))
    assert len(cache) == 8


def test_the_maximum_size_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="max_size must be at least 1"):
        LruCache(0)
