"""Log-probabilities of the tokens of an answer, with alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structkit.generate.output.result import Result
from structkit.generate.sample.processors import LogitsStep
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["TokenRecord", "TopRecorder"]

_LOWEST_LOGPROB = -9999.0
"""The log-probability of a token with the probability 0: JSON has no infinity, and OpenAI writes this number."""


@dataclass(frozen=True)
class TokenRecord:
    """A token of an answer.

    Attributes:
        text: Its bytes.
        logprob: Its log-probability among the tokens that the target allows; 0 for the only continuation.
        top: The most likely of these tokens, with their log-probabilities.
    """

    text: bytes
    logprob: float
    top: tuple[tuple[bytes, float], ...]


class TopRecorder:
    """A processor that changes nothing, and keeps the most likely tokens at each position.

    Args:
        count: Number of tokens to keep at each position.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._tops: dict[int, list[tuple[int, float]]] = {}

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `structkit.processors.Processor`."""

        def step(token_ids: Sequence[int], row: NDArray[np.float32]) -> NDArray[np.float32]:
            if self._count:
                self._tops[len(token_ids)] = _top(row, self._count)
            return row

        return step

    def records(self, result: Result[object], vocabulary: Vocabulary) -> Iterator[TokenRecord]:
        """Yield the tokens of a result; a forced token is the only alternative, for it has no logits."""
        tokens = vocabulary.tokens
        for position, token in enumerate(result.events, result.usage.prompt_tokens):
            logprob = max(token.logprob, _LOWEST_LOGPROB)
            top = [
                (tokens[id] if id < len(tokens) else b"", value) for id, value in self._tops.get(position, ())
            ]
            if token.forced:
                top = [(token.text, logprob)][: self._count]
            yield TokenRecord(token.text, logprob, tuple(top))


def _top(row: NDArray[np.float32], count: int) -> list[tuple[int, float]]:
    """Return the most likely of the tokens with a finite logit, most likely first."""
    allowed = np.flatnonzero(np.isfinite(row))
    if not len(allowed):
        return []
    logits = row[allowed].astype(np.float64)
    peak = logits.max()
    total = peak + np.log(np.exp(logits - peak).sum())
    best = np.argpartition(logits, -min(count, len(logits)))[-count:]
    best = best[np.argsort(-logits[best], kind="stable")]
    return [(int(allowed[each]), max(float(logits[each] - total), _LOWEST_LOGPROB)) for each in best]
