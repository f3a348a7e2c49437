"""Common prefixes of sequences and of what the rows of batches have read."""

from __future__ import annotations

from random import Random
from typing import cast

from structkit.generate.schedule.prefixes import Source, common_prefix, group_by_source, nearest_source
from structkit.models.protocols import Batch


def _shared(read: list[int], tokens: list[int]) -> int:
    """Return how many tokens of a sequence, but not its last one, were read."""
    return max(n for n in range(max(1, len(tokens))) if read[:n] == tokens[:n])


def _sequences(random: Random, most: int) -> list[list[int]]:
    return [random.choices(range(2), k=random.randrange(1, 6)) for _ in range(random.randrange(1, most))]


def test_the_common_prefix_is_shorter_than_each_sequence() -> None:
    random = Random(3)
    for _ in range(200):
        sequences = _sequences(random, 4)
        expected = min(_shared(a, b) for a in sequences for b in sequences)
        assert common_prefix(sequences) == sequences[0][:expected], sequences


def test_the_nearest_source_has_the_longest_common_prefix() -> None:
    random = Random(4)
    batch = cast("Batch", object())
    for _ in range(200):
        sources: list[Source] = [(read, batch, row) for row, read in enumerate(sorted(_sequences(random, 6)))]
        sequences = _sequences(random, 6)
        for tokens in sequences:
            at, length = nearest_source(tokens, sources)
            assert length == _shared(sources[at][0], tokens)
            assert length == max(_shared(read, tokens) for read, *_ in sources)
        groups = group_by_source(sequences, sources)
        assert sorted(number for numbers, _ in groups for number in numbers) == [*range(len(sequences))]
        assert len({row for _, (_, row, _) in groups}) == len(groups)
        for numbers, (_, row, length) in groups:
            nearest = [nearest_source(sequences[number], sources) for number in numbers]
            assert {at for at, _ in nearest} == {row} and length == min(shared for _, shared in nearest)


def test_without_sources_nothing_is_grouped() -> None:
    assert group_by_source([[1, 2]], []) == []
