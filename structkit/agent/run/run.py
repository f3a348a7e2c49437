"""The run of an agent as a generator, without I/O.

The generator yields actions, such as a step to generate or calls to execute, and receives their results. The sync,
async and streaming drivers in `driver.py` perform the actions.
"""

from __future__ import annotations

import json
from asyncio import CancelledError
from collections.abc import Generator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import cast

from structkit.agent.prompt.header import PromptHeader
from structkit.agent.run.actions import (
    Action,
    CallOutcome,
    Decisions,
    ExecuteCalls,
    GenerateStep,
    PreparedCall,
    RunFlow,
    is_available,
    read_texts,
)
from structkit.agent.run.budget import RunBudget, RunFinishReason, UsageLimits, min_limit
from structkit.agent.run.config import NO_MORE_CALLS, AgentConfig
from structkit.agent.run.output import output_value
from structkit.agent.run.record import RunRecord, attach_record
from structkit.agent.run.state import (
    AgentResult,
    PendingCall,
    RunState,
    RunSuspended,
    ToolCall,
    call_counts,
    failure_counts,
    last_call_number,
    new_calls,
    with_note,
)
from structkit.agent.run.step import AvailableTool, ParsedCall, RejectedCalls, calls_or_result
from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import PreparedTool
from structkit.errors import AgentError, ApprovalRequired, OutputValidationError, ToolError
from structkit.functions.call import Call
from structkit.generate.output.result import Result, Usage
from structkit.generate.run.prefix_cache import PrefixCache
from structkit.messages import Answer, CallPart, Calls, Message, Output
from structkit.rejected import Rejected
from structkit.schema.python.json_codec import json_text_of
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Run"]

_DENIED = "nobody approved of this call"
_OVERDUE = "the call was not made, for the time of the run is over"
_RAISED = "the call failed with an unexpected error"
_NOT_EXECUTED = "the call was not executed"

_SIGNALS = (StopIteration, StopAsyncIteration, GeneratorExit, CancelledError)
"""Exceptions that Python treats as the end of a generator or task."""


