"""The run of an agent as a generator, without I/O.

The generator yields actions, such as a step to generate or calls to execute, and receives their results. The sync,
async and streaming drivers in `driver.py` perform the actions.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Generator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import cast

from structkit.agent.formats.step import (
    AvailableTool,
    ParsedCall,
    RejectedCalls,
    calls_or_result,
    with_contexts,
)
from structkit.agent.prompt.header import PromptHeader
from structkit.agent.prompt.history import check_last
from structkit.agent.run.actions import (
    Action,
    CallOutcome,
    Decisions,
    ExecuteCalls,
    GenerateStep,
    PreparedCall,
    RunFlow,
    concurrent_batches,
    is_available,
    process_history,
    read_texts,
)
from structkit.agent.run.budget import StepPlan
from structkit.agent.run.call_log import writable
from structkit.agent.run.config import NO_MORE_CALLS
from structkit.agent.run.output import check_refusals, output_value, with_refusals
from structkit.agent.run.progress import RunProgress
from structkit.agent.run.record import attach_record, run_record
from structkit.agent.run.state import (
    AgentResult,
    PendingCall,
    RunFinishReason,
    RunState,
    RunSuspended,
    call_counts,
    failure_counts,
    new_calls,
    pending_call,
    suspended,
    with_note,
)
from structkit.agent.tools.approval import Deny, Return
from structkit.agent.tools.prepared import PreparedTool
from structkit.errors import AgentError, AgentRecursionError, OutputValidationError, Retry, ToolError
from structkit.functions.call import Call
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Result, Usage
from structkit.messages import Answer, CallPart, Calls, Output
from structkit.rejected import Rejected

__all__ = ["Run"]

_log = logging.getLogger("structkit")


class Run(RunProgress):
    """One run: steps until the result, as a generator of actions; see `RunProgress`."""

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
        self._observer.start()
        try:
            yield from self._read_prompt()
            result = yield from self._steps_to_result(decisions)
        except BaseException as error:  # a tool can raise any
            # Each of the runs that start each other without end raises the same error.
            is_logged = not isinstance(error, AgentRecursionError) or run_record(error) is None
            if not isinstance(
                error, (RunSuspended, GeneratorExit)
            ):  # the state has all; the driver closed the flow
                attach_record(error, self.record())
            self._observer.end(self.usage, self._steps, error, is_logged=is_logged)
            raise
        self._observer.end(self.usage, self._steps, result)
        return result

    def _read_prompt(self) -> Generator[Action, object, None]:
        """Call the functions of the instructions and of the history, before the first step and before pending calls."""
        config, context = self._config, self._context(step=self._steps + 1)
        texts = yield from read_texts(config.instructions.functions, context)
        self._next_header = PromptHeader(config.instructions.text(texts), config.tools)
        before, messages = self.messages[: self._first], self.messages[self._first :]
        functions, tools = config.history.functions, list(self._by_name)
        self._history = yield from process_history(functions, before, tools, context)
        self._shorten_outputs(self._next_header)
        history = self._read_messages[: len(self._history)]
        self._history = self._budget.fit_history(history, messages, self._next_header)
        self._observer.add_cut(len(history) - len(self._history))

    def _steps_to_result(self, decisions: Decisions | None) -> RunFlow:
        if self._state.pending:
            waiting = self._pending_calls()
            yield from self._process_messages(len(self.messages) - 1, self._steps)
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
            result, plan = yield from self.generate()
        except OutputValidationError as failed:
            if isinstance(failed.usage, Usage):
                self._budget.add_step(failed.usage)
            if not isinstance(failed.rejected, RejectedCalls):
                raise
            yield from self._record_rejected(failed.rejected)
            return []
        step, calls = calls_or_result(result.value, result.text)
        if calls:
            prepared = self._prepare_calls(calls, step.text)
            self.check_calls(result.usage)
            return prepared
        self.messages.append(Answer(content=step.body, text=step.text))
        self._contexts.append(self._context())
        try:
            value = yield from output_value(step.value, self._config.output_functions, self._contexts[-1])
        except (Retry, ToolError) as refusal:
            self.messages.pop()  # the messages have only the accepted output
            self.refused.append((result.text, writable(refusal.message)))
            check_refusals(self.refused, refusal, self._config, is_last=self._steps >= self._budget.max_steps)
            return []
        self._collect_usage()
        return AgentResult(
            value=value,
            calls=self._log.calls(self.messages[self._first :]),
            messages=tuple(self.messages),
            usage=self.usage,
            step_usage=tuple(self._budget.step_usage),
            trace=self._observer.trace,
            steps=self._steps,
            finish_reason=self.finish_reason(plan, result),
        )

    def generate(self) -> Generator[Action, object, tuple[Result[object], StepPlan]]:
        """Request a step; return what the model generated, and the plan of the step."""
        plan, turns = yield from self._next_step()
        self._available_names = frozenset(offer.tool.name for offer in plan.target.tools)
        self._steps += 1
        self._contexts.append(self._context())
        settings = with_contexts(plan.settings, self._contexts[-1], self._validation_context)
        action = GenerateStep(plan.target, turns, settings, self._steps, self._observer.span)
        with self._observer.failed_steps():
            result = cast("Result[object]", (yield action))
        self._observer.add_step(result.trace)
        self._budget.add_step(result.usage)
        if self._raises and result.finish_reason == "budget":
            raise self._limit_exceeded(self._budget.limit_of_tokens(plan, result.usage))
        return result, plan

    def check_calls(self, usage: Usage) -> None:
        """Check that the limits allow the calls of the last step, and a step after them, if limits raise."""
        limit = self._budget.limit_of_calls(self._steps, self._call_count, usage)
        if self._raises and limit is not None:
            raise self._limit_exceeded(limit)

    def finish_reason(self, plan: StepPlan, result: Result[object]) -> RunFinishReason:
        """Return why the run ends with a step; log a limit that chose its result."""
        shortened = result.finish_reason == "budget"
        limit = self._budget.limit_of_tokens(plan, result.usage) if shortened else plan.limit
        if not self._config.tools and result.finish_reason == "stop":
            return "stop"
        if limit is None:
            return "stop" if plan.target.tools else "no_tools"
        reached = self._budget.describe(limit)
        _log.warning(
            "%s: %s is reached (steps: %d, calls: %d); the limit, and not the model, chose the result: allow more, "
            "or see its finish_reason",
            self._config.label,
            reached,
            self._steps,
            self._call_count,
        )
        return "steps" if limit in ("max_steps", "max_tool_calls") else "budget"

    def _next_step(self) -> Generator[Action, object, tuple[StepPlan, Prompt]]:
        """Return the plan and the prompt of the next step."""
        offers = (yield from self._available_tools()) if self._next_tools is None else self._next_tools
        yield from self._process_messages(len(self.messages), self._steps + 1)
        self._collect_usage()
        if self._steps and self._budget.is_spent:
            raise self._limit_exceeded("max_tokens")
        self._budget.check()
        limit = self._budget.limit_before(self._steps, self._call_count)
        if self._raises:
            self._check_time()
            if self._steps >= self._budget.max_steps:
                raise self._limit_exceeded("max_steps")
            limit = None
        elif limit is not None:
            offers = ()
        turns = with_refusals(self._config.turns(self._read_messages, self._next_header), self.refused)
        plan = self._budget.next_step(offers, turns, limit, self._call_count)
        if not plan.target.tools and self._header is not None:
            # The step before reserved tokens for a last step with its own header.
            turns = with_refusals(self._config.turns(self._read_messages, self._header), self.refused)
        else:
            self._header = self._next_header
        return plan, turns

    def _process_messages(self, count: int, step: int) -> Generator[Action, object, None]:
        """Call the functions that choose what the model reads of the first `count` messages in a step."""
        functions = self._config.history.processors
        if not functions:
            return
        messages = (*self._history, *self.messages[self._first : count])
        tools, context = list(self._by_name), self._context(step=step)
        processed = yield from process_history(functions, messages, tools, context)
        check_last(processed, functions[-1].location)
        self._processed = processed, count

    def _available_tools(self) -> Generator[Action, object, tuple[AvailableTool, ...]]:
        """Return the tools for the next step, and set its header; availability is checked once per step."""
        is_last = not self._raises and self._budget.limit_before(self._steps, self._call_count) is not None
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
            if failures.get(ready.name, 0) <= ready.tool.tool_retries
        ]
        return tuple(offer for offer in offers if offer is not None)

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
            raise AgentError("no call is last in it; pass the state of a RunSuspended error", place="state")
        due = []
        for part in message.calls:
            ready = self._by_name.get(part.name)
            call = None if ready is None else ready.parse(part.arguments, self._validation_context)
            if isinstance(call, Rejected):
                fault = f"invalid arguments of {part.id} in the state: {call.message}"
                raise AgentError(f"{fault}; pass the state unchanged", place="state") from call.cause
            if ready is None or call is None:
                fault = f"the state calls {part.name}, which is not a tool of this agent"
                raise AgentError(f"{fault}; resume with the agent that made the state", place="state")
            due.append(self._prepare_call(part, ready, call))
        return due

    def _execute(
        self, calls: Sequence[PreparedCall], decisions: Decisions, finished: Sequence[Output]
    ) -> Generator[Action, object, None]:
        """Request the execution of calls and append their outputs."""
        outputs = self._log.outputs = {output.id: output for output in finished}
        now: list[PreparedCall] = []
        pending: list[PendingCall] = []
        for each in calls:
            decision = decisions.get(each.id)
            if each.id in outputs:
                continue
            if isinstance(decision, (Deny, Return)):
                outputs[each.id] = self._log.add_decision(each, decision)
            elif self._budget.is_overdue:
                outputs[each.id] = self._log.add_overdue(each)
            elif decision is None and (reason := each.tool.pending_reason(each.call)) is not None:
                pending.append(self._pending_call(each, reason))
            else:
                now.append(each)
        for batch in concurrent_batches(now):
            pending += yield from self._execute_batch(batch, decisions)
        self._collect_usage()
        if pending:
            raise self._suspended(pending, tuple(outputs.values()))
        yield from self._append_results(
            self._fitting([outputs[each.id] for each in calls]),
            [each for each, decision in decisions.items() if isinstance(decision, Deny)],
        )

    def _execute_batch(
        self, calls: Sequence[PreparedCall], decisions: Decisions
    ) -> Generator[Action, object, list[PendingCall]]:
        """Request the concurrent execution of calls, and record their outcomes; return those that await a decision."""
        if self._budget.is_overdue:
            self._log.outputs |= {each.id: self._log.add_overdue(each) for each in calls}
            return []
        self._collect_usage()
        now = [self._with_context(each, each.id in decisions, len(calls)) for each in calls]
        self._contexts += [each.context for each in now]
        try:
            outcomes = cast("Sequence[CallOutcome]", (yield ExecuteCalls(tuple(now))))
        except BaseException as fault:  # such as an interrupt: the calls have no outcome
            self._log.add_interruption(now, fault)
            raise
        awaiting = self._log.add_outcomes(now, outcomes)
        return [self._pending_call(each, reason) for each, reason in awaiting]

    def _pending_call(self, call: PreparedCall, reason: str) -> PendingCall:
        return pending_call(self.messages, call.id, writable(reason), deferred=call.tool.tool.defer)

    def _with_context(self, call: PreparedCall, approved: bool, calls: int) -> PreparedCall:
        timeout = call.tool.tool.timeout
        context = self._context(approved=approved, calls=calls, timeout=timeout, call_id=call.id)
        content = self._config.settings.trace_content
        return replace(call, context=context, parent_span=self._observer.span, trace_content=content)

    def _prepare_call(self, part: CallPart, tool: PreparedTool, call: Call[object]) -> PreparedCall:
        try:
            arguments = deepcopy(dict(call.arguments))
        except Exception:  # `__deepcopy__` is user code
            arguments = self._log.arguments(part)
        return PreparedCall(part.id, tool, call, self._context(), arguments)

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
            outputs.append(self._log.add_error(due, f"invalid arguments: {rejected.message}"))
        yield from self._append_results(self._fitting(outputs))

    def _fitting(self, outputs: Sequence[Output]) -> list[Output]:
        """Return outputs as far as the context has room for them; older ones may be shortened before."""
        self._shorten_outputs(self._header)
        return self._budget.truncate_results(self._read_messages, outputs, self._header)

    def _append_results(
        self, results: Sequence[Output], denied: Collection[str] = ()
    ) -> Generator[Action, object, None]:
        """Append outputs, with a note about tools that the next step cannot call."""
        first = len(self.messages)
        self.messages += results
        self._check_time()
        self._check_retries(results, denied)
        self._next_tools = yield from self._available_tools()
        after = {offer.tool.name for offer in self._next_tools}
        gone = sorted(self._available_names - after)
        note = f"{', '.join(gone)} cannot be called any more." if gone else ""
        self.messages[first:] = with_note(results, note if after else NO_MORE_CALLS)

    def _suspended(self, pending: Sequence[PendingCall], tool_results: tuple[Output, ...]) -> RunSuspended:
        state = RunState(
            agent_fingerprint=self._config.fingerprint,
            messages=tuple(self.messages),
            pending=tuple(pending),
            tool_results=tool_results,
            usage=self.usage,
            step_usage=tuple(self._budget.step_usage),
            elapsed_seconds=self._budget.elapsed_seconds,
            refused=tuple(self.refused),
            metadata=self._log.metadata,
        )
        return suspended(state)
