"""Processes that are forked from one that has loaded a model."""

from __future__ import annotations

import os
from functools import cache, partial

__all__ = ["limit_threads_in_forks"]


@cache
def limit_threads_in_forks() -> None:
    """Let processes that are forked from now on compute with one thread, as the workers of torch's `DataLoader` do.

    The threads with which torch computes do not exist in a forked process, and OpenMP would wait for them without end.
    """
    import torch

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))