class Run:
    """The state of one run.

    Attributes:
        messages: The conversation so far.
    """

    def __init__(
        self,
        config: AgentConfig,
        state: RunState,
        deps: object,
        usage_limits: UsageLimits = UsageLimits(),  # noqa: B008
    ) -> None:
        self.messages: list[Message] = list(state.messages)
        self._config = config
        self._state = state
        self._deps = deps
        self._steps = state.steps
        self._budget = RunBudget(config, state, usage_limits)
        self._first = state.first_message
        self._records: dict[str, ToolCall] = {}
        self._outputs: dict[str, Output] = {}
        self._contexts: list[Context[object]] = []
        self._available_names: frozenset[str] = frozenset()
        self._next_tools: tuple[AvailableTool, ...] | None = None
        self._header: PromptHeader | None = None
        self._next_header = config.header
        self._by_name = {tool.name: tool for tool in config.tools}
        config.check_deps(deps)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the steps."""
        return self._config.vocabulary

    @property
    def calls_before(self) -> int:
        """Number of calls in the conversation."""
        return last_call_number(self.messages)

    @property
    def prefix_cache(self) -> PrefixCache:
        """The prefix cache that the runs of the agent share."""
        return self._config.prefix_cache

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        return self._budget.usage

    @property
    def results(self) -> tuple[ToolCall, ...]:
        """The calls with an outcome since the run started or was resumed."""
        return tuple(self._records.values())

    def flow(self, decisions: Decisions | None = None) -> RunFlow:
        """Run steps until the result is generated.

        Args:
            decisions: The decisions about the pending calls of the state.

        Raises:
            BudgetTooSmall: The tokens of the run do not suffice for the shortest result.
            RunSuspended: A call requires approval.
            OutputValidationError: Validators rejected the result and all retries.
            Exception: An exception of a tool or of the model. Each exception carries the record of the run.
        """
        try:
            yield from self._read_instructions()
            return (yield from self._steps_to_result(decisions))
        except (RunSuspended, GeneratorExit):  # the state has all; the driver closed the flow
            raise
        except BaseException as error:  # a tool can raise any
            attach_record(error, self._record_of_run())
            raise

    def _read_instructions(self) -> Generator[Action, object, None]:
        """Call the functions of the instructions, before the first step and before pending calls."""
        instructions = self._config.instructions
        texts = yield from read_texts(instructions.functions, self._context(step=self._steps + 1))
        self._next_header = PromptHeader(instructions.text(texts), self._config.tools)

    def _steps_to_result(self, decisions: Decisions | None) -> RunFlow:
        if self._state.pending:
            waiting = self._pending_calls()
            self._available_names = frozenset(due.tool.name for due in waiting)
            yield from self._execute(waiting, decisions or {}, self._state.tool_results)
        while True:
            step = yield from self._generate_step()
            if isinstance(step, AgentResult):
                return step
            if step:
                yield from self._execute(step, {}, ())

    def _generate_step(self) -> Generator[Action, object, AgentResult[object] | list[PreparedCall]]:
        """Request a step; return the result, or the calls to execute."""
        try:
            result, finish_reason = yield from self.generate()
        except OutputValidationError as failed:
            if isinstance(failed.usage, Usage):
                self._budget.add_usage(failed.usage)
            if not isinstance(failed.rejected, RejectedCalls):
                raise
            yield from self._record_rejected(failed.rejected)
            return []
        step, calls = calls_or_result(result.value, result.text)
        if calls:
            return self._prepare_calls(calls, step.text)
        self.messages.append(Answer(content=step.body, text=step.text))
        self._contexts.append(self._context())
        value = yield from output_value(step.value, self._config.output_functions, self._contexts[-1])
        self._collect_usage()
        return AgentResult(
            value=value,
            calls=self._calls(self.messages),
            messages=tuple(self.messages),
            usage=self.usage,
            steps=self._steps,
            finish_reason=finish_reason,
        )

    def generate(self) -> Generator[Action, object, tuple[Result[object], RunFinishReason]]:
        """Request a step; return what the model generated, and the finish reason if it is the result."""
        offers = (yield from self._available_tools()) if self._next_tools is None else self._next_tools
        self._collect_usage()
        turns = self._config.turns(self.messages, self._next_header)
        target, settings, why = self._budget.next_step(offers, turns)
        if not target.tools and self._header is not None:
            # The step before reserved tokens for a last step with its own header.
            turns = self._config.turns(self.messages, self._header)
        else:
            self._header = self._next_header
        self._available_names = frozenset(offer.tool.name for offer in target.tools)
        self._steps += 1
        result = cast("Result[object]", (yield GenerateStep(target, turns, settings, self._steps)))
        self._budget.add_usage(result.usage)
        return result, "budget" if result.finish_reason == "budget" else why

    def _available_tools(self) -> Generator[Action, object, tuple[AvailableTool, ...]]:
        """Return the tools for the next step, and set its header; availability is checked once per step."""
        is_last = self._steps + 1 >= self._budget.max_steps or self._budget.is_overdue
        if is_last and self._header is not None:
            return ()
        context = self._context(step=self._steps + 1)
        shown = []
        for ready in self._config.tools:
            if (yield from is_available(ready.tool, context)):
                shown.append(ready)
        self._next_header = replace(self._next_header, tools=tuple(shown))
        if is_last:
            return ()
        made = self.messages[self._first :]
        counts, failures = call_counts(made), failure_counts(made)
        offers = [
            self._config.available_tool(ready, counts.get(ready.name, 0))
            for ready in shown
            if failures.get(ready.name, 0) <= ready.tool.retries
        ]
        return tuple(offer for offer in offers if offer is not None)

    def _context(
        self,
        *,
        step: int | None = None,
        approved: bool = False,
        calls: int = 1,
        timeout: float | None = None,
    ) -> Context[object]:
        """Return the context of a call; `calls` is the number of concurrent calls."""
        return Context(
            deps=self._deps,
            step=self._steps if step is None else step,
            messages=tuple(self.messages),
            usage=self.usage,
            approved=approved,
            tokens_left=self._budget.share(calls),
            seconds_left=min_limit(self._budget.remaining_seconds, timeout),
        )

    def _prepare_calls(self, calls: Sequence[ParsedCall], preamble: str) -> list[PreparedCall]:
        """Append generated calls to the messages and prepare them."""
        message = new_calls(self.messages, [(each.tool.name, each.arguments) for each in calls], preamble)
        self.messages.append(message)
        return [
            self._prepare_call(part, each.tool, each.call)
            for part, each in zip(message.calls, calls, strict=True)
        ]

    def _pending_calls(self) -> list[PreparedCall]:
        """Return the calls of the suspended step."""
        message = self.messages[-1]
        if not isinstance(message, Calls):
            raise AgentError("the last message of the state has no calls to decide about", place="state")
        due = []
        for part in message.calls:
            ready = self._by_name.get(part.name)
            call = None if ready is None else ready.parse(part.arguments)
            if isinstance(call, Rejected):
                raise AgentError(
                    f"the arguments of {part.id} in the state: {call.message}", place="state"
                ) from call.cause
            if ready is None or call is None:
                raise AgentError(
                    f"the state has a call of {part.name}, which is no tool of this agent", place="state"
                )
            due.append(self._prepare_call(part, ready, call))
        return due

    def _execute(
        self, calls: Sequence[PreparedCall], decisions: Decisions, finished: Sequence[Output]
    ) -> Generator[Action, object, None]:
        """Request the execution of calls and append their outputs."""
        outputs = self._outputs = {output.id: output for output in finished}
        waiting = {each.id: each for each in self._state.pending}
        now: list[PreparedCall] = []
        pending: list[PendingCall] = []
        for each in calls:
            decision = decisions.get(each.id)
            if each.id in outputs:
                continue
            if decision is False or isinstance(decision, str):
                outputs[each.id] = self._error_message(each, decision or _DENIED, 0.0)
            elif decision is None and each.id in waiting:
                pending.append(waiting[each.id])
            elif self._budget.is_overdue:
                outputs[each.id] = self._error_message(each, _OVERDUE, 0.0)
            elif decision is None and each.tool.needs_approval(each.call):
                pending.append(_pending(each, calls, self.messages, "it requires approval"))
            else:
                now.append(each)
        now = [self._with_context(each, decisions.get(each.id) is True, len(now)) for each in now]
        self._contexts += [each.context for each in now]
        outcomes = cast("Sequence[CallOutcome]", (yield ExecuteCalls(tuple(now)))) if now else ()
        self._collect_usage()
        faults: list[BaseException] = []
        for each, outcome in zip(now, outcomes, strict=True):
            if isinstance(outcome.error, ApprovalRequired):
                pending.append(_pending(each, calls, self.messages, outcome.error.message))
                continue
            try:
                outputs[each.id] = self._result_message(each, outcome)
            except BaseException as fault:  # raised after the outcomes of the other calls are recorded
                outputs[each.id] = self._error_message(each, _RAISED, outcome.seconds, outcome.error or fault)
                faults.append(fault)
        if faults:
            raise faults[0]
        if pending:
            raise self._suspended(pending, tuple(outputs.values()))
        yield from self._append_results(
            self._budget.truncate_results(self.messages, [outputs[each.id] for each in calls], self._header)
        )

    def _collect_usage(self) -> None:
        """Add the usage of models that tools called; abandoned calls can report usage later."""
        for context in self._contexts:
            while context.nested_usage:
                self._budget.add_usage(context.nested_usage.pop())

    def _with_context(self, call: PreparedCall, approved: bool, calls: int) -> PreparedCall:
        timeout = call.tool.tool.timeout
        return replace(call, context=self._context(approved=approved, calls=calls, timeout=timeout))

    def _prepare_call(self, part: CallPart, tool: PreparedTool, call: Call[object]) -> PreparedCall:
        try:
            arguments = deepcopy(dict(call.arguments))
        except Exception:  # `__deepcopy__` is user code
            arguments = self._arguments(part)
        return PreparedCall(part.id, tool, call, self._context(), arguments)

    def _result_message(self, call: PreparedCall, outcome: CallOutcome) -> Output:
        """Return the message for the outcome of a call."""
        name = call.tool.name
        if outcome.error is not None:
            error = _reported_error(outcome.error, call.tool)
            said = error.message if isinstance(error, ToolError) else _error_text(error)
            return self._error_message(call, said.strip(), outcome.seconds, error)
        try:
            content = outcome.result if isinstance(outcome.result, str) else json_text_of(outcome.result)
        except ValueError as cause:
            raise AgentError(
                f"{name} returned something of type {type(outcome.result).__name__}, which cannot be written as JSON; "
                f"return a text, a model, or other values that pydantic can write: {cause}",
                place=name,
            ) from cause
        self._record(call, result=outcome.result, seconds=outcome.seconds)
        return Output(id=call.id, name=name, content=_readable(content))

    def _error_message(
        self, call: PreparedCall, message: str, seconds: float, exception: BaseException | None = None
    ) -> Output:
        self._record(call, error=message, exception=exception, seconds=seconds)
        return Output(id=call.id, name=call.tool.name, content=_readable(message), failed=True)

    def _record(
        self,
        call: PreparedCall,
        *,
        result: object = None,
        error: str | None = None,
        exception: BaseException | None = None,
        seconds: float,
    ) -> None:
        self._records[call.id] = ToolCall(
            id=call.id,
            name=call.tool.name,
            arguments=call.arguments,
            tool_result=result,
            error=error,
            raised=exception,
            seconds=seconds,
        )

    def _record_rejected(self, rejected: RejectedCalls) -> Generator[Action, object, None]:
        """Append the calls of a step whose arguments were rejected in every attempt, with the error as their output."""
        message = new_calls(self.messages, rejected.calls, rejected.preamble)
        self.messages.append(message)
        outputs = []
        for part in message.calls:
            call: Call[object] = Call(
                self._by_name[part.name].tool.function, part.name, json.loads(part.arguments)
            )
            due = self._prepare_call(part, self._by_name[part.name], call)
            outputs.append(self._error_message(due, f"the arguments are refused: {rejected.message}", 0.0))
        yield from self._append_results(self._budget.truncate_results(self.messages, outputs, self._header))

    def _append_results(self, results: Sequence[Output]) -> Generator[Action, object, None]:
        """Append outputs, with a note about tools that can no longer be called."""
        begun = len(self.messages)
        self.messages += results
        self._next_tools = yield from self._available_tools()
        after = {offer.tool.name for offer in self._next_tools}
        gone = sorted(self._available_names - after)
        note = f"{', '.join(gone)} cannot be called any more." if gone else ""
        self.messages[begun:] = with_note(results, note if after else NO_MORE_CALLS)

    def _suspended(self, pending: Sequence[PendingCall], tool_results: tuple[Output, ...]) -> RunSuspended:
        state = RunState(
            agent_fingerprint=self._config.fingerprint,
            messages=tuple(self.messages),
            pending=tuple(pending),
            tool_results=tool_results,
            usage=self.usage,
            elapsed_seconds=self._budget.elapsed_seconds,
        )
        waiting = ", ".join(f"{each.id} ({each.name}: {each.reason})" for each in pending)
        return RunSuspended(
            f"calls wait for somebody to decide: {waiting}; go on with agent.resume(error.state, approvals=...)",
            state=state,
        )

    def _record_of_run(self) -> RunRecord:
        """Return what the run has done so far; calls of the current step without an outcome have an error."""
        messages = list(self.messages)
        if isinstance(messages[-1], Calls):
            messages += [
                self._outputs.get(part.id)
                or Output(id=part.id, name=part.name, content=_NOT_EXECUTED, failed=True)
                for part in messages[-1].calls
            ]
        self._collect_usage()
        return RunRecord(
            calls=self._calls(messages), messages=tuple(messages), usage=self.usage, steps=self._steps
        )

    def _calls(self, messages: Sequence[Message]) -> tuple[ToolCall, ...]:
        """Return the calls of this run, including those before it was resumed."""
        told = {message.id: message for message in messages if isinstance(message, Output)}
        calls = []
        for message in messages[self._first :]:
            for part in message.calls if isinstance(message, Calls) else ():
                record, output = self._records.get(part.id), told[part.id]
                if record is None:
                    arguments = self._arguments(part)
                    said = {"error": output.content} if output.failed else {"tool_result": output.content}
                    record = ToolCall(id=part.id, name=part.name, arguments=arguments, **said)  # type: ignore[arg-type]
                calls.append(record)
        return tuple(calls)

    def _arguments(self, part: CallPart) -> dict[str, object]:
        """Parse the arguments of a call; return the JSON values if no tool accepts them."""
        tool = self._by_name.get(part.name)
        call = None if tool is None else tool.parse(part.arguments)
        if isinstance(call, Call):
            return dict(call.arguments)
        return dict(cast("Mapping[str, object]", json.loads(part.arguments)))


def _reported_error(error: BaseException, tool: PreparedTool) -> Exception:
    """Return an exception of a tool that is reported to the model; raise any other."""
    # After a reported RecursionError the model would call again, at every depth.
    fatal = isinstance(error, (*tool.tool.reraise, RecursionError))
    if isinstance(error, CancelledError) and not fatal:
        return ToolError("the call was cancelled")
    if isinstance(error, Exception) and not fatal:
        return error
    if isinstance(error, _SIGNALS):
        raise AgentError(f"{tool.name} raised {type(error).__name__}", place=tool.name) from error
    raise error


def _pending(
    call: PreparedCall, calls: Sequence[PreparedCall], messages: Sequence[Message], reason: str
) -> PendingCall:
    (arguments,) = (
        part.arguments
        for message in messages[-1:]
        for part in (message.calls if isinstance(message, Calls) else ())
        if part.id == call.id
    )
    return PendingCall(id=call.id, name=call.tool.name, arguments=arguments, reason=_readable(reason))


def _readable(text: str) -> str:
    """Replace lone surrogates, which a tokenizer cannot encode."""
    return text.encode(errors="replace").decode()


def _error_text(error: Exception) -> str:
    """Return the type and the message of an exception."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # `__str__` is user code
        return type(error).__name__
