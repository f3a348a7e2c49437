"""Random operations on a batch, with each step compared to the individual sequences."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from structkit.models.protocols import Batch, SupportsLookahead, SupportsTransfer
from structkit.models.single_row import log_probability

__all__ = ["walk"]


def walk(
    new_batch: Callable[[], Batch],
    expected_logits: Callable[[list[int]], np.ndarray],
    seed: int,
    *,
    steps: int = 24,
    width: int = 100,
    tolerance: float = 1e-5,
) -> None:
    """Compare the rows of a batch with `expected_logits`, the logits after each token of a sequence."""
    taken = _Walk(new_batch, expected_logits, seed, width, tolerance)
    for _ in range(steps):
        if not taken.sequences:
            taken.add()
        step = taken.random.choice(
            ["add", "feed", "feed", "read", "read", "back", "back", "keep", "score", "move"]
        )
        if step != "add" or len(taken.sequences) < 5:
            getattr(taken, step)()


class _Walk:
    def __init__(
        self,
        new_batch: Callable[[], Batch],
        expected_logits: Callable[[list[int]], np.ndarray],
        seed: int,
        width: int,
        tolerance: float,
    ) -> None:
        self.expected_logits = expected_logits
        self.random = random.Random(seed)
        self.width = width
        self.tolerance = tolerance
        self.rows = new_batch()
        self.sequences: list[list[int]] = []

    def tokens(self, count: int) -> list[int]:
        return [self.random.randrange(2, self.width) for _ in range(count)]

    def add(self) -> None:
        new = [self.tokens(self.random.randint(1, 12)) for _ in range(self.random.randint(1, 3))]
        self.compare(self.rows.add(new), new)
        self.sequences += new

    def feed(self) -> None:
        fresh = [self.tokens(self.random.choice([1, 1, 1, 2, 4])) for _ in self.sequences]
        logits = self.rows.feed(fresh)
        self.sequences = [old + new for old, new in zip(self.sequences, fresh, strict=True)]
        self.compare(logits, self.sequences)

    def read(self) -> None:
        assert isinstance(self.rows, SupportsLookahead)
        fresh = [self.tokens(self.random.choice([1, 1, 3, 5])) for _ in self.sequences]
        last = self.random.randint(1, max(map(len, fresh)))
        logits = self.rows.feed_multi(fresh, last)
        self.sequences = [old + new for old, new in zip(self.sequences, fresh, strict=True)]
        assert logits.shape[1] == last
        for row, new, sequence in zip(logits, fresh, self.sequences, strict=True):
            returned = min(last, len(new))
            np.testing.assert_allclose(
                row[-returned:], self.expected_logits(sequence)[-returned:], atol=self.tolerance
            )

    def back(self) -> None:
        row = self.random.randrange(len(self.sequences))
        count = self.random.randint(0, min(3, len(self.sequences[row]) - 1))
        self.rows.rollback(row, count)
        del self.sequences[row][len(self.sequences[row]) - count :]

    def keep(self) -> None:
        kept = [row for row in range(len(self.sequences)) if self.random.random() < 0.7]
        self.random.shuffle(kept)
        self.rows.select(kept)
        self.sequences = [self.sequences[row] for row in kept]

    def move(self) -> None:
        """Copy the start of a row, and move another out of the batch and back to its end."""
        assert isinstance(self.rows, SupportsTransfer)
        row = self.random.randrange(len(self.sequences))
        length = self.random.randint(0, len(self.sequences[row]))
        count = self.random.randint(1, 2) if length and len(self.sequences) < 5 else 0
        if count:
            forked = self.rows.fork(row, length, count)
            fresh = [self.tokens(self.random.randint(1, 3)) for _ in range(count)]
            added = [self.sequences[row][:length] + new for new in fresh]
            self.compare(forked.feed(fresh), added)
            self.rows.merge(forked)
            self.sequences += added
        row = self.random.randrange(len(self.sequences))
        self.rows.merge(self.rows.take(row))
        self.sequences.append(self.sequences.pop(row))

    def score(self) -> None:
        row = self.random.randrange(len(self.sequences))
        branches = [self.tokens(self.random.randint(1, 4)) for _ in range(3)]
        for branch, scored in zip(branches, self.rows.score(row, branches), strict=True):
            logits = self.expected_logits(self.sequences[row] + branch)[len(self.sequences[row]) :]
            expected = [0.0, *(log_probability(logits[at], token) for at, token in enumerate(branch[1:]))]
            np.testing.assert_allclose(scored, expected, atol=self.tolerance)

    def compare(self, logits: object, sequences: list[list[int]]) -> None:
        for row, sequence in zip(np.asarray(logits), sequences, strict=True):
            np.testing.assert_allclose(row, self.expected_logits(sequence)[-1], atol=self.tolerance)
