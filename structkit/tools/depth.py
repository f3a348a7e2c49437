"""How deep a run is inside of others: a tool may run an agent, and that one's tools may too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from structkit.errors import AgentError

__all__ = ["TooDeep", "check_depth", "inside_call"]

_MOST = 8
"""Runs inside of each other. Each takes about 60 of the 1,000 calls that Python has inside of each other."""

_depth: ContextVar[int] = ContextVar("structkit.tools.depth", default=0)


class TooDeep(AgentError):
    """It ends all the runs, whatever their tools forgive: told to the models, it would come again."""


def check_depth() -> None:
    """Refuse to begin a run inside of too many others.

    Raises:
        TooDeep: It is.
    """
    if _depth.get() >= _MOST:
        raise TooDeep(
            f"agents run inside of each other {_MOST} deep: does a tool run its own agent, without an end?"
        )


@contextmanager
def inside_call() -> Iterator[None]:
    """While a call is made, in its thread or task and in those that it begins."""
    before = _depth.set(_depth.get() + 1)
    try:
        yield
    finally:
        _depth.reset(before)
