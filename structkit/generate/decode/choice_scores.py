"""The probabilities that the model assigns to the values of a choice in the schema.

The probability of a value is the product of the probabilities of its tokens, in the encoding of the model's tokenizer.
The probability of the first token comes from the current logits, those of the others from one more forward pass over
all branches. The probabilities are normalized to sum to 1 over the values.
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
"""Returns the texts of the possible values at a path, if they can be listed; see `choices_at`."""


@dataclass(slots=True)
class ChoicePoint:
    """The start of a choice.

    Attributes:
        path: The path of the value.
        start: The byte at which the value starts.
        texts: The possible values.
        branches: The remaining tokens of each value.
        is_open: Whether other values are also possible.
        probabilities: The probability of each value, once known.
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
            sampled: The sampled token, with the log-probability of each first token.
            scores: For each branch, the log-probabilities of its tokens; the first is 0 and not used.
        """
        logprobs = [
            first + float(score[1:].sum()) for first, score in zip(sampled.candidates, scores, strict=True)
        ]
        # Without other values only the ratios matter; the unscaled probabilities of long texts would underflow.
        top = 0.0 if self.is_open else max(logprobs)
        prefix = [math.exp(logprob - top) if logprob > -math.inf else 0.0 for logprob in logprobs]
        exact = [value - self._longer_probability(prefix, number) for number, value in enumerate(prefix)]
        total = 1 - sampled.masked_probability if self.is_open else sum(exact)
        if total > 0:
            for text, probability in zip(self.texts, exact, strict=True):
                self.probabilities[text] = min(1.0, probability / total)
            if self.is_open:
                self.probabilities[OTHER] = max(0.0, 1 - sum(self.probabilities.values()))

    def _longer_probability(self, probabilities: Sequence[float], number: int) -> float:
        """Return the probability of the values whose tokens start with those of this one: "low" and "low" + "er"."""
        shorter = self.branches[number]
        longer = [
            n
            for n, branch in enumerate(self.branches)
            if len(branch) > len(shorter) and branch[: len(shorter)] == shorter
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
    """Detects the starts of choices in a text that is being generated.

    Args:
        cursor: The cursor of the sequence.
        choices: Returns the possible values at a path.
        reader: The reader of the text, if it is JSON; the caller rewinds it when text is taken back.
    """

    def __init__(self, cursor: Cursor, choices: ChoicesAt, reader: JsonReader | None) -> None:
        self._cursor = cursor
        self._choices = choices
        self._reader = reader
        self._started: dict[Path, ChoicePoint | None] = {}

    def start_choice(
        self, text: bytearray, tokenize: Callable[[str], list[int]], max_tokens: int
    ) -> ChoicePoint | None:
        """Return the choice that starts at the end of a text, if there is one.

        Args:
            text: The generated text; it continues the text of the last call.
            tokenize: Returns the tokens of a text; an empty list if the text cannot be encoded.
            max_tokens: The remaining tokens; values that need more are not possible.
        """
        # The next token may contain the forced bytes and also the start of a value.
        pending = self._cursor.pending_prompt
        forced = self._cursor.forced_bytes()[len(pending) :]
        current: tuple[Path, int] | None = ((), 0)
        if self._reader is not None:
            reader = self._reader.follow(text)
            if forced:
                reader = reader.fork()
                reader.read(forced)
            current = reader.current()
        if current is None or current[0] in self._started:
            return None
        path, start = current
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
        """Discard the choices that start after the first `length` bytes of the text."""
        self._started = {
            path: choice
            for path, choice in self._started.items()
            if choice is not None and choice.start < length
        }

    def probabilities(self) -> Mapping[Path, Mapping[Member, float]]:
        """Return the probabilities by path."""
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
        """Return the remaining tokens of a value; an empty list if the language does not allow the value here."""
        if not text.startswith(prefix):
            return []
        rest = text[len(prefix) :]
        is_json = self._reader is not None
        if is_json and text.startswith(b'"') and len(rest) > 1:
            rest = rest[:-1]  # one token may contain the closing quote and later text
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
