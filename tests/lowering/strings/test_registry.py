"""Languages of formats."""

from __future__ import annotations

import pydantic
import pytest

import structkit as sk
from structkit.lowering.strings.registry import language
from structkit.regex.nodes import CharClass, Repeat
from structkit.schema.ir.nodes import Format
from structkit.vocabulary.vocabulary import byte_vocabulary


@pytest.mark.parametrize(("name", "change"), [("python:lower", str.lower), ("python:upper", str.upper)])
def test_cased_texts_are_those_that_a_change_of_case_leaves(name: str, change: object) -> None:
    assert callable(change)
    node = language(Format(name))
    assert isinstance(node, Repeat) and isinstance(node.part, CharClass)
    allowed = {code for low, high in node.part.ranges for code in range(low, high + 1)}
    codes = (code for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert all((change(letter := chr(code)) == letter) is (code in allowed) for code in codes)


@pytest.mark.parametrize("name", [name for name in dir(pydantic) if name.startswith("UUID")])
def test_a_uuid_of_a_version_is_that_of_pydantic(name: str) -> None:
    """The version is the first digit of the third group."""
    target = getattr(pydantic, name)
    adapter, cursor = pydantic.TypeAdapter(target), sk.compile(target, byte_vocabulary()).cursor()
    for byte in b'"01234567-89ab-':
        cursor.advance(byte)
    for digit in "0123456789abcdef":
        after, rest = cursor.fork(), f'{digit}def-8123-456789abcdef"'
        try:
            for byte in rest.encode():
                after.advance(byte)
            found = after.is_accepting
        except sk.TokenRejected:
            found = False
        try:
            adapter.validate_json(f'"01234567-89ab-{rest}')
        except pydantic.ValidationError:
            assert not found, digit
        else:
            assert found, digit
