"""The calls of a run and their outcomes, and which exceptions of tools are reported to the model."""

from __future__ import annotations

import json
import logging
from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from structkit.agent.run.actions import CallOutcome, PreparedCall
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.record import UsageLimitExceeded, run_record
from structkit.agent.run.state import RunSuspended, ToolCall, nested_suspension
from structkit.agent.tools.approval import Deny, Return
from structkit.agent.tools.prepared import PreparedTool
from structkit.error_notes import add_note, safe_str, type_and_message
from structkit.errors import AgentError, ApprovalRequired, Retry, ScriptError, StructkitError, ToolError
from structkit.functions.call import Call
from structkit.generate.output.result import Usage
from structkit.messages import CallPart, Calls, Message, Output
from structkit.schema.python.json_codec import json_text_of

__all__ = ["CallLog", "writable"]

_log = logging.getLogger("structkit")

_RAISED = "the call failed with an unexpected error"
_NOT_EXECUTED = "the call was not executed"
_OVERDUE = "the call was not executed, because the timeout of the run has passed"
_INTERRUPTED = "the call was interrupted, so it may or may not have been executed"

_SIGNALS = (StopIteration, StopAsyncIteration, GeneratorExit, CancelledError)
"""Exceptions that Python treats as the end of a generator or task."""


