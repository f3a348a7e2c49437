"""What the runners of flows share: how a flow ends, and cancellation."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Cancelled", "FlowResult", "check_cancelled", "until_cancelled"]

R = TypeVar("R")
T = TypeVar("T")


class Cancelled(Exception):
    """The caller cancelled. The error never reaches the caller."""


@dataclass(frozen=True, slots=True)
class FlowResult(Generic[R]):
    """The end of a flow.

    Attributes:
        index: The index of the flow.
        outcome: The value that the flow returned, or the error that ended it.
        model_seconds: The share of the flow in the time of the model.
        drafted_tokens: The tokens that the model read as a draft.
        accepted_tokens: The drafted tokens that were chosen.
    """

    index: int
    outcome: R | Exception
    model_seconds: float
    drafted_tokens: int = 0
    accepted_tokens: int = 0


def check_cancelled(cancelled: threading.Event | None) -> None:
    """Raise `Cancelled` if `cancelled` is set."""
    if cancelled is not None and cancelled.is_set():
        raise Cancelled


def until_cancelled(items: Iterable[T], cancelled: threading.Event | None) -> Iterator[T]:
    """Yield the items until `cancelled` is set.

    Raises:
        Cancelled: `cancelled` was set.
    """
    for item in items:
        check_cancelled(cancelled)
        yield item
