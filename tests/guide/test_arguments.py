"""What guides and cursors do at the edges of their arguments, and what they say of wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

import structkit as sk
from structkit.testing import byte_vocabulary


@pytest.mark.parametrize("pattern", ["a", "[ab]{0,3}", "(a|bc)*d", "(ab|ac)+"])
def test_precomputing_visits_the_states_that_tokens_reach(pattern: str) -> None:
    vocabulary = sk.Vocabulary([b"a", b"b", b"c", b"d", b"ab", b"bc", b"abab", b"cd"], eos_token_ids=[8])
    guide = sk.compile(sk.Regex(pattern), vocabulary, cache=False)
    seen, pending = {frozenset(guide.cursor().state.frames)}, [guide.cursor()]
    while pending:
        cursor = pending.pop()
        for token in range(8):
            try:
                cursor.advance(token)
            except sk.TokenRejected:
                continue
            if (frames := frozenset(cursor.state.frames)) not in seen:
                seen.add(frames)
                pending.append(cursor.fork())
            cursor.rollback(1)
    for most in (1, 2, 3, 100):
        fresh = sk.compile(sk.Regex(pattern), vocabulary, cache=False)
        found = fresh.precompute(most)
        assert min(most, len(seen)) <= found <= len(seen) and (most > 2 or found <= most + 8)
        if most == 1:
            assert found == 1
    assert guide.precompute() == len(seen)


def test_a_guide_and_a_cursor_say_what_is_wrong_with_an_argument() -> None:
    guide = sk.compile(bool, byte_vocabulary(), cache=False)
    cursor, words = guide.cursor(), guide.vocabulary.mask_words
    with pytest.raises(ValueError, match=rf"^out must be uint32\[{words}\], not uint32\[{words + 1}\]$"):
        cursor.fill_mask(np.zeros(words + 1, np.uint32))
    with pytest.raises(ValueError, match=rf"^out must be uint32\[{words}\], not int32\[{words}\]$"):
        cursor.fill_mask(np.zeros(words, np.int32))
    with pytest.raises(TypeError, match=rf"^out must be an array of numpy, uint32\[{words}\], not \[0\]$"):
        cursor.fill_mask([0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^cannot roll back 1 of 0 tokens$"):
        cursor.rollback(1)
    cursor.advance(ord("t"))
    for count in (-1, 2):
        with pytest.raises(ValueError, match=f"^cannot roll back {count} of 1 tokens$"):
            cursor.rollback(count)
    cursor.rollback(0)
    assert cursor.token_ids == (ord("t"),)
    with pytest.raises(TypeError):
        cursor.advance(1.5)  # type: ignore[arg-type]
    for token in (-1, guide.vocabulary.size):
        with pytest.raises(
            sk.TokenRejected, match=f"token {token} is not allowed: the language does not allow it"
        ):
            cursor.advance(token)
    assert repr(cursor) == "<Cursor after 1 token, b't', not at an end>"
    for token in b"rue":
        cursor.advance(token)
    assert repr(cursor) == "<Cursor after 4 tokens, b'true', may end>"
    end = guide.vocabulary.eos_token_ids[0]
    cursor.advance(end)
    assert repr(cursor) == "<Cursor after 5 tokens, b'true', terminated>" and cursor.is_finished
    cursor.advance(end)
    with pytest.raises(sk.TokenRejected, match="the text has ended"):
        cursor.advance(ord("x"))
    mask = np.zeros(words, np.uint32)
    for budget in (None, 0, -1, 5):
        cursor.fill_mask(mask, budget)
        assert (mask == guide.eos_mask).all()
    cursor.rollback(2)
    assert not cursor.is_terminated and cursor.is_finished
    assert str(cursor.residual().to_regex()) == "" and cursor.min_tokens_to_end() == 0


def test_a_budget_of_nothing_allows_the_end_only() -> None:
    guide = sk.compile(sk.Regex("a*"), byte_vocabulary(), cache=False)
    mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
    for budget in (0, -1):
        guide.cursor().fill_mask(mask, budget)
        assert (mask == guide.eos_mask).all()
    strict = sk.compile(sk.Regex("aa"), byte_vocabulary(), cache=False).cursor()
    for budget, allowed in ((0, 0), (1, 0), (2, 1)):
        strict.fill_mask(mask, budget)
        assert mask.any() == allowed


def test_the_bytes_that_are_missing_are_named() -> None:
    vocabulary = sk.Vocabulary([b"a", b"bc", b"d"], eos_token_ids=[3])
    with pytest.raises(sk.VocabularyError, match=r"uses these bytes, which are not tokens: b'bx'"):
        sk.compile(sk.Regex("abx|bad"), vocabulary, cache=False)
    assert repr(sk.compile(sk.Regex("ad"), vocabulary, cache=False)) == (
        "<Guide: 1 of 1 rules built, 3 states, 4 tokens>"
    )
