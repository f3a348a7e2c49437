"""What a sequence is to be, what a flow asks for on its way, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.generate.decode.choice_scores import ChoicesAt
from structkit.generate.decode.field_budget import FieldLimits
from structkit.generate.decode.rejected import RejectedTexts
from structkit.generate.decode.retokenize import Tokenize
from structkit.generate.decode.speculate import DrafterFactory, PromptLookupDrafter
from structkit.generate.output.json_reader import Field, JsonReader, Path
from structkit.generate.output.result import FinishReason
from structkit.generate.sample.processors import ProcessorStack
from structkit.generate.sample.sample import Sampling
from structkit.generate.sample.step import SampledToken, SampleRequest
from structkit.rejected import Rejected
from structkit.schema.view.choices import Member

__all__ = ["DecodeConfig", "Decoded", "Flow", "GeneratedTokens", "RejectedSpan", "ScoreRequest", "Validate"]


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """What a flow asks for: how likely the model finds several ways to go on; see `Rows.score`.

    Attributes:
        branches: The tokens of each way.
    """

    branches: list[list[int]]


@dataclass(frozen=True, slots=True)
class RejectedSpan:
    """The bytes of a text that validators reject.

    Attributes:
        rejected: Why they are rejected.
        start: The first byte of the rejected value.
        end: The byte after the value.
        path: The path of the value in the text.
    """

    rejected: Rejected
    start: int
    end: int
    path: Path = ()


Validate: TypeAlias = Callable[[str], "RejectedSpan | None"]
"""Looks at a complete text."""


class GeneratedTokens:
    """The tokens of a sequence so far; whoever looks on may see them grow.

    Attributes:
        token_ids: The tokens, the end token not included.
        token_bytes: What each writes; the first may spell the end of the prompt before that.
        scores: For each the log-probability among the allowed tokens and the probability that the mask removed; 0
            where it was not sampled or not scored.
        is_forced: For each whether it was not sampled, because nothing else could follow.
        text: Their bytes.
        reader: Reads the values in them, if they are JSON; see `JsonReader.follow`.
        stable_length: The bytes that were never taken back since this was last set to the length of the text.
        rejected_path: The value that is written anew from there.
        discarded_tokens: How many tokens were taken back.
        thinking_tokens: How many tokens were thought before.
    """

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self.token_bytes: list[bytes] = []
        self.scores: list[tuple[float, float]] = []
        self.is_forced: list[bool] = []
        self.text = bytearray()
        self.reader = JsonReader()
        self.stable_length = 0
        self.rejected_path: Path = ()
        self.discarded_tokens = 0
        self.thinking_tokens = 0

    def truncate(self, tokens: int, length: int, rejected_path: Path = ()) -> None:
        """Take back all but the first tokens, which have so many bytes, to write a value anew."""
        if length < self.stable_length:
            self.rejected_path = rejected_path
        self.discarded_tokens += len(self.token_ids) - tokens
        for each in (self.token_ids, self.token_bytes, self.scores, self.is_forced):
            del each[tokens:]
        del self.text[length:]
        if len(self.reader.text) > length:
            self.reader.rewind(length)
        self.stable_length = min(self.stable_length, length)

    def values(self, *, is_json: bool) -> list[Field]:
        """The values in the text, which is complete; one that is not JSON is one value."""
        if not is_json:
            return [Field((), "string", 0, len(self.text))]
        self.reader.follow(self.text).finish()
        return self.reader.values


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeConfig:
    """How a sequence is written.

    Attributes:
        budget: The most tokens, the end token not counted.
        sampling: How tokens are chosen.
        sequence_index: The number of the sequence among those of one call; each draws its own random numbers.
        tokenize: The model's tokenizer, to write forced text in its own tokens.
        fast_forward: Whether forced text is taken without asking the model; else the model chooses its tokens.
        validate: Looks at the complete text; a value that it refuses is taken back and written anew.
        retries: How often.
        charge_discarded: Whether tokens that are taken back are spent: the budget then bounds all that are computed.
        rejected_texts: What it refused before, in other attempts; what it refuses now is added.
        rejection: Why it did, if there were other attempts.
        with_logprobs: Whether log-probabilities are wanted.
        choices_at: With `with_logprobs`, the texts among which there is a choice at a place, so that they are scored
            too.
        field_limits: The tokens that a value at a place may have, if any is bounded.
        deadline: The time, by `time.perf_counter()`, after which the shortest way to the end is taken.
        max_thinking_tokens: Tokens that the model may write freely before; 0 for none.
        end_of_thinking: The tokens that end them.
        processors: What else changes the logits.
        max_draft_tokens: The most tokens of a draft; 0 for none.
        drafter_factory: What drafts.
        generated: Where the tokens are written.
    """

    budget: int
    sampling: Sampling
    sequence_index: int = 0
    tokenize: Tokenize | None = None
    fast_forward: bool = True
    validate: Validate | None = None
    retries: int = 0
    charge_discarded: bool = False
    rejected_texts: RejectedTexts = field(default_factory=RejectedTexts)
    rejection: RejectedSpan | None = None
    with_logprobs: bool = False
    choices_at: ChoicesAt | None = None
    field_limits: FieldLimits | None = None
    deadline: float | None = None
    max_thinking_tokens: int = 0
    end_of_thinking: tuple[int, ...] = ()
    processors: ProcessorStack | None = None
    max_draft_tokens: int = 0
    drafter_factory: DrafterFactory = PromptLookupDrafter
    generated: GeneratedTokens = field(default_factory=GeneratedTokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A complete text of the language, as tokens.

    Attributes:
        token_ids: The tokens, the end token not included.
        finish_reason: See `Result.finish_reason`.
        forced_tokens: How many of the tokens were not sampled.
        seconds: Time spent in the flow itself: masks, cursor, sampling, forced text.
        rejected: The texts that were refused.
        rejection: Why the last of them was, if no other could be written; the tokens mean nothing then.
        read_tokens: The tokens that the model has read.
        choices: At each place where there was a choice, the probability of each text.
        thinking: What was written freely before.
    """

    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    forced_tokens: int
    seconds: float
    rejected: tuple[str, ...]
    rejection: RejectedSpan | None
    read_tokens: int
    choices: Mapping[Path, Mapping[Member, float]]
    thinking: str | None


Flow: TypeAlias = "Generator[SampleRequest | ScoreRequest, SampledToken | list[NDArray[np.float32]], Decoded]"
"""A `Told` answers an `Ask`, a list of arrays a `Score`."""
