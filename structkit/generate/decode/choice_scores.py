"""Choices: how likely the model finds each of the values among which the schema lets it choose.

A value's probability is that of its text, in the tokens that the model's tokenizer writes for it, by the chain rule:
the first token's from the logits at hand, the others' from one more look of the model at all branches. They are made
to sum to 1 over the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.errors import TokenRejected
from structkit.generate.output.json_reader import JsonReader, Path
from structkit.generate.sample.step import SampledToken
from structkit.guide.guide import Cursor
from structkit.schema.view.choices import OTHER, Member

__all__ = ["ChoicePoint", "ChoiceScorer", "ChoicesAt"]

ChoicesAt: TypeAlias = "Callable[[Path], Sequence[Member] | None]"
"""The texts of the values that are possible at a place, if they can be listed; see `choices_at`."""


@dataclass(slots=True)
class ChoicePoint:
    """A choice that begins.

    Attributes:
        path: Where.
        start: The byte at which the value begins.
        texts: The values that can be written.
        branches: The tokens that are left to write for each.
        is_open: Whether other values are possible too.
        probabilities: The probability of each value, once it is known.
    """

    path: Path
    start: int
    texts: list[str]
    branches: list[list[int]]
    is_open: bool
    probabilities: dict[Member, float] = field(default_factory=dict)

    @property
    def first_tokens(self) -> tuple[int, ...]:
        """The first token of each branch."""
        return tuple(branch[0] for branch in self.branches)

    def set_probabilities(self, sampled: SampledToken, scores: Sequence[NDArray[np.float32]]) -> None:
        """Compute the probabilities.

        Args:
            sampled: With the log-probability of each first token.
            scores: Those of the tokens after it.
        """
        logprobs = [
            first + float(score[1:].sum()) for first, score in zip(sampled.candidates, scores, strict=True)
        ]
        # Only their ratios count if there are no others; those of long texts would be 0 as they are.
        top = 0.0 if self.is_open else max(logprobs)
        chances = [math.exp(logprob - top) if logprob > -math.inf else 0.0 for logprob in logprobs]
        whole = [chance - self._longer_probability(chances, number) for number, chance in enumerate(chances)]
        total = 1 - sampled.masked_probability if self.is_open else sum(whole)
        if total > 0:
            for text, chance in zip(self.texts, whole, strict=True):
                self.probabilities[text] = min(1.0, chance / total)
            if self.is_open:
                self.probabilities[OTHER] = max(0.0, 1 - sum(self.probabilities.values()))

    def _longer_probability(self, probabilities: Sequence[float], number: int) -> float:
        """The probability of values that begin with the tokens of this one: "low" and "low" + "er"."""
        mine = self.branches[number]
        longer = [
            n
            for n, branch in enumerate(self.branches)
            if len(branch) > len(mine) and branch[: len(mine)] == mine
        ]
        nearest = [
            n
            for n in longer
            if not any(
                m != n and self.branches[n][: len(self.branches[m])] == self.branches[m] for m in longer
            )
        ]
        return sum(probabilities[n] for n in nearest)


class ChoiceScorer:
    """Finds where choices begin in a text that is being written.

    Args:
        cursor: Where the sequence stands.
        choices: The values that are possible at a place.
        reader: What reads the text, if it is JSON; whoever takes text back rewinds it.
    """

    def __init__(self, cursor: Cursor, choices: ChoicesAt, reader: JsonReader | None) -> None:
        self._cursor = cursor
        self._choices = choices
        self._reader = reader
        self._started: dict[Path, ChoicePoint | None] = {}

    def start_choice(
        self, text: bytearray, tokenize: Callable[[str], list[int]], max_tokens: int
    ) -> ChoicePoint | None:
        """The choice that begins at the end of a text, if one does.

        Args:
            text: What was written; it goes on from the text of the last call.
            tokenize: The tokens of a text; none if it cannot be written.
            max_tokens: The most tokens that can be written: values that need more are not possible.
        """
        # The next token may write what is forced, and the beginning of a value too.
        pending = self._cursor.pending_prompt
        forced = self._cursor.forced_bytes()[len(pending) :]
        here: tuple[Path, int] | None = ((), 0)
        if self._reader is not None:
            ahead = self._reader.follow(text)
            if forced:
                ahead = ahead.fork()
                ahead.read(forced)
            here = ahead.current()
        if here is None or here[0] in self._started:
            return None
        path, start = here
        choice = self._choice(
            path,
            start,
            bytes(text + forced)[start:],
            (pending + forced).decode(errors="replace"),
            tokenize,
            max_tokens,
        )
        self._started[path] = choice
        return choice

    def truncate(self, length: int) -> None:
        """Forget what lies past the first bytes of the text."""
        self._started = {
            path: choice
            for path, choice in self._started.items()
            if choice is not None and choice.start < length
        }

    def probabilities(self) -> Mapping[Path, Mapping[Member, float]]:
        """The probabilities found."""
        return {
            path: choice.probabilities
            for path, choice in self._started.items()
            if choice is not None and choice.probabilities
        }

    def _choice(
        self,
        path: Path,
        start: int,
        prefix: bytes,
        forced: str,
        tokenize: Callable[[str], list[int]],
        max_tokens: int,
    ) -> ChoicePoint | None:
        texts = self._choices(path)
        if texts is None:
            return None
        branches = {
            text: self._branch(text.encode(), prefix, forced, tokenize)
            for text in texts
            if isinstance(text, str)
        }
        possible = {text: branch for text, branch in branches.items() if 0 < len(branch) <= max_tokens}
        if not possible or (len(possible) < 2 and OTHER not in texts):
            return None
        return ChoicePoint(path, start, list(possible), list(possible.values()), OTHER in texts)

    def _branch(
        self, text: bytes, prefix: bytes, forced: str, tokenize: Callable[[str], list[int]]
    ) -> list[int]:
        """The tokens that are left to write, to the end of a value; none if the language does not allow it here."""
        if not text.startswith(prefix):
            return []
        rest = text[len(prefix) :]
        is_json = self._reader is not None
        if is_json and text.startswith(b'"') and len(rest) > 1:
            rest = rest[:-1]  # the closing quote may be a token with what follows
        for space in (b"", b" ") if is_json and not prefix else (b"",):
            try:
                ids = tokenize(forced + (space + rest).decode())
                cursor = self._cursor.fork()
                for token in ids:
                    cursor.advance(token)
            except (TokenRejected, UnicodeDecodeError):
                continue
            if ids:
                return ids
        return []
