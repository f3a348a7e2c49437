"""One step of a sequence, as values: what a flow asks for, and what was chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.generate.sample.sample import Sampling

__all__ = ["Draft", "LogitsTransform", "SampleRequest", "SampledToken"]

LogitsTransform: TypeAlias = "Callable[[NDArray[np.float32], NDArray[np.uint32]], NDArray[np.float32]]"
"""From float32[width], the logits, and the mask to logits: a penalty, say. The mask is put on them after it."""

_GREEDY = Sampling()


@dataclass(slots=True)
class Draft:
    """Tokens that may come next.

    Attributes:
        token_ids: The tokens, from the one on that is being asked for.
        is_guess: For each whether it is a guess; the others follow from those before them.
        seconds: The time that a model took for it.
    """

    token_ids: list[int] = field(default_factory=list)
    is_guess: list[bool] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class SampleRequest:
    """What a flow asks for: that a model reads tokens, and that one is chosen to follow them.

    Attributes:
        token_ids: The tokens to read, at least one.
        mask: uint32[words], the allowed tokens: bit t % 32 of word t // 32 for token t.
        unbudgeted_mask: With a budget, the tokens that would be allowed without one, if it is wanted to know which
            of them the
            model likes best.
        sampling: How to choose.
        generator: The random numbers of the sequence.
        rollback_count: How many tokens of the sequence are taken back before.
        transform: What else changes the logits.
        with_logprobs: Whether the log-probability is wanted.
        candidates: With `with_logprobs`, tokens of which the probability without the mask is wanted.
        location: The step, for errors.
        draft: Gives up to so many tokens that may well follow, the one asked for first.
    """

    token_ids: list[int]
    mask: NDArray[np.uint32]
    unbudgeted_mask: NDArray[np.uint32] | None = None
    sampling: Sampling = _GREEDY
    generator: np.random.Generator = field(default_factory=np.random.default_rng)
    rollback_count: int = 0
    transform: LogitsTransform | None = None
    with_logprobs: bool = False
    candidates: tuple[int, ...] = ()
    location: str | None = None
    draft: Callable[[int], Draft] | None = None


@dataclass(frozen=True, slots=True)
class SampledToken:
    """What was chosen.

    Attributes:
        token_id: The token.
        unbudgeted_token_id: The likeliest token of `Ask.free`, if that was given.
        logprob: If scored, its log-probability among the allowed tokens, at temperature 1.
        masked_probability: If scored, the probability of the tokens that the mask forbids.
        candidates: The log-probability of each of `Ask.candidates`, without the mask.
    """

    token_id: int
    unbudgeted_token_id: int | None = None
    logprob: float = 0.0
    masked_probability: float = 0.0
    candidates: tuple[float, ...] = ()
