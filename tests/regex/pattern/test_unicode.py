"""Classes of characters from Python's database of Unicode."""

from __future__ import annotations

import unicodedata

from structkit.regex.pattern.unicode import category


def test_categories_are_those_of_all_characters() -> None:
    names = sorted({unicodedata.category(chr(code)) for code in range(0x110000)} - {"Cs"})
    found = {
        code: name for name in names for low, high in category(name).ranges for code in range(low, high + 1)
    }
    assert len(names) == 29 and len(found) == 0x110000 - 0x800  # without surrogates
    assert all(unicodedata.category(chr(code)) == name for code, name in found.items())
