"""Sampling: from logits and a mask to one token. Pure but for the random generator that is handed in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError

__all__ = [
    "Sampling",
    "allowed_logits",
    "check_int",
    "check_number",
    "is_allowed",
    "logits_error",
    "logsumexp",
    "only_id",
    "only_ids",
    "probabilities",
    "sample_token",
]

_SPARSE = 8
"""If less than one in so many words of a mask has a bit, only those words are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a token is chosen among the allowed ones.

    >>> Sampling(temperature=0.7, top_p=0.9).temperature
    0.7

    Raises:
        ValueError: A number is out of its range.
        TypeError: It is not a number.
    """

    temperature: float = 0.0
    """0 takes the likeliest token; 1 samples as the model says; more makes it bolder."""

    top_k: int | None = None
    """Only the `top_k` likeliest tokens, and those as likely as the last of them."""

    top_p: float | None = None
    """Only the fewest tokens that together have this probability (Holtzman et al. 2020)."""

    min_p: float | None = None
    """Only tokens at least this fraction as likely as the likeliest (Nguyen et al. 2024)."""

    typical_p: float | None = None
    """Only the tokens whose surprise is nearest to what is expected, that together have this probability (Meister et
    al. 2023)."""

    seed: int | None = None
    """The same seed gives the same tokens; `None` gives others each time."""

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
        """The random numbers of one sequence; those of a row of many depend on its number, not on the others."""
        return np.random.default_rng(None if self.seed is None else [self.seed, sequence_index])


def only_id(mask: NDArray[np.uint32]) -> int | None:
    """The one token that a mask allows, or `None` if it allows another number of them.

    Args:
        mask: uint32[words], bit t % 32 of word t // 32 for token t.

    >>> only_id(np.array([0, 0b100], np.uint32)), only_id(np.array([1, 1], np.uint32))
    (34, None)
    """
    words = np.flatnonzero(mask)
    if len(words) != 1:
        return None
    bits = int(mask[words[0]])
    return None if bits & (bits - 1) else 32 * int(words[0]) + bits.bit_length() - 1


def only_ids(masks: NDArray[np.uint32], max_allowed: int) -> NDArray[np.int64] | None:
    """The tokens that masks allow, or `None` if one of them allows none or more than `max_allowed`.

    Returns:
        int64[rows, tokens]; a row that allows fewer tokens than others repeats its first.

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
    """Choose one of the allowed tokens.

    Logits of other tokens have no influence. Logits wider than the vocabulary are padding, and tokens past their
    end are tokens that the model cannot say.

    Args:
        logits: float32[width].
        mask: uint32[words], the allowed tokens: bit t % 32 of word t // 32 for token t.
        sampling: How to choose.
        generator: Moved by one number for each sampled token, by none when there is nothing to draw.
        location: The step, for errors.

    Raises:
        ModelError: A logit is NaN or infinite, or the model cannot say any allowed token.

    >>> logits = np.array([1, 9, 5], np.float32)
    >>> sample_token(logits, np.array([0b101], np.uint32), Sampling(), np.random.default_rng())
    2
    """
    if logits.ndim != 1:
        shape = list(logits.shape)
        raise ModelError(
            f"the model gave logits of shape {shape}; give one row, float32[width]", place=location
        )
    ids, row = allowed_logits(logits, mask)
    best = int(row.argmax()) if len(row) else -1  # the position of a NaN, if there is one
    if best < 0 or not np.isfinite(row[best]):
        raise logits_error(logits, mask, location)
    chosen = best if sampling.temperature == 0 or len(row) == 1 else _draw(row, sampling, generator)
    return chosen if ids is None else int(ids[chosen])


