"""The boundaries of quotes."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.regex.nodes import Substring
from structkit.regex.substring import END, boundaries, encode_source, find

COMPOSED = st.text("aé ỗ1.か中_", max_size=8)


@given(COMPOSED)
def test_a_mark_is_part_of_its_character(source: str) -> None:
    """Quotes of whole words are the same ones whether an accent is a character of its own or not."""
    parts = [unicodedata.normalize("NFD", source[: end + 1]) for end in range(-1, len(source))]
    offsets = [len(part) for part in parts]
    found = boundaries(source, whole_words=True)
    apart = boundaries(parts[-1], whole_words=True)
    assert apart.starts.nonzero()[0].tolist() == [offsets[at] for at in found.starts.nonzero()[0].tolist()]
    ends = (found.ends == END).nonzero()[0].tolist()
    assert (apart.ends == END).nonzero()[0].tolist() == [offsets[at] for at in ends]
    for start in range(len(source)):
        for end in range(start + 1, len(source) + 1):
            quote = unicodedata.normalize("NFD", source[start:end])
            expected = find(source, source[start:end], whole_words=True)
            assert find(parts[-1], quote, whole_words=True) == (offsets[expected] if expected >= 0 else -1)


@pytest.mark.parametrize(("source", "words"), [("👩‍💻 ok", ["👩‍💻", "ok"]), ("Ana's 3", ["Ana", "s", "3"])])
def test_words_of_a_text(source: str, words: list[str]) -> None:
    assert all(find(source, word, whole_words=True) == source.index(word) for word in words)
    assert find(source, source[1:], whole_words=True) < 0


def test_a_quote_of_whole_words_has_no_space_at_an_end() -> None:
    assert [find("a b c", quote, whole_words=True) for quote in ("a b", " b", "b ", " ")] == [0, -1, -1, -1]
    assert [find("a b c", quote, whole_words=False) for quote in ("a b", " b", "b ", " ")] == [0, 1, 2, 1]


@given(st.text("ab ́.", max_size=7), st.text("ab ́.", max_size=3), st.booleans())
@example("aab", "a", True)
@example("ab", "a", True)
def test_the_first_occurrence_is_the_first_of_all_starts_and_ends(
    source: str, quote: str, whole_words: bool
) -> None:
    found = boundaries(source, whole_words=whole_words)
    places = [
        start
        for start in range(len(source))
        if found.starts[start]
        and source.startswith(quote, start)
        and quote
        and found.ends[start + len(quote)] == END
    ]
    assert find(source, quote, whole_words=whole_words) == min(places, default=-1)


@pytest.mark.parametrize("json_escaped", [False, True])
def test_the_encoded_source_has_the_same_quotes(json_escaped: bool) -> None:
    """A quote of an encoded source is the encoded quote; no quote contains a lone surrogate."""
    source = 'Ana "é"\ud800 b\n\ud800'
    encoded = encode_source(Substring(source, False, json_escaped))
    found = set()
    for start in encoded.starts.tolist():
        for end in (encoded.ends == END).nonzero()[0].tolist():
            codes = encoded.codes[start:end]
            if end > start and (codes >= 0).all():
                found.add(bytes(codes.tolist()))
    quotes = {source[start:end] for start in range(len(source)) for end in range(start + 1, len(source) + 1)}
    plain = {quote for quote in quotes if "\ud800" not in quote}
    expected = {json.dumps(quote, ensure_ascii=False)[1:-1] if json_escaped else quote for quote in plain}
    assert found == {quote.encode() for quote in expected}
    assert encoded.codes[-1] == -1 and encoded.continuation.sum() == encoded.codes.size - len(source) - 1
