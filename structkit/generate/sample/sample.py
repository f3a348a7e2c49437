"""Sampling one token from logits and a mask. The only state is the random generator passed in."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structkit.arguments.checks import check_int, check_number
from structkit.errors import ModelError

__all__ = [
    "Sampling",
    "allowed_logits",
    "is_allowed",
    "logits_error",
    "logsumexp",
    "only_id",
    "only_ids",
    "probabilities",
    "sample_token",
]

_SPARSE = 8
"""A mask is sparse if at most one in this many of its words is nonzero; only those words are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling parameters.

    >>> Sampling(temperature=0.7, top_p=0.9).temperature
    0.7

    Raises:
        ValueError: A value is out of range.
        TypeError: A value is not a number.
    """

    temperature: float = 0.0
    """0 selects the most likely token; above 0, logits are divided by it before sampling."""

    top_k: int | None = None
    """Keep the `top_k` most likely tokens, and all tokens as likely as the last of them."""

    top_p: float | None = None
    """Keep the smallest set of tokens whose total probability reaches this value (Holtzman et al. 2020)."""

    min_p: float | None = None
    """Keep tokens whose probability is at least this fraction of the highest one (Nguyen et al. 2024)."""

    typical_p: float | None = None
    """Keep the tokens whose information is nearest to the entropy, up to this total probability (Meister et al.
    2023)."""

    seed: int | None = None
    """Seed of the random generator; `None` seeds it from the operating system."""

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, 0, math.inf)
        check_int("top_k", self.top_k, 1)
        if self.top_p is not None:
            check_number("top_p", self.top_p, 0, 1, exclusive=True)
        if self.typical_p is not None:
            check_number("typical_p", self.typical_p, 0, 1, exclusive=True)
        if self.min_p is not None:
            check_number("min_p", self.min_p, 0, 1)
        check_int("seed", self.seed, 0)

    def generator(self, sequence_index: int = 0) -> np.random.Generator:
        """Return the random generator of a sequence; it depends on the seed and the index only, not on the batch."""
        return np.random.default_rng(None if self.seed is None else [self.seed, sequence_index])


def only_id(mask: NDArray[np.uint32]) -> int | None:
    """Return the only token that a mask allows, or `None` if it allows none or more than one.

    Args:
        mask: uint32[words], bit t % 32 of word t // 32 for token t.

    >>> only_id(np.array([0, 0b100], np.uint32)), only_id(np.array([1, 1], np.uint32))
    (34, None)
    """
    if np.count_nonzero(mask) != 1:
        return None
    word = int(mask.argmax())
    bits = int(mask[word])
    return None if bits & (bits - 1) else 32 * word + bits.bit_length() - 1


def only_ids(masks: NDArray[np.uint32], max_allowed: int) -> NDArray[np.int64] | None:
    """Return the tokens that each mask allows, or `None` if a mask allows none or more than `max_allowed`.

    Returns:
        int64[rows, tokens]; shorter rows are padded with their first token.

    >>> only_ids(np.array([[0, 0b100], [0b11, 0]], np.uint32), 2).tolist()
    [[34, 34], [0, 1]]
    """
    found = []
    for mask in masks:
        words = np.flatnonzero(mask)
        if not 0 < len(words) <= max_allowed:
            return None
        bits = np.flatnonzero(_bits(mask[words]))
        found.append((words[bits >> 5] << 5) | (bits & 31))
    width = max(map(len, found))
    if width > max_allowed:
        return None
    return np.stack([np.concatenate([ids, np.repeat(ids[:1], width - len(ids))]) for ids in found])


def sample_token(
    logits: NDArray[np.float32],
    mask: NDArray[np.uint32],
    sampling: Sampling,
    generator: np.random.Generator,
    *,
    location: str | None = None,
) -> int:
    """Sample one of the allowed tokens.

    Logits of forbidden tokens are ignored. Logits past the vocabulary are padding; tokens past the last logit cannot
    be sampled.

    Args:
        logits: float32[width].
        mask: uint32[words], the allowed tokens: bit t % 32 of word t // 32 for token t.
        sampling: Sampling parameters.
        generator: Advanced by one number per sampled token, and not at all at temperature 0 or for one allowed token.
        location: Path of the step, for errors.

    Raises:
        ModelError: The highest allowed logit is NaN or infinite, or no allowed token has a logit.

    >>> logits = np.array([1, 9, 5], np.float32)
    >>> sample_token(logits, np.array([0b101], np.uint32), Sampling(), np.random.default_rng())
    2
    """
    if logits.ndim != 1:
        shape = list(logits.shape)
        raise ModelError(
            f"the model returned logits of shape {shape}; expected one row, float32[width]", place=location
        )
    ids, row = allowed_logits(logits, mask)
    best = int(row.argmax()) if len(row) else -1  # argmax returns the first NaN, if any
    if best < 0 or not np.isfinite(row[best]):
        raise logits_error(logits, mask, location)
    chosen = best if sampling.temperature == 0 or len(row) == 1 else _draw(row, sampling, generator)
    return chosen if ids is None else int(ids[chosen])


def allowed_logits(
    logits: NDArray[np.float32], mask: NDArray[np.uint32]
) -> tuple[NDArray[np.int64] | None, NDArray[np.float32]]:
    """Return the ids and logits of the allowed tokens; for a dense mask, `None` and all logits, -inf if forbidden."""
    words = np.flatnonzero(mask)
    if _SPARSE * len(words) > len(mask):
        # In free text most tokens are allowed: masking the others is faster than gathering these.
        allowed = _bools(mask, len(logits))
        return None, np.where(allowed, logits[: len(allowed)], np.float32(-np.inf))
    found = np.flatnonzero(_bits(mask[words]))
    ids = (words[found >> 5] << 5) | (found & 31)
    ids = ids[: np.searchsorted(ids, len(logits))]
    return ids, logits[ids]


def is_allowed(mask: NDArray[np.uint32], token: int) -> bool:
    """Return whether a mask allows a token.

    >>> is_allowed(np.array([0b101], np.uint32), 2), is_allowed(np.array([0b101], np.uint32), 64)
    (True, False)
    """
    return token >> 5 < len(mask) and bool(int(mask[token >> 5]) >> (token & 31) & 1)


def logsumexp(row: NDArray[np.float32]) -> float:
    """Return the logarithm of the sum of exponentials; -inf if all logits are -inf.

    >>> round(logsumexp(np.log(np.array([1, 2, 5], np.float32))), 6) == round(math.log(8), 6)
    True
    """
    top = row.max(initial=-np.inf)
    if not np.isfinite(top):
        return float(top)
    return float(top) + math.log(float(np.exp(row - top).sum()))


def logits_error(logits: NDArray[np.float32], mask: NDArray[np.uint32], location: str | None) -> ModelError:
    """Return the error for logits from which no allowed token can be sampled."""
    if not mask.any():
        return ModelError(
            "no token is allowed: no end of the value was found within max_tokens; pass a larger max_tokens",
            place=location,
        )
    allowed = np.flatnonzero(_bits(mask)[: len(logits)])
    if not len(allowed):
        return ModelError(
            f"none of the allowed tokens has a logit: the model returned {len(logits)} logits; "
            "pass the vocabulary of the model's own tokenizer",
            place=location,
        )
    worst = allowed[logits[allowed].argmax()]
    return ModelError(
        f"the highest logit of the allowed tokens, of token {worst}, is {logits[worst]}, not a finite number; "
        "load the model in a wider type, such as dtype='float32'",
        place=location,
    )


def _bits(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    return np.unpackbits(words.astype("<u4", copy=False).view(np.uint8), bitorder="little")


def _bools(mask: NDArray[np.uint32], width: int) -> NDArray[np.bool_]:
    return _bits(mask)[:width].view(np.bool_)


def _draw(row: NDArray[np.float32], sampling: Sampling, generator: np.random.Generator) -> int:
    sums = np.cumsum(probabilities(row, sampling))
    drawn = int(np.searchsorted(sums, generator.random() * sums[-1], side="right"))
    return min(drawn, len(row) - 1)


def probabilities(row: NDArray[np.float32], sampling: Sampling) -> NDArray[np.float64]:
    """Return the probability of each token after temperature, top-k, top-p, min-p and typical-p, in this order.

    Args:
        row: float32[n], without NaN and with a finite maximum.
        sampling: Sampling parameters; the temperature is above 0.

    Returns:
        float64[n], summing to 1.

    >>> row = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    >>> probabilities(row, Sampling(temperature=1, top_k=2)).round(3).tolist()
    [0.625, 0.375, 0.0]
    """
    wide = row.astype(np.float64)
    with np.errstate(over="ignore"):  # near temperature 0 the quotients overflow to -inf: probability 0
        chances: NDArray[np.float64] = np.exp((wide - wide.max()) / sampling.temperature)
    chances /= chances.sum()
    kept = np.ones(len(row), bool)
    if sampling.top_k is not None and sampling.top_k < len(row):
        kept &= wide >= np.partition(wide, -sampling.top_k)[-sampling.top_k]
    if sampling.top_p is not None:
        kept &= _smallest_set(np.where(kept, chances, 0), chances, sampling.top_p)
    if sampling.min_p is not None:
        kept &= chances >= sampling.min_p * chances.max()
    if sampling.typical_p is not None:
        kept &= _smallest_set(np.where(kept, chances, 0), -_surprisal_deviation(chances), sampling.typical_p)
    chances[~kept] = 0
    chances /= chances.sum()
    return chances


def _smallest_set(
    probabilities: NDArray[np.float64], rank: NDArray[np.float64], threshold: float
) -> NDArray[np.bool_]:
    """Mark the first tokens by rank, at least one, until their share of the probability reaches `threshold`."""
    order = np.argsort(-rank, kind="stable")
    order = order[probabilities[order] > 0]
    sums = np.cumsum(probabilities[order])
    before = sums - probabilities[order]
    kept = np.zeros(len(probabilities), bool)
    kept[order[before < threshold * sums[-1]]] = True
    kept[order[0]] = True
    return kept


def _surprisal_deviation(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each token's information from the entropy."""
    information = -np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    surprise: NDArray[np.float64] = np.abs(information - (probabilities * information).sum())
    return surprise
