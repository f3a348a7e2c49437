"""What chooses while a sentence is written: a seed, or whoever else can count to a few."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

__all__ = ["RandomSource", "SeededSource"]


class RandomSource(ABC):
    """Who chooses. What is simpler comes first, so that whoever shrinks choices to 0 shrinks sentences."""

    @abstractmethod
    def below(self, count: int) -> int:
        """One of the numbers from 0 to `count - 1`."""

    @abstractmethod
    def coin(self, probability: float) -> bool:
        """Whether something happens that makes the sentence longer, given how likely it should be."""


class SeededSource(RandomSource):
    """Choices that are the same for the same seed, on every platform.

    Of Python's random numbers `Random.random` alone is promised to stay the same in all versions, so only that is used
    (the notes on reproducibility in the documentation of the module `random`).

    >>> chance = SeededSource("a seed")
    >>> [chance.below(10) for _ in range(5)]
    [3, 0, 7, 4, 8]
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random

    def below(self, count: int) -> int:
        """One of the numbers from 0 to `count - 1`, all equally likely."""
        return int(self._random() * count)

    def coin(self, probability: float) -> bool:
        """True as often as that."""
        return self._random() < probability
