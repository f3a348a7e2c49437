"""The texts of patterns with lookarounds, as automata whose states are single threads, against `re`."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.errors import PatternError
from structkit.limits import Limits
from structkit.regex.pattern.match_network import match_network
from structkit.regex.pattern.parse import parse
from structkit.regex.pattern.program import read_pattern
from tests.regex.pattern.test_threads import PATTERNS
from tests.shared import cases

_URL = r"[-a-zA-Z0-9@:%._\+~#=]{1,256}\.[a-zA-Z0-9()]{1,6}\b([-a-zA-Z0-9()@:%_\+.~#?&//=]*)"
_WORDS = r"^([a-z\d]|[a-z\d]([a-z\d-](?!--))*[a-z\d])$"


@given(PATTERNS, st.booleans(), st.lists(st.text("ab ", max_size=6), min_size=5, max_size=20))
def test_all_ways_to_match_count(pattern: str, search: bool, texts: list[str]) -> None:
    nodes = [match_network(read_pattern(pattern, search=search)), parse(pattern, search=search, unicode=True)]
    for dfa in map(regular_dfa, nodes):
        for text in filter(None, texts):
            expected = re.search(pattern, text) if search else re.fullmatch(pattern, text)
            assert dfa.accepts(text.encode()) == bool(expected), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        (r"\bfoo\b", "foo", "foos"),
        (r"x(?<=x)y", "xy", "yy"),
        (r"(?:a(?!b)|b)+", "aab"[:2] + "a", "ab"),
        (r"(?<!a)b.*", "bc", "ab"),
        (r'"(?:[^"\\]|\\.)*(?<!x)"', '"ab"', '"abx"'),
        (r"(?m:^a$)", "a", "b"),
        (r"(?!(?:if|in)\b)[a-z]+", "iff", "if"),
        (r"(?!a$)[a-z]+", "ab", "a"),
    ],
)
def test_lookarounds_of_patterns(pattern: str, accepted: str, rejected: str) -> None:
    for unicode in (False, True):
        dfa = regular_dfa(parse(pattern, search=False, unicode=unicode))
        printed = sk.to_regex(sk.Regex(pattern)) if unicode else None
        if printed is not None:
            assert re.fullmatch(printed, accepted)
            assert not re.fullmatch(printed, rejected)
        assert dfa.accepts(accepted.encode())
        assert not dfa.accepts(rejected.encode())


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        (_URL, "a.-:/ ("),
        (_WORDS, "a-1"),
        (r"^.{1,30}(?<!\.)(/.*)?$", "a./"),
        (r"\b[^\]]--[a]\B", "a-]b"),
        (f"https?:\\/\\/(www\\.)?{_URL}", "https://www.a."),
    ][: cases(4, of=5)],
)
def test_patterns_of_schemas(pattern: str, letters: str) -> None:
    dfa = regular_dfa(parse(pattern, search=True, unicode=True), Limits(work=10**9))
    chance = random.Random(1)
    found = set()
    for _ in range(cases(200, of=3000)):
        text = "".join(chance.choices(letters, k=chance.randrange(20)))
        found.add(expected := bool(re.search(pattern, text)))
        assert dfa.accepts(text.encode()) == expected, text
    assert found == {True, False} or "https" in pattern


def test_a_long_count_before_a_boundary() -> None:
    dfa = regular_dfa(parse(f"^{_URL}$", search=True, unicode=True))
    for length in (1, 255, 256, 257, 300):
        text = "a" * length + ".de"
        assert dfa.accepts(text.encode()) == bool(re.search(f"^{_URL}$", text)), length


@pytest.mark.parametrize("pattern", [r"[a-z&&b]\b", r"[!--]\b", r"[a~~b]\b", r"\b[[:alpha:]]", r"\b[\R]"])
def test_classes_that_engines_read_differently_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        parse(pattern, search=True, unicode=False)
