"""Terminals of GBNF that are tokens."""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np
import pytest

import structkit as sk
from structkit.testing import ScriptedModel

TOKENS = sk.Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"<think>", None, None],
    eos_token_ids=[259],
    named_tokens={"<think>": 256, "<|tool|>": 257},
)


def allowed(cursor: sk.Cursor) -> list[int]:
    mask = np.zeros(TOKENS.mask_words, np.uint32)
    cursor.fill_mask(mask)
    return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()


def test_tokens_are_terminals() -> None:
    grammar = sk.Grammar('root ::= <think> [a-c<]+ "</think>" (<|tool|> "x" | <[258]>)?', syntax="gbnf")
    cursor = sk.compile(grammar, TOKENS).cursor()
    assert allowed(cursor) == [256]  # `<` is no part of the token
    cursor.advance(256)
    assert allowed(cursor) == [*b"<abc"]
    for byte in b"a</think>":
        cursor.advance(byte)
    assert allowed(cursor) == [257, 258, 259]
    cursor.advance(257)
    assert cursor.forced_bytes() == b"x"


NUMBERED = sk.Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *[None] * 9],
    eos_token_ids=[264],
    named_tokens={"<think>": 256, "</think>": 257},
)


@pytest.mark.parametrize(
    ("grammar", "valid", "invalid"),
    [
        # The cases of llama.cpp's test-grammar-integration, with other numbers.
        (
            "root ::= <[256]> content <[257]>\ncontent ::= (!<[257]>)*",
            [[256, *b"hello", 257], [256, 257]],
            [[256, *b"no end"], [256], [*b"no start", 257], [256, 257, 257], [257, *b"x", 256]],
        ),
        (
            "root ::= reasoning+ content tool-call*\nreasoning ::= <[256]> (!<[257]>)* <[257]>\n"
            "content ::= <[260]> ( !<[261]> ) * <[261]>\ntool-call ::= <[258]> name <[259]> args <[262]>\n"
            "name ::= !<[259]>+\nargs ::= !<[262]> *",
            [
                [256, *b"a", 257, 260, *"é!".encode(), 261, 258, *b"b", 259, *b"c", 262],
                [256, 257, 256, 258, 257, 260, 261, 258, *b"b", 259, 262],
                [256, *b"x", 258, *b" y", 257, 260, 256, *b"z", 261, 258, 260, 259, 262],
            ],
            [
                [260, *b"only", 261],
                [256, *b"open"],
                [256, 257, 260, 261, 258, 259, 262],
                [256, 257, 257, 260, 261],
            ],
        ),
        ("root ::= <think> !</think>* </think> .*", [[256, *b"<a", 257, *b"b"]], [[256, 257, 256]]),
    ],
)
def test_any_token_but_one(grammar: str, valid: list[list[int]], invalid: list[list[int]]) -> None:
    guide = sk.compile(sk.Grammar(grammar, syntax="gbnf"), NUMBERED)

    def accepts(token_ids: list[int]) -> bool:
        cursor = guide.cursor()
        try:
            for token_id in token_ids:
                cursor.advance(token_id)
        except sk.TokenRejected:
            return False
        return cursor.is_accepting

    assert [ids for ids in valid if not accepts(ids)] == []
    assert [ids for ids in invalid if accepts(ids)] == []


def test_text_does_not_spell_a_token() -> None:
    cursor = sk.compile(sk.Grammar("root ::= .* <|tool|> .*", syntax="gbnf"), TOKENS).cursor()
    for byte in b"<|tool|>":
        cursor.advance(byte)
    assert 259 not in allowed(cursor)
    assert 255 not in allowed(cursor)
    cursor.advance(257)
    assert 259 in allowed(cursor)


def test_values_have_the_names_of_tokens() -> None:
    grammar = sk.Grammar('root ::= <think> [a-z]+ "." <|tool|>', syntax="gbnf")
    text = "<think>abc.<|tool|>"
    result = sk.generate(ScriptedModel([text], vocabulary=TOKENS), "Go", grammar)
    assert (result.value, result.text) == (text, text)
    assert result.token_ids == (256, *b"abc.", 257)
    stream = sk.stream(ScriptedModel([text], vocabulary=TOKENS), "Go", grammar)
    assert "".join(event.text for event in stream if isinstance(event, sk.TextDelta)) == text


def test_the_demo_model_writes_its_control_tokens() -> None:
    result = sk.generate(sk.load(), "Go", sk.Grammar('root ::= "a" <|user|> "b"', syntax="gbnf"))
    assert result.value == "a<|user|>b"
    assert sk.load().vocabulary.named_tokens["<|user|>"] in result.token_ids


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ("root ::= <nope>", "the vocabulary has no token <nope>"),
        ("root ::= <[999]>", "the vocabulary has no token <[999]>"),
        ("root ::= <[259]>", "the token <[259]> ends a sequence"),
        ("root ::= <think> <[256]>", "<[256]> and <think> are one token"),
    ],
)
def test_unknown_tokens_are_refused(grammar: str, message: str) -> None:
    with pytest.raises(sk.VocabularyError, match=re.escape(message)):
        sk.compile(sk.Grammar(grammar, syntax="gbnf"), TOKENS)
    with pytest.raises(sk.VocabularyError, match="below the size"):
        sk.Vocabulary([b"a"], eos_token_ids=[1], named_tokens={"<x>": 2})


def test_a_json_string_has_no_tokens() -> None:
    grammar = sk.Grammar('root ::= "a" <think>', syntax="gbnf")
    with pytest.raises(sk.SchemaError, match="a JSON string is text"):
        sk.to_json_schema(Annotated[str, grammar])
