"""What is left to a run: tokens, seconds, and room in the model's context."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

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
    """What one run may take at most, where that is less than its agent allows.

    A run keeps to them as to those of its agent: it ends in a value within them, or is refused before its first step.
    """

    max_tokens: int | None = None
    """Tokens of all steps together; see `Agent`."""

    max_steps: int | None = None
    """How often the model is asked, the result included."""

    timeout: float | None = None
    """Seconds, after which only the result remains, and no call is waited for."""

    def __post_init__(self) -> None:
        check_int("max_tokens", self.max_tokens, 0)
        check_int("max_steps", self.max_steps, 1)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, float("inf"))


class RunBudget:
    """The bounds of one run, and what it took so far.

    Attributes:
        usage: What it took.
        max_steps: How often the model may be asked.
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
        """How long the run has been at work."""
        return time.perf_counter() - self._started_at

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds before only the result remains; `None` for no bound."""
        return None if self._timeout is None else max(0.0, self._timeout - self.elapsed_seconds)

    @property
    def is_overdue(self) -> bool:
        """Whether the time is over."""
        return self.remaining_seconds == 0

    @property
    def remaining_tokens(self) -> int | None:
        """Tokens that may still be computed, those of the result among them; `None` for no bound."""
        return None if self._max_tokens is None else self._max_tokens - self.usage.written_tokens

    def share(self, calls: int) -> int | None:
        """Tokens that each of several calls may have other models write."""
        left = self.remaining_tokens
        return None if left is None else max(0, left - self._config.min_output_tokens) // calls

    def add_usage(self, usage: Usage) -> None:
        """Count what something took."""
        self.usage = add_usage(self.usage, usage)

    def check(self) -> None:
        """Refuse to go on without room for a result.

        Raises:
            BudgetTooSmall: The tokens that are left do not suffice for the shortest one.
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
        """The language of the next step, its tokens and seconds, and why there is no other.

        Calls leave the room that the result needs; where they cannot, only the result remains.
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
        if bounds:  # thoughts are of the same tokens
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
        """Those of a step in which only the result remains."""
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

    def truncate_results(self, messages: Sequence[Message], results: Sequence[Output]) -> list[Output]:
        """Outputs after messages, cut where they would take more than half of the room that the result leaves."""
        setup = self._config
        context = setup.model.context_length
        if context is None:
            return list(results)
        empty = [replace(output, content="") for output in results]
        turns = setup.turns([*messages, *with_note(empty, NO_MORE_CALLS)])
        room = context - len(setup.model.encode(turns)) - setup.min_output_tokens - setup.step_overhead
        each = max(MIN_RESULT_TOKENS, room // (2 * len(results)))
        return [replace(output, content=self._truncate(output.content, each)) for output in results]

    def _truncate(self, text: str, max_tokens: int) -> str:
        encode = self._config.model.encode_text
        # What is longer has more tokens, and to count them may take minutes.
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
    """The smaller bound; `None` for no bound."""
    return other if one is None else one if other is None else min(one, other)
