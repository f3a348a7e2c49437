"""The weights of particles: their mean, the effective sample size, and resampling.

Equal particles form a group, which has one weight and a count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError
from structkit.generate.sample.sample import allowed_logits, logits_error

__all__ = ["draw_tokens", "effective_sample_size", "mean_log_weight", "resample"]


def draw_tokens(
    logits: NDArray[np.float32],
    mask: NDArray[np.uint32],
    temperature: float,
    count: int,
    generator: np.random.Generator,
    location: str | None = None,
) -> tuple[float, list[int]]:
    """Draw tokens among the allowed ones, with replacement.

    A token drawn from the masked distribution has the weight of the mask: its probability under the model, divided by
    that with which it is drawn, is the total probability of the allowed tokens, the same for each of them.

    Args:
        logits: float32[width], the logits of the next token.
        mask: The allowed tokens.
        temperature: The temperature, above 0, of the distribution that the model has.
        count: The number of tokens.
        generator: The random generator.
        location: The place of the step, for errors.

    Returns:
        The logarithm of the total probability of the allowed tokens, and the tokens; no tokens if it is -inf.

    Raises:
        ModelError: A logit is NaN or infinite, or no allowed token has a logit.

    >>> logits = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    >>> log_mass, tokens = draw_tokens(logits, np.array([0b101], np.uint32), 1.0, 8, np.random.default_rng(0))
    >>> round(math.exp(log_mass), 6), sorted(set(tokens))
    (0.7, [0, 2])
    """
    highest = float(logits.max(initial=-np.inf))
    if not math.isfinite(highest):
        raise ModelError(
            f"the highest logit is {highest}, not a finite number; load the model in a wider type, such as "
            "dtype='float32'",
            place=location,
        )
    ids, row = allowed_logits(logits, mask)
    top = float(row.max(initial=-np.inf))
    if top == -math.inf:
        if not np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(logits)].any():
            raise logits_error(logits, mask, location)
        return -math.inf, []
    everything = float(np.exp((logits.astype(np.float64) - highest) / temperature).sum())
    chances = np.exp((row.astype(np.float64) - top) / temperature)
    sums = np.cumsum(chances)
    log_mass = min(0.0, (top - highest) / temperature + math.log(sums[-1] / everything))
    drawn = np.searchsorted(sums, generator.random(count) * sums[-1], side="right")
    drawn = np.minimum(drawn, int(np.flatnonzero(chances)[-1]))
    return log_mass, (drawn if ids is None else ids[drawn]).tolist()


def effective_sample_size(log_weights: Sequence[float], counts: Sequence[int]) -> float:
    """Return the number of equally weighted particles that would be worth as much (Kong et al. 1994); 0 if all weigh 0.

    >>> effective_sample_size([-1.0, -1.0], [3, 1]), effective_sample_size([-1.0, -math.inf], [3, 1])
    (4.0, 3.0)
    """
    weights = _relative(log_weights)
    total = float((weights * counts).sum())
    return total**2 / float((weights**2 * counts).sum()) if total else 0.0


def mean_log_weight(log_weights: Sequence[float], counts: Sequence[int]) -> float:
    """Return the logarithm of the mean weight of all particles.

    >>> round(math.exp(mean_log_weight([math.log(0.5), -math.inf], [1, 3])), 6)
    0.125
    """
    total = float((_relative(log_weights) * counts).sum())
    return max(log_weights) + math.log(total / sum(counts)) if total else -math.inf


def resample(
    log_weights: Sequence[float], counts: Sequence[int], total: int, generator: np.random.Generator
) -> list[int]:
    """Draw particles by their weights; return how many of each group were drawn.

    Systematic resampling (Kitagawa 1996): one random number, and a count that differs by less than 1 from what the
    weights say. The expected count is exactly that, so that estimates stay unbiased.

    Args:
        log_weights: The weight of each group, not all -inf.
        counts: The number of particles of each group.
        total: The number of particles to draw.
        generator: The random generator.

    >>> resample([0.0, 0.0, -math.inf], [1, 3, 4], 8, np.random.default_rng(0))
    [2, 6, 0]
    """
    weights = _relative(log_weights) * counts
    sums = np.cumsum(weights)
    positions = (generator.random() + np.arange(total)) / total * sums[-1]
    drawn = np.minimum(np.searchsorted(sums, positions, side="right"), int(np.flatnonzero(weights)[-1]))
    return [int(count) for count in np.bincount(drawn, minlength=len(weights))]


def _relative(log_weights: Sequence[float]) -> NDArray[np.float64]:
    """Return weights scaled so that the largest is 1; all 0 if all are."""
    exact = np.array(log_weights, np.float64)
    top = exact.max(initial=-np.inf)
    return np.zeros(len(exact)) if top == -np.inf else np.exp(exact - top)
