"""The part of a source that an error shows."""

from __future__ import annotations

import pytest

from structkit.errors import _window


@pytest.mark.parametrize("column", [0, 3, 49, 50, 51, 70, 119])
def test_the_caret_is_below_the_column(column: int) -> None:
    """At most 50 characters before it are shown, and 50 behind; each character takes one place."""
    text = "".join(
        "\t" if at % 7 == 3 else "\0" if at % 7 == 5 else chr(ord("a") + at % 23) for at in range(120)
    )
    shown, caret = _window(text, column)
    place = min(column, 50)
    assert caret == " " * place + "^"
    assert len(shown) == len(text[column - place : column + 100 - place])
    assert shown[place] == {"\t": " ", "\0": "\N{REPLACEMENT CHARACTER}"}.get(text[column], text[column])
