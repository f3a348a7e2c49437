"""The texts of methods of `str` are those for which Python says so, in all of Unicode."""

from __future__ import annotations

import random
import re
import unicodedata
from functools import cache

import pytest

from structkit.lowering.strings.registry import language
from structkit.regex.nodes import Rules
from structkit.regex.print import format_regex
from structkit.schema.ir.keywords import STR_METHODS
from structkit.schema.ir.nodes import Format
from tests.shared import ALL, cases

SAMPLES = cases(5_000, of=100_000)


@cache
def _letters() -> list[str]:
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def _kinds() -> list[str]:
    """Return some characters of each combination of answers."""
    found: dict[tuple[object, ...], list[str]] = {}
    for letter in _letters()[:0x20000]:
        answers = [getattr(letter, method)() for method in STR_METHODS]
        found.setdefault((unicodedata.category(letter), *answers), []).append(letter)
    return [letter for each in found.values() for letter in {each[0], each[-1]}]


@pytest.fixture(scope="module")
def kinds() -> list[str]:
    return _kinds()


def _pattern(method: str, *, negate: bool = False) -> re.Pattern[str]:
    given = Format.of(f"python:{method}", {"negate": True if negate else None})
    return re.compile(format_regex(Rules(language(given), {})))


@pytest.mark.parametrize("step", [20, pytest.param(1 if ALL else 3, marks=pytest.mark.long)])
@pytest.mark.parametrize("method", STR_METHODS)
def test_texts_of_one_character(method: str, step: int, kinds: list[str]) -> None:
    pattern, expected = _pattern(method), getattr(str, method)
    letters = [*kinds, *_letters()[::step]]
    assert bool(pattern.fullmatch("")) is expected("")
    assert [each for each in letters if bool(pattern.fullmatch(each)) is not expected(each)] == []


@pytest.mark.parametrize("method", STR_METHODS)
def test_texts_of_several_characters(method: str, kinds: list[str]) -> None:
    pattern, others, expected = _pattern(method), _pattern(method, negate=True), getattr(str, method)
    chance = random.Random(method)
    fitting = [each for each in kinds if expected(each)]
    for _ in range(SAMPLES):
        pool = fitting if chance.random() < 0.5 else kinds
        text = "".join(chance.choices(pool, k=chance.randrange(2, 6)))
        assert bool(pattern.fullmatch(text)) is expected(text), text
        assert bool(others.fullmatch(text)) is not expected(text), text
