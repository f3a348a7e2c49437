"""What is left to a run: tokens, seconds, and room in the model's context."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

from structkit.agent.run.config import LEAST_OUTPUT, NO_MORE, Setup
from structkit.agent.run.state import RunState, add_usage, with_note
from structkit.agent.run.step import Offer, StepTarget
from structkit.errors import BudgetTooSmall
from structkit.generate.input.options import Settings
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Usage
from structkit.generate.run.request import budget_of
from structkit.generate.sample.sample import check_number, check_whole
from structkit.messages import Message, Output

__all__ = ["Room", "UsageLimits", "Why", "least"]

N = TypeVar("N", int, float)

Why: TypeAlias = Literal["stop", "steps", "budget"]


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
        check_whole("max_tokens", self.max_tokens, 0)
        check_whole("max_steps", self.max_steps, 1)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, float("inf"))


class Room:
    """The bounds of one run, and what it took so far.

    Attributes:
        usage: What it took.
        max_steps: How often the model may be asked.
    """

    def __init__(self, setup: Setup, state: RunState, allowed: UsageLimits) -> None:
        if not isinstance(allowed, UsageLimits):
            raise TypeError(f"usage_limits is structkit.UsageLimits(...), not {allowed!r:.60}")
        self.usage = state.usage
        self.max_steps = min(setup.max_steps, allowed.max_steps or setup.max_steps)
        self._setup = setup
        self._most = least(setup.settings.max_tokens, allowed.max_tokens)
        self._timeout = least(setup.settings.timeout, allowed.timeout)
        self._begin = time.perf_counter() - state.seconds

    @property
    def seconds(self) -> float:
        """How long the run has been at work."""
        return time.perf_counter() - self._begin

    @property
    def seconds_left(self) -> float | None:
        """Seconds before only the result remains; `None` for no bound."""
        return None if self._timeout is None else max(0.0, self._timeout - self.seconds)

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.seconds_left == 0

    @property
    def tokens_left(self) -> int | None:
        """Tokens that may still be computed, those of the result among them; `None` for no bound."""
        return None if self._most is None else self._most - self.usage.written_tokens

    def share(self, calls: int) -> int | None:
        """Tokens that each of several calls may have other models write."""
        left = self.tokens_left
        return None if left is None else max(0, left - self._setup.need) // calls

    def spend(self, usage: Usage) -> None:
        """Count what something took."""
        self.usage = add_usage(self.usage, usage)

    def check(self) -> None:
        """Refuse to go on without room for a result.

        Raises:
            BudgetTooSmall: The tokens that are left do not suffice for the shortest one.
        """
        setup, left = self._setup, self.tokens_left
        if (
            left is not None
            and left < setup.need
            and not setup.compiled(setup.last).guide.cursor().fits(left)
        ):
            raise BudgetTooSmall(setup.need, max(0, left), place="max_tokens of the run")

    def bounded(self, offers: Sequence[Offer], turns: Prompt) -> tuple[StepTarget, Settings, Why]:
        """The language of the next step, its tokens and seconds, and why there is no other.

        Calls leave the room that the result needs; where they cannot, only the result remains.
        """
        self.check()
        setup, left = self._setup, self.tokens_left
        if not offers or self.late:
            return setup.last, self._last(), "budget" if self.late else "steps" if setup.tools else "stop"
        bounds = [] if left is None else [left - setup.need]
        thoughts = setup.settings.thoughts
        if bounds:  # thoughts are of the same tokens
            thoughts = min(thoughts, max(0, bounds[0]) // 2)
            bounds[0] -= thoughts
        if setup.model.context_length is not None:
            room = setup.model.context_length - len(setup.model.encode(turns)) - thoughts
            bounds.append(room - setup.need - setup.reserve)
        target = setup.target(offers)
        if not bounds:
            return target, self._settings(None, thoughts), "stop"
        guide = setup.compiled(target).guide
        if min(bounds) <= 0 or not guide.cursor().fits(min(bounds)):
            return setup.last, self._last(), "budget"
        return target, self._settings(min(*bounds, budget_of(guide, None, None, 0)), thoughts), "stop"

    def _last(self) -> Settings:
        """Those of a step in which only the result remains."""
        left, thoughts = self.tokens_left, self._setup.settings.thoughts
        if left is not None:
            thoughts = min(thoughts, (left - self._setup.need) // 2)
            left -= thoughts
        return self._settings(left, thoughts)

    def _settings(self, max_tokens: int | None, thoughts: int) -> Settings:
        return replace(
            self._setup.settings,
            max_tokens=max_tokens,
            timeout=self.seconds_left,
            thoughts=thoughts,
            spend=self._most is not None,
            describe=False,
        )

    def shortened(self, messages: Sequence[Message], outputs: Sequence[Output]) -> list[Output]:
        """Outputs after messages, cut where they would take more than half of the room that the result leaves."""
        setup = self._setup
        context = setup.model.context_length
        if context is None:
            return list(outputs)
        empty = [replace(output, content="") for output in outputs]
        turns = setup.turns([*messages, *with_note(empty, NO_MORE)])
        room = context - len(setup.model.encode(turns)) - setup.need - setup.reserve
        each = max(LEAST_OUTPUT, room // (2 * len(outputs)))
        return [replace(output, content=self._cut(output.content, each)) for output in outputs]

    def _cut(self, text: str, most: int) -> str:
        encode = self._setup.model.encode_text
        # What is longer has more tokens, and to count them may take minutes.
        kept = text[: most * self._setup.longest + 1]
        tokens = len(encode(kept))
        while tokens > most and kept:
            kept = kept[: min(len(kept) - 1, len(kept) * most // (2 * tokens))]
            shown = f"{kept} ... ({len(text) - len(kept)} more characters)"
            tokens = len(encode(shown))
            if tokens <= most:
                return shown
        return kept or "..."


def least(one: N | None, other: N | None) -> N | None:
    """The smaller bound; `None` for no bound."""
    return other if one is None else one if other is None else min(one, other)
