"""The run of an agent, written once, without a model and without calling anything.

It is a generator: it asks for a step to be written, or for calls to be made, and is told what came of them. What runs
it (sync, async, as a stream) is in `drive.py`.
"""

from __future__ import annotations

import json
from asyncio import CancelledError
from collections.abc import Awaitable, Generator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import TypeAlias, cast

from structkit.agent.run.budget import Room, UsageLimits, least
from structkit.agent.run.config import NO_MORE, Setup
from structkit.agent.run.state import (
    AgentResult,
    Pending,
    RunPaused,
    RunState,
    ToolCall,
    calls_before,
    counts_of,
    failures_of,
    new_calls,
    with_note,
)
from structkit.agent.run.step import Offer, Refused, Said, StepTarget, Written
from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import Ready
from structkit.errors import AgentError, Pause, ToolError, ValidationFailed
from structkit.functions.call import Call
from structkit.generate.input.options import Settings
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Result, Usage
from structkit.generate.run.prefix_cache import Shelf
from structkit.messages import Answer, CallPart, Calls, Message, Output
from structkit.schema.python.json_codec import json_text_of
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Asked", "Do", "Due", "Flow", "Outcome", "Run", "Told", "Wait", "Write"]

_DENIED = "nobody approved of this call"
_TOO_LATE = "the call was not made, for the time of the run is over"

_SIGNALS = (StopIteration, StopAsyncIteration, GeneratorExit, CancelledError)
"""What Python takes for the end of a generator or of a task that it comes out of."""


@dataclass(frozen=True, slots=True)
class Write:
    """A step is to be written: with which language, after which prompt, and how; and its number."""

    target: StepTarget
    prompt: Prompt
    settings: Settings
    number: int


@dataclass(frozen=True, slots=True)
class Due:
    """A call that is to be made."""

    id: str
    ready: Ready
    call: Call[object]
    context: Context[object]
    arguments: dict[str, object]
    """What is recorded of the call's: the tool may do with its own as it likes."""


