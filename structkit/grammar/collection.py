"""A pause of Python's garbage collector while the rules of a grammar are made."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collection_paused"]

_lock = threading.Lock()
_pauses: list[bool] = []
"""Whether the collector was enabled at the start of each pause that has not ended, in the order of the starts."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Disable the collector in a block, and leave it as it was found when the last of overlapping blocks ends.

    The rules of a large grammar are a million objects that live until the end, and repeated collections, which also
    visit all imported modules, take up to half of the time. `Limits.work` bounds how long a block takes.

    >>> with collection_paused():
    ...     gc.isenabled()
    False
    """
    with _lock:
        _pauses.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            is_first, was_enabled = len(_pauses) == 1, _pauses[0]
            _pauses.pop()
            if is_first and was_enabled:
                gc.enable()
