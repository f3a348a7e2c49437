"""What a check found, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["CheckReport", "Counterexample", "Rejection", "Side"]

Side: TypeAlias = Literal["generated but rejected", "valid but not generated"]

_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A text about which the guide and the type, or the schema, disagree.

    Attributes:
        text: The text.
        side: Whether the guide would write what is refused, or would not write what is accepted.
        error: What the type says of it, or why it should be written.
    """

    text: str
    side: Side
    error: str

    def __str__(self) -> str:
        return f"{self.side}: {_cut(self.text)}\n    {_cut(self.error)}"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A validator that refuses what the guide writes: no mistake, but each costs an attempt.

    Attributes:
        path: The part of the value that it refuses, such as `$.items[].age`.
        message: What it says, of the text below.
        count: How many of the sentences it was that refused them first.
        text: The shortest of them.
    """

    path: str
    message: str
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `check` found.

    Attributes:
        name: What was checked.
        n: The sentences that were validated until one was refused.
        validated: The changed values that were accepted and fed back into the guide, until one was not written.
        counterexamples: The smallest that were found, at most one for each side.
        rejections: The validators that refused sentences, the busiest first.
        note: Why something was not looked at; empty if all was.
    """

    name: str
    n: int
    validated: int
    counterexamples: tuple[Counterexample, ...]
    rejections: tuple[Rejection, ...]
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether at least one sentence was validated and no counterexample was found."""
        return self.n > 0 and not self.counterexamples

    @property
    def rejected(self) -> int:
        """How many of the sentences validators refused."""
        return sum(refusal.count for refusal in self.rejections)

    @property
    def rejection_rate(self) -> float:
        """How often validators refuse a random sentence, from 0 to 1.

        A model is no dice, so this is not how often they refuse its values; but what they refuse of everything they
        would have to tell a model, or the type could say.
        """
        return self.rejected / self.n if self.n else 0.0

    def __str__(self) -> str:
        """All of it, on a few lines."""
        found = len(self.counterexamples)
        lines = [
            f"{self.name}: {self.n} sentences, {self.validated} values fed back, {found} counterexamples"
        ]
        lines += [f"  {counterexample}" for counterexample in self.counterexamples]
        if self.rejections:
            lines.append(
                f"  validators refuse {self.rejection_rate:.1%} of the sentences; each costs an attempt:"
            )
        for refusal in self.rejections:
            lines.append(f"  {refusal.count:6} at {refusal.path}: {_cut(refusal.message)}")
            lines.append(f"         {_cut(refusal.text)}")
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]} ... {text[-_MAX_SHOWN // 2 :]}"
