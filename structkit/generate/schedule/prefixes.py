"""Common prefixes: sequences that enter a batch start with what a row of a batch has read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

from structkit.generate.decode.decode import common_length
from structkit.models.protocols import Batch, Logits, SupportsTransfer

__all__ = ["Source", "Start", "common_prefix", "fork_rows", "group_by_source", "nearest_source"]

Source: TypeAlias = tuple[list[int], Batch, int]
"""Tokens that a row of a batch has read, the batch, and the number of the row."""

Start: TypeAlias = tuple[Batch, int, int]
"""What sequences start with: a batch, the number of its row, and the number of the first tokens."""


def common_prefix(sequences: Sequence[list[int]]) -> list[int]:
    """Return the tokens that all sequences start with; never all tokens of a sequence.

    >>> common_prefix([[1, 2, 3], [1, 2, 4], [1, 2]])
    [1]
    """
    low, high = min(sequences), max(sequences)  # all share the prefix of the first and the last in order
    return low[: common_length(high, low)]


def nearest_source(token_ids: list[int], sources: Sequence[Source]) -> tuple[int, int]:
    """Return the index of the source with the longest common prefix, and its length.

    Args:
        token_ids: The tokens of a sequence.
        sources: At least one source, in the order of their tokens.
    """
    place = bisect_left(
        sources, token_ids, key=itemgetter(0)
    )  # the longest common prefix is that of a neighbour
    near = [at for at in (place - 1, place) if 0 <= at < len(sources)]
    return max(((at, max(0, common_length(sources[at][0], token_ids))) for at in near), key=itemgetter(1))


def group_by_source(
    sequences: Sequence[list[int]], sources: Sequence[Source]
) -> list[tuple[list[int], Start]]:
    """Return the indices of sequences with the same nearest source, and what all of these start with."""
    groups: dict[int, list[tuple[int, int]]] = {}
    for number, token_ids in enumerate(sequences if sources else ()):
        at, length = nearest_source(token_ids, sources)
        groups.setdefault(at, []).append((number, length))
    return [
        ([number for number, _ in group], (*sources[at][1:], min(length for _, length in group)))
        for at, group in groups.items()
    ]


def fork_rows(start: Start, token_ids: Sequence[list[int]]) -> tuple[Batch, Logits] | None:
    """Read sequences after their common start; return a batch of them, and the logits after their last tokens."""
    batch, row, length = start
    if not isinstance(batch, SupportsTransfer):
        return None
    forked = batch.fork(row, length, len(token_ids))
    return forked, forked.feed([each[length:] for each in token_ids])
