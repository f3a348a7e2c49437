"""The values that a decode flow reads, yields and returns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.generate.decode.rejected import RejectedTexts
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.output.json_reader import Field, JsonReader, Path
from structkit.generate.output.result import FinishReason
from structkit.generate.output.token import Token
from structkit.generate.output.trace import Trace
from structkit.generate.sample.step import SampledToken, SampleRequest
from structkit.rejected import Rejected
from structkit.schema.view.choices import Member

__all__ = [
    "Decoded",
    "Flow",
    "FlowRequest",
    "GeneratedTokens",
    "RejectedSpan",
    "ScoreRequest",
    "TextEnd",
    "TextView",
    "Validate",
]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A request for the log-probabilities of alternative continuations; see `Batch.score`.

    Attributes:
        branches: The tokens of each continuation.
    """

    branches: list[list[int]]


@dataclass(frozen=True, slots=True)
class TextEnd:
    """The notice that a text is complete; see `ChecksText`.

    Attributes:
        token_ids: The tokens that the model has not read.
        rollback_count: The number of tokens that the model must remove first.
    """

    token_ids: list[int]
    rollback_count: int


@dataclass(frozen=True, slots=True)
class RejectedSpan:
    """The bytes of a text that validators reject.

    Attributes:
        rejected: Why they are rejected.
        start: The first byte of the rejected value.
        end: The byte after the value.
        path: The path of the value in the text.
        starts_over: Whether the next attempt starts over with the reason in the prompt, so nothing is taken back.
    """

    rejected: Rejected
    start: int
    end: int
    path: Path = ()
    starts_over: bool = False


Validate: TypeAlias = Callable[[str], object]
"""Returns the value of a complete text, or a `RejectedSpan`."""


class GeneratedTokens:
    """The tokens of a sequence so far; streams read the text through a `TextView`.

    Attributes:
        token_ids: The tokens, without the end token.
        token_bytes: The bytes of each token, without the end of the prompt that the first token may repeat.
        scores: For each token, the log-probability among the allowed tokens and the probability that the mask removed;
            0 if the token was not sampled or not scored.
        is_forced: For each token, whether it was the only one allowed and not sampled.
        guessed: The numbers of the tokens that a draft guessed.
        text: The bytes of all tokens.
        reader: The reader of the values in `text`, if it is JSON; see `JsonReader.follow`.
        stable_length: The number of leading bytes that have not been taken back since a stream last read the text.
        rejected_path: The path of the value that is generated again after those bytes.
        discarded_tokens: The number of tokens that were taken back.
        thinking_tokens: The number of tokens before the answer.
        thinking: The thinking before the answer, until a stream takes it.
    """

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self.token_bytes: list[bytes] = []
        self.scores: list[tuple[float, float]] = []
        self.is_forced: list[bool] = []
        self.guessed: set[int] = set()
        self.text = bytearray()
        self.reader = JsonReader()
        self.stable_length = 0
        self.rejected_path: Path = ()
        self.discarded_tokens = 0
        self.thinking_tokens = 0
        self.thinking = ""
        self._lock = threading.Lock()

    def copy(self) -> GeneratedTokens:
        """Return an independent copy."""
        copied = GeneratedTokens()
        copied.token_ids, copied.token_bytes = self.token_ids.copy(), self.token_bytes.copy()
        copied.scores, copied.is_forced = self.scores.copy(), self.is_forced.copy()
        copied.text = self.text.copy()
        return copied

    def read_since(self, length: int) -> tuple[int, bytes, Path]:
        """Read the text; any thread may call it.

        Args:
            length: The length of the text when it was last read.

        Returns:
            The length of the part that is still the same, the text after it, and `rejected_path`.
        """
        with self._lock:
            kept = min(length, self.stable_length)
            added = bytes(self.text[kept:])
            self.stable_length = kept + len(added)
            return kept, added, self.rejected_path

    def tokens(self, start: int = 0) -> tuple[Token, ...]:
        """Return the tokens from a number on; while another thread appends one, those before it."""
        forced = self.is_forced[start:]  # the last of the lists that receives a token
        each = zip(
            self.token_ids[start:], self.token_bytes[start:], forced, self.scores[start:], strict=False
        )
        return tuple(
            Token(token_id, text, forced, *score, drafted=number in self.guessed and not forced)
            for number, (token_id, text, forced, score) in enumerate(each, start)
        )

    def note_guess(self, is_guessed: bool) -> None:
        """Note whether a draft guessed the token that is appended next."""
        (self.guessed.add if is_guessed else self.guessed.discard)(len(self.token_ids))

    def truncate(self, tokens: int, length: int, rejected_path: Path = ()) -> None:
        """Take back all but the first `tokens`, which have `length` bytes, to generate a value again."""
        self.discarded_tokens += len(self.token_ids) - tokens
        for each in (self.token_ids, self.token_bytes, self.scores, self.is_forced):
            del each[tokens:]
        if len(self.reader.text) > length:
            self.reader.rewind(length)
        with self._lock:
            if length < self.stable_length:
                self.rejected_path = rejected_path
            del self.text[length:]
            self.stable_length = min(self.stable_length, length)

    def values(self, *, is_json: bool) -> list[Field]:
        """Return the values in the complete text; a text that is not JSON is one value."""
        if not is_json:
            return [Field((), "string", 0, len(self.text))]
        self.reader.follow(self.text).finish()
        return self.reader.values


