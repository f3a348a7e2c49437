"""Patterns of Python types: no text is accepted that pydantic's engine rejects, whatever its version of Unicode."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import ConfigDict, Field, TypeAdapter, WithJsonSchema
from pydantic_core import SchemaError

import structkit as sk
from structkit.testing import ScriptedModel, byte_vocabulary
from tests.shared import cases

Engine = Literal["rust-regex", "python-re"]

_DISPUTED = (
    "\u0130\u0131\u017f\u019b\u1c8a\u1e9e\u03c2\u2126\u212a"
    "\u0345\u0399\u24b6\u200d\u0300\u0663\u00b2\u0378\u06e8\u2e5d\U0001e4f0"
)
"""Characters whose class or other case differs between engines or versions of Unicode, and some that have none."""

_SAMPLE = "".join(
    chr(code) for code in [*range(0x20, 0x7F), *range(0x80, 0x3000, 61), *range(0x3000, 0xD800, 1009)]
)
_CHARACTERS = [character for character in _DISPUTED + _SAMPLE if character not in '"\\']

_BOTH: list[str] = [
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"[^\w]", r"[^\d]", r"(?i:i)", r"(?i:k)", r"(?i:s)", r"(?i:[a-z])",
    r"(?i:[^a-z])", r"(?i:σ)", r"(?i:[^σ])", r"(?i:\W)", r"\b.", r"\B.", r".\b", r"\bfoo\b", r"foo\b.", r".\Bfoo",
    r"(?i:\w)", r"(?i:[\W])", r"(?i:\B[\W]\B)", r"(?i:\b[i-k]\b)", r"(?i:\b[^i-k]\b)", r"(?i:[^k]\b)",
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
    r"(?i:\P{Lu})",
    r"(?i:[\P{Lu}a])",
    r"\p{Greek}",
    r"[\p{Greek}\p{sc=Cyrillic}a]",
    r"[^\P{Greek}]",
    r"(?i:\p{Latin})",
    r"\p{Emoji}",
    r"[[:alpha:]]",
    r"[^[:^punct:]\d]",
    r"(?i:[[:upper:]--k])",
]
_PYTHON = [
    r"(?!\d).", r"(?!\w).", r"(?=\W).", r"(?!foo\b)....", r"(?=foo\b)....", r".(?<!\w)", r"(?!(?!\d)).", r".(?<!\d)foo",
    r"foo(?!\w).", r"(?!\d)(?!\b).",
]  # fmt: skip


@pytest.mark.long(every=3)
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
    for character in ("", *_CHARACTERS):
        for text in (character, character + "foo", "foo" + character):
            if reader.accepts(json.dumps(text, ensure_ascii=False).encode()):
                accepted += 1
                assert target.validator.isinstance_python(text), ascii(text)
    assert accepted


_CLASS_PARTS = [
    "a", "b", "k", "K", "z", "-", "[", "]", "^", "&&", "--", "~~", "[:alpha:]", "[:^digit:]", "[:upper:]", "[:foo:]",
    "[a-k]", "[^b]", r"\d", r"\w", r"\]", r"\-", r"\ ", " ", "#", "&", "~", "|", "{", "\n",
]  # fmt: skip
_PARTS = [
    "a", "b", "(", "(?:", "(?x:", "(?-x:", ")", " ", "#", "\n", r"\ ", r"\#", "{", "{2}", "{,2}", "{ 2}", "{1, 2}", "?",
    "*", "+", "|", "[a b]", "[#]",
    r"\<", r"\b", "$", "^", "(?i)", "(?x)", r"\.", ".", "(?#x)", "(?!", "(?=", "(?<!", r"\Z",
    r"\101", "[--a]",
]  # fmt: skip
_TEXTS = [
    *("".join(parts) for count in range(4) for parts in itertools.product("ab #", repeat=count)),
    *"a\n b\n \n A aB < { a{2} a{,2} a{ a{2, 3} #{ 2} -".split(" "),
]


@pytest.mark.long(every=3)
@pytest.mark.parametrize("engine", ["rust-regex", "python-re"])
@pytest.mark.parametrize(
    ("wrap", "parts", "texts"),
    [
        *(
            (wrap, _CLASS_PARTS, _CHARACTERS)
            for wrap in ("^[{}]$", "(?x)^[{}]$", "(?i)^[{}]$", "(?xi)^ [{}] $")
        ),
        *((wrap, _PARTS, _TEXTS) for wrap in ("{}", "(?x){}", "^{}$", "(?x) ^{}$")),
    ],
)
@pytest.mark.filterwarnings("ignore:Possible")
def test_random_patterns_are_read_as_the_engine_reads_them(
    wrap: str, parts: list[str], texts: list[str], engine: Engine
) -> None:
    chance = random.Random(f"{wrap} {engine}")
    compared = 0
    while compared < cases(12, of=300):
        pattern = wrap.format("".join(chance.choice(parts) for _ in range(chance.randint(1, 7))))
        try:
            target = TypeAdapter(
                Annotated[str, Field(pattern=pattern)], config=ConfigDict(regex_engine=engine)
            )
        except SchemaError:
            continue
        try:
            reader = sk.compile(target, byte_vocabulary(), cache=False).reader
        except (sk.PatternError, sk.UnsatisfiableSchema):  # a lookaround or a boundary
            continue
        compared += 1
        for text in texts:
            is_valid = target.validator.isinstance_python(text)
            if reader.accepts(json.dumps(text, ensure_ascii=False).encode()):
                assert is_valid, (pattern, text)
            elif parts is _PARTS or text.isascii():
                assert not is_valid or text.endswith("\n"), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (re.compile("\\d{4}  # year\n - [ ]\\d\\d", re.VERBOSE), "2024- 11", "2024-11"),
        (re.compile(r"a b", re.VERBOSE | re.IGNORECASE), "xAB", "a b"),
        ("(?x) ^ [a b]+ $  # letters", "ab", "a b"),
        ("^[a-z&&[^aeiou]]+$", "bcd", "abc"),
        ("^[[:alpha:][:digit:]]+$", "a1", "a-"),
        ("^[a-g~~[b-h]]$", "h", "b"),
        (r"^[\w--\d]+$", "ab", "a1"),
        (r"^\p{Greek}+$", "σ", "s"),
        (r"^[^\p{Greek}]+$", "s", "σ"),
        ("^a{1, 2}$", "aa", "aaa"),
    ],
)
def test_patterns_of_types(pattern: Any, yes: str, no: str) -> None:
    target = Annotated[str, Field(pattern=pattern)]
    reader = sk.compile(target, byte_vocabulary()).reader
    assert reader.accepts(json.dumps(yes, ensure_ascii=False).encode())
    assert not reader.accepts(json.dumps(no, ensure_ascii=False).encode())
    assert TypeAdapter(target).validator.isinstance_python(yes)
    assert "(?#" not in sk.to_regex(target)
    written = pattern if isinstance(pattern, str) else pattern.pattern.split("\n")[0].split("  #")[0]
    prompt = sk.render_prompt(ScriptedModel([]), "", list[target])
    assert written.split("  #")[0] in prompt and "(?#" not in prompt and "\\x{" not in prompt


@pytest.mark.parametrize(
    ("pattern", "engine", "message"),
    [
        (r"\<a", "rust-regex", "word boundary in Rust; write `<`"),
        (r"(?-u:\w)", "rust-regex", "the flag `u`"),
        ("(?x)a\u00a0b", "rust-regex", "Rust ignores this space"),
        (r"[a--b]", None, "set difference, and `re` does not; escape it"),
        ("[[:alpha:]]", None, "special meaning in Rust, and not in `re`; escape it"),
        ("(?x)[a b]", None, "and `re` does not; escape it"),
        ("a(?x)b", None, "write `(?x:`"),
        (r"\p{Greek}", None, "write ranges of characters"),
        (r"\p{Alphabetic}", "rust-regex", "write ranges of characters"),
    ],
)
def test_what_engines_read_differently_is_refused(pattern: str, engine: Engine | None, message: str) -> None:
    """A pattern that a user adds to a schema is read by no engine of pydantic."""
    target: Any = (
        Annotated[str, WithJsonSchema({"type": "string", "pattern": pattern})]
        if engine is None
        else TypeAdapter(Annotated[str, Field(pattern=pattern)], config=ConfigDict(regex_engine=engine))
    )
    with pytest.raises(sk.PatternError) as caught:
        sk.to_regex(target)
    assert message in caught.value.message
    assert caught.value.place == "$"


@pytest.mark.parametrize("pattern", [r"\B|-", r"(?:\B|a)+", r"(?=\B)-?", r"b|\B(?!a)"])
def test_not_all_engines_find_the_inside_of_a_word_in_the_empty_text(pattern: str) -> None:
    """`re` does only since Python 3.14; the texts of a type do not depend on the version."""

    def accepts(target: Any, text: bytes = b'""') -> bool:
        return sk.compile(target, byte_vocabulary()).reader.accepts(text)

    config = ConfigDict(regex_engine="python-re")
    assert not accepts(TypeAdapter(Annotated[str, Field(pattern=pattern)], config=config))
    assert not accepts(sk.Regex(pattern), b"")
    assert accepts(sk.Regex(r"(?!\b)|-"), b"")
    assert accepts({"type": "string", "pattern": pattern})
