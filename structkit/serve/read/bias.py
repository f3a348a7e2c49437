"""Changes of the logits that a request asks for: `logit_bias`, the penalties, and `min_tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structkit.generate.input.options import ResultOptions
from structkit.generate.sample.processors import LogitsStep
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.fields import Fields
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Bias", "MinTokens", "check_bias", "read_bias"]

_MAX_ID_DIGITS = 9
_MAX_BIAS = 100.0
_MAX_PENALTY = 2.0


@dataclass(frozen=True)
class Bias:
    """A processor that adds to logits, as OpenAI defines it; the mask still decides what is allowed.

    Attributes:
        logits: What is added to the logits of tokens.
        frequency: What is subtracted for each time that a token was sampled.
        presence: What is subtracted if a token was sampled.
    """

    logits: tuple[tuple[int, float], ...] = ()
    frequency: float = 0.0
    presence: float = 0.0

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `structkit.processors.Processor`."""
        ids = np.array([token_id for token_id, _ in self.logits], np.int64)
        added = np.array([value for _, value in self.logits], np.float32)
        prompt_length: int | None = None

        def step(token_ids: Sequence[int], row: NDArray[np.float32]) -> NDArray[np.float32]:
            nonlocal prompt_length
            if prompt_length is None:
                prompt_length = len(token_ids)
            inside = ids < len(row)
            row[ids[inside]] += added[inside]
            if self.frequency or self.presence:
                seen, counts = np.unique(np.array(token_ids[prompt_length:], np.int64), return_counts=True)
                inside = seen < len(row)
                row[seen[inside]] -= self.frequency * counts[inside] + self.presence
            return row

        return step


@dataclass(frozen=True)
class MinTokens:
    """A processor that forbids the end of free text before a number of tokens.

    Attributes:
        count: The number of tokens.
    """

    count: int

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `structkit.processors.Processor`."""
        ends = np.array(vocabulary.eos_token_ids, np.int64)
        prompt_length: int | None = None

        def step(token_ids: Sequence[int], row: NDArray[np.float32]) -> NDArray[np.float32]:
            nonlocal prompt_length
            if prompt_length is None:
                prompt_length = len(token_ids)
            if len(token_ids) - prompt_length < self.count:
                row[ends[ends < len(row)]] = -np.inf
            return row

        return step


def check_bias(options: ResultOptions, vocabulary: Vocabulary) -> None:
    """Check the tokens of `logit_bias`.

    Raises:
        ApiError: The vocabulary has no such token.
    """
    for bias in options.get("processors", ()):
        for token_id, _ in bias.logits if isinstance(bias, Bias) else ():
            if token_id >= vocabulary.size:
                raise ApiError(
                    400,
                    f"logit_bias has the token {token_id}, and the model has {vocabulary.size:,} tokens; "
                    "send ids of its vocabulary",
                    param="logit_bias",
                    code="invalid_value",
                )


def read_bias(body: Fields) -> Bias | None:
    """Return what a request adds to the logits; `None` if it is nothing.

    Raises:
        ApiError: A key is not an integer, or a number is out of range.
    """
    frequency = body.number("frequency_penalty", -_MAX_PENALTY, _MAX_PENALTY) or 0.0
    presence = body.number("presence_penalty", -_MAX_PENALTY, _MAX_PENALTY) or 0.0
    given = body.nested("logit_bias")
    logits: list[tuple[int, float]] = []
    for name in {} if given is None else given.values:
        if given is None or not (name.isascii() and name.isdigit() and len(name) <= _MAX_ID_DIGITS):
            raise body.error("logit_bias", f"has the key {name[:80]!r}; its keys are ids of tokens")
        if value := given.number(name, -_MAX_BIAS, _MAX_BIAS):
            logits.append((int(name), value))
    found = Bias(tuple(logits), frequency, presence)
    return None if found == Bias() else found
