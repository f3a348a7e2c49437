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


_untraversed = [0]
"""The number of objects that pauses made old since the last full collection."""

_MANY = 50_000
"""Number of objects that a pause makes beyond which they become old at once."""

_MAX_UNTRAVERSED = 300_000
"""Number of such objects beyond which a full collection looks for garbage among them."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Disable the collector in a block, and leave it as it was found when the last of overlapping blocks ends.

    The rules of a large grammar are a million objects that live until the end, and repeated collections, which also
    traverse all imported modules, take up to half of the time. `Limits.work` bounds how long a block takes.

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
                if (made := gc.get_count()[0]) > _MANY:
                    _make_old(made)
                gc.enable()


def _make_old(made: int) -> None:
    """Make all objects old, so that the collector does not traverse the young ones three times while they become old.

    With the grammar of Python this takes a tenth to a fifth of the time of reading it.

    Args:
        made: The number of young objects.
    """
    if gc.get_freeze_count():  # to unfreeze what a caller froze would let the collector traverse it again
        gc.collect(1)  # traverses only objects that are not old
        return
    _untraversed[0] += made
    if _untraversed[0] > _MAX_UNTRAVERSED:
        _untraversed[0] = 0
        gc.collect()
    else:
        gc.freeze()
        gc.unfreeze()
