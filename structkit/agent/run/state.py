"""The state of a suspended run, which can be stored and resumed in another process, and the result of a run."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeAlias, TypeVar

from structkit.agent.tools.context import NO_USAGE
from structkit.arguments.names import missing_attribute
from structkit.error_notes import safe_str
from structkit.errors import AgentError, StructkitError
from structkit.functions.call import Call
from structkit.generate.output.result import Usage
from structkit.generate.output.trace import Trace
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.schema.python.json_codec import EXACT_KEYS, ByKind, JsonCodec, NotInJson, json_text_of
from structkit.trace.drawing import Drawing
from structkit.trace.picture import Note, Picture, Step
from structkit.trace.table import draw_details, draw_table

__all__ = [
    "AgentResult",
    "AgentStep",
    "PendingCall",
    "RunFinishReason",
    "RunState",
    "RunSuspended",
    "RunTrace",
    "ToolCall",
    "call_counts",
    "decisions_example",
    "failure_counts",
    "last_call_number",
    "nested_suspension",
    "new_calls",
    "pending_call",
    "suspended",
    "with_note",
]

RunFinishReason: TypeAlias = Literal["stop", "no_tools", "steps", "budget"]

T_co = TypeVar("T_co", covariant=True)

_log = logging.getLogger("structkit")

_OF_RESULTS = {
    "all_messages": ".messages",
    "history": ".messages",
    "text": ".value",
    "new_messages": ".messages[len(earlier):]",
    "to_input_list": ".messages",
    "all_messages_json": "structkit.messages.dumps(result.messages)",
    "final_output": ".value",
    "new_items": ".messages[len(earlier):]",
    "raw_responses": ".trace",
    "token_usage": ".usage",
    "tool_calls": ".calls",
    "structured_response": ".value",
}
"""What other libraries call the attributes of a result."""

_OF_CALLS = {
    "args": ".arguments",
    "args_as_dict": ".arguments",
    "artifact": ".metadata",
    "content": ".tool_result",
    "output": ".tool_result",
    "result": ".tool_result",
    "tool_call_id": ".id",
    "tool_name": ".name",
}
"""What other libraries call the attributes of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a run that has an outcome."""

    id: str
    """The id of the call in the messages."""

    name: str
    """The name of the tool."""

    arguments: dict[str, object]
    """The arguments, in the types that the function declares."""

    tool_result: object = None
    """The return value; for calls before a run was resumed, the content of the output message."""

    metadata: NotInJson[object] = None
    """What the tool returned for the program alone, with `structkit.Return(value, metadata=...)`; after
    `RunState.dumps` and `loads` its JSON value."""

    error: str | None = None
    """The error message that the model received, if the call failed."""

    raised: NotInJson[BaseException | None] = field(default=None, compare=False)
    """The exception, if the call raised one in this process."""

    seconds: float = 0.0
    """The duration of the call."""

    usage: Usage = NO_USAGE
    """The usage that the call reported with `Context.spend`, such as that of an agent as a tool; zero for calls before
    the run was resumed."""

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the attribute that other libraries call otherwise."""
            raise missing_attribute(self, name, _OF_CALLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that awaits a decision: approval, or its result."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    id: str
    """The id of the call, for `Agent.resume`."""

    name: str
    """The name of the tool."""

    arguments: str
    """The arguments that the model generated, as JSON."""

    reason: str = ""
    """Why the call is pending."""

    deferred: bool = False
    """Whether the call waits for its result, `structkit.Return(value)`, and not for approval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A suspended run, with everything needed to resume it; `dumps` and `loads` convert it to and from JSON."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    agent_fingerprint: str
    """A hash of the tools and the output type of the agent."""

    messages: tuple[ByKind[Message], ...]
    """The conversation so far, including the pending calls."""

    pending: tuple[PendingCall, ...]
    """The pending calls."""

    tool_results: tuple[Output, ...] = ()
    """The outputs of the other calls of the same step."""

    usage: Usage = NO_USAGE
    """The usage so far."""

    step_usage: tuple[Usage, ...] = ()
    """The usage of each step so far."""

    elapsed_seconds: float = 0.0
    """How long the run was active, without the time it was suspended."""

    refused: tuple[tuple[str, str], ...] = ()
    """The outputs that an output function refused, each with the message that the model reads."""

    metadata: dict[str, object] = field(default_factory=dict, hash=False)
    """The metadata of calls, by their ids; see `ToolCall.metadata`."""

    @property
    def first_message(self) -> int:
        """The index of the first message of this run: the last message of the user."""
        return max((at for at, each in enumerate(self.messages) if isinstance(each, User)), default=0)

    @property
    def steps(self) -> int:
        """Number of completed steps: those with a message of calls, and those whose output was refused."""
        calls = sum(isinstance(each, Calls) for each in self.messages[self.first_message :])
        return max(calls, len(self.step_usage))

    def dumps(self) -> str:
        """Return the state as JSON; metadata that cannot be written as JSON is left out, with a warning in the log."""
        return _json_codec().dumps(replace(self, metadata=_as_json(self.metadata)))

    @classmethod
    def loads(cls, text: str | bytes) -> RunState:
        """Parse a state that `dumps` of this version of structkit wrote.

        Raises:
            AgentError: The text is not a state, or has a key that this version does not know.
        """
        try:
            return _json_codec().loads(text)
        except ValueError as error:
            raise AgentError(
                f"invalid state of a run: {error}; pass the text of `state.dumps()` of this version unchanged",
                place="state",
            ) from error


def _as_json(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata that can be written as JSON, as JSON values; log a warning for the rest."""
    found: dict[str, object] = {}
    for id, each in metadata.items():
        try:
            found[id] = json.loads(json_text_of(each))
        except ValueError as error:
            _log.warning(
                "the metadata of %s is left out of the state of the run, because it cannot be written as JSON (%s); "
                "return JSON values as metadata",
                id,
                safe_str(error),
            )
    return found


class RunSuspended(StructkitError):
    """A run stopped before calls that require approval; `Agent.resume` continues the run.

    Attributes:
        state: The state of the run.
    """

    def __init__(self, message: str, *, state: RunState, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.state = state


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrace(Drawing):
    """What happened in the steps of a run, as one drawing; see `structkit.AgentResult.trace`.

    `print(trace)`, `trace.save("run.html")` and notebooks draw it as they draw a `structkit.Trace`. A reply of a text
    model is numbered with its step: `2.1` is the first reply of step 2.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> print(sk.Agent(ScriptedModel(["21"]), output_type=int, name="adder").run("What is 20 + 1?").trace)
    adder: 1 step
    <BLANKLINE>
      1  sampled    |21|
    <BLANKLINE>
    21
    ^^
    ^- sampled
    """

    name: str = ""
    """The name of the agent."""

    steps: tuple[Trace, ...] = ()
    """The trace of each step since the run started or was resumed; the last can be that of an error, which ended it."""

    shortened: tuple[tuple[str, ...], ...] = ()
    """For each step, the ids of the calls whose outputs its prompt is the first to have shortened, with
    `history="shorten"`."""

    cut: int = 0
    """The number of messages of earlier runs that the prompts do not have, with `history="cut"`."""

    def picture(self) -> Picture:
        """Return the steps and spans that are drawn."""
        count = f"{len(self.steps)} step{'' if len(self.steps) == 1 else 's'}"
        failed = [trace.error for trace in self.steps[-1:] if trace.error]
        last = self.steps[-1].picture() if self.steps else Picture(title="")
        return Picture(
            title=", ".join(
                [f"{self.name or 'agent'}: {count}", *(f"failed with {error}" for error in failed)]
            ),
            prompt=self.steps[0].prompt if self.steps else None,
            steps=tuple(
                part
                for at, trace in enumerate(self.steps)
                for part in _numbered(trace, str(at + 1), self._history_notes(at))
            ),
            spans=last.spans,
            notes=last.notes,
            seconds=sum(trace.seconds for trace in self.steps),
        )

    def _history_notes(self, at: int) -> tuple[Note, ...]:
        """Return what the prompt of a step has less than that of the step before."""
        ids = self.shortened[at] if at < len(self.shortened) else ()
        notes = [Note("shortened", f"the output of {', '.join(ids)}")] if ids else []
        if self.cut and not at:
            notes.insert(0, Note("cut", f"{self.cut} messages of earlier runs"))
        return tuple(notes)


def _numbered(trace: Trace, number: str, notes: tuple[Note, ...]) -> list[Step]:
    """Return what is drawn of a step of a run: the replies, or the tokens of its text, which no reply shows."""
    picture = trace.picture()
    parts = [
        replace(part, title=f"{number}.{part.title}" if part.title else number if not at else "")
        for at, part in enumerate(picture.steps)
    ]
    if not trace.drafts:
        parts.append(Step(title="" if parts else number, spans=picture.spans, seconds=picture.seconds))
    return [replace(parts[0], asked=(*notes, *parts[0].asked)), *parts[1:]] if notes and parts else parts


@dataclass(frozen=True, kw_only=True)
class AgentResult(Generic[T_co]):
    """The result of a run."""

    value: T_co
    """The validated value of the output type."""

    calls: tuple[ToolCall, ...]
    """The calls, in order."""

    messages: tuple[Message, ...]
    """The complete conversation, including earlier runs; see `structkit.messages`."""

    usage: Usage
    """Tokens and seconds of all steps and calls together; the prompt of each step contains the earlier steps."""

    steps: int
    """Number of steps, including the one that generated the result."""

    step_usage: tuple[Usage, ...] = ()
    """Tokens and seconds of each step, in order, without those of calls, which are in `ToolCall.usage`."""

    trace: NotInJson[RunTrace] = field(default_factory=RunTrace, repr=False)
    """What happened in each step. `print(result.trace)` draws it."""

    finish_reason: RunFinishReason
    """Why the run ended.

    `"stop"`: the model chose to generate the result. `"no_tools"`: no tool was available in the last step, because each
    had reached its `max_calls`, was hidden by its `available`, or, with `on_limit="answer"`, had failed too often.

    The others occur only with `on_limit="answer"`; the limit, and not the model, chose the result. `"steps"`:
    `max_steps` or `max_tool_calls` was reached. `"budget"`: no tokens or no time were left for a call, or they
    shortened the result.
    """

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Say that an attribute is one of `value`."""
            raise missing_attribute(self, name, _OF_RESULTS)

        def __getitem__(self, name: object) -> object:
            """Name the attribute that is an item in LangChain."""
            known = isinstance(name, str) and hasattr(self, name)
            raise TypeError(
                f"an AgentResult has attributes and no items; write .{name if known else 'value'}"
            )

    def _repr_html_(self) -> str:
        """Draw the value, the calls and the trace of each step."""
        return draw_table(
            repr(self.value),
            ["call", "arguments", "output"],
            [
                [
                    call.name,
                    json.dumps(call.arguments, ensure_ascii=False, default=str),
                    repr(call.tool_result) if call.error is None else call.error,
                ]
                for call in self.calls
            ],
            note=f"{self.steps} steps, {self.finish_reason}, "
            f"{self.usage.prompt_tokens}+{self.usage.generated_tokens} tokens",
            more=draw_details(self.trace._repr_html_()),
        )

    def __repr__(self) -> str:
        calls = ", ".join(call.name for call in self.calls)
        return (
            f"AgentResult(value={self.value!r}, calls=[{calls}], steps={self.steps}, "
            f"finish_reason={self.finish_reason!r})"
        )


@dataclass(frozen=True, kw_only=True)
class AgentStep(Generic[T_co]):
    """One step of an agent: calls, none of them executed, or the result."""

    message: Calls | Answer
    """The message of the step. Add it to the messages; after calls, also an `Output` for each of them."""

    calls: NotInJson[tuple[Call[object], ...]]
    """The calls with their typed arguments, in the order of `message.calls`, which has their ids; empty if the step is
    the result. `call.call()` has no `structkit.Context`, so it does not execute a tool that takes one."""

    value: T_co | None
    """The validated value of the output type; `None` if the step has calls."""

    usage: Usage
    """Tokens and seconds of the step."""

    finish_reason: RunFinishReason | Literal["calls"]
    """`"calls"` if the step has calls; see `AgentResult.finish_reason` otherwise."""

    thinking: str | None = None
    """The thoughts of the model before the step; `None` without `thinking=...`."""

    trace: NotInJson[Trace] = field(default_factory=Trace, repr=False)
    """What happened. `print(step.trace)` draws it."""


def call_counts(messages: Sequence[Message]) -> Counter[str]:
    """Return the number of calls of each tool."""
    return Counter(call.name for each in messages if isinstance(each, Calls) for call in each.calls)


def failure_counts(messages: Sequence[Message]) -> dict[str, int]:
    """Return the number of consecutive failures of each tool up to its last call."""
    failures: dict[str, int] = {}
    for each in messages:
        if isinstance(each, Output):
            failures[each.name] = failures.get(each.name, 0) + 1 if each.failed else 0
    return failures


def last_call_number(messages: Sequence[Message]) -> int:
    """Return the highest number of a call id; ids are `call_1`, `call_2` and so on, across all runs."""
    ids = [call.id for each in messages if isinstance(each, Calls) for call in each.calls]
    numbers = [int(found[1]) for id in ids if (found := re.fullmatch(r"call_(\d+)", id, re.ASCII))]
    return max(len(ids), *numbers, 0)


def new_calls(messages: Sequence[Message], calls: Sequence[tuple[str, str]], preamble: str) -> Calls:
    """Return the message of new calls, each with a new id, and of the text before them."""
    last_number = last_call_number(messages)
    return Calls(
        calls=tuple(
            CallPart(id=f"call_{last_number + number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(calls, 1)
        ),
        text=preamble,
    )


def pending_call(messages: Sequence[Message], id: str, reason: str, *, deferred: bool) -> PendingCall:
    """Return a call of the last message as a pending call."""
    last = messages[-1]
    (part,) = [each for each in (last.calls if isinstance(last, Calls) else ()) if each.id == id]
    return PendingCall(id=id, name=part.name, arguments=part.arguments, reason=reason, deferred=deferred)


def suspended(state: RunState) -> RunSuspended:
    """Return the error of a run that waits for decisions about calls."""
    parts = [
        f"calls {verb}: {', '.join(map(_described, calls))}"
        for verb, is_deferred in (("require approval", False), ("wait for their results", True))
        if (calls := [each for each in state.pending if each.deferred is is_deferred])
    ]
    return RunSuspended(
        f"{', and '.join(parts)}; continue with agent.resume(error.state, "
        f"approvals={decisions_example(state.pending)})",
        state=state,
    )


def nested_suspension(name: str, error: RunSuspended) -> AgentError:
    """Return the error of a run whose function ran another agent that is suspended: this run has another state."""
    return AgentError(
        f"{name} ran an agent that is suspended ({error.cause}), and this run cannot wait for the decisions; catch "
        f"structkit.RunSuspended in {name}, or give these tools to the agent that calls {name}",
        place=name,
    )


def _described(call: PendingCall) -> str:
    is_plain = call.deferred or call.reason.endswith("requires approval")  # the message says so already
    return f"{call.id} ({call.name}{'' if is_plain or not call.reason else f': {call.reason}'})"


def decisions_example(pending: Sequence[PendingCall]) -> str:
    """Return the source of decisions about pending calls, for messages.

    >>> calls = [PendingCall(id=f"call_{at}", name="pay", arguments="{}", deferred=at > 1) for at in (1, 2)]
    >>> decisions_example(calls)
    "{'call_1': True, 'call_2': structkit.Return(...)}"
    """
    parts = [f"{each.id!r}: {'structkit.Return(...)' if each.deferred else True}" for each in pending[:5]]
    return f"{{{', '.join([*parts, *(['...'] if len(pending) > 5 else [])])}}}"


def with_note(results: Sequence[Output], note: str) -> tuple[Output, ...]:
    """Return the outputs, with a note added to the last one."""
    return (*results[:-1], replace(results[-1], note=note)) if note and results else tuple(results)


@lru_cache(maxsize=1)
def _json_codec() -> JsonCodec[RunState]:
    return JsonCodec(RunState)
