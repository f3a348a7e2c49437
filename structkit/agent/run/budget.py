"""The limits of a run: steps, calls, tokens, seconds, and the context of the model."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from structkit.agent.formats.step import AvailableTool, StepTarget
from structkit.agent.prompt.header import PromptHeader
from structkit.agent.prompt.history import turn_starts
from structkit.agent.run.config import MIN_RESULT_TOKENS, NO_MORE_CALLS, AgentConfig
from structkit.agent.run.record import LimitName, RunRecord, UsageLimitExceeded
from structkit.agent.run.state import RunState, with_note
from structkit.arguments.checks import check_int, check_number, check_type
from structkit.arguments.names import hints_arguments
from structkit.errors import BudgetTooSmall, GenerationError
from structkit.generate.decode.budget import DEFAULT_MAX_TOKENS, token_budget
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import Usage
from structkit.messages import Message, Output

__all__ = ["RunBudget", "StepPlan", "UsageLimits", "max_steps_of", "min_limit"]

N = TypeVar("N", int, float)

_log = logging.getLogger("structkit")

_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "max_turns": "write max_steps=...",
        "output_tokens_limit": "write max_tokens=...",
        "request_limit": "write max_steps=...",
        "response_tokens_limit": "write max_tokens=...",
        "tool_calls_limit": "write max_tool_calls=...",
        "total_tokens_limit": "write max_tokens=...",
    }
)
"""What other libraries call a limit, and what to write here."""


@hints_arguments(_HINTS)
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimits:
    """Limits of one run. A limit that is set replaces that of the agent; the others stay.

    A run that cannot end within its limits raises `UsageLimitExceeded`, or, with `on_limit="answer"` of its agent,
    generates the result.

    >>> from structkit import Agent
    >>> from structkit.testing import ScriptedModel
    >>> agent = Agent(ScriptedModel(["Hello."]), max_steps=8)
    >>> agent.run("Hi", usage_limits=UsageLimits(max_steps=20, max_tool_calls=10)).value
    'Hello.'
    """

    max_tokens: int | None = None
    """Maximum number of tokens of all steps; see `Agent`."""

    max_steps: int | None = None
    """Maximum number of steps, including the one that generates the result."""

    max_tool_calls: int | None = None
    """Maximum number of calls of all tools together, including denied calls and calls with rejected arguments; by
    default without limit. A step whose calls exceed it executes none of them."""

    timeout: float | None = None
    """Seconds after which pending calls are abandoned and no further step is generated."""

    def __post_init__(self) -> None:
        check_int("max_tokens", self.max_tokens, 0)
        check_int("max_steps", self.max_steps, 1)
        check_int("max_tool_calls", self.max_tool_calls, 0)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What a step generates.

    Attributes:
        target: The target.
        settings: The settings, with the maximum of tokens and seconds.
        limit: The limit that leaves only the result to the step, if any.
    """

    target: StepTarget
    settings: Settings
    limit: LimitName | None = None


def max_steps_of(config: AgentConfig, usage_limits: UsageLimits) -> int:
    """Return the maximum number of steps of a run.

    Raises:
        TypeError: The limits have another type.
    """
    check_type("usage_limits", usage_limits, UsageLimits, "a structkit.UsageLimits")
    return config.max_steps if usage_limits.max_steps is None else usage_limits.max_steps


