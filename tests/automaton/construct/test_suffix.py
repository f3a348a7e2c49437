"""Suffix automata compared with all substrings of a source."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from structkit.automaton.construct import suffix as module
from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.automaton.construct.suffix import suffix_dfa
from structkit.automaton.core.kernels import OPERATION_BITS, UNREACHABLE
from structkit.automaton.distance.bounds import LengthBounds
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.regex import substring
from structkit.regex.charset import ANY
from structkit.regex.json_string import raw_intersection, string_tail
from structkit.regex.nodes import Intersection, Repeat, RuleRef, Rules, Substring
from structkit.regex.substring import END, boundaries, find
from tests.shared import cases

LIMITS = Limits()

TEXTS = st.one_of(
    st.text("ab ", max_size=14),
    st.text('aé×東京ก\u0301 ,\n"\\\t\x00\u00a0😀\ud83d_1', max_size=10),
    st.text(max_size=8),
    st.lists(st.sampled_from(["ana ", "souza", "an ", "na, ", "東京", "\n"]), max_size=6).map("".join),
)


def parts(source: str, *, words: bool) -> set[str]:
    """Return the quotes of a source by definition."""
    found = set()
    for start in range(len(source)):
        for end in range(start + 1, len(source) + 1):
            part = source[start:end]
            if re.search("[\ud800-\udfff]", part):
                continue
            if words and (part != part.strip() or _cuts(source, start) or _cuts(source, end)):
                continue
            found.add(part)
    return found


def _cuts(source: str, at: int) -> bool:
    """Return whether a word continues across a position."""
    return 0 < at < len(source) and not {at} <= set(np.flatnonzero(_open(source)).tolist())


def _open(source: str) -> list[bool]:
    import unicodedata

    def letter(c: str) -> bool:
        spaced = not any(first <= ord(c) <= last for first, last in substring._UNSPACED)
        return (c.isalnum() or c == "_") and spaced

    def mark(c: str) -> bool:
        return unicodedata.category(c)[0] == "M" or c == "\u200d"

    opened = [True]
    for before, after in pairwise(source):
        opened.append(not (mark(after) or ((letter(before) or mark(before)) and letter(after))))
    return [*opened, True]


def words_of(dfa: Any, max_words: int = 3_000) -> set[bytes]:
    """Return all texts of an automaton without cycles."""
    found, pending = set(), [(0, b"")]
    while pending:
        state, text = pending.pop()
        if dfa.final[state]:
            found.add(text)
        for byte in range(256):
            target = int(dfa.targets[state, dfa.classes[byte]])
            if target >= 0:
                pending.append((target >> OPERATION_BITS, text + bytes((byte,))))
        assert len(found) <= max_words
    return found


@given(TEXTS, st.booleans())
@example("1\\\\1\n", True)
@example("1\u2014\u20141\u2003", True)
@settings(max_examples=cases(50, of=300), deadline=None)
def test_the_automaton_accepts_exactly_the_substrings(source: str, words: bool) -> None:
    expected = parts(source, words=words)
    raw = {part.encode() for part in expected}
    escaped = {json.dumps(part, ensure_ascii=False)[1:-1].encode() for part in expected}
    assert words_of(suffix_dfa(Substring(source, words), LIMITS)) == raw
    assert words_of(suffix_dfa(Substring(source, words, json_escaped=True), LIMITS)) == escaped
    tails = words_of(suffix_dfa(string_tail(Substring(source, words)), LIMITS))  # type: ignore[arg-type]
    assert tails == {part + b'"' for part in escaped}
    for part in list(expected)[:5]:
        at = find(source, part, whole_words=words)
        assert source[at:].startswith(part)
        found = boundaries(source, whole_words=words)
        assert found.starts[at] and found.ends[at + len(part)] == END


@given(TEXTS, st.booleans())
@settings(max_examples=cases(33, of=100), deadline=None)
def test_the_length_bound_is_exact_for_quotes(source: str, words: bool) -> None:
    node = Substring(source, words, json_escaped=True, with_end_quote=True)
    lengths = LengthBounds(Rules(RuleRef("q"), {"q": node}), lambda node: 0)
    texts = [len(json.dumps(part, ensure_ascii=False).encode()) - 1 for part in parts(source, words=words)]
    assert lengths.of("q") == min(texts, default=UNREACHABLE)


@given(TEXTS, st.booleans(), st.integers(0, 4), st.integers(1, 6))
@settings(max_examples=cases(33, of=100), deadline=None)
def test_quotes_of_bounded_length(source: str, words: bool, min_length: int, more: int) -> None:
    node = raw_intersection([Substring(source, words)], min_length, min_length + more)
    quotes = parts(source, words=words)
    expected = {quote.encode() for quote in quotes if min_length <= len(quote) <= min_length + more}
    dfa = regular_dfa(node, LIMITS)
    assert (words_of(dfa) if not dfa.is_empty else set()) == expected


@given(TEXTS)
@example("1" * 11 + "ก")
@settings(max_examples=50, deadline=None)
def test_the_number_of_states_is_linear(source: str) -> None:
    """A suffix automaton has at most two states and three transitions per character (Blumer et al. 1985); each
    transition over a character of several bytes has a state between them."""
    count = len(source)
    width = max((len(character.encode("utf-8", "surrogatepass")) for character in source), default=1)
    for words in (True, False):
        dfa = suffix_dfa(Substring(source, words), LIMITS)
        assert len(dfa.final) <= 2 * count + 1 + 3 * count * (width - 1)


def test_repeated_and_long_sources_are_small() -> None:
    for source in ("a" * 20_000, "a " * 10_000, "ab " * 7_000, "Ana Souza, 34, works in Porto. " * 700):
        for words in (True, False):
            dfa = suffix_dfa(Substring(source, words, json_escaped=True, with_end_quote=True), LIMITS)
            assert len(dfa.final) <= 2 * len(source) + 2
            quote = source.strip() if words else source
            assert dfa.accepts(quote.encode() + b'"') and not dfa.accepts(quote.encode() + b'a"')


def test_too_long_sources_are_rejected() -> None:
    module.suffix_dfa.cache_clear()
    with pytest.raises(
        LimitExceeded, match=r"quotes from a source of 3,001 bytes \(quote from a part of it\)"
    ):
        suffix_dfa(Substring("ab " * 1_000), Limits(states=500))
    with pytest.raises(LimitExceeded, match="transitions"):
        suffix_dfa(Substring("ab " * 1_000), Limits(transitions=500))


def test_the_length_of_a_quote_is_counted() -> None:
    source = "".join(chr(97 + i * i % 23) for i in range(3_000))
    node = string_tail(raw_intersection([Substring(source, whole_words=False)], 0, 2_000))
    assert isinstance(node, Intersection) and isinstance(node.right, type(string_tail(Repeat(ANY, 0, 2_000))))
    assert regular_dfa(Intersection(Substring(source, whole_words=False), Repeat(ANY, 0, 3)), LIMITS).accepts(
        source[5:8].encode()
    )
