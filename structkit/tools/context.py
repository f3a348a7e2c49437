"""What a tool may know of the run that calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from structkit.generate.result import Usage
from structkit.messages import Message

__all__ = ["Context"]

D_co = TypeVar("D_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[D_co]):
    """Given to a tool whose first parameter is annotated with it; the model neither sees nor writes that parameter.

    >>> def lookup(context: Context[dict[str, int]], name: str) -> int:
    ...     return context.deps[name]
    """

    deps: D_co
    """What the caller gave to `run(deps=...)`: a database, a user, a client."""

    step: int
    """The step of the run, from 1."""

    messages: tuple[Message, ...]
    """The conversation so far, this call included."""

    usage: Usage
    """What the run took so far."""

    approved: bool
    """Whether somebody has approved of this call."""
