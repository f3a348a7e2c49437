"""Run context passed to tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from structkit.arguments.names import hints_arguments, missing_attribute
from structkit.generate.output.result import Usage
from structkit.messages import Message

__all__ = ["NO_USAGE", "Context"]

NO_USAGE = Usage()

D_co = TypeVar("D_co", covariant=True)

_OTHER_ATTRIBUTES = {
    "context": ".deps",
    "max_retries": "structkit.tool(f, tool_retries=...)",
    "prompt": ".messages",
    "run_step": ".step",
    "tool_call_approved": ".approved",
    "tool_call_id": ".call_id",
}
"""What other libraries call the attributes of a context, and what to write here."""


@hints_arguments({"*": "write Context(deps=...)"})
@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[D_co]):
    """Passed to a tool whose first parameter has this annotation; the parameter is hidden from the model.

    A test can call the function itself.

    >>> def lookup(context: Context[dict[str, int]], name: str) -> int:
    ...     return context.deps[name]
    >>> lookup(Context(deps={"Ana": 34}), "Ana")
    34
    """

    unwritable_reason: ClassVar[str] = "is a Context, which an agent supplies and no model generates"

    deps: D_co
    """The dependencies passed to `run(deps=...)`, such as a database, a user or a client."""

    step: int = 1
    """Number of the current step, from 1."""

    messages: tuple[Message, ...] = ()
    """The messages so far, including this call."""

    usage: Usage = NO_USAGE
    """Usage of the run so far."""

    approved: bool = False
    """Whether the call was approved."""

    call_id: str | None = None
    """The id of the call in the messages and the events of the run; `None` outside of a call of a tool."""

    tokens_left: int | None = None
    """Tokens that the call may generate within the `max_tokens` of the run; `None` if unlimited."""

    seconds_left: float | None = None
    """Seconds until the timeout of the run or the call; `None` if unlimited."""

    cancelled: Event = field(default_factory=Event, repr=False, compare=False)
    """Set when the call has timed out or its task was cancelled. A sync function cannot be interrupted and can check
    this event."""

    nested_usage: list[Usage] = field(default_factory=list, repr=False, compare=False)
    """Usage reported by the call; see `spend`."""

    def spend(self, usage: Usage) -> None:
        """Add the usage of a generation inside the tool to the usage of the run and count it against the limits.

        >>> def summary(context: Context[object], text: str) -> str:
        ...     result = sk.generate(model, text, str, max_tokens=context.tokens_left)
        ...     context.spend(result.usage)
        ...     return result.value
        """
        if not isinstance(usage, Usage):
            raise TypeError(f"spend takes a Usage, such as result.usage, not {usage!r:.60}")
        self.nested_usage.append(usage)

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the attribute that other libraries call otherwise."""
            raise missing_attribute(self, name, _OTHER_ATTRIBUTES)
