"""A run as a value: what happened so far, so that it can wait for somebody and go on in another process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Generic, Literal, TypeVar

from structkit.errors import AgentError, StructkitError
from structkit.generate.output.result import Usage
from structkit.messages import CallPart, Calls, Message, Output, User
from structkit.schema.python.json_codec import JsonCodec

__all__ = ["AgentResult", "PendingCall", "RunState", "RunSuspended", "ToolCall"]

T_co = TypeVar("T_co", covariant=True)

NO_USAGE = Usage(
    prompt_tokens=0,
    generated_tokens=0,
    forced_tokens=0,
    mask_seconds=0.0,
    model_seconds=0.0,
    compile_seconds=0.0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that was made in a run."""

    id: str
    """What names it in the messages."""

    name: str
    """The tool."""

    arguments: dict[str, object]
    """The values of its parameters, in the types that the function declares."""

    output: object = None
    """What it returned; after a run was resumed, what the model was told of the calls before."""

    error: str | None = None
    """What the model was told went wrong, if something did."""

    raised: Exception | None = field(default=None, compare=False)
    """What it raised, if it raised something in this process."""

    seconds: float = 0.0
    """How long it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that waits for somebody to decide."""

    id: str
    """What names it, for `Agent.resume`."""

    name: str
    """The tool."""

    arguments: str
    """JSON: what the model wrote."""

    reason: str = ""
    """What the tool said when it paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A run that waits: all that is needed to go on with it. `dumps` and `loads` store it as JSON."""

    agent_fingerprint: str
    """What tells the agent's tools and result from those of others."""

    messages: tuple[Message, ...]
    """The conversation so far, the waiting calls included."""

    pending: tuple[PendingCall, ...]
    """The calls that wait."""

    tool_results: tuple[Output, ...] = ()
    """What came of the other calls of the same step."""

    usage: Usage = NO_USAGE
    """What the run took so far."""

    elapsed_seconds: float = 0.0
    """How long the run was at work."""

    @property
    def first_message(self) -> int:
        """How many of the messages are of earlier runs: a run begins with what the user said last."""
        return max((at for at, each in enumerate(self.messages) if isinstance(each, User)), default=0)

    @property
    def steps(self) -> int:
        """The steps that were made: each left a message of calls."""
        return sum(isinstance(each, Calls) for each in self.messages[self.first_message :])

    def dumps(self) -> str:
        """The state as JSON."""
        return _json_codec().dumps(self)

    @classmethod
    def loads(cls, text: str | bytes) -> RunState:
        """The state from what `dumps` wrote.

        Raises:
            AgentError: The text is something else.
        """
        try:
            return _json_codec().loads(text)
        except ValueError as error:
            raise AgentError(f"this is no state of a run: {error}", place="state") from error


class RunSuspended(StructkitError):
    """A run stopped before calls that somebody must decide about; `Agent.resume` goes on with it.

    Attributes:
        state: The run.
    """

    def __init__(self, message: str, *, state: RunState, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.state = state


@dataclass(frozen=True, kw_only=True)
class AgentResult(Generic[T_co]):
    """What came of a run."""

    value: T_co
    """The validated value of the result's type."""

    calls: tuple[ToolCall, ...]
    """The calls, in order."""

    messages: tuple[Message, ...]
    """The whole conversation, that of earlier runs included; see `structkit.messages`."""

    usage: Usage
    """Tokens and seconds of all steps together; each step's prompt holds those before it."""

    steps: int
    """How often the model was asked."""

    finish_reason: Literal["stop", "steps", "budget"]
    """`"stop"`: the model gave the result when it chose to. `"steps"`: nothing else was left to it, for the steps or
    the calls were used up. `"budget"`: the tokens or the time were, or they bent the result."""

    def __repr__(self) -> str:
        calls = ", ".join(call.name for call in self.calls)
        return (
            f"AgentResult(value={self.value!r}, calls=[{calls}], steps={self.steps}, "
            f"finish_reason={self.finish_reason!r})"
        )


def add_usage(one: Usage, other: Usage) -> Usage:
    """What two generations took together."""
    return Usage(**{each.name: getattr(one, each.name) + getattr(other, each.name) for each in fields(Usage)})


def call_counts(messages: Sequence[Message]) -> Counter[str]:
    """How often each tool was called."""
    return Counter(call.name for each in messages if isinstance(each, Calls) for call in each.calls)


def failure_counts(messages: Sequence[Message]) -> dict[str, int]:
    """How often in a row each tool failed at last."""
    failures: dict[str, int] = {}
    for each in messages:
        if isinstance(each, Output):
            failures[each.name] = failures.get(each.name, 0) + 1 if each.failed else 0
    return failures


def last_call_number(messages: Sequence[Message]) -> int:
    """The number after which calls are named: ids are `call_1`, `call_2` and so on, through all runs."""
    ids = [call.id for each in messages if isinstance(each, Calls) for call in each.calls]
    numbers = [int(found[1]) for id in ids if (found := re.fullmatch(r"call_(\d+)", id, re.ASCII))]
    return max(len(ids), *numbers, 0)


def new_calls(messages: Sequence[Message], calls: Sequence[tuple[str, str]], preamble: str = "") -> Calls:
    """The message of calls, each with an id of its own, and of what was said before them."""
    begun = last_call_number(messages)
    return Calls(
        calls=tuple(
            CallPart(id=f"call_{begun + number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(calls, 1)
        ),
        text=preamble,
    )


def with_note(results: Sequence[Output], note: str) -> tuple[Output, ...]:
    """The outputs, the last with a note."""
    return (*results[:-1], replace(results[-1], note=note)) if note and results else tuple(results)


@lru_cache(maxsize=1)
def _json_codec() -> JsonCodec[RunState]:
    return JsonCodec(RunState)
