"""Patterns of Python types: no text is accepted that pydantic's engine rejects, whatever its version of Unicode."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import pytest
from pydantic import ConfigDict, Field, TypeAdapter

import structkit as sk
from structkit.testing import byte_vocabulary

Engine = Literal["rust-regex", "python-re"]

_DISPUTED = (
    "\u0130\u0131\u017f\u019b\u1c8a\u1e9e\u03c2\u2126\u212a"
    "\u24b6\u200d\u0300\u0663\u00b2\u0378\u06e8\u2e5d\U0001e4f0"
)
"""Characters whose class or other case differs between engines or versions of Unicode, and some that have none."""

_SAMPLE = "".join(
    chr(code) for code in [*range(0x20, 0x7F), *range(0x80, 0x3000, 61), *range(0x3000, 0xD800, 1009)]
)
_CHARACTERS = [character for character in _DISPUTED + _SAMPLE if character not in '"\\']

_BOTH: list[str] = [
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"[^\w]", r"[^\d]", r"(?i:i)", r"(?i:k)", r"(?i:s)", r"(?i:[a-z])",
    r"(?i:[^a-z])", r"(?i:σ)", r"(?i:[^σ])", r"(?i:\W)", r"\b.", r"\B.", r".\b", r"\bfoo\b", r"foo\b.", r".\Bfoo",
]  # fmt: skip
_RUST = [
    r"\p{L}",
    r"\P{L}",
    r"[^\p{L}]",
    r"\p{Lu}",
    r"\P{Lu}",
    r"\p{C}",
    r"\P{C}",
    r"(?i:\p{Lu})",
    r"(?i:[^\p{Lu}])",
]
_PYTHON = [
    r"(?!\d).", r"(?!\w).", r"(?=\W).", r"(?!foo\b)....", r"(?=foo\b)....", r".(?<!\w)", r"(?!(?!\d)).", r".(?<!\d)foo",
    r"foo(?!\w).", r"(?!\d)(?!\b).",
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "engine"),
    [
        *((pattern, engine) for pattern in _BOTH for engine in ("rust-regex", "python-re")),
        *((pattern, "rust-regex") for pattern in _RUST),
        *((pattern, "python-re") for pattern in _PYTHON),
    ],
)
def test_pydantic_accepts_each_text_of_a_pattern(pattern: str, engine: Engine) -> None:
    target = TypeAdapter(
        Annotated[str, Field(pattern=f"^(?:{pattern})$")], config=ConfigDict(regex_engine=engine)
    )
    reader = sk.compile(target, byte_vocabulary()).reader
    accepted = 0
    for character in _CHARACTERS:
        for text in (character, character + "foo", "foo" + character, "foo"):
            if reader.accepts(json.dumps(text, ensure_ascii=False).encode()):
                accepted += 1
                assert target.validator.isinstance_python(text), ascii(text)
    assert accepted
