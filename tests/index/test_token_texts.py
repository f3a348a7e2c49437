"""Tokens that are a prefix of a text, or start with it, are those found by comparing all tokens."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from structkit.index.token_texts import TokenTexts
from structkit.vocabulary.vocabulary import Vocabulary

TOKENS = st.lists(st.text("ab", min_size=1, max_size=4).map(str.encode), min_size=4, max_size=12)
TEXTS = ["".join(letters).encode() for length in range(4) for letters in product("abc", repeat=length)]


def _texts(tokens: list[bytes]) -> TokenTexts:
    return TokenTexts(Vocabulary(tokens=[*tokens, b"</s>"], eos_token_ids={len(tokens)}).trie)


@given(TOKENS)
def test_prefixes_and_extensions_are_those_of_all_tokens(tokens: list[bytes]) -> None:
    texts = _texts(tokens)
    for text in TEXTS:
        shorter = [token for token, value in enumerate(tokens) if text.startswith(value)]
        longer = [token for token, value in enumerate(tokens) if text and value.startswith(text)]
        assert sorted(texts.prefix_tokens(text)) == shorter
        assert sorted(texts.prefix_and_extension_tokens(text)) == sorted({*shorter, *longer})
        assert sorted(texts.extension_tokens([text])) == longer
        spelled = texts.tokenize(text)
        assert spelled is None or b"".join(tokens[token] for token in spelled) == text


@given(TOKENS, st.lists(st.sampled_from(TEXTS), max_size=5, unique=True).map(sorted))
def test_the_extensions_of_texts_are_those_of_each(tokens: list[bytes], chosen: list[bytes]) -> None:
    expected = {
        token for token, value in enumerate(tokens) for text in chosen if text and value.startswith(text)
    }
    assert set(_texts(tokens).extension_tokens(chosen)) == expected