class RunBudget:
    """The limits of one run, and its usage so far.

    Attributes:
        usage: The usage so far.
        step_usage: The usage of each step so far.
        max_steps: Maximum number of steps.
        max_tool_calls: Maximum number of calls; `None` for no limit.
        max_tokens: Maximum number of tokens; `None` for no limit.
        timeout: Maximum number of seconds; `None` for no limit.
    """

    def __init__(self, config: AgentConfig, state: RunState, usage_limits: UsageLimits) -> None:
        self.max_steps = max_steps_of(config, usage_limits)
        own = config.settings
        self.usage = state.usage
        self.step_usage = list(state.step_usage)
        self.max_tool_calls = usage_limits.max_tool_calls
        self.max_tokens = own.max_tokens if usage_limits.max_tokens is None else usage_limits.max_tokens
        self.timeout = own.timeout if usage_limits.timeout is None else usage_limits.timeout
        self._config = config
        self._started_at = time.perf_counter() - state.elapsed_seconds

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the start of the run, without the time when it was suspended."""
        return time.perf_counter() - self._started_at

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds until only the result may be generated; `None` for no limit."""
        return None if self.timeout is None else max(0.0, self.timeout - self.elapsed_seconds)

    @property
    def is_overdue(self) -> bool:
        """Whether the timeout has passed."""
        return self.remaining_seconds == 0

    @property
    def remaining_tokens(self) -> int | None:
        """Remaining tokens, including those of the result; `None` for no limit."""
        return None if self.max_tokens is None else self.max_tokens - self.usage.written_tokens

    @property
    def is_spent(self) -> bool:
        """Whether the remaining tokens do not suffice for the shortest result."""
        config, left = self._config, self.remaining_tokens
        return (
            left is not None
            and left < config.min_output_tokens
            and not config.compile(config.final_target).guide.cursor().fits(left)
        )

    def share(self, calls: int) -> int | None:
        """Return the tokens that each of multiple calls may generate with other models."""
        left = self.remaining_tokens
        return None if left is None else max(0, left - self._config.min_output_tokens) // calls

    def add_usage(self, usage: Usage) -> None:
        """Add usage to that of the run."""
        self.usage += usage

    def add_step(self, usage: Usage) -> None:
        """Add the usage of a step to that of the run."""
        self.step_usage.append(usage)
        self.usage += usage

    def check(self) -> None:
        """Check that a result fits into the remaining tokens.

        Raises:
            BudgetTooSmall: The remaining tokens do not suffice for the shortest result.
        """
        if self.is_spent:
            left = self.remaining_tokens or 0
            raise BudgetTooSmall(self._config.min_output_tokens, max(0, left), place="max_tokens of the run")

    def limit_before(self, steps: int, calls: int) -> LimitName | None:
        """Return the limit that leaves only the result to the next step, after a number of steps and calls."""
        if steps + 1 >= self.max_steps:
            return "max_steps"
        if self.max_tool_calls is not None and calls >= self.max_tool_calls:
            return "max_tool_calls"
        return "timeout" if self.is_overdue else None

    def limit_of_calls(self, steps: int, calls: int, usage: Usage) -> LimitName | None:
        """Return the limit that the calls of a step exceed, or that leaves no further step for a result.

        Args:
            steps: Number of steps, including this one.
            calls: Number of calls, including those of this step.
            usage: The usage of this step.
        """
        config = self._config
        if self.is_overdue:
            return "timeout"
        if steps >= self.max_steps:
            return "max_steps"
        if self.max_tool_calls is not None and calls > self.max_tool_calls:
            return "max_tool_calls"
        if self.is_spent:
            return "max_tokens"
        context = config.context_length
        if context is None:
            return None
        needed = (
            usage.prompt_tokens + usage.generated_tokens + config.min_output_tokens + config.step_overhead
        )
        return "context" if context < needed else None

    def limit_of_tokens(self, plan: StepPlan, usage: Usage) -> LimitName:
        """Return the limit that a step reached while it was generated."""
        if self.is_overdue:
            return "timeout"
        most = DEFAULT_MAX_TOKENS if plan.settings.max_tokens is None else plan.settings.max_tokens
        context = self._config.context_length
        read = usage.prompt_tokens + usage.thinking_tokens
        return "context" if context is not None and context - read < most else "max_tokens"

    def describe(self, limit: LimitName) -> str:
        """Return the limit with its value and the usage so far, for messages."""
        values: dict[LimitName, object] = {
            "max_steps": self.max_steps,
            "max_tool_calls": self.max_tool_calls,
            "timeout": f"{self.timeout} seconds",
            "context": f"{self._config.context_length} tokens of the model",
            "max_tokens": DEFAULT_MAX_TOKENS if self.max_tokens is None else self.max_tokens,
        }
        default = " for one step, the default" if limit == "max_tokens" and self.max_tokens is None else ""
        return f"{limit}={values[limit]}{default}"

    def exceeded(self, limit: LimitName, record: RunRecord) -> UsageLimitExceeded:
        """Return the error for a limit that the run has reached."""
        remedy = (
            "let the tools return less, make the agent with history='shorten' or history_processors=[f], take a model "
            "with a larger context"
            if limit == "context"
            else "increase the limit"
        )
        return UsageLimitExceeded(
            f"the run reached {self.describe(limit)} before a result (steps: {record.steps}, "
            f"calls: {len(record.calls)}); {remedy}, or make the agent with on_limit='answer' for a result within it",
            limit=limit,
            record=record,
            place=self._config.name,
        )

    def next_step(
        self, tools: Sequence[AvailableTool], turns: Prompt, limit: LimitName | None, calls: int
    ) -> StepPlan:
        """Return the plan of the next step.

        With `on_limit="raise"` the limits bound the tokens of the step and forbid no call; the caller raises if the
        step reaches a limit. With `on_limit="answer"` tokens are reserved for the result, and the step allows only the
        result if no call fits.

        Args:
            tools: The tools of the step; none after a limit with `on_limit="answer"`.
            turns: The prompt.
            limit: The limit that allows only the result, if any.
            calls: Number of calls so far.
        """
        config = self._config
        if not tools:
            return self._plan(config.final_target, limit)
        if config.on_limit == "raise":
            return self._plan(config.step_target(tools))
        most = None if self.max_tool_calls is None else self.max_tool_calls - calls
        plan = self._plan(config.step_target(tools, most))
        left, context = plan.settings.max_tokens, config.context_length
        bounds: dict[LimitName, int] = {}
        if left is not None:
            bounds["max_tokens"] = left - config.min_output_tokens
        if context is not None:
            read = len(config.logits_model.encode(turns)) + plan.settings.max_thinking_tokens
            bounds["context"] = context - read - config.min_output_tokens - config.step_overhead
        if not bounds:
            return plan
        guide = config.compile(plan.target).guide
        lowest = min(bounds, key=lambda name: bounds[name])
        if bounds[lowest] <= 0 or not guide.cursor().fits(bounds[lowest]):
            return self._plan(config.final_target, lowest)
        max_tokens = min(bounds[lowest], token_budget(guide, None, None, 0))
        return replace(plan, settings=replace(plan.settings, max_tokens=max_tokens))

    def _plan(self, target: StepTarget, limit: LimitName | None = None) -> StepPlan:
        """Return the plan of a step that can generate all remaining tokens."""
        left, thoughts = self.remaining_tokens, self._config.settings.max_thinking_tokens
        if left is not None:  # thinking tokens count against the same limit
            thoughts = min(thoughts, max(0, left - self._config.min_output_tokens) // 2)
            left -= thoughts
        return StepPlan(target=target, settings=self._settings(left, thoughts), limit=limit)

    def _settings(self, max_tokens: int | None, max_thinking_tokens: int) -> Settings:
        return replace(
            self._config.settings,
            max_tokens=max_tokens,
            timeout=self.remaining_seconds,
            max_thinking_tokens=max_thinking_tokens,
            charge_discarded=self.max_tokens is not None,
            include_schema=False,
        )

    def fit_history(
        self, history: Sequence[Message], messages: Sequence[Message], header: PromptHeader
    ) -> Sequence[Message]:
        """Return the messages of earlier runs that the prompt of the first step has room for.

        With `history="cut"`, the oldest turns are dropped until the prompt needs at most half of the context.

        Raises:
            GenerationError: Without it, the prompt leaves no room for the shortest result.
        """
        config, context = self._config, self._config.context_length
        if context is None or not history:
            return history
        needed = self._prompt_length([*history, *messages], header)
        if config.history.cut:
            if needed <= context // 2:
                return history
            starts = turn_starts(history)
            dropped = bisect_left(
                starts,
                True,
                key=lambda start: self._prompt_length([*history[start:], *messages], header) <= context // 2,
            )
            start = starts[min(dropped, len(starts) - 1)]
            _log.info(
                "%s: the history is cut to the last %d of %d messages",
                config.label,
                len(history) - start,
                len(history),
            )
            return history[start:]
        if needed + config.min_output_tokens > context and not config.history.processors:
            raise GenerationError(
                f"the prompt has {needed} tokens with the messages of earlier runs, and {config.model.name} has a "
                f"context of {context}, which leaves no room for the result; pass fewer messages, or make the "
                "agent with history='cut', history='shorten' or a function that shortens them",
                place="messages",
            )
        return history

    def shorten_outputs(self, messages: Sequence[Message], header: PromptHeader | None) -> Sequence[Message]:
        """Return messages with the oldest outputs truncated, so that the prompt needs at most half of the context.

        Without `history="shorten"`, or if the prompt needs no more, they are unchanged.
        """
        context = self._config.context_length
        if not self._config.history.shorten or context is None:
            return messages
        places = [at for at, message in enumerate(messages) if isinstance(message, Output)]

        def shortened(count: int) -> list[Message]:
            oldest = frozenset(places[:count])
            return [
                replace(message, content=self._truncate(message.content, MIN_RESULT_TOKENS))
                if at in oldest and isinstance(message, Output)
                else message
                for at, message in enumerate(messages)
            ]

        count = bisect_left(
            range(len(places)),
            True,
            key=lambda count: self._prompt_length(shortened(count), header) <= context // 2,
        )
        return shortened(count) if count else messages

    def _prompt_length(self, messages: Sequence[Message], header: PromptHeader | None) -> int:
        return len(self._config.logits_model.encode(self._config.turns(messages, header)))

    def truncate_results(
        self, messages: Sequence[Message], results: Sequence[Output], header: PromptHeader | None = None
    ) -> list[Output]:
        """Truncate outputs that need more than half of the context that remains besides the result."""
        config = self._config
        context = config.context_length
        if context is None:
            return list(results)
        empty = [replace(output, content="") for output in results]
        turns = config.turns([*messages, *with_note(empty, NO_MORE_CALLS)], header)
        room = (
            context - len(config.logits_model.encode(turns)) - config.min_output_tokens - config.step_overhead
        )
        each = max(MIN_RESULT_TOKENS, room // (2 * len(results)))
        return [replace(output, content=self._truncate(output.content, each)) for output in results]

    def _truncate(self, text: str, max_tokens: int) -> str:
        encode = self._config.logits_model.encode_text
        # A longer text has more than `max_tokens` tokens, and tokenizing it can take minutes.
        kept = text[: max_tokens * self._config.max_token_length + 1]
        tokens = len(encode(kept))
        while tokens > max_tokens and kept:
            kept = kept[: min(len(kept) - 1, len(kept) * max_tokens // (2 * tokens))]
            shown = f"{kept} ... ({len(text) - len(kept)} more characters)"
            tokens = len(encode(shown))
            if tokens <= max_tokens:
                return shown
        return kept or ("..." if text else "")


def min_limit(one: N | None, other: N | None) -> N | None:
    """Return the smaller limit; `None` is no limit."""
    return other if one is None else one if other is None else min(one, other)
