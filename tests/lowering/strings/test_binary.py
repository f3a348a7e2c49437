"""Encoded bytes and decimals, compared with all short ones."""

from __future__ import annotations

import base64 as codec
from decimal import Decimal
from itertools import product

import pytest

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.lowering.strings.binary import base64, decimal_strings, hexadecimal, utf8
from structkit.regex.nodes import NEVER, Node

COUNTS = [(least, most) for least in range(6) for most in (None, *range(6))]


def _accepts(node: Node, texts: list[bytes]) -> list[bool]:
    if node is NEVER:
        return [False] * len(texts)
    dfa = regular_dfa(node)
    return [dfa.accepts(text) for text in texts]


@pytest.mark.parametrize("url", [False, True])
def test_encodings_have_the_number_of_bytes(url: bool) -> None:
    contents = [bytes([0xFB, 0xFF, 0x3E] * 3)[:size] for size in range(9)]
    for least, most in COUNTS:
        expected = [least <= size and (most is None or size <= most) for size in range(9)]
        encode = codec.urlsafe_b64encode if url else codec.b64encode
        assert _accepts(base64(least, most, url=url), [*map(encode, contents)]) == expected, (least, most)
        assert _accepts(hexadecimal(least, most), [each.hex().encode() for each in contents]) == expected


def test_texts_have_at_most_as_many_bytes_as_they_may() -> None:
    """Characters at both ends of each length of an encoding; texts of few bytes are all accepted."""
    edges = "\0\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"
    texts = ["".join(each).encode() for size in range(3) for each in product(edges, repeat=size)]
    for least, most in COUNTS:
        accepted = _accepts(utf8(least, most), texts)
        is_within = [least <= len(text) and (most is None or len(text) <= most) for text in texts]
        assert accepted == is_within or most is None
        assert all(is_within[number] for number, found in enumerate(accepted) if found), (least, most)


@pytest.mark.parametrize("canonical", [False, True])
def test_decimals_are_within_their_bounds(canonical: bool) -> None:
    texts = [
        f"{sign}{number}{rest}" for sign in ("", "-") for number in (0, 1, 12) for rest in ("", ".5", ".25")
    ]
    ends = [{}, {"ge": "0"}, {"gt": "0.25", "lt": "12"}, {"le": "-1"}, {"ge": "-1.25", "le": "1.5"}]
    for bounds, places in product(ends, [None, 1]):
        low, high = (bounds.get(a, bounds.get(b)) for a, b in (("ge", "gt"), ("le", "lt")))
        node = decimal_strings(canonical=canonical, decimal_places=places, **bounds)
        for text, found in zip(texts, _accepts(node, [each.encode() for each in texts]), strict=True):
            value = Decimal(text)
            above = low is None or value > Decimal(low) or ("ge" in bounds and value == Decimal(low))
            below = high is None or value < Decimal(high) or ("le" in bounds and value == Decimal(high))
            is_written = places is None or len(text.partition(".")[2]) <= places
            if value or "-" not in text:
                assert found == (above and below and is_written), (bounds, places, text)
