"""The budget of a run: tokens, seconds, and the context of the model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

from structkit.agent.prompt.header import PromptHeader
from structkit.agent.run.config import MIN_RESULT_TOKENS, NO_MORE_CALLS, AgentConfig
from structkit.agent.run.state import RunState, add_usage, with_note
from structkit.agent.run.step import AvailableTool, StepTarget
from structkit.errors import BudgetTooSmall
from structkit.generate.input.options import Settings
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Usage
from structkit.generate.run.request import token_budget
from structkit.generate.sample.sample import check_int, check_number
from structkit.messages import Message, Output

__all__ = ["RunBudget", "RunFinishReason", "UsageLimits", "min_limit"]

N = TypeVar("N", int, float)

RunFinishReason: TypeAlias = Literal["stop", "steps", "budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimits:
    """Limits of one run, in addition to those of its agent.

    A run ends with a value within its limits, or raises before its first step.
    """

    max_tokens: int | None = None
    """Maximum number of tokens of all steps; see `Agent`."""

    max_steps: int | None = None
    """Maximum number of steps, including the result."""

    timeout: float | None = None
    """Seconds after which pending calls are abandoned and only the result is generated."""

    def __post_init__(self) -> None:
        check_int("max_tokens", self.max_tokens, 0)
        check_int("max_steps", self.max_steps, 1)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, float("inf"))


class RunBudget:
    """The limits of one run, and its usage so far.

    Attributes:
        usage: The usage so far.
        max_steps: Maximum number of steps.
    """

    def __init__(self, config: AgentConfig, state: RunState, usage_limits: UsageLimits) -> None:
        if not isinstance(usage_limits, UsageLimits):
            raise TypeError(f"usage_limits is structkit.UsageLimits(...), not {usage_limits!r:.60}")
        self.usage = state.usage
        self.max_steps = min(config.max_steps, usage_limits.max_steps or config.max_steps)
        self._config = config
        self._max_tokens = min_limit(config.settings.max_tokens, usage_limits.max_tokens)
        self._timeout = min_limit(config.settings.timeout, usage_limits.timeout)
        self._started_at = time.perf_counter() - state.elapsed_seconds

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the start of the run, without the time when it was suspended."""
        return time.perf_counter() - self._started_at

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds until only the result may be generated; `None` for no limit."""
        return None if self._timeout is None else max(0.0, self._timeout - self.elapsed_seconds)

    @property
    def is_overdue(self) -> bool:
        """Whether the timeout has passed."""
        return self.remaining_seconds == 0

    @property
    def remaining_tokens(self) -> int | None:
        """Remaining tokens, including those of the result; `None` for no limit."""
        return None if self._max_tokens is None else self._max_tokens - self.usage.written_tokens

    def share(self, calls: int) -> int | None:
        """Return the tokens that each of multiple calls may generate with other models."""
        left = self.remaining_tokens
        return None if left is None else max(0, left - self._config.min_output_tokens) // calls

    def add_usage(self, usage: Usage) -> None:
        """Add usage to that of the run."""
        self.usage = add_usage(self.usage, usage)

    def check(self) -> None:
        """Check that a result fits into the remaining tokens.

        Raises:
            BudgetTooSmall: The remaining tokens do not suffice for the shortest result.
        """
        setup, left = self._config, self.remaining_tokens
        if (
            left is not None
            and left < setup.min_output_tokens
            and not setup.compile(setup.final_target).guide.cursor().fits(left)
        ):
            raise BudgetTooSmall(setup.min_output_tokens, max(0, left), place="max_tokens of the run")

    def next_step(
        self, tools: Sequence[AvailableTool], turns: Prompt
    ) -> tuple[StepTarget, Settings, RunFinishReason]:
        """Return the target and settings of the next step, and the finish reason if it is the last.

        The token limit of a call reserves the tokens of the result. If no call fits, the target is the result.
        """
        self.check()
        setup, left = self._config, self.remaining_tokens
        if not tools or self.is_overdue:
            return (
                setup.final_target,
                self._final_settings(),
                "budget" if self.is_overdue else "steps" if setup.tools else "stop",
            )
        bounds = [] if left is None else [left - setup.min_output_tokens]
        thoughts = setup.settings.max_thinking_tokens
        if bounds:  # thinking tokens count against the same limit
            thoughts = min(thoughts, max(0, bounds[0]) // 2)
            bounds[0] -= thoughts
        if setup.model.context_length is not None:
            room = setup.model.context_length - len(setup.model.encode(turns)) - thoughts
            bounds.append(room - setup.min_output_tokens - setup.step_overhead)
        target = setup.step_target(tools)
        if not bounds:
            return target, self._settings(None, thoughts), "stop"
        guide = setup.compile(target).guide
        if min(bounds) <= 0 or not guide.cursor().fits(min(bounds)):
            return setup.final_target, self._final_settings(), "budget"
        return target, self._settings(min(*bounds, token_budget(guide, None, None, 0)), thoughts), "stop"

    def _final_settings(self) -> Settings:
        """Return the settings of a step that generates the result."""
        left, thoughts = self.remaining_tokens, self._config.settings.max_thinking_tokens
        if left is not None:
            thoughts = min(thoughts, (left - self._config.min_output_tokens) // 2)
            left -= thoughts
        return self._settings(left, thoughts)

    def _settings(self, max_tokens: int | None, max_thinking_tokens: int) -> Settings:
        return replace(
            self._config.settings,
            max_tokens=max_tokens,
            timeout=self.remaining_seconds,
            max_thinking_tokens=max_thinking_tokens,
            charge_discarded=self._max_tokens is not None,
            include_schema=False,
        )

    def truncate_results(
        self, messages: Sequence[Message], results: Sequence[Output], header: PromptHeader | None = None
    ) -> list[Output]:
        """Truncate outputs that need more than half of the context that remains besides the result."""
        setup = self._config
        context = setup.model.context_length
        if context is None:
            return list(results)
        empty = [replace(output, content="") for output in results]
        turns = setup.turns([*messages, *with_note(empty, NO_MORE_CALLS)], header)
        room = context - len(setup.model.encode(turns)) - setup.min_output_tokens - setup.step_overhead
        each = max(MIN_RESULT_TOKENS, room // (2 * len(results)))
        return [replace(output, content=self._truncate(output.content, each)) for output in results]

    def _truncate(self, text: str, max_tokens: int) -> str:
        encode = self._config.model.encode_text
        # A longer text has more than `max_tokens` tokens, and tokenizing it can take minutes.
        kept = text[: max_tokens * self._config.max_token_length + 1]
        tokens = len(encode(kept))
        while tokens > max_tokens and kept:
            kept = kept[: min(len(kept) - 1, len(kept) * max_tokens // (2 * tokens))]
            shown = f"{kept} ... ({len(text) - len(kept)} more characters)"
            tokens = len(encode(shown))
            if tokens <= max_tokens:
                return shown
        return kept or "..."


def min_limit(one: N | None, other: N | None) -> N | None:
    """Return the smaller limit; `None` is no limit."""
    return other if one is None else one if other is None else min(one, other)
