"""What a mask forbade: the most likely tokens at each position before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structkit.generate.sample.processors import MASK, AnyProcessor, LogitsStep
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Forbidden", "MaskRecorder"]

_MOST = 6
"""Number of forbidden tokens that are kept at a position."""

_LOWEST = 0.001
"""Probability below which a forbidden token is not kept."""

_LOOKED_AT = 24
"""Number of the most likely tokens among which forbidden ones are looked for."""


@dataclass(frozen=True)
class Forbidden:
    """A token that the model would have considered.

    Attributes:
        token_id: The token.
        probability: Its probability without the mask.
    """

    token_id: int
    probability: float


class MaskRecorder:
    """Processors that change nothing but apply the mask, and keep the likely tokens that it forbids.

    >>> import structkit as sk
    >>> from structkit.testing import RandomModel
    >>> recorder = MaskRecorder()
    >>> result = sk.generate(RandomModel(seed=1), "x", sk.Regex("[ab]"), processors=recorder.processors)
    >>> len(recorder.at(result.usage.prompt_tokens)) <= 6
    True
    """

    def __init__(self) -> None:
        self._likely: dict[int, list[Forbidden]] = {}

    @property
    def processors(self) -> tuple[AnyProcessor, ...]:
        """The processors of the generation."""
        return (_Step(self._before), MASK, _Step(self._after))

    def at(self, position: int) -> tuple[Forbidden, ...]:
        """Return the forbidden tokens at a position of the sequence, most likely first; none if it had no logits."""
        return tuple(self._likely.get(position, ()))

    def _before(self, token_ids: Sequence[int], row: NDArray[np.float32]) -> NDArray[np.float32]:
        self._likely[len(token_ids)] = _likely(row)
        return row

    def _after(self, token_ids: Sequence[int], row: NDArray[np.float32]) -> NDArray[np.float32]:
        likely = self._likely[len(token_ids)]
        self._likely[len(token_ids)] = [each for each in likely if row[each.token_id] == -np.inf][:_MOST]
        return row


@dataclass(frozen=True)
class _Step:
    """A processor that is the same function for each sequence."""

    step: LogitsStep

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `structkit.processors.Processor`."""
        return self.step


def _likely(row: NDArray[np.float32]) -> list[Forbidden]:
    """Return the most likely tokens, most likely first."""
    finite = np.isfinite(row)
    if not finite.any():
        return []
    logits = row.astype(np.float64)
    weights = np.exp(logits - logits[finite].max(), where=finite, out=np.zeros(len(row)))
    total = weights.sum()
    count = min(_LOOKED_AT, len(weights))
    best = np.argpartition(weights, -count)[-count:]
    best = best[np.argsort(-weights[best], kind="stable")]
    return [
        Forbidden(int(token), float(weights[token] / total))
        for token in best
        if weights[token] >= _LOWEST * total
    ]
