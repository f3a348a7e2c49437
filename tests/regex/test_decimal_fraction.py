"""The spellings of a fraction, compared with decimal arithmetic."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest

from structkit.regex.decimal_fraction import fraction_of
from tests.regex.oracle import holds


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_the_texts_are_the_spellings_of_the_fraction(shift: int) -> None:
    texts = ["", "."] + [
        f".{''.join(digits)}" for size in range(1, shift + 2) for digits in product("015", repeat=size)
    ]
    for part in range(10**shift):
        node = fraction_of(part, shift)
        for text in texts:
            is_written = text != "." and len(text) <= shift + 1
            expected = is_written and Decimal(f"0{text}") == Decimal(part).scaleb(-shift)
            assert holds(node, text) == expected, (part, text)