@dataclass(frozen=True, slots=True)
class Do:
    """Calls are to be made, at once if there are several."""

    calls: tuple[Due, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Whether a tool is available is to be awaited, up to so many seconds."""

    available: Awaitable[bool]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: its output, or what it raised; and the seconds it took."""

    output: object = None
    error: BaseException | None = None
    seconds: float = 0.0


Asked: TypeAlias = "Write | Do | Wait"

Told: TypeAlias = "Result[object] | Sequence[Outcome] | bool"
"""A `Result` answers `Write`, one `Outcome` for each call answers `Do`, and a bool `Wait`."""

Flow: TypeAlias = "Generator[Asked, Told, AgentResult[object]]"

Decisions: TypeAlias = "Mapping[str, bool | str]"
"""For each call that waits: whether it may be made; a text says why not."""


class Run:
    """One run, and what it keeps count of.

    Attributes:
        messages: The conversation so far.
    """

    def __init__(
        self,
        setup: Setup,
        state: RunState,
        deps: object,
        allowed: UsageLimits = UsageLimits(),  # noqa: B008
    ) -> None:
        self.messages: list[Message] = list(state.messages)
        self._setup = setup
        self._state = state
        self._deps = deps
        self._steps = state.steps
        self._room = Room(setup, state, allowed)
        self._first = state.first
        self._records: dict[str, ToolCall] = {}
        self._given: list[Context[object]] = []
        self._offered: frozenset[str] = frozenset()
        self._next: tuple[Offer, ...] | None = None
        self._by_name = {tool.name: tool for tool in setup.tools}
        setup.check_deps(deps)

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens that steps are written in."""
        return self._setup.vocabulary

    @property
    def calls_before(self) -> int:
        """How many calls there are in the conversation."""
        return calls_before(self.messages)

    @property
    def shelf(self) -> Shelf:
        """What the model has read in other runs of the agent."""
        return self._setup.shelf

    @property
    def usage(self) -> Usage:
        """What it took so far."""
        return self._room.usage

    @property
    def made(self) -> tuple[ToolCall, ...]:
        """The calls that something came of, here and not before the run was resumed."""
        return tuple(self._records.values())

    def flow(self, decisions: Decisions | None = None) -> Flow:
        """The run: steps until the result is written.

        Args:
            decisions: Those about the calls that the state waits for.

        Raises:
            BudgetTooSmall: The tokens of the run do not suffice for the shortest result.
            RunPaused: A call waits for somebody to decide.
            ValidationFailed: Validators refused the result and those written anew.
        """
        if self._state.pending:
            waiting = self._waiting()
            self._offered = frozenset(due.ready.name for due in waiting)
            yield from self._act(waiting, decisions or {}, self._state.done)
        while True:
            step = yield from self._write()
            if isinstance(step, AgentResult):
                return step
            if step:
                yield from self._act(step, {}, ())

    def _write(self) -> Generator[Asked, object, AgentResult[object] | list[Due]]:
        """Have a step written: the result, or calls that are due."""
        offers = (yield from self._offers()) if self._next is None else self._next
        self._count()
        turns = self._setup.turns(self.messages)
        target, settings, why = self._room.bounded(offers, turns)
        self._offered = frozenset(offer.ready.name for offer in target.offers)
        self._steps += 1
        try:
            told = yield Write(target, turns, settings, self._steps)
        except ValidationFailed as failed:
            if isinstance(failed.usage, Usage):
                self._room.spend(failed.usage)
            if not isinstance(failed.error, Refused):
                raise
            yield from self._refused(failed)
            return []
        result = cast("Result[object]", told)
        self._room.spend(result.usage)
        step = result.value if isinstance(result.value, Said) else Said("", result.text, result.value)
        if isinstance(step.value, tuple) and step.value and isinstance(step.value[0], Written):
            return self._due(cast("tuple[Written, ...]", step.value), step.text)
        self.messages.append(Answer(content=step.rest, text=step.text))
        self._count()
        return AgentResult(
            value=step.value,
            calls=self._calls(),
            messages=tuple(self.messages),
            usage=self.usage,
            steps=self._steps,
            finish_reason="budget" if result.finish_reason == "budget" else why,
        )

    def _offers(self) -> Generator[Asked, object, tuple[Offer, ...]]:
        """The tools that can be called in the next step; whether they are available is asked once for it."""
        if self._steps + 1 >= self._room.max_steps or self._room.late:
            return ()
        made = self.messages[self._first :]
        counts, failures = counts_of(made), failures_of(made)
        context = self._context(step=self._steps + 1)
        offers = []
        for ready in self._setup.tools:
            tool = ready.tool
            if failures.get(ready.name, 0) > tool.retries:
                continue
            available = True if tool.available is None else tool.available(context)
            left = self._room.seconds_left
            if not ((yield Wait(available, left)) if isawaitable(available) else available):
                continue
            offer = self._setup.offer(ready, counts.get(ready.name, 0))
            if offer is not None:
                offers.append(offer)
        return tuple(offers)

    def _context(
        self,
        *,
        step: int | None = None,
        approved: bool = False,
        calls: int = 1,
        timeout: float | None = None,
    ) -> Context[object]:
        """What a tool is told of the run; so many calls are made at once."""
        return Context(
            deps=self._deps,
            step=self._steps if step is None else step,
            messages=tuple(self.messages),
            usage=self.usage,
            approved=approved,
            tokens_left=self._room.share(calls),
            seconds_left=least(self._room.seconds_left, timeout),
        )

    def _due(self, written: Sequence[Written], said: str) -> list[Due]:
        """Note calls that were written."""
        message = new_calls(self.messages, [(each.ready.name, each.arguments) for each in written], said)
        self.messages.append(message)
        return [
            self._one_due(part, each.ready, each.call)
            for part, each in zip(message.calls, written, strict=True)
        ]

    def _waiting(self) -> list[Due]:
        """The calls of the step that the state waits in."""
        message = self.messages[-1]
        if not isinstance(message, Calls):
            raise AgentError("the last message of the state has no calls to decide about", place="state")
        due = []
        for part in message.calls:
            ready = self._by_name.get(part.name)
            try:
                call = None if ready is None else ready.call(part.arguments)
            except ValueError as error:
                raise AgentError(
                    f"the arguments of {part.id} in the state: {error}", place="state"
                ) from error
            if ready is None or call is None:
                raise AgentError(
                    f"the state has a call of {part.name}, which is no tool of this agent", place="state"
                )
            due.append(self._one_due(part, ready, call))
        return due

    def _act(
        self, calls: Sequence[Due], decisions: Decisions, done: Sequence[Output]
    ) -> Generator[Asked, object, None]:
        """Have calls made, and note what came of them."""
        outputs = {output.id: output for output in done}
        waiting = {each.id: each for each in self._state.pending}
        now: list[Due] = []
        pending: list[Pending] = []
        for each in calls:
            decision = decisions.get(each.id)
            if each.id in outputs:
                continue
            if decision is False or isinstance(decision, str):
                outputs[each.id] = self._failed(each, decision or _DENIED, 0.0)
            elif decision is None and each.id in waiting:
                pending.append(waiting[each.id])
            elif self._room.late:
                outputs[each.id] = self._failed(each, _TOO_LATE, 0.0)
            elif decision is None and each.ready.needs_approval(each.call):
                pending.append(_pending(each, calls, self.messages, "it requires approval"))
            else:
                now.append(each)
        now = [self._with_context(each, decisions.get(each.id) is True, len(now)) for each in now]
        self._given += [each.context for each in now]
        outcomes = cast("Sequence[Outcome]", (yield Do(tuple(now)))) if now else ()
        self._count()
        for each, outcome in zip(now, outcomes, strict=True):
            if isinstance(outcome.error, Pause):
                pending.append(_pending(each, calls, self.messages, outcome.error.message))
            else:
                outputs[each.id] = self._told(each, outcome)
        if pending:
            raise self._paused(pending, tuple(outputs.values()))
        yield from self._note(self._room.shortened(self.messages, [outputs[each.id] for each in calls]))

    def _count(self) -> None:
        """Count what tools had models do; those that nobody waited for may tell of it late."""
        for context in self._given:
            while context.spent:
                self._room.spend(context.spent.pop())

    def _with_context(self, due: Due, approved: bool, calls: int) -> Due:
        timeout = due.ready.tool.timeout
        return replace(due, context=self._context(approved=approved, calls=calls, timeout=timeout))

    def _one_due(self, part: CallPart, ready: Ready, call: Call[object]) -> Due:
        try:
            arguments = deepcopy(dict(call.arguments))
        except Exception:  # how values are copied is anyone's code
            arguments = self._arguments(part)
        return Due(part.id, ready, call, self._context(), arguments)

    def _told(self, due: Due, outcome: Outcome) -> Output:
        """What the model is told of a call that was made."""
        name = due.ready.name
        if outcome.error is not None:
            error = _forgiven(outcome.error, due.ready)
            said = error.message if isinstance(error, ToolError) else _of_error(error)
            return self._failed(due, said.strip(), outcome.seconds, error)
        try:
            content = outcome.output if isinstance(outcome.output, str) else json_text_of(outcome.output)
        except ValueError as cause:
            raise AgentError(
                f"{name} returned something of type {type(outcome.output).__name__}, which cannot be written as JSON; "
                f"return a text, a model, or other values that pydantic can write: {cause}",
                place=name,
            ) from cause
        self._record(due, output=outcome.output, seconds=outcome.seconds)
        return Output(id=due.id, name=name, content=_readable(content))

    def _failed(self, due: Due, said: str, seconds: float, raised: Exception | None = None) -> Output:
        self._record(due, error=said, raised=raised, seconds=seconds)
        return Output(id=due.id, name=due.ready.name, content=_readable(said), failed=True)

    def _record(
        self,
        due: Due,
        *,
        output: object = None,
        error: str | None = None,
        raised: Exception | None = None,
        seconds: float,
    ) -> None:
        self._records[due.id] = ToolCall(
            id=due.id,
            name=due.ready.name,
            arguments=due.arguments,
            output=output,
            error=error,
            raised=raised,
            seconds=seconds,
        )

    def _refused(self, failed: ValidationFailed) -> Generator[Asked, object, None]:
        """Note calls whose arguments were refused, and what was written anew too."""
        refused = cast("Refused", failed.error)
        message = new_calls(self.messages, refused.written, refused.said)
        self.messages.append(message)
        outputs = []
        for part in message.calls:
            call: Call[object] = Call(
                self._by_name[part.name].tool.function, part.name, json.loads(part.arguments)
            )
            due = self._one_due(part, self._by_name[part.name], call)
            outputs.append(self._failed(due, f"the arguments are refused: {refused}", 0.0))
        yield from self._note(self._room.shortened(self.messages, outputs))

    def _note(self, outputs: Sequence[Output]) -> Generator[Asked, object, None]:
        """Note outputs, and tell what the model cannot call any more."""
        begun = len(self.messages)
        self.messages += outputs
        self._next = yield from self._offers()
        after = {offer.ready.name for offer in self._next}
        gone = sorted(self._offered - after)
        note = f"{', '.join(gone)} cannot be called any more." if gone else ""
        self.messages[begun:] = with_note(outputs, note if after else NO_MORE)

    def _paused(self, pending: Sequence[Pending], done: tuple[Output, ...]) -> RunPaused:
        state = RunState(
            agent=self._setup.fingerprint,
            messages=tuple(self.messages),
            pending=tuple(pending),
            done=done,
            usage=self.usage,
            seconds=self._room.seconds,
        )
        waiting = ", ".join(f"{each.id} ({each.name}: {each.reason})" for each in pending)
        return RunPaused(
            f"calls wait for somebody to decide: {waiting}; go on with agent.resume(error.state, approvals=...)",
            state=state,
        )

    def _calls(self) -> tuple[ToolCall, ...]:
        """The calls of this run, those before it was resumed included."""
        told = {message.id: message for message in self.messages if isinstance(message, Output)}
        calls = []
        for message in self.messages[self._first :]:
            for part in message.calls if isinstance(message, Calls) else ():
                record, output = self._records.get(part.id), told[part.id]
                if record is None:
                    arguments = self._arguments(part)
                    said = {"error": output.content} if output.failed else {"output": output.content}
                    record = ToolCall(id=part.id, name=part.name, arguments=arguments, **said)  # type: ignore[arg-type]
                calls.append(record)
        return tuple(calls)

    def _arguments(self, part: CallPart) -> dict[str, object]:
        """Those of a call, read once more; as they were written, if no tool takes them."""
        try:
            return dict(self._by_name[part.name].call(part.arguments).arguments)
        except (KeyError, ValueError):
            return dict(cast("Mapping[str, object]", json.loads(part.arguments)))


def _forgiven(error: BaseException, ready: Ready) -> Exception:
    """What a tool raised, if it is told to the model; else it is raised."""
    # A model that is told of a RecursionError would call again, at every depth.
    fatal = isinstance(error, (*ready.tool.fatal, RecursionError))
    if isinstance(error, CancelledError) and not fatal:
        return ToolError("the call was cancelled")
    if isinstance(error, Exception) and not fatal:
        return error
    if isinstance(error, _SIGNALS):
        raise AgentError(f"{ready.name} raised {type(error).__name__}", place=ready.name) from error
    raise error


def _pending(due: Due, calls: Sequence[Due], messages: Sequence[Message], reason: str) -> Pending:
    (arguments,) = (
        part.arguments
        for message in messages[-1:]
        for part in (message.calls if isinstance(message, Calls) else ())
        if part.id == due.id
    )
    return Pending(id=due.id, name=due.ready.name, arguments=arguments, reason=_readable(reason))


def _readable(text: str) -> str:
    """A text as the tokenizer can read it: without halves of surrogate pairs."""
    return text.encode(errors="replace").decode()


def _of_error(error: Exception) -> str:
    """What an exception of a tool says."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # its text is anyone's code
        return type(error).__name__
