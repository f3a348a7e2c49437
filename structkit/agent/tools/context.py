"""What a tool may know of the run that calls it."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import ClassVar, Generic, TypeVar

from structkit.generate.output.result import Usage
from structkit.messages import Message

__all__ = ["Context"]

D_co = TypeVar("D_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[D_co]):
    """Given to a tool whose first parameter is annotated with it; the model neither sees nor writes that parameter.

    >>> def lookup(context: Context[dict[str, int]], name: str) -> int:
    ...     return context.deps[name]
    """

    unwritable_reason: ClassVar[str] = "is given by an agent, to the first parameter of its tools"

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

    tokens_left: int | None = None
    """Tokens that the call may have models write, so that the run keeps to its `max_tokens`; `None` for no bound."""

    seconds_left: float | None = None
    """Seconds before the run, or the call, is over; `None` for no bound."""

    cancelled: Event = field(default_factory=Event, repr=False, compare=False)
    """Set when nobody waits for the call any more: it was late, or the task that it is part of was cancelled. A
    function that is not async cannot be stopped, and may look here."""

    nested_usage: list[Usage] = field(default_factory=list, repr=False, compare=False)
    """What the call had models do; see `spend`."""

    def spend(self, usage: Usage) -> None:
        """Count what the tool had a model do: it is added to the usage of the run, and counts against its limits.

        >>> def summary(context: Context[object], text: str) -> str:
        ...     result = sk.generate(model, text, str, max_tokens=context.tokens_left)
        ...     context.spend(result.usage)
        ...     return result.value
        """
        if not isinstance(usage, Usage):
            raise TypeError(f"spend takes a Usage, such as result.usage, not {usage!r:.60}")
        self.nested_usage.append(usage)
