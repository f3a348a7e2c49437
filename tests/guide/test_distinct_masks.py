"""Masks and budgets of arrays with unique items, compared with all texts of the language and all ways to spell them."""

from __future__ import annotations

import random
from functools import cache
from itertools import permutations

import numpy as np
import pytest

import structkit as sk
from structkit.automaton.runtime import distinct
from structkit.automaton.runtime.stack import Frame
from structkit.errors import VocabularyError
from structkit.guide.guide import Cursor
from structkit.testing import byte_vocabulary

ITEMS = [["a", "b"], ["a", "ab", "b"], ["aa", "a", "aaa"], ["ab", "ba", "a", "b"]]
LETTERS = [b"[", b"]", b'"', b",", b" ", b"a", b"b"]
MERGED = [
    b'["',
    b'"]',
    b'", "',
    b'", ',
    b'", "a',
    b'a", "',
    b'a"',
    b'"a',
    b"ab",
    b'ab"',
    b'b"]',
    b'"a", "b',
    b'["a',
    b', "b"',
]
DEEP = sk.Vocabulary([*(bytes((byte,)) for byte in range(256)), b"[" * 100], eos_token_ids=[257])


def _texts(items: list[str], least: int) -> list[bytes]:
    return [
        ("[" + ", ".join(f'"{item}"' for item in chosen) + "]").encode()
        for size in range(least, len(items) + 1)
        for chosen in permutations(items, size)
    ]


def _tokens(cursor: Cursor, budget: int | None = None) -> set[int]:
    mask = np.zeros(cursor.guide.vocabulary.mask_words, np.uint32)
    cursor.fill_mask(mask, budget)
    found = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
    return set(found) - set(cursor.guide.vocabulary.eos_token_ids)


@pytest.mark.parametrize("items", ITEMS, ids=str)
@pytest.mark.parametrize("least", [0, 1, 2])
@pytest.mark.parametrize("has_letters", [True, False])
def test_a_mask_has_the_tokens_from_which_a_text_can_be_spelled(
    items: list[str], least: int, has_letters: bool
) -> None:
    rng = random.Random(f"{items} {least} {has_letters}")
    letters = LETTERS if has_letters else [each for each in LETTERS if rng.random() < 0.8]
    tokens = letters + rng.sample(MERGED, 9)
    vocabulary = sk.Vocabulary(tokens, eos_token_ids=[len(tokens)])
    texts = _texts(items, least)

    @cache
    def fewest(text: bytes) -> float:
        """Return the fewest tokens that spell a text."""
        ways = (1 + fewest(text[len(token) :]) for token in tokens if text.startswith(token))
        return min(ways, default=float("inf")) if text else 0

    def to_end(prefix: bytes) -> float:
        return min(
            (fewest(text[len(prefix) :]) for text in texts if text.startswith(prefix)), default=float("inf")
        )

    schema = {"type": "array", "uniqueItems": True, "minItems": least, "items": {"enum": items}}
    if to_end(b"") == float("inf"):
        with pytest.raises(VocabularyError, match="no sequence of tokens spells any text of the target"):
            sk.compile(schema, vocabulary, cache=False)
        return
    guide = sk.compile(schema, vocabulary, cache=False)
    for _ in range(2):
        cursor, prefix = guide.cursor(), b""
        while True:
            expected = {token for token, text in enumerate(tokens) if to_end(prefix + text) < float("inf")}
            assert _tokens(cursor) == expected, prefix
            assert cursor.is_accepting == (prefix in texts)
            least_tokens = cursor.min_tokens_to_end()
            assert to_end(prefix) <= least_tokens and cursor.fits(least_tokens)
            for budget in range(int(to_end(prefix)) + 3):
                allowed = _tokens(cursor, budget)
                assert allowed <= {token for token in expected if to_end(prefix + tokens[token]) < budget}, (
                    budget
                )
                assert allowed or budget < least_tokens or not least_tokens
            if not expected:
                break
            token = rng.choice(sorted(expected))
            cursor.advance(token)
            prefix += tokens[token]
        assert prefix in texts
    assert guide.precompute() > len(items)


@pytest.mark.parametrize("spelled", [b"0123456", b"01"])
@pytest.mark.parametrize("path", ["$", "$.deep"])
def test_more_distinct_items_than_tokens_spell_are_refused(spelled: bytes, path: str) -> None:
    letters = [bytes((byte,)) for byte in spelled + b'{"deep}[, ]: -']
    vocabulary = sk.Vocabulary(letters, eos_token_ids=[len(letters)])

    def compiled(least: int) -> sk.Guide:
        items = {"type": "integer", "minimum": 0, "maximum": 9}
        schema = {"type": "array", "uniqueItems": True, "minItems": least, "items": items}
        deep = {"type": "object", "properties": {"deep": schema}, "required": ["deep"]}
        return sk.compile(schema if path == "$" else deep, vocabulary, cache=False)

    cursor = compiled(len(spelled)).cursor()
    assert cursor.fits(cursor.min_tokens_to_end())
    with pytest.raises(VocabularyError, match="as many different items or keys as are required") as caught:
        compiled(len(spelled) + 1)
    assert caught.value.place == path


def test_fewer_tokens_than_the_fewest_do_not_fit() -> None:
    """The text that a search finds is longer than the bound that counting proves to be enough."""
    keys = {"a": {"enum": list(range(9))}, "b": {"type": "string", "maxLength": 3}}
    items = {"type": "object", "properties": keys, "additionalProperties": False}
    schema = {"type": "array", "uniqueItems": True, "minItems": 30, "items": items}
    cursor = sk.compile(schema, byte_vocabulary(), cache=False).cursor()
    fewest = cursor.min_tokens_to_end()
    assert cursor.fits(fewest) and not cursor.fits(fewest - 1)


def test_open_arrays_without_items_before_them_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each byte of a deep array the open items have no others to differ from."""
    compared = []
    known = distinct._texts_with_prefix

    def texts_with_prefix(frame: Frame, buffer: bytes) -> tuple[bytes, ...]:
        compared.append(buffer)
        return known(frame, buffer)

    monkeypatch.setattr(distinct, "_texts_with_prefix", texts_with_prefix)
    cursor = sk.compile({"type": "array", "uniqueItems": True}, DEEP, cache=False).cursor()
    for _ in range(3):
        assert 256 in _tokens(cursor)
        cursor.advance(256)
    assert not compared


def test_the_error_of_a_mask_names_the_token() -> None:
    schema = {"type": "array", "uniqueItems": True}
    cursor = sk.compile(schema, DEEP, limits=sk.Limits(work=200), cache=False).cursor()
    with pytest.raises(sk.LimitExceeded, match="work=200") as caught:
        _tokens(cursor)
    assert caught.value.place == "token 0"
