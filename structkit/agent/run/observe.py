"""Observation of a run and its calls: spans of OpenTelemetry, messages of the logger `structkit`, and the trace."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext

from structkit.agent.run.actions import CallOutcome, Outcome, PreparedCall
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.state import AgentResult, RunSuspended, RunTrace
from structkit.errors import ApprovalRequired, GenerationError
from structkit.generate.output.result import Usage
from structkit.generate.output.trace import Trace
from structkit.generate.run.observe import request_attributes
from structkit.messages import Answer, Calls, Message, Output, User
from structkit.tracing import Span, captures_content, start_span

__all__ = ["RunObserver", "observe", "observe_async"]

_log = logging.getLogger("structkit")

_FINISH_REASONS = {"steps": "length", "budget": "length"}


class RunObserver:
    """Observes a run from its start to its end.

    Args:
        config: The configuration of the agent.

    Attributes:
        span: The span of the run; `None` before its start, and without a tracer provider.
    """

    def __init__(self, config: AgentConfig) -> None:
        self.span: Span | None = None
        self._config = config
        self._steps: list[Trace] = []
        self._shortened: list[tuple[str, ...]] = []
        self._next_shortened: tuple[str, ...] = ()
        self._cut = 0

    def start(self) -> None:
        """Observe the start of the run."""
        name = self._config.model.name
        attributes = request_attributes(name, self._config.settings)
        named = {"gen_ai.agent.name": self._config.name}
        self.span = start_span("invoke_agent", self._config.name, {**named, **attributes})

    def add_step(self, trace: Trace) -> None:
        """Add the trace of a step."""
        self._steps.append(trace)
        self._shortened.append(self._next_shortened)
        self._next_shortened = ()

    def add_shortened(self, ids: Sequence[str]) -> None:
        """Note the calls whose outputs are shortened in the prompts of the next step and of those after it."""
        self._next_shortened += tuple(ids)

    def add_cut(self, count: int) -> None:
        """Note the number of messages of earlier runs that no prompt has."""
        self._cut += count

    @contextmanager
    def failed_steps(self) -> Generator[None, None, None]:
        """Add the trace of a step that raises its error in this context."""
        try:
            yield
        except GenerationError as failed:
            if isinstance(failed.trace, Trace):
                self.add_step(failed.trace)
            raise

    @property
    def trace(self) -> RunTrace:
        """What happened in the steps so far."""
        return RunTrace(
            name=self._config.name or "",
            steps=tuple(self._steps),
            shortened=tuple(self._shortened),
            cut=self._cut,
        )

    def end(
        self, usage: Usage, steps: int, outcome: Outcome | BaseException, *, is_logged: bool = True
    ) -> None:
        """Observe the end of the run: its result, its suspension or its error, which a nested run can have logged."""
        if is_logged:
            _log_end(self._config, usage, steps, outcome)
        if self.span is not None:
            _end_span(self.span, self._config, usage, steps, outcome)


def _reason(outcome: Outcome | BaseException) -> str:
    return outcome.finish_reason if isinstance(outcome, AgentResult) else type(outcome).__name__


def _log_end(config: AgentConfig, usage: Usage, steps: int, outcome: Outcome | BaseException) -> None:
    count = f"{steps} step{'' if steps == 1 else 's'}"
    _log.info("%s: %s, %d tokens: %s", config.label, count, usage.written_tokens, _reason(outcome))


def _end_span(
    span: Span, config: AgentConfig, usage: Usage, steps: int, outcome: Outcome | BaseException
) -> None:
    result, reason = outcome if isinstance(outcome, AgentResult) else None, _reason(outcome)
    span.set(
        {
            "gen_ai.response.finish_reasons": None
            if result is None
            else [_FINISH_REASONS.get(reason, "stop")],
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.written_tokens,
            "structkit.steps": steps,
        }
    )
    if result is not None and captures_content(config.settings.trace_content):
        *asked, answer = _message_parts(result.messages)
        span.set_json("gen_ai.input.messages", asked)
        span.set_json(
            "gen_ai.output.messages", [{**answer, "finish_reason": _FINISH_REASONS.get(reason, "stop")}]
        )
    is_fault = isinstance(outcome, BaseException) and not isinstance(outcome, (RunSuspended, GeneratorExit))
    span.end(outcome if is_fault and isinstance(outcome, BaseException) else None)


def observe(call: PreparedCall, execute: Callable[[], CallOutcome]) -> CallOutcome:
    """Execute a call inside its span."""
    span = _start_call(call)
    with nullcontext() if span is None else span.activate():
        outcome = execute()
    _end_call(span, call, outcome)
    return outcome


async def observe_async(call: PreparedCall, execution: Awaitable[CallOutcome]) -> CallOutcome:
    """Await the execution of a call inside its span."""
    span = _start_call(call)
    with nullcontext() if span is None else span.activate():
        try:
            outcome = await execution
        except BaseException as error:  # the task is cancelled
            _end_call(span, call, CallOutcome(error=error))
            raise
    _end_call(span, call, outcome)
    return outcome


def _start_call(call: PreparedCall) -> Span | None:
    if call.parent_span is None:
        return None
    return start_span(
        "execute_tool",
        call.tool.name,
        {
            "gen_ai.tool.name": call.tool.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": call.tool.tool.description,
        },
        parent=call.parent_span,
    )


def _end_call(span: Span | None, call: PreparedCall, outcome: CallOutcome) -> None:
    error = None if isinstance(outcome.error, ApprovalRequired) else outcome.error
    ended = "returned" if outcome.error is None else f"raised {type(outcome.error).__name__}"
    _log.debug("%s (%s) %s after %.3f s", call.tool.name, call.id, ended, outcome.seconds)
    if span is None:
        return
    if captures_content(call.trace_content):
        span.set_json("gen_ai.tool.call.arguments", call.arguments)
        if outcome.error is None:
            span.set_json("gen_ai.tool.call.result", outcome.value)
    span.end(error)


def _message_parts(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Return messages in the form of the semantic conventions."""
    return [_parts_of(message) for message in messages]


def _parts_of(message: Message) -> dict[str, object]:
    match message:
        case User(content=content):
            return {"role": "user", "parts": [_text(content)]}
        case Calls(calls=calls, text=text):
            written = [
                {
                    "type": "tool_call",
                    "id": call.id,
                    "name": call.name,
                    "arguments": json.loads(call.arguments),
                }
                for call in calls
            ]
            return {"role": "assistant", "parts": [*([_text(text)] if text else []), *written]}
        case Output(id=id, content=content):
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": content}]}
        case Answer(content=content, text=text):
            return {"role": "assistant", "parts": [*([_text(text)] if text else []), _text(content)]}


def _text(content: str) -> dict[str, object]:
    return {"type": "text", "content": content}
