"""A bounded, thread-safe least-recently-used cache."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["LruCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A mapping of at most `max_size` values that drops the least recently used value. Thread-safe.

    Unlike `functools.lru_cache`, lookup and insertion are separate steps.

    Args:
        max_size: Maximum number of values, at least 1.
        max_bytes: Maximum size of all values together; the last value is kept in any case.
        nbytes: Returns the size of a value, which does not change.

    >>> cache: LruCache[str, int] = LruCache(max_size=2)
    >>> cache.put("a", 1)
    >>> cache.put("b", 2)
    >>> cache.get("a")
    1
    >>> cache.put("c", 3)
    >>> cache.get("b"), "a" in cache, len(cache)
    (None, True, 2)
    """

    def __init__(
        self, max_size: int, max_bytes: int = sys.maxsize, nbytes: Callable[[V], int] = lambda value: 0
    ) -> None:
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, not {max_size!r}")
        self._max_size = max_size
        self._max_bytes = max_bytes
        self._nbytes = nbytes
        self._bytes = 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return the value of `key` and mark it as used, or `None` if the key is absent."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Store a value and mark it as used."""
        with self._lock:
            if key in self._values:
                self._bytes -= self._nbytes(self._values.pop(key))
            self._values[key] = value
            self._bytes += self._nbytes(value)
            while len(self._values) > self._max_size or (
                self._bytes > self._max_bytes and len(self._values) > 1
            ):
                self._bytes -= self._nbytes(self._values.popitem(last=False)[1])

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._bytes = 0

    def __contains__(self, key: K) -> bool:
        with self._lock:
            return key in self._values

    def __len__(self) -> int:
        with self._lock:
            return len(self._values)
