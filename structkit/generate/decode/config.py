"""What a sequence is to be, what a flow asks for on its way, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.generate.decode.choice_scores import Choices
from structkit.generate.decode.field_budget import FieldLimits
from structkit.generate.decode.rejected import Bans
from structkit.generate.decode.retokenize import Spell
from structkit.generate.decode.speculate import Drafting, PromptDrafts
from structkit.generate.output.json_reader import Field, JsonReader, Path
from structkit.generate.output.result import FinishReason
from structkit.generate.sample.processors import Stack
from structkit.generate.sample.sample import Sampling
from structkit.generate.sample.step import Ask, Told
from structkit.schema.view.choices import Member

__all__ = ["Check", "Decoded", "Flow", "Plan", "Refusal", "Score", "Written"]


@dataclass(frozen=True, slots=True)
class Score:
    """What a flow asks for: how likely the model finds several ways to go on; see `Rows.score`.

    Attributes:
        branches: The tokens of each way.
    """

    branches: list[list[int]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a text of the language is no value after all.

    Attributes:
        error: What the validators said.
        start: The byte at which the value begins that they name.
        end: The byte after it.
        path: Its path.
    """

    error: Exception
    start: int
    end: int
    path: Path = ()


Check: TypeAlias = Callable[[str], "Refusal | None"]
"""Looks at a complete text."""


class Written:
    """The tokens of a sequence so far; whoever looks on may see them grow.

    Attributes:
        token_ids: The tokens, the end token not included.
        texts: What each writes; the first may spell the end of the prompt before that.
        scores: For each the log-probability among the allowed tokens and the probability that the mask removed; 0
            where it was not sampled or not scored.
        forced: For each whether it was not sampled, because nothing else could follow.
        text: Their bytes.
        reader: Reads the values in them, if they are JSON; see `JsonReader.follow`.
        kept: The bytes that were never taken back since this was last set to the length of the text.
        refused: The value that is written anew from there.
        discarded: How many tokens were taken back.
        thoughts: How many tokens were thought before.
    """

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self.texts: list[bytes] = []
        self.scores: list[tuple[float, float]] = []
        self.forced: list[bool] = []
        self.text = bytearray()
        self.reader = JsonReader()
        self.kept = 0
        self.refused: Path = ()
        self.discarded = 0
        self.thoughts = 0

    def cut(self, tokens: int, length: int, refused: Path = ()) -> None:
        """Take back all but the first tokens, which have so many bytes, to write a value anew."""
        if length < self.kept:
            self.refused = refused
        self.discarded += len(self.token_ids) - tokens
        for each in (self.token_ids, self.texts, self.scores, self.forced):
            del each[tokens:]
        del self.text[length:]
        if len(self.reader.text) > length:
            self.reader.rewind(length)
        self.kept = min(self.kept, length)

    def values(self, *, is_json: bool) -> list[Field]:
        """The values in the text, which is complete; one that is not JSON is one value."""
        if not is_json:
            return [Field((), "string", 0, len(self.text))]
        self.reader.follow(self.text).finish()
        return self.reader.values


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a sequence is written.

    Attributes:
        budget: The most tokens, the end token not counted.
        sampling: How tokens are chosen.
        row: The number of the sequence among those of one call; each draws its own random numbers.
        spell: The model's tokenizer, to write forced text in its own tokens.
        forced: Whether forced text is taken without asking the model; else the model chooses its tokens.
        check: Looks at the complete text; a value that it refuses is taken back and written anew.
        retries: How often.
        spend: Whether tokens that are taken back are spent: the budget then bounds all that are computed.
        bans: What it refused before, in other attempts; what it refuses now is added.
        refusal: Why it did, if there were other attempts.
        scored: Whether log-probabilities are wanted.
        choices: With `scored`, the texts among which there is a choice at a place, so that they are scored too.
        field_limits: The tokens that a value at a place may have, if any is bounded.
        deadline: The time, by `time.perf_counter()`, after which the shortest way to the end is taken.
        thoughts: Tokens that the model may write freely before; 0 for none.
        end_of_thinking: The tokens that end them.
        processors: What else changes the logits.
        speculate: The most tokens of a draft; 0 for none.
        drafting: What drafts.
        written: Where the tokens are written.
    """

    budget: int
    sampling: Sampling
    row: int = 0
    spell: Spell | None = None
    forced: bool = True
    check: Check | None = None
    retries: int = 0
    spend: bool = False
    bans: Bans = field(default_factory=Bans)
    refusal: Refusal | None = None
    scored: bool = False
    choices: Choices | None = None
    field_limits: FieldLimits | None = None
    deadline: float | None = None
    thoughts: int = 0
    end_of_thinking: tuple[int, ...] = ()
    processors: Stack | None = None
    speculate: int = 0
    drafting: Drafting = PromptDrafts
    written: Written = field(default_factory=Written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A complete text of the language, as tokens.

    Attributes:
        token_ids: The tokens, the end token not included.
        finish_reason: See `Result.finish_reason`.
        forced_tokens: How many of the tokens were not sampled.
        seconds: Time spent in the flow itself: masks, cursor, sampling, forced text.
        refused: The texts that were refused.
        refusal: Why the last of them was, if no other could be written; the tokens mean nothing then.
        read: The tokens that the model has read.
        choices: At each place where there was a choice, the probability of each text.
        thinking: What was written freely before.
    """

    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    forced_tokens: int
    seconds: float
    refused: tuple[str, ...]
    refusal: Refusal | None
    read: int
    choices: Mapping[Path, Mapping[Member, float]]
    thinking: str | None


Flow: TypeAlias = "Generator[Ask | Score, Told | list[NDArray[np.float32]], Decoded]"
"""A `Told` answers an `Ask`, a list of arrays a `Score`."""
