"""Decisions about pending calls: approve a call, deny it, or supply its result; results with metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable, iscoroutine
from typing import TypeAlias

from structkit.arguments.names import hints_arguments
from structkit.functions.call import Call

__all__ = ["Approvals", "Approve", "Decision", "Deny", "Return", "is_approval_required"]


_HINT = "write arguments=..., with all arguments of the call"


@hints_arguments({"override_args": _HINT, "edited_action": _HINT, "*": _HINT})
@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Approve a pending call, with the arguments of the model or with others.

    >>> Approve(arguments={"euros": 10})
    Approve(arguments={'euros': 10})
    """

    arguments: Mapping[str, object] | None = None
    """All arguments of the call, validated as those of the model are; they replace its arguments in the messages.
    `None`: the arguments of the model."""

    def __post_init__(self) -> None:
        if not (self.arguments is None or isinstance(self.arguments, Mapping)):
            raise TypeError(
                f"arguments must be a dict of all arguments of the call, not {self.arguments!r:.60}; "
                "write Approve(arguments={'name': value})"
            )


@hints_arguments({"message": "write reason=..."})
@dataclass(frozen=True, slots=True)
class Deny:
    """Deny a pending call: it is not executed, and the model reads the reason as its error.

    >>> Deny("more than the budget of this month")
    Deny(reason='more than the budget of this month')
    """

    reason: str = "the call was denied"
    """Why the call is denied."""

    def __post_init__(self) -> None:
        reason: object = self.reason
        if not (isinstance(reason, str) and reason.strip()):
            raise TypeError(
                f"the reason of Deny must be a text for the model, not {self.reason!r:.60}; leave it out"
            )


@hints_arguments({"return_value": "write value=...", "artifact": "write metadata=..."})
@dataclass(frozen=True, slots=True)
class Return:
    """Supply the result of a pending call, which is not executed: the work was done elsewhere.

    A tool that returns it gives the program metadata, which the model does not read.

    >>> def find_shelf(title: str) -> Return:
    ...     return Return("It is on B 12.", metadata={"image": b"..."})
    """

    value: object
    """What the tool returns, and the model reads: any value that pydantic can write as JSON."""

    metadata: object = None
    """What only the program reads, as `structkit.ToolCall.metadata`: any object."""


Decision: TypeAlias = "Approve | Deny | Return"
"""A decision about a pending call."""

Approvals: TypeAlias = "bool | Mapping[str, bool | Decision]"
"""The decisions about the pending calls by their ids, or one for all: `True` approves and `False` denies."""


def is_approval_required(required: bool | Callable[[Call[object]], bool], call: Call[object]) -> bool:
    """Return whether a call requires approval.

    Raises:
        TypeError: The predicate returned `None` or an awaitable, so the call must not be executed.
    """
    if isinstance(required, bool):
        return required
    answer: object = required(call)
    if iscoroutine(answer):
        answer.close()
    if answer is None or isawaitable(answer):
        kind = "None" if answer is None else "an awaitable"
        raise TypeError(f"requires_approval of {call.name} returned {kind}; return True or False")
    return bool(answer)
