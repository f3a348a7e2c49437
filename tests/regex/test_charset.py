"""Character classes are sets of characters without surrogates."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise

from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.regex.charset import char_class, complement, contains, first_bytes, intersection, union
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


def test_first_bytes_are_those_of_the_characters() -> None:
    edges = [0, 0x61, 0x7E, 0x7F, 0x80, 0xBF, 0xC0, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    for low, high in combinations_with_replacement(edges, 2):
        if high - low < 0x1000:
            codes = [code for code in range(low, high + 1) if not 0xD800 <= code <= 0xDFFF]
            expected = {chr(code).encode()[:1] for code in codes}
            found = regular_dfa(first_bytes(char_class([(low, high)])))
            texts = [bytes([byte]) for byte in range(256)]
            assert {
                text for text, is_in in zip(texts, found.accepts_each(texts), strict=True) if is_in
            } == expected
            assert not any(found.accepts_each([b"", *(chr(code).encode() for code in codes if code > 0x7F)]))
