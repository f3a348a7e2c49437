"""What a run has done so far, for an exception that ends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from structkit.agent.run.state import RunTrace, ToolCall
from structkit.arguments.checks import check_type
from structkit.errors import GenerationError
from structkit.generate.output.result import Usage
from structkit.messages import Message
from structkit.schema.python.json_codec import NotInJson

__all__ = ["LimitName", "RunRecord", "UsageLimitExceeded", "attach_record", "run_record"]

LimitName: TypeAlias = Literal["max_steps", "max_tool_calls", "max_tokens", "timeout", "context"]
"""The limits of a run; `"context"` is the context length of its model."""

_ATTRIBUTE = "__structkit_run_record__"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What a run has done until an exception ended it. `structkit.run_record` returns it."""

    calls: tuple[ToolCall, ...]
    """The calls, in order, including a call that raised the exception."""

    messages: tuple[Message, ...]
    """The conversation. Each call has an output, so another run can continue with `messages=`. The text of an exception
    that the model does not read is not among them."""

    usage: Usage
    """Tokens and seconds of all steps together."""

    steps: int
    """Number of started steps."""

    trace: NotInJson[RunTrace] = field(default_factory=RunTrace, repr=False)
    """What happened in each step, the one that failed included. `print(record.trace)` draws it."""


class UsageLimitExceeded(GenerationError):
    """A run reached a limit before the model gave a result, and its agent has `on_limit="raise"`.

    Calls that exceed the limit are not executed, and a value that the limit has shortened is not returned.

    Attributes:
        limit: `"max_steps"`, `"max_tool_calls"`, `"max_tokens"` or `"timeout"`; `"context"`, the context length of the
            model; or `"tool_retries"`: a tool failed more often in a row than its `tool_retries` allow.
        calls: The calls of the run so far, in order; those that were not executed have an error.
        messages: The conversation, with which another run can continue.
        usage: Tokens and seconds so far.
        trace: A `structkit.RunTrace` of the steps so far.
    """

    trace: RunTrace

    def __init__(
        self,
        message: str,
        *,
        limit: LimitName | Literal["tool_retries"],
        record: RunRecord,
        place: str | None = None,
    ) -> None:
        super().__init__(message, place=place)
        self.limit = limit
        self.calls = record.calls
        self.messages = record.messages
        self.usage = record.usage
        self.trace = record.trace


def run_record(error: BaseException) -> RunRecord | None:
    """Return what a run of an agent had done when it raised an exception.

    A run attaches its record to every exception that it raises, those of tools and models included, and leaves the
    exception as it is otherwise. If an agent is a tool of another agent, the record is that of the outer run.

    Args:
        error: The exception.

    Returns:
        The calls, messages and usage so far; `None` if no run raised the exception.

    >>> from structkit import Agent, run_record
    >>> from structkit.testing import ScriptedModel
    >>> def price(title: str) -> float:
    ...     return {"Salt": 9.25}[title]
    >>> model = ScriptedModel(['{"name": "price", "arguments": {"title": "Sugar"}}'])
    >>> try:
    ...     Agent(model, tools=[price]).run("How much is Sugar?")
    ... except KeyError as error:
    ...     record = run_record(error)
    ...     print([(call.name, call.arguments) for call in record.calls], record.steps)
    [('price', {'title': 'Sugar'})] 1
    """
    check_type("error", error, BaseException, "the exception that a run raised")
    record = vars(error).get(_ATTRIBUTE)
    return record if isinstance(record, RunRecord) else None


def attach_record(error: BaseException, record: RunRecord) -> None:
    """Attach the record of a run to an exception, in place of that of a nested run."""
    vars(error)[_ATTRIBUTE] = record  # an exception can override `__setattr__`
