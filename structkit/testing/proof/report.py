"""Reports of checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["CheckReport", "Counterexample", "Rejection", "Side"]

Side: TypeAlias = Literal["generated but rejected", "valid but not generated"]

_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A text about which the guide and the target disagree.

    Attributes:
        text: The text.
        side: Whether the text is generated but rejected, or valid but not generated.
        error: The validation error, or why the text should be generated.
    """

    text: str
    side: Side
    error: str

    def __str__(self) -> str:
        return f"{self.side}: {_cut(self.text)}\n    {_cut(self.error)}"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Sentences that a custom validator rejects: not a mistake, but each one costs a retry.

    Attributes:
        path: Path of the rejected value, such as `$.items[].age`.
        message: The validation error of `text`.
        count: Number of sentences whose first error this is.
        text: The shortest of these sentences.
    """

    path: str
    message: str
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report of `check`.

    Attributes:
        name: Name of the target.
        n: Number of sentences validated up to the first counterexample.
        validated: Number of changed, valid values that were checked up to the first counterexample.
        counterexamples: The smallest counterexamples, at most one per side.
        rejections: Rejections by custom validators, in descending order of their counts.
        note: Why a search was incomplete or skipped; empty otherwise.
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
        """Number of sentences that custom validators rejected."""
        return sum(refusal.count for refusal in self.rejections)

    @property
    def rejection_rate(self) -> float:
        """Share of random sentences that custom validators reject, from 0 to 1.

        A model does not write random sentences, so its rate differs; but a high rate shows constraints that the type
        could express, or a prompt should state.
        """
        return self.rejected / self.n if self.n else 0.0

    def __str__(self) -> str:
        """Return the report on a few lines."""
        found = len(self.counterexamples)
        lines = [f"{self.name}: {self.n} sentences, {self.validated} changed values, {found} counterexamples"]
        lines += [f"  {counterexample}" for counterexample in self.counterexamples]
        if self.rejections:
            lines.append(
                f"  validators reject {self.rejection_rate:.1%} of the sentences; each one costs a retry:"
            )
        for refusal in self.rejections:
            lines.append(f"  {refusal.count:6} at {refusal.path}: {_cut(refusal.message)}")
            lines.append(f"         {_cut(refusal.text)}")
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]} ... {text[-_MAX_SHOWN // 2 :]}"
