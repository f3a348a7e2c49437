"""Languages of formats."""

from __future__ import annotations

import pytest

from structkit.lowering.strings.registry import language
from structkit.regex.nodes import CharClass, Repeat
from structkit.schema.ir.nodes import Format


@pytest.mark.parametrize(("name", "change"), [("python:lower", str.lower), ("python:upper", str.upper)])
def test_cased_texts_are_those_that_a_change_of_case_leaves(name: str, change: object) -> None:
    assert callable(change)
    node = language(Format(name))
    assert isinstance(node, Repeat) and isinstance(node.part, CharClass)
    allowed = {code for low, high in node.part.ranges for code in range(low, high + 1)}
    codes = (code for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert all((change(letter := chr(code)) == letter) is (code in allowed) for code in codes)
