"""What a run requests from its driver, and what it receives."""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from structkit.agent.run.state import AgentResult, AgentStep
from structkit.agent.run.step import StepTarget
from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import PreparedTool
from structkit.functions.call import Call
from structkit.generate.input.options import Settings
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Result

__all__ = [
    "Action",
    "ActionResult",
    "AwaitAvailability",
    "CallOutcome",
    "Decisions",
    "ExecuteCalls",
    "GenerateStep",
    "Outcome",
    "PreparedCall",
    "RunFlow",
]


@dataclass(frozen=True, slots=True)
class GenerateStep:
    """A request to generate a step: its target, prompt, settings and number."""

    target: StepTarget
    prompt: Prompt
    settings: Settings
    step: int


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call to execute."""

    id: str
    tool: PreparedTool
    call: Call[object]
    context: Context[object]
    arguments: dict[str, object]
    """A copy of the arguments for the record: the tool can modify its own."""


@dataclass(frozen=True, slots=True)
class ExecuteCalls:
    """A request to execute calls, concurrently."""

    calls: tuple[PreparedCall, ...]


@dataclass(frozen=True, slots=True)
class AwaitAvailability:
    """A request to await the availability of a tool, with a timeout in seconds."""

    available: Awaitable[bool]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call: its result or its exception, and its duration in seconds."""

    result: object = None
    error: BaseException | None = None
    seconds: float = 0.0


Action: TypeAlias = "GenerateStep | ExecuteCalls | AwaitAvailability"

ActionResult: TypeAlias = "Result[object] | Sequence[CallOutcome] | bool"
"""`GenerateStep` receives a `Result`, `ExecuteCalls` a `CallOutcome` per call, `AwaitAvailability` a bool."""

Outcome: TypeAlias = "AgentResult[object] | AgentStep[object]"
"""The result of a run, or the step of a run that ends after one step."""

RunFlow: TypeAlias = "Generator[Action, ActionResult, Outcome]"

Decisions: TypeAlias = "Mapping[str, bool | str]"
"""For each pending call: whether it is approved; a string is the reason of a denial."""
