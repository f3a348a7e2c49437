"""What a run requests from its driver, and what it receives; calls of functions that may be async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import TypeAlias, cast

from structkit.agent.formats.step import StepTarget
from structkit.agent.prompt.callback import Callback
from structkit.agent.prompt.history import check_history
from structkit.agent.run.state import AgentResult, AgentStep
from structkit.agent.tools.approval import Decision, Return
from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import PreparedTool
from structkit.agent.tools.tool import Tool
from structkit.error_notes import add_location
from structkit.errors import AgentError
from structkit.functions.call import Call
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import Result
from structkit.messages import Message
from structkit.tracing import Span

__all__ = [
    "Action",
    "ActionResult",
    "AwaitValue",
    "CallOutcome",
    "Decisions",
    "ExecuteCalls",
    "GenerateStep",
    "Outcome",
    "PreparedCall",
    "RunFlow",
    "concurrent_batches",
    "is_available",
    "process_history",
    "read_texts",
]


@dataclass(frozen=True, slots=True)
class GenerateStep:
    """A request to generate a step: its target, prompt, settings and number."""

    target: StepTarget
    prompt: Prompt
    settings: Settings
    step: int
    parent_span: Span | None = None


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call to execute."""

    id: str
    tool: PreparedTool
    call: Call[object]
    context: Context[object]
    arguments: dict[str, object]
    """A copy of the arguments for the record: the tool can modify its own."""

    parent_span: Span | None = None
    """The span of the run."""

    trace_content: bool | None = None
    """Whether the span of the call contains its arguments and its result."""


@dataclass(frozen=True, slots=True)
class ExecuteCalls:
    """A request to execute calls, concurrently."""

    calls: tuple[PreparedCall, ...]


@dataclass(frozen=True, slots=True)
class AwaitValue:
    """A request to await what a function of the user returned, with a timeout in seconds."""

    value: Awaitable[object]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call: its result or its exception, and its duration in seconds."""

    result: object = None
    error: BaseException | None = None
    seconds: float = 0.0

    @property
    def value(self) -> object:
        """What the model reads: of the result of a run or of `generate`, which a function can return, the value."""
        value = self.result.value if isinstance(self.result, Return) else self.result
        return value.value if isinstance(value, (AgentResult, Result)) else value


Action: TypeAlias = "GenerateStep | ExecuteCalls | AwaitValue"

ActionResult: TypeAlias = "Result[object] | Sequence[CallOutcome] | CallOutcome | None"
"""`GenerateStep` receives a `Result`, `ExecuteCalls` a `CallOutcome` per call, `AwaitValue` a `CallOutcome`, or `None`
after the timeout."""

Outcome: TypeAlias = "AgentResult[object] | AgentStep[object]"
"""The result of a run, or the step of a run that ends after one step."""

RunFlow: TypeAlias = "Generator[Action, ActionResult, Outcome]"

Decisions: TypeAlias = "Mapping[str, Decision]"
"""The decisions about the pending calls, by their ids."""


def concurrent_batches(calls: Sequence[PreparedCall]) -> list[list[PreparedCall]]:
    """Split calls into those that run concurrently; a call of a sequential tool is alone."""
    batches: list[list[PreparedCall]] = []
    for call in calls:
        if not batches or call.tool.tool.sequential or batches[-1][-1].tool.tool.sequential:
            batches.append([])
        batches[-1].append(call)
    return batches


def is_available(tool: Tool[..., object], context: Context[object]) -> Generator[Action, object, bool]:
    """Return whether the filter of a tool makes it available; `False` after the timeout of the run.

    Raises:
        TypeError: The filter returned `None`.
        Exception: The filter raised it; it gets the name of the tool.
    """
    available = tool.available
    if available is None:
        return True
    location = f"available of {tool.name}"
    outcome = yield from _call(lambda: available(context), context, location)
    if outcome is None:
        return False
    if outcome.result is None:
        raise TypeError(f"{location} returned None; return True or False")
    return bool(outcome.result)


def read_texts(
    instructions: Sequence[Callback], context: Context[object]
) -> Generator[Action, object, list[object]]:
    """Return what the functions of the instructions return.

    Raises:
        AgentError: A function returned nothing before the timeout of the run.
        Exception: A function raised it; it gets the place of the function.
    """
    texts: list[object] = []
    for each in instructions:
        texts.append((yield from _value(each, context)))
    return texts


def process_history(
    functions: Sequence[Callback], messages: Sequence[Message], tools: Sequence[str], context: Context[object]
) -> Generator[Action, object, tuple[Message, ...]]:
    """Return messages after all functions of the history.

    Raises:
        AgentError: A function returned inconsistent messages, calls of tools that the agent does not have, or nothing
            before the timeout of the run.
        TypeError: A function returned something other than messages.
        Exception: A function raised it; it gets the place of the function.
    """
    history = tuple(messages)
    for each in functions:
        returned = yield from _value(each, context, list(history))
        history = check_history(returned, tools, f"the messages that {each.location} returns")
    return history


def _value(
    callback: Callback, context: Context[object], *arguments: object
) -> Generator[Action, object, object]:
    outcome = yield from _call(lambda: callback(context, *arguments), context, callback.location)
    if outcome is None:
        raise AgentError(
            "the function did not return within the timeout of the run; shorten it, or raise the timeout",
            place=callback.location,
        )
    return outcome.result


def _call(
    callback: Callable[[], object], context: Context[object], location: str
) -> Generator[Action, object, CallOutcome | None]:
    """Call a function of the user, sync or async; return its outcome, or `None` after the timeout of the run.

    An exception of the function gets the location.
    """
    try:
        value = callback()
        if not isawaitable(value):
            return CallOutcome(value)
        return cast("CallOutcome | None", (yield AwaitValue(value, context.seconds_left)))
    except Exception as error:
        add_location(error, location)
        raise
