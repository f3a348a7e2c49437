"""Byte sequences of code point ranges, compared with the encoder of Python."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.construct.utf8 import byte_sequences, class_edges

# Where the length of an encoding, its first byte or all trailing bytes change.
_EDGES = [
    0,
    0x7F,
    0x80,
    0x7FF,
    0x800,
    0xFFF,
    0x1000,
    0xD7FF,
    0xD800,
    0xDFFF,
    0xE000,
    0xFFFF,
    0x10000,
    0x3FFFF,
    0x10FFFF,
]
_NEAR = sorted({each + step for each in _EDGES for step in range(-65, 66) if 0 <= each + step <= 0x10FFFF})
_POINTS = st.sampled_from(_NEAR) | st.integers(0, 0x10FFFF)


def _ranges(points: set[int]) -> tuple[tuple[int, int], ...]:
    """Return ranges that share no code point, with the points as their ends."""
    return tuple(list(pairwise(sorted(points)))[::2])


@given(st.sets(_POINTS, min_size=2, max_size=6), st.sets(_POINTS, max_size=40))
def test_each_character_of_the_ranges_and_no_other_has_one_sequence(
    points: set[int], others: set[int]
) -> None:
    ranges = _ranges(points)
    sequences = byte_sequences(ranges)
    assert len(sequences) <= 16 * len(ranges)
    inner, edges = class_edges(ranges)
    assert set(edges[:, [0, 3]].flat) <= {-1, -2, *range(inner)}
    near = {each + step for each in points for step in (-65, -64, -1, 0, 1, 63, 64, 65)}
    for point in (each for each in near | others if 0 <= each <= 0x10FFFF and not 0xD800 <= each <= 0xDFFF):
        encoded = chr(point).encode()
        fitting = [
            each
            for each in sequences
            if len(each) == len(encoded)
            and all(low <= byte <= high for byte, (low, high) in zip(encoded, each, strict=True))
        ]
        assert len(fitting) == any(low <= point <= high for low, high in ranges)
        states = {-1}
        for byte in encoded:
            states = {
                target for source, low, high, target, _ in edges if source in states and low <= byte <= high
            }
        assert states == ({-2} if fitting else set())


def test_a_range_of_surrogates_has_no_sequence() -> None:
    assert byte_sequences(((0xD800, 0xDFFF),)) == ()
    assert byte_sequences(((0xD7FF, 0xE000),)) == (
        ((0xED, 0xED), (0x9F, 0x9F), (0xBF, 0xBF)),
        ((0xEE, 0xEE), (0x80, 0x80), (0x80, 0x80)),
    )


def test_a_range_of_full_trailing_bytes_is_one_sequence() -> None:
    for low, high in ((0x80, 0x7FF), (0x1000, 0xCFFF), (0x40000, 0xFFFFF), (0x80, 0xBF), (0x10000, 0x3FFFF)):
        assert len(byte_sequences(((low, high),))) == 1, (low, high)
