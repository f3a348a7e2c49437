"""The tokens of a text, and how many of them stay when text follows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import VocabularyError
from structkit.generate.decode import retokenize
from structkit.generate.decode.retokenize import Retokenizer
from structkit.vocabulary.vocabulary import Vocabulary

TOKENS = [b"a", b"b", b'"', b":", b"ab", b":a", b'b"', b'a"', b"", b" ", b"bab", b'"a']
V = Vocabulary(tokens=TOKENS, eos_token_ids={8})


def _longest_first(text: str) -> list[int]:
    """Tokenize as a longest match does; the token 8 has no text."""
    found = []
    while text:
        token = max(
            (each for each in range(len(TOKENS)) if TOKENS[each] and text.encode().startswith(TOKENS[each])),
            key=lambda each: len(TOKENS[each]),
            default=None,
        )
        if token is None:
            raise VocabularyError("no token; use other texts")
        found.append(token)
        text = text[len(TOKENS[token]) :]
    return found


@given(st.text('ab": ', max_size=7))
def test_the_tokens_that_stay_are_those_that_no_sample_changes(text: str) -> None:
    found = Retokenizer(_longest_first, V)
    ids = _longest_first(text)
    assert found.encode(text) == ids == found.encode(text)
    stays = [
        count
        for count in range(len(ids))
        if all(
            _longest_first(text + sample)[:count] == ids[:count]
            for sample in retokenize._CONTINUATIONS
            if set(sample) <= set('ab": ')
        )
    ]
    assert found.stable_count(text) == found.stable_count(text) == max(stays, default=0)


def test_a_text_that_is_not_encoded_exactly_has_no_tokens() -> None:
    assert Retokenizer(None, V).encode("a") == []
    for tokenize in (
        lambda text: [0, 0],
        lambda text: [8],
        lambda text: [99],
        lambda text: [-1],
        _longest_first,
    ):
        found = Retokenizer(tokenize, V)
        assert found.encode("xyz") == [] and found.stable_count("xyz") == 0
