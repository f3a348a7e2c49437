"""Texts that were seen are a set, and the texts of a rule are listed with the shortest first."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.short_texts import ShortTexts
from structkit.automaton.runtime.shortest import ShortestPaths
from structkit.automaton.runtime.stack import SeenTexts
from structkit.regex.nodes import Rules
from structkit.regex.pattern.parse import parse

TEXTS = st.binary(max_size=3) | st.sampled_from([b"", b"a", b"ab", b"b"])


@given(st.lists(TEXTS, max_size=6), TEXTS, st.none() | st.integers(0, 3))
def test_seen_texts_are_a_set(texts: list[bytes], other: bytes, start: int | None) -> None:
    seen = backwards = SeenTexts()
    for text in texts:
        seen = seen.with_text(text)
    for text in reversed(texts):
        backwards = backwards.with_text(text)
    assert list(seen.texts) == sorted(set(texts))
    assert seen == backwards and hash(seen) == hash(backwards)
    assert (seen == seen.with_text(other)) == seen.contains(other) == (other in texts)
    assert not seen.contains(None)
    prefix = other.replace(b"\xff", b"")
    found = [each for each in sorted(set(texts)) if each.startswith(prefix) and b"\xff" not in each]
    assert [each for each in seen.with_prefix(prefix) if b"\xff" not in each] == found
    if start is not None:
        opened = seen.with_open(start)
        assert opened.open_start == start and opened != seen and opened.with_text(other).open_start is None


@pytest.mark.parametrize("pattern", ["[ab]{1,3}", "a*b?", "(a|bb|ab)*", "a|bab", ""])
def test_texts_of_a_rule_are_listed_with_the_shortest_first(pattern: str) -> None:
    automaton = link(Rules(parse(pattern, search=False, unicode=True), {}))
    shortest = ShortestPaths.build(automaton.build_all())
    state = automaton.start_state(0)
    if not ShortTexts.can_list(automaton, state):
        return
    texts = [
        bytes(each)
        for size in range(5)
        for each in product(b"ab", repeat=size)
        if re.fullmatch(pattern, bytes(each).decode())
    ]
    listed = ShortTexts(automaton, shortest.distance, state)
    place, found = 0, []
    while len(found) < len(texts) and (first := listed.first_new(found.__contains__, place)):
        found.append(first[0])
        place = first[1]
    assert found == texts
    assert (listed.first_new(found.__contains__) is None) == (re.search(r"\*", pattern) is None)
