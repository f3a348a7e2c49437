"""The masked step: from the logits of a batch and a mask for each row to one token for each row.

On the CPU greedy rows are done in place: where few tokens are allowed only their logits are read, and elsewhere the
likeliest token of all is mostly an allowed one. On an accelerator the packed masks are sent once, and the chosen
tokens come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelFailed
from structkit.generate import kernels
from structkit.generate.draft import Draft
from structkit.generate.sample import Sampling, allowed_logits, allows, failure, logsumexp, pick
from structkit.models.base import Logits

__all__ = ["Adjust", "Ask", "Told", "choose"]

Adjust: TypeAlias = "Callable[[NDArray[np.float32], NDArray[np.uint32]], NDArray[np.float32]]"
"""From float32[width], the logits, and the mask to logits: a penalty, say. The mask is put on them after it."""

_SPARSE = 16
"""A row allows few tokens if less than one in so many words of its mask has a bit."""

_GREEDY = Sampling()


@dataclass(slots=True, kw_only=True)
class Ask:
    """What a flow asks for: that a model reads tokens, and that one is chosen to follow them.

    Attributes:
        token_ids: The tokens to read, at least one.
        mask: uint32[words], the allowed tokens: bit t % 32 of word t // 32 for token t.
        free: With a budget, the tokens that would be allowed without one, if it is wanted to know which of them the
            model likes best.
        sampling: How to choose.
        generator: The random numbers of the sequence.
        back: How many tokens of the sequence are taken back before.
        adjust: What else changes the logits.
        scored: Whether the log-probability is wanted.
        candidates: With `scored`, tokens of which the probability without the mask is wanted.
        place: The step, for errors.
        draft: Gives up to so many tokens that may well follow, the one asked for first.
    """

    token_ids: list[int]
    mask: NDArray[np.uint32]
    free: NDArray[np.uint32] | None = None
    sampling: Sampling = _GREEDY
    generator: np.random.Generator = field(default_factory=np.random.default_rng)
    back: int = 0
    adjust: Adjust | None = None
    scored: bool = False
    candidates: tuple[int, ...] = ()
    place: str | None = None
    draft: Callable[[int], Draft] | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What was chosen.

    Attributes:
        token: The token.
        wanted: The likeliest token of `Ask.free`, if that was given.
        logprob: If scored, its log-probability among the allowed tokens, at temperature 1.
        removed: If scored, the probability of the tokens that the mask forbids.
        candidates: The log-probability of each of `Ask.candidates`, without the mask.
    """

    token: int
    wanted: int | None = None
    logprob: float = 0.0
    removed: float = 0.0
    candidates: tuple[float, ...] = ()


def choose(logits: Logits, asks: Sequence[Ask]) -> list[Told | ModelFailed]:
    """Choose a token for each row.

    Args:
        logits: float[rows, width]; logits past the vocabulary are padding, and tokens past the width are tokens that
            the model cannot say. They may be written over.
        asks: One for each row; their `token_ids` were read.

    Returns:
        What was chosen, or why nothing could be: a broken row does not lose the others.

    >>> logits = np.array([[1, 9, 5]], np.float32)
    >>> choose(logits, [Ask(token_ids=[0], mask=np.array([0b101], np.uint32))])
    [Told(token=2, wanted=None, logprob=0.0, removed=0.0, candidates=())]
    """
    if not isinstance(logits, np.ndarray):
        from structkit.generate.device import choose_on_device

        return choose_on_device(logits, asks)
    if logits.ndim != 2 or len(logits) != len(asks):
        raise ModelFailed(
            f"the model gave logits of shape {list(logits.shape)} for {len(asks)} rows; give float32[rows, width]"
        )
    ids, values = np.full(len(asks), -2, np.int64), np.empty(len(asks), np.float32)
    masks = np.stack([ask.mask for ask in asks])
    kernels.best_of_few(logits, masks, masks.shape[1] // _SPARSE, ids, values)
    return [
        _chosen(row, ask, best, value)
        for row, ask, best, value in zip(logits, asks, ids.tolist(), values.tolist(), strict=True)
    ]


def _chosen(row: NDArray[np.float32], ask: Ask, best: int, value: float) -> Told | ModelFailed:
    """Choose for one row; `best` is the likeliest allowed token where few are allowed, else -2."""
    total = logsumexp(row) if ask.scored else 0.0
    candidates = tuple(
        float(row[token]) - total if token < len(row) else -math.inf for token in ask.candidates
    )
    wanted = None if ask.free is None else _likeliest(row, ask.free)
    try:
        if ask.adjust is not None:
            token = pick(ask.adjust(row, ask.mask), ask.mask, ask.sampling, ask.generator, place=ask.place)
        elif ask.sampling.temperature > 0:
            token = pick(row, ask.mask, ask.sampling, ask.generator, place=ask.place)
        else:
            token, value = (best, value) if best != -2 else _greedy(row, ask.mask)
            if not math.isfinite(value):
                return failure(row, ask.mask, ask.place)
    except ModelFailed as error:
        return error
    if not ask.scored:
        return Told(token, wanted)
    among = logsumexp(allowed_logits(row, ask.mask)[1])
    removed = max(0.0, 1 - math.exp(among - total))
    return Told(token, wanted, float(row[token]) - among, removed, candidates)


def _greedy(row: NDArray[np.float32], mask: NDArray[np.uint32]) -> tuple[int, float]:
    """The likeliest allowed token and its logit; that is NaN if an allowed one is, -inf if none is allowed."""
    token = _likeliest(row, mask)
    return token, float(row[token])


def _likeliest(row: NDArray[np.float32], mask: NDArray[np.uint32]) -> int:
    """The likeliest allowed token, the first NaN if there is one; any token if none is allowed."""
    best = int(row.argmax())
    if not allows(mask, best):
        kernels.blot(row, mask)
        best = int(row.argmax())
    return best
