"""What a run has done so far, for an exception that ends it."""

from __future__ import annotations

from dataclasses import dataclass

from structkit.agent.run.state import ToolCall
from structkit.generate.output.result import Usage
from structkit.messages import Message

__all__ = ["RunRecord", "attach_record", "run_record"]

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


def run_record(error: BaseException) -> RunRecord | None:
    """Return what a run of an agent had done when it raised an exception.

    A run attaches its record to every exception that it raises, those of tools and models included, and leaves the
    exception as it is otherwise. If an agent is a tool of another agent, the record is that of the outer run.

    Args:
        error: The exception.

    Returns:
        The calls, messages and usage so far; `None` if no run raised the exception.

    >>> from structkit import Agent, run_record, tool
    >>> from structkit.testing import ScriptedModel
    >>> def price(title: str) -> float:
    ...     return {"Salt": 9.25}[title]
    >>> model = ScriptedModel(['{"name": "price", "arguments": {"title": "Sugar"}}'])
    >>> try:
    ...     Agent(model, tools=[tool(price, reraise=KeyError)]).run("How much is Sugar?")
    ... except KeyError as error:
    ...     record = run_record(error)
    ...     print([(call.name, call.arguments) for call in record.calls], record.steps)
    [('price', {'title': 'Sugar'})] 1
    """
    record = vars(error).get(_ATTRIBUTE)
    return record if isinstance(record, RunRecord) else None


def attach_record(error: BaseException, record: RunRecord) -> None:
    """Attach the record of a run to an exception, in place of that of a nested run."""
    vars(error)[_ATTRIBUTE] = record  # an exception can override `__setattr__`
