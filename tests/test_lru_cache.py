"""The LRU cache compared with a list of the recently used keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.construct import compile_rule
from structkit.automaton.distance import trim
from structkit.index.distance import token_distance
from structkit.lru_cache import LruCache
from structkit.testing import small_vocabulary


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


def test_the_values_have_a_maximum_of_bytes() -> None:
    cache: LruCache[int, bytes] = LruCache(8, max_bytes=10, nbytes=len)
    for key, size in enumerate([4, 4, 3, 2, 5]):
        cache.put(key, bytes(size))
    assert [key for key in range(5) if key in cache] == [2, 3, 4]
    cache.put(4, bytes(1))
    cache.put(5, bytes(4))
    assert [key for key in range(6) if key in cache] == [2, 3, 4, 5]
    cache.put(6, bytes(11))
    assert 6 in cache and len(cache) == 1
    cache.clear()
    cache.put(7, bytes(10))
    assert 7 in cache


def test_automata_of_other_targets_take_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that compiles the targets of strangers keeps as many automata as fit, not a number of any size."""
    caches: list[LruCache[Any, Any]] = [
        compile_rule._built,
        compile_rule._regular,
        trim._measured,
        token_distance._measured,
    ]
    for cache in caches:
        monkeypatch.setattr(cache, "_max_bytes", 30_000)
        cache.clear()
    for number in range(4):
        text = {"type": "string", "pattern": rf"^(?=.*{number}[ab]{{4}})[a-z0-9]{{1,12}}$"}
        schema = {"type": "object", "properties": {"a": text, "b": {"type": "array", "items": text}}}
        cursor = sk.compile(schema, small_vocabulary(), cache=False).cursor()
        for byte in b'{"a": "':
            cursor.advance(byte)
        cursor.fits(100)
        assert all(cache._bytes <= 30_000 or len(cache) == 1 for cache in caches)
    assert all(cache._bytes > 0 for cache in caches), [cache._bytes for cache in caches]


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
