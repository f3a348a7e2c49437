"""A run as a value: what happened so far, so that it can wait for somebody and go on in another process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Generic, Literal, TypeVar

from structkit.errors import AgentError, StructkitError
from structkit.generate.result import Usage
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.schema.stored import Form

__all__ = ["AgentResult", "Pending", "RunPaused", "RunState", "ToolCall"]

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
class Pending:
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

    agent: str
    """What tells the agent's tools and result from those of others."""

    messages: tuple[Message, ...]
    """The conversation so far, the waiting calls included."""

    pending: tuple[Pending, ...]
    """The calls that wait."""

    done: tuple[Output, ...] = ()
    """What came of the other calls of the same step."""

    first: int = 0
    """How many of the messages are of earlier runs."""

    steps: int = 0
    """The steps that were made."""

    failures: dict[str, int] = field(default_factory=dict)
    """How often in a row each tool failed."""

    usage: Usage = NO_USAGE
    """What the run took so far."""

    seconds: float = 0.0
    """How long the run was at work."""

    def dumps(self) -> str:
        """The state as JSON."""
        return _form().dumps(self)

    @classmethod
    def loads(cls, text: str | bytes) -> RunState:
        """The state from what `dumps` wrote.

        Raises:
            AgentError: The text is something else.
        """
        try:
            return _form().loads(text)
        except ValueError as error:
            raise AgentError(f"this is no state of a run: {error}") from error


class RunPaused(StructkitError):
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
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        generated_tokens=one.generated_tokens + other.generated_tokens,
        forced_tokens=one.forced_tokens + other.forced_tokens,
        mask_seconds=one.mask_seconds + other.mask_seconds,
        model_seconds=one.model_seconds + other.model_seconds,
        compile_seconds=one.compile_seconds + other.compile_seconds,
    )


def counts_of(messages: Sequence[Message]) -> dict[str, int]:
    """How often each tool was called."""
    counts: dict[str, int] = {}
    for message in messages:
        for call in message.calls if isinstance(message, Calls) else ():
            counts[call.name] = counts.get(call.name, 0) + 1
    return counts


def check_history(messages: Sequence[object]) -> tuple[Message, ...]:
    """The messages of earlier runs.

    Raises:
        TypeError: They are something else.
        AgentError: A call among them has no output.
    """
    waiting: set[str] = set()
    known: list[Message] = []
    for message in messages:
        if not isinstance(message, (User, Calls, Output, Answer)):
            raise TypeError(
                f"messages are those of an AgentResult, or of structkit.messages; {message!r:.60} is none of them"
            )
        known.append(message)
        if isinstance(message, Calls):
            waiting |= {call.id for call in message.calls}
        elif isinstance(message, Output):
            waiting.discard(message.id)
    if waiting:
        raise AgentError(
            f"the call {min(waiting)} among the messages has no output; go on with Agent.resume(state)",
            place="messages",
        )
    return tuple(known)


def check_state(state: RunState, tools: Collection[str]) -> None:
    """Refuse a state that no run of an agent with these tools leaves behind: it may have been stored by anyone.

    Raises:
        AgentError: A call before the last step has no output or no tool, or what waits is not what would be made.
    """
    *before, last = state.messages or (None,)
    if not isinstance(last, Calls):
        raise AgentError("the last message of the state has no calls to decide about", place="state")
    check_history(before)
    made = [
        call
        for message in state.messages[state.first :]
        if isinstance(message, Calls)
        for call in message.calls
    ]
    strange = next((call.name for call in made if call.name not in tools), None)
    if strange is not None:
        raise AgentError(f"the state has a call of {strange}, which is no tool of this agent", place="state")
    calls = {call.id: (call.name, call.arguments) for call in last.calls}
    waiting = {each.id: (each.name, each.arguments) for each in state.pending}
    done = {each.id for each in state.done}
    if len(calls) < len(last.calls) or not waiting.items() <= calls.items() or not done <= calls.keys():
        raise AgentError("the calls that wait in the state are not those of its last message", place="state")
    if not 0 <= state.first < len(state.messages) or state.steps < 1:
        raise AgentError("the state counts steps or messages that it does not have", place="state")


def new_calls(messages: Sequence[Message], written: Sequence[tuple[str, str]], said: str = "") -> Calls:
    """The message of calls, each with an id of its own, and of what was said before them."""
    begun = sum(counts_of(messages).values())
    return Calls(
        calls=tuple(
            CallPart(id=f"call_{begun + number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(written, 1)
        ),
        text=said,
    )


def with_note(outputs: Sequence[Output], note: str) -> tuple[Output, ...]:
    """The outputs, the last with a note."""
    return (*outputs[:-1], replace(outputs[-1], note=note)) if note and outputs else tuple(outputs)


@lru_cache(maxsize=1)
def _form() -> Form[RunState]:
    return Form(RunState)