class TextView:
    """The text of a sequence as its stream last read it, while any thread may generate more.

    Attributes:
        text: The bytes of the text.
        stable_length: The number of leading bytes that have not been taken back since the reader last set this to the
            length of the text.
        rejected_path: See `GeneratedTokens.rejected_path`.
    """

    def __init__(self, generated: GeneratedTokens) -> None:
        self._generated = generated
        self.text = bytearray()
        self.stable_length = 0
        self.rejected_path: Path = ()

    def update(self) -> None:
        """Read what was generated since the last call."""
        kept, added, self.rejected_path = self._generated.read_since(len(self.text))
        self.stable_length = min(self.stable_length, kept)
        self.text[kept:] = added


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A complete text of the language, as tokens.

    Attributes:
        token_ids: The tokens, the end token not included.
        finish_reason: See `Result.finish_reason`.
        forced_tokens: How many of the tokens were not sampled.
        seconds: Time in the flow itself (masks, cursor, sampling, forced text) in this and the previous attempt.
        value: The value that `Validate` returned for the text.
        rejected: The texts that were rejected, those of the previous attempt included.
        rejections: For each of these texts, why it was rejected.
        rejected_texts: The texts that must not be written again.
        rejection: The last rejection, if no other text could be written; `token_ids` and `value` are then not a result.
        cause: The error that prevented another text, if there was one.
        read_tokens: The tokens that the model has read.
        read_ids: The first of these tokens: those of the prompt and of the text.
        choices: For each path with a choice, the probability of each text.
        thinking: The text that the model wrote before the answer.
        trace: The replies of a text model; `None` for a model with logits.
    """

    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    forced_tokens: int
    seconds: float
    value: object
    rejected: tuple[str, ...]
    rejections: tuple[RejectedSpan, ...]
    rejected_texts: RejectedTexts
    rejection: RejectedSpan | None
    cause: Exception | None
    read_tokens: int
    read_ids: tuple[int, ...]
    choices: Mapping[Path, Mapping[Member, float]]
    thinking: str | None
    trace: Trace | None = None


FlowRequest: TypeAlias = SampleRequest | ScoreRequest | TextEnd | ValidateOutput
"""What a flow yields."""

Flow: TypeAlias = Generator[FlowRequest, SampledToken | list[NDArray[np.float32]] | Rejected | None, R]
"""A generator that is sent a `SampledToken` for a `SampleRequest`, a list of arrays for a `ScoreRequest`, a
`Rejected` or `None` for a `ValidateOutput`, and `None` for a `TextEnd`."""
