"""Encoded bytes and decimals, compared with all short ones."""

from __future__ import annotations

import base64 as codec
import random
import re
from decimal import Decimal
from itertools import product

import pytest

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.lowering.strings.binary import (
    base64,
    complex_strings,
    decimal_strings,
    float_keys,
    fraction_strings,
    hexadecimal,
    utf8,
)
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


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("url", [False, True])
def test_base64_is_canonical_and_of_the_bytes_that_may_be(url: bool, ascii_only: bool) -> None:
    """Compared with the codec on all texts near an encoding: another last letter, another padding, another alphabet."""
    rng = random.Random(1)
    accepts = regular_dfa(base64(url=url, ascii_only=ascii_only)).accepts
    for _ in range(150):
        content = bytes(rng.choices(range(256) if rng.random() < 0.5 else range(128), k=rng.randrange(7)))
        text = (codec.urlsafe_b64encode if url else codec.b64encode)(content)
        assert accepts(text) == (not ascii_only or content.isascii()), content
        letters = b"-_" if url else b"+/"
        for other in (b"A", b"B", b"+", b"-", b"/", b"_", b"="):
            near = text.rstrip(b"=")[:-1] + other + b"=" * text.count(b"=")
            is_valid = (
                len(near) % 4 == 0
                and re.fullmatch(rb"[A-Za-z0-9" + re.escape(letters) + rb"]*={0,2}", near) is not None
                and codec.b64encode(decoded := codec.b64decode(near, altchars=letters), letters) == near
                and (not ascii_only or decoded.isascii())
            )
            assert accepts(near) == is_valid, near
    assert not accepts(b"A") and not accepts(b"A===") and not accepts(b"AA=") and accepts(b"")


def test_hexadecimal_digits_are_in_pairs_and_lower_case() -> None:
    texts = [b"", b"0", b"0f", b"0F", b"g0", b"0f9", b"0f9a", b"0f9a00"]
    assert _accepts(hexadecimal(), texts) == [True, False, True, False, False, False, True, True]
    assert _accepts(hexadecimal(1, 2), texts) == [False, False, True, False, False, False, True, False]
    assert hexadecimal(2, 1) is NEVER


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("signs", ["-0+", "-", "0", "+", "-0", "0+"])
def test_fractions_have_the_signs_that_may_be(signs: str, canonical: bool) -> None:
    accepts = regular_dfa(fraction_strings(signs=signs, canonical=canonical)).accepts
    for numerator, sign in {"-22": "-", "-0": "", "0": "0", "00": "", "7": "+", "+7": "", "07": "", "9" * 18: "+",
                            "9" * 19: ""}.items():  # fmt: skip
        is_one = bool(sign) and sign in signs
        assert accepts(numerator.encode()) == is_one, numerator
        for denominator, is_natural in {
            "7": True,
            "0": False,
            "-7": False,
            "1" * 18: True,
            "1" * 19: False,
        }.items():
            expected = is_one and is_natural and not canonical
            assert accepts(f"{numerator}/{denominator}".encode()) == expected, denominator


def test_complex_numbers_are_as_python_writes_them() -> None:
    plain, canonical = (regular_dfa(complex_strings(canonical=each)).accepts for each in (False, True))
    rng = random.Random(2)
    for _ in range(200):
        parts = [
            rng.choice([0.0, 1.0, -1.0, rng.randrange(999) / rng.choice([1, 10, 1000])]) for _ in range(2)
        ]
        text = str(complex(*parts)).strip("()").encode()
        assert plain(text), text
    for text, is_plain, is_canonical in [
        ("0j", True, True), ("-0j", True, False), ("1j", True, True), ("1+2j", True, True), ("1-2j", True, True),
        ("-1.5+0j", True, True), ("-1.5-0j", True, False), ("1.0j", True, False), ("1.50j", True, False),
        ("01j", False, False), ("1", False, False), ("1+2", False, False), ("0.5+2.25j", True, True),
        ("0+1j", True, False), (f"{'1' * 15}j", True, True), (f"{'1' * 16}j", True, False),
        (f"1.{'0' * 13}1j", True, True), (f"1.{'0' * 14}1j", True, False), (f"{'1' * 19}j", False, False),
        (f"1.{'1' * 17}j", True, False), (f"1.{'1' * 18}j", False, False), ("0.0j", True, False), ("", False, False),
    ]:  # fmt: skip
        assert (plain(text.encode()), canonical(text.encode())) == (is_plain, is_canonical), text


@pytest.mark.parametrize("distinct", [False, True])
def test_keys_that_are_floats_are_written_as_repr_within_their_bounds(distinct: bool) -> None:
    accepts = regular_dfa(float_keys(distinct_values=distinct, ge="-1.5", lt="20")).accepts
    for value, is_inside in [
        (-1.5, True),
        (-1.6, False),
        (0.0, True),
        (19.9, True),
        (20.0, False),
        (3.25, True),
    ]:
        assert accepts(repr(value).encode()) == is_inside, value
    exclusive = regular_dfa(float_keys(gt="1", le="2")).accepts
    assert [exclusive(text) for text in (b"1.0", b"1.5", b"2.0", b"2.5")] == [False, True, True, False]
    digits = regular_dfa(float_keys(distinct_values=distinct)).accepts
    assert [digits(f"0.{'1' * places}".encode()) for places in (15, 16, 17)] == [
        True,
        not distinct,
        not distinct,
    ]