class CallLog:
    """The calls of a run and their outcomes.

    Args:
        config: The configuration of the agent.
        context: The `context` of `pydantic.ValidationInfo` in validators of arguments.
        metadata: The metadata of calls before the run was resumed, by their ids.

    Attributes:
        records: The calls with an outcome, by id, since the run started or was resumed.
        outputs: The outputs of the current step so far, by the ids of their calls.
    """

    def __init__(
        self,
        config: AgentConfig,
        context: object = None,
        metadata: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self.records: dict[str, ToolCall] = {}
        self.outputs: dict[str, Output] = {}
        self._by_name = {tool.name: tool for tool in config.tools}
        self._config = config
        self._context = context
        self._metadata = metadata

    @property
    def metadata(self) -> dict[str, object]:
        """The metadata of all calls that have any, by their ids."""
        found = {id: each.metadata for id, each in self.records.items() if each.metadata is not None}
        return {**self._metadata, **found}

    def add_outcomes(
        self, calls: Sequence[PreparedCall], outcomes: Sequence[CallOutcome]
    ) -> list[tuple[PreparedCall, str]]:
        """Record the outcomes of calls in `outputs`; return the calls that await a decision, with the reason.

        Raises:
            AgentError: The return value of a call cannot be written as JSON.
            Exception: The exception of a call, if it ends the run; all outcomes are recorded before.
        """
        awaiting: list[tuple[PreparedCall, str]] = []
        faults: list[BaseException] = []
        for call, outcome in zip(calls, outcomes, strict=True):
            if isinstance(outcome.error, ApprovalRequired):
                awaiting.append((call, outcome.error.message))
                if call.context.approved:
                    _log.warning(
                        "%s: %s (%s) raised ApprovalRequired although it was approved, so the run is suspended again; "
                        "let the tool take a structkit.Context, and raise it only if not context.approved",
                        self._config.label,
                        call.tool.name,
                        call.id,
                    )
                continue
            try:
                self.outputs[call.id] = self.add_outcome(call, outcome)
            except BaseException as fault:  # raised after the outcomes of the other calls are recorded
                error = outcome.error or fault
                self.outputs[call.id] = self.add_error(call, _RAISED, outcome.seconds, error)
                faults.append(fault)
        if faults:
            raise faults[0]
        return awaiting

    def add_decision(self, call: PreparedCall, decision: Deny | Return) -> Output:
        """Record a call that is decided and not executed, and return its message."""
        if isinstance(decision, Deny):
            return self.add_error(call, decision.reason)
        return self.add_outcome(call, CallOutcome(decision))

    def add_overdue(self, call: PreparedCall) -> Output:
        """Record a call that is not executed after the timeout of the run, and return its message."""
        return self.add_error(call, _OVERDUE)

    def add_interruption(self, calls: Sequence[PreparedCall], fault: BaseException) -> None:
        """Record in `outputs` calls whose execution was interrupted: whether they ended is not known."""
        for call in calls:
            call.context.cancelled.set()  # a thread cannot be stopped, and can look
            self.outputs[call.id] = self.add_error(call, _INTERRUPTED, exception=fault)

    def add_outcome(self, call: PreparedCall, outcome: CallOutcome) -> Output:
        """Record the outcome of a call, and return its message.

        Raises:
            AgentError: The return value cannot be written as JSON.
            Exception: The exception of the call, if it ends the run.
        """
        name = call.tool.name
        if outcome.error is not None:
            error = _reported_error(outcome.error, call.tool, self._config)
            text = error.message if isinstance(error, (ToolError, Retry)) else type_and_message(error)
            return self.add_error(call, text.strip(), outcome.seconds, error)
        value = outcome.value
        if type(value).__name__ == "ToolReturn" and type(value).__module__.startswith("pydantic_ai."):
            raise AgentError(
                f"{name} returned a ToolReturn of pydantic-ai, all of which the model would read; return "
                "structkit.Return(value, metadata=...)",
                place=name,
            )
        given = outcome.result if isinstance(outcome.result, Return) else Return(outcome.result)
        try:
            content = value if isinstance(value, str) else json_text_of(value)
        except ValueError as cause:
            raise AgentError(
                f"{name} returned a value of type {type(value).__name__}, which cannot be written as JSON "
                f"({safe_str(cause)}); return a string, a model, or another value that pydantic can serialize, and "
                "what only the program reads as structkit.Return(value, metadata=...)",
                place=name,
            ) from cause
        self.records[call.id] = ToolCall(
            id=call.id,
            name=name,
            arguments=call.arguments,
            tool_result=given.value,
            metadata=given.metadata,
            seconds=outcome.seconds,
            usage=_usage_of(call),
        )
        return Output(id=call.id, name=name, content=writable(content))

    def add_error(
        self, call: PreparedCall, message: str, seconds: float = 0.0, exception: BaseException | None = None
    ) -> Output:
        """Record a failed or denied call, and return its message."""
        self.records[call.id] = ToolCall(
            id=call.id,
            name=call.tool.name,
            arguments=call.arguments,
            error=message,
            raised=exception,
            seconds=seconds,
            usage=_usage_of(call),
        )
        return Output(id=call.id, name=call.tool.name, content=writable(message), failed=True)

    def completed(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages with an output for each call of the last step."""
        last = messages[-1]
        return (
            *messages,
            *(
                self.outputs.get(part.id)
                or Output(id=part.id, name=part.name, content=_NOT_EXECUTED, failed=True)
                for part in (last.calls if isinstance(last, Calls) else ())
            ),
        )

    def calls(self, messages: Sequence[Message]) -> tuple[ToolCall, ...]:
        """Return the calls in messages, including those before the run was resumed; each has an output."""
        outputs = {message.id: message for message in messages if isinstance(message, Output)}
        calls = []
        for message in messages:
            for part in message.calls if isinstance(message, Calls) else ():
                record, output = self.records.get(part.id), outputs[part.id]
                if record is None:
                    record = ToolCall(
                        id=part.id,
                        name=part.name,
                        arguments=self.arguments(part),
                        tool_result=None if output.failed else output.content,
                        metadata=self._metadata.get(part.id),
                        error=output.content if output.failed else None,
                    )
                calls.append(record)
        return tuple(calls)

    def arguments(self, part: CallPart) -> dict[str, object]:
        """Parse the arguments of a call; return the JSON values if no tool accepts them."""
        tool = self._by_name.get(part.name)
        call = None if tool is None else tool.parse(part.arguments, self._context)
        if isinstance(call, Call):
            return dict(call.arguments)
        return dict(cast("Mapping[str, object]", json.loads(part.arguments)))


def _usage_of(call: PreparedCall) -> Usage:
    """Return the usage that a call reported and that the run has not collected yet."""
    return sum(call.context.nested_usage, Usage())


def writable(text: str) -> str:
    """Replace lone surrogates, which a tokenizer cannot encode."""
    return text.encode(errors="replace").decode()


def _reported_error(error: BaseException, tool: PreparedTool, config: AgentConfig) -> Exception:
    """Return an exception of a tool that is reported to the model; raise any other."""
    if not _is_fatal(error, tool.tool.reraise, config):
        if isinstance(error, CancelledError):
            return ToolError("the call was cancelled")
        if isinstance(error, Exception):
            return error
    if isinstance(error, _SIGNALS):
        raise AgentError(
            f"{tool.name} raised {type(error).__name__}, which ends generators and tasks; raise another exception",
            place=tool.name,
        ) from error
    if isinstance(error, RunSuspended):
        raise nested_suspension(tool.name, error) from error
    # A nested run has added its note, if the tool ran an agent.
    is_first = run_record(error) is None
    if is_first and isinstance(error, Exception) and not isinstance(error, StructkitError):
        add_note(
            error,
            f"the tool {tool.name} raised it; raise structkit.ToolError, or pass errors='report' to the agent, to let "
            "the model read it",
        )
    raise error


def _is_fatal(
    error: BaseException, reraise: tuple[type[BaseException], ...] | None, config: AgentConfig
) -> bool:
    """Return whether an exception of a tool ends the run."""
    # After a RecursionError the model would call again, at every depth. A ScriptError is a fault of a test.
    if isinstance(error, (RecursionError, ScriptError)):
        return True
    if isinstance(
        error, (ToolError, Retry)
    ):  # only a tool that names it makes it fatal, not one that names `Exception`
        return any(issubclass(each, (ToolError, Retry)) and isinstance(error, each) for each in reraise or ())
    if isinstance(error, UsageLimitExceeded):
        return config.on_limit == "raise"
    return config.errors == "raise" if reraise is None else isinstance(error, reraise)