def allowed_logits(
    logits: NDArray[np.float32], mask: NDArray[np.uint32]
) -> tuple[NDArray[np.int64] | None, NDArray[np.float32]]:
    """The logits of the allowed tokens and their ids; or all logits, -inf where forbidden, and `None`."""
    words = np.flatnonzero(mask)
    if _SPARSE * len(words) > len(mask):
        # In free text nearly all tokens are allowed: to blot out the others is quicker than to gather these.
        allowed = _bools(mask, len(logits))
        return None, np.where(allowed, logits[: len(allowed)], np.float32(-np.inf))
    found = np.flatnonzero(_bits(mask[words]))
    ids = (words[found >> 5] << 5) | (found & 31)
    ids = ids[: np.searchsorted(ids, len(logits))]
    return ids, logits[ids]


def is_allowed(mask: NDArray[np.uint32], token: int) -> bool:
    """Whether a mask allows a token.

    >>> is_allowed(np.array([0b101], np.uint32), 2), is_allowed(np.array([0b101], np.uint32), 64)
    (True, False)
    """
    return token >> 5 < len(mask) and bool(int(mask[token >> 5]) >> (token & 31) & 1)


def logsumexp(row: NDArray[np.float32]) -> float:
    """The logarithm of the sum of exponentials; -inf where nothing is finite.

    >>> round(logsumexp(np.log(np.array([1, 2, 5], np.float32))), 6) == round(math.log(8), 6)
    True
    """
    top = row.max(initial=-np.inf)
    if not np.isfinite(top):
        return float(top)
    return float(top) + math.log(float(np.exp(row - top).sum()))


def logits_error(logits: NDArray[np.float32], mask: NDArray[np.uint32], location: str | None) -> ModelError:
    """The error of logits of which no token can be chosen: what is wrong with them."""
    sayable = np.flatnonzero(_bits(mask)[: len(logits)])
    if not len(sayable):
        return ModelError(
            f"the model cannot say any of the allowed tokens: its logits are only {len(logits)} wide; "
            "give the vocabulary that belongs to the model",
            place=location,
        )
    worst = sayable[logits[sayable].argmax()]
    return ModelError(
        f"the logit of token {worst} is {logits[worst]}, and it decides; "
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
    """The chance of each token under the options: first temperature, then top-k, top-p, min-p and typical-p.

    Args:
        row: float32[n], finite at its maximum, without NaN.
        sampling: The options; the temperature is above 0.

    Returns:
        float64[n], summing to 1.

    >>> row = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    >>> probabilities(row, Sampling(temperature=1, top_k=2)).round(3).tolist()
    [0.625, 0.375, 0.0]
    """
    wide = row.astype(np.float64)
    with np.errstate(over="ignore"):  # near temperature 0 the differences grow infinite, as they should
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
    """The first tokens by rank that together have `threshold` of the chances; always at least one."""
    order = np.argsort(-rank, kind="stable")
    order = order[probabilities[order] > 0]
    sums = np.cumsum(probabilities[order])
    before = sums - probabilities[order]
    kept = np.zeros(len(probabilities), bool)
    kept[order[before < threshold * sums[-1]]] = True
    kept[order[0]] = True
    return kept


def _surprisal_deviation(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each token's information is from the expected information, the entropy."""
    information = -np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    surprise: NDArray[np.float64] = np.abs(information - (probabilities * information).sum())
    return surprise


def check_number(name: str, value: float, minimum: float, maximum: float, *, exclusive: bool = False) -> None:
    """Raise TypeError or ValueError unless a value is a number, at least `minimum` (or above it) and at most
    `maximum`.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not (minimum < value if exclusive else minimum <= value) or not value <= maximum or math.isinf(value):
        least = f"above {minimum}" if exclusive else f"at least {minimum}"
        most = f" and at most {maximum}" if maximum < math.inf else ""
        raise ValueError(f"{name} must be {least}{most}, not {value!r}")


def check_int(name: str, value: int | None, minimum: int) -> None:
    """Raise TypeError or ValueError unless a value is `None` or a whole number, at least `minimum`."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {value!r}")
