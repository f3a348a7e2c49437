"""What a run has done so far, and what its limits still allow."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from structkit.agent.formats.step import AvailableTool
from structkit.agent.prompt.header import PromptHeader
from structkit.agent.run.budget import RunBudget, UsageLimits, min_limit
from structkit.agent.run.call_log import CallLog
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.observe import RunObserver
from structkit.agent.run.record import LimitName, RunRecord, UsageLimitExceeded
from structkit.agent.run.state import (
    RunState,
    ToolCall,
    call_counts,
    failure_counts,
    last_call_number,
)
from structkit.agent.tools.context import Context
from structkit.generate.decode.config import GeneratedTokens
from structkit.generate.output.result import Usage
from structkit.generate.schedule.prefix_cache import PrefixCache
from structkit.messages import Message, Output
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["RunProgress"]

_log = logging.getLogger("structkit")


class RunProgress:
    """The messages, the usage and the limits of one run.

    Attributes:
        messages: The conversation so far.
        refused: The outputs that an output function refused, each with the message that the model reads.
        generated: The tokens of the step that is being streamed.
        prompt_tokens: The number of tokens of its prompt.
    """

    def __init__(
        self,
        config: AgentConfig,
        state: RunState,
        deps: object,
        usage_limits: UsageLimits = UsageLimits(),  # noqa: B008
    ) -> None:
        self.messages: list[Message] = list(state.messages)
        self.refused: list[tuple[str, str]] = list(state.refused)
        self.generated = GeneratedTokens()
        self.prompt_tokens = 0
        self._config = config
        self._state = state
        self._deps = deps
        self._steps = state.steps
        self._budget = RunBudget(config, state, usage_limits)
        self._first = state.first_message
        self._validation_context = config.validation_context(deps)
        self._log = CallLog(config, self._validation_context, state.metadata)
        self._contexts: list[Context[object]] = []
        self._available_names: frozenset[str] = frozenset()
        self._next_tools: tuple[AvailableTool, ...] | None = None
        self._history: Sequence[Message] = self.messages[: self._first]
        self._processed: tuple[Sequence[Message], int] | None = None  # of how many messages
        self._shortened: dict[str, Output] = {}
        self._header: PromptHeader | None = None
        self._next_header = config.header
        self._observer = RunObserver(config)
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
        return tuple(self._log.records.values())

    def record(self) -> RunRecord:
        """Return what the run has done so far; calls of the current step without an outcome have an error."""
        self._collect_usage()
        messages = self._log.completed(self.messages)
        return RunRecord(
            calls=self._log.calls(messages[self._first :]),
            messages=messages,
            usage=self.usage,
            steps=self._steps,
            trace=self._observer.trace,
        )

    @property
    def _read_messages(self) -> list[Message]:
        """The messages that the model reads: those before the last step as functions of the user return them."""
        before, count = self._processed or (self._history, self._first)
        return [
            self._shortened.get(message.id, message) if isinstance(message, Output) else message
            for message in (*before, *self.messages[count:])
        ]

    def _shorten_outputs(self, header: PromptHeader | None) -> None:
        """With `history="shorten"`, shorten what the model reads of the oldest outputs, if its context gets full."""
        messages = self._read_messages
        shortened = self._budget.shorten_outputs(messages, header)
        new = {
            after.id: after
            for before, after in zip(messages, shortened, strict=True)
            if isinstance(after, Output) and after != before
        }
        if new:
            self._shortened |= new
            self._observer.add_shortened(tuple(new))
            label = self._config.label
            _log.info("%s: the oldest outputs are shortened in the prompt: %s", label, ", ".join(new))

    @property
    def _raises(self) -> bool:
        """Whether limits raise."""
        return self._config.on_limit == "raise"

    @property
    def _call_count(self) -> int:
        """Number of calls of this run."""
        return call_counts(self.messages[self._first :]).total()

    def _check_time(self) -> None:
        """Raise after the timeout if limits raise."""
        if self._raises and self._budget.is_overdue:
            raise self._limit_exceeded("timeout")

    def _limit_exceeded(self, limit: LimitName) -> UsageLimitExceeded:
        return self._budget.exceeded(limit, self.record())

    def _check_retries(self, results: Sequence[Output], denied: Collection[str]) -> None:
        """Raise if a tool has failed more often in a row than its retries allow, and limits raise."""
        failures = failure_counts(self.messages[self._first :])
        for output in results:
            count, retries = failures.get(output.name, 0), self._by_name[output.name].tool.tool_retries
            if not output.failed or output.id in denied or count <= retries:
                continue
            times = "once" if count == 1 else f"{count} times in a row"
            fault = f"{output.name} failed {times}, and its tool_retries={retries} are used"
            if not self._raises:
                _log.warning("%s: %s; it is not available in later steps", self._config.label, fault)
                continue
            call = self._log.records[output.id]
            raise UsageLimitExceeded(
                f"{fault} (the last error: {call.error!r}); increase tool_retries, or make the agent with "
                "on_limit='answer', which continues without the tool",
                limit="tool_retries",
                record=self.record(),
                place=output.name,
            ) from call.raised

    def _context(
        self,
        *,
        step: int | None = None,
        approved: bool = False,
        calls: int = 1,
        timeout: float | None = None,
        call_id: str | None = None,
    ) -> Context[object]:
        """Return the context of a call; `calls` is the number of concurrent calls."""
        return Context(
            deps=self._deps,
            step=self._steps if step is None else step,
            messages=tuple(self.messages),
            usage=self.usage,
            approved=approved,
            call_id=call_id,
            tokens_left=self._budget.share(calls),
            seconds_left=min_limit(self._budget.remaining_seconds, timeout),
        )

    def _collect_usage(self) -> None:
        """Add the usage of models that tools called; abandoned calls can report usage later."""
        for context in self._contexts:
            while context.nested_usage:
                self._budget.add_usage(context.nested_usage.pop())
