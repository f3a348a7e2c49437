"""Free text that excludes the names of declared keys."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.regex.json_string import free_text_except
from structkit.regex.nodes import Rules

_WORDS = st.text('ab"é', max_size=6)


def _body(word: str) -> bytes:
    return json.dumps(word, ensure_ascii=False)[1:].encode()


@given(st.frozensets(_WORDS, min_size=1, max_size=5), st.lists(_WORDS, max_size=5))
def test_free_text_accepts_every_text_except_the_names(names: frozenset[str], words: list[str]) -> None:
    automaton = link(Rules(free_text_except(names), {}))
    for word in (*names, *words, *(name + "a" for name in names), *(name[:-1] for name in names)):
        assert Reader(automaton).accepts(_body(word)) == (word not in names)


@pytest.mark.parametrize("length", [24, 25, 500])
def test_long_names_are_excluded(length: int) -> None:
    automaton = link(Rules(free_text_except(["x" * length]), {}))
    for count in (0, 23, 24, 25, length - 1, length, length + 1):
        assert Reader(automaton).accepts(_body("x" * count)) == (count != length)
