"""Character classes are sets of characters without surrogates."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from structkit.regex.charset import char_class, complement, contains, intersection, union
from structkit.regex.nodes import CharClass

CODES = [0, 1, 2, 3, 5, 0xD7FE, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xE001, 0x10FFFE, 0x10FFFF]
CHARACTERS = [code for code in CODES if not 0xD800 <= code <= 0xDFFF]
RANGES = st.lists(
    st.tuples(st.sampled_from(CODES), st.sampled_from(CODES)).map(lambda ends: (min(ends), max(ends))),
    max_size=4,
)


def _members(charset: CharClass) -> set[int]:
    """Return those of `CODES` in a class, which must be normal."""
    for (first, last), (after, _) in pairwise(charset.ranges):
        assert after > last + 1 and first <= last
    return {code for code in CODES if contains(charset, code)}


@given(RANGES, RANGES)
def test_operations_on_classes_are_those_on_sets(
    one: list[tuple[int, int]], two: list[tuple[int, int]]
) -> None:
    left, right = char_class(one), char_class(two)
    sets = [
        {code for code in CHARACTERS if any(low <= code <= high for low, high in each)} for each in (one, two)
    ]
    assert [_members(left), _members(right)] == sets
    assert _members(union([left, right])) == sets[0] | sets[1]
    assert _members(intersection(left, right)) == sets[0] & sets[1]
    assert _members(complement(left)) == set(CHARACTERS) - sets[0]
