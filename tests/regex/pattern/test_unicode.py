"""Classes of characters from Python's database of Unicode."""

from __future__ import annotations

import unicodedata
from itertools import product

from structkit.regex.charset import char_class
from structkit.regex.pattern.unicode import UncertainClass, category


def test_categories_are_those_of_all_characters() -> None:
    names = sorted({unicodedata.category(chr(code)) for code in range(0x110000)} - {"Cs"})
    found = {
        code: name for name in names for low, high in category(name).ranges for code in range(low, high + 1)
    }
    assert len(names) == 29 and len(found) == 0x110000 - 0x800  # without surrogates
    assert all(unicodedata.category(chr(code)) == name for code, name in found.items())


def test_a_class_of_one_certain_character_is_single() -> None:
    one, two = char_class([(97, 97)]), char_class([(97, 98)])
    for certain, possible in product([one, two, char_class([])], [one, two, char_class([(97, 97)])]):
        expected = 97 if certain == one == possible else None
        assert UncertainClass(certain, possible).single == expected
