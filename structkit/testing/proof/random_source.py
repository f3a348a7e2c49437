"""Sources of random choices for sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

__all__ = ["RandomSource", "SeededSource"]


class RandomSource(ABC):
    """Source of random choices. Choice 0 is the simplest, so that shrinking choices shrinks sentences."""

    @abstractmethod
    def below(self, count: int) -> int:
        """Return a number from 0 to `count - 1`."""

    @abstractmethod
    def coin(self, probability: float) -> bool:
        """Return true with a given probability; true makes the sentence longer."""


class SeededSource(RandomSource):
    """Pseudo-random choices, equal for equal seeds on every platform.

    Only `Random.random` is used, because it is the only method whose sequence is guaranteed across Python versions
    (documentation of the module `random`, notes on reproducibility).

    >>> chance = SeededSource("a seed")
    >>> [chance.below(10) for _ in range(5)]
    [3, 0, 7, 4, 8]
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random

    def below(self, count: int) -> int:
        """Return a number from 0 to `count - 1`, uniformly distributed."""
        return int(self._random() * count)

    def coin(self, probability: float) -> bool:
        """Return true with the given probability."""
        return self._random() < probability
