"""Vocabularies made from token bytes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import VocabularyError
from structkit.vocabulary.vocabulary import Vocabulary


def test_ids_are_positions_and_end_tokens_are_not_text() -> None:
    vocabulary = Vocabulary([b"a", None, b"bc", b"", b"</s>"], eos_token_ids=[4, 33, 4])
    assert vocabulary.tokens[:6] == (b"a", b"", b"bc", b"", b"", b"")
    assert vocabulary.eos_token_ids == (4, 33)
    assert vocabulary.size == len(vocabulary) == len(vocabulary.tokens) == 34
    assert vocabulary.mask_words == 2
    assert vocabulary.max_token_length == 2
    assert vocabulary.trie.token_ids.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("tokens", "ends", "message"),
    [
        ([], [0], "no token is text"),
        ([b"a"], [0], "no token is text"),
        ([b"a"], [], "no end token"),
        ([b"a"], [-1], "at `eos_token_ids`:\n  invalid token id -1\n  give an integer from 0 to 16777215"),
        ([b"a"], ["1"], "invalid token id '1'"),
        ([b"a"], 1, r"eos_token_ids is a set of ids, not 1\n  write \{1\}"),
        ([b"a"], None, r"eos_token_ids is a set of ids, not None\n  write \{0\}"),
        (None, [0], "tokens is a list of bytes, not NoneType"),
        (
            {b"a": 1, b"b": 0},
            [2],
            "tokens is a list of bytes, not dict\n  list its tokens by id, as in sorted",
        ),
        ({b"a", b"b"}, [2], "tokens is a list of bytes, not set"),
        ([b"a"], [2**30], "invalid token id 1073741824"),
        ([b"a"], [1.0], r"invalid token id 1\.0"),
        ([b"a", b"b" * 20_000], [2], r"at `tokens\[1\]`:\n  a token has 20000 bytes, and at most 16384"),
        ([b"a" * 16_384] * 513, [513], "all tokens together have 8404992 bytes, and at most 8388608"),
        ([b"a", "b"], [2], r"at `tokens\[1\]`:\n  the token 'b' is not bytes"),
    ],
)
def test_invalid_arguments_are_rejected(tokens, ends, message) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(tokens, ends)


DIFFERENT = [
    ([b"a", b"b"], [2]),
    ([b"ab"], [2]),
    ([b"b", b"a"], [2]),
    ([b"a", b"b"], [3]),
    ([b"a", b"b"], [2, 3]),
    ([b"a", b"b", None, None], [2]),
    ([b"a", b"b\0"], [2]),
]


def test_vocabularies_are_equal_by_content() -> None:
    vocabularies = [Vocabulary(*content) for content in DIFFERENT]
    assert len({vocabulary.fingerprint for vocabulary in vocabularies}) == len(DIFFERENT)
    assert len(set(vocabularies)) == len(DIFFERENT)
    assert vocabularies[0] == Vocabulary(iter([b"a", b"b", None]), {2})
    assert vocabularies[0] == Vocabulary([b"a", b"b"], np.array([2]))
    assert vocabularies[0] != "ab"


def test_the_fingerprint_is_fixed() -> None:
    """Files on disk contain the fingerprint: changing what it covers must be deliberate."""
    fingerprint = Vocabulary([b"a", b"b"], [2]).fingerprint
    assert fingerprint == "965ffc6f7fcd8adca9035e5e3ace76233f60f2329c5ba0410ac769c248b07636"


def test_vocabularies_can_be_pickled() -> None:
    vocabulary = Vocabulary([b"a", b"ab"], [2])
    assert vocabulary.trie is vocabulary.trie
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary


@given(
    st.lists(st.text("abc", min_size=1, max_size=3).map(str.encode), min_size=1),
    st.text("abcd").map(str.encode),
)
def test_tokenize_is_exact_and_shortest(tokens: list[bytes], text: bytes) -> None:
    vocabulary = Vocabulary(tokens, [len(tokens)])
    shortest = {b"": 0}
    reached = [b""]
    for prefix in reached:
        for token in tokens:
            longer = prefix + token
            if longer not in shortest and text.startswith(longer):
                shortest[longer] = shortest[prefix] + 1
                reached.append(longer)
    if text not in shortest:
        with pytest.raises(VocabularyError, match="no tokens spell"):
            vocabulary.tokenize(text)
        return
    ids = vocabulary.tokenize(text)
    assert b"".join(tokens[token_id] for token_id in ids) == text
    assert len(ids) == shortest[text]
