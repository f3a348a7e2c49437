"""Subtrees that a walk takes as a whole, and rows made from those of similar states, beside walks over every node."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import structkit as sk
from structkit.guide.guide import Guide
from structkit.index import similar_rows
from structkit.index.rows.mask import Mask
from structkit.index.rows.row import Row
from structkit.index.similar_rows import Difference, SimilarRows

_GRAMMAR = r"""
start: statement (";" statement)*
statement: "for" NAME "in" value | "if" value ":" statement | NAME "=" value | "fort" "!"
value: NAME | NAME "(" value ")" | STRING | value "." NAME
STRING: /"[^"]*"/
NAME: /[^\W\d]\w*/
%ignore /[ \t]+/
"""


def _vocabulary() -> sk.Vocabulary:
    random_letters = random.Random(1)
    words = [
        "".join(random_letters.choices("foriné", k=length)) for length in range(1, 7) for _ in range(250)
    ]
    texts = {word + end for word in words for end in random_letters.sample(["", "(", ".", ' "', ": "], 2)}
    texts |= {before + word for word in words[::3] for before in (" ", '"', "(", "\t ")}
    tokens = [bytes((byte,)) for byte in range(256)] + sorted(
        text.encode() for text in texts if len(text) > 1
    )
    return sk.Vocabulary(tokens=[*tokens, b""], eos_token_ids={len(tokens)})


def _without_shortcuts(guide: Guide, monkeypatch: pytest.MonkeyPatch) -> Guide:
    walker = guide.index._walker
    walker._trie = (*walker._trie[:-2], np.empty(0, np.int32), np.empty((0, 4), np.int64))
    monkeypatch.setattr(guide.index, "_similar_row", lambda *arguments: None)
    return guide


@pytest.mark.parametrize(
    ("parser", "lexer"), [("lalr", "contextual"), ("earley", "basic"), ("earley", "auto")]
)
def test_masks_are_those_of_walks_over_every_node(
    parser: str, lexer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar_rows, "_MIN_NODES", 50)
    used: list[Difference] = []
    make_row = SimilarRows.row

    def counted(self: SimilarRows, other: Row, difference: Difference, part: Row | None) -> Row:
        used.append(difference)
        return make_row(self, other, difference, part)

    monkeypatch.setattr(SimilarRows, "row", counted)
    grammar = sk.Grammar(_GRAMMAR, parser=parser, lexer=lexer)  # type: ignore[arg-type]
    tokens = _vocabulary()
    guide = sk.compile(grammar, tokens, cache=False)
    plain = _without_shortcuts(sk.compile(grammar, tokens, cache=False), monkeypatch)
    mask, expected = (np.zeros(tokens.mask_words, np.uint32) for _ in range(2))
    choices = random.Random(2)
    for _, budget in itertools.product(range(4), (None, 25)):
        cursor, other = guide.cursor(), plain.cursor()
        for step in range(20):
            remaining = None if budget is None else budget - step
            cursor.fill_mask(mask, remaining)
            other.fill_mask(expected, remaining)
            assert (mask == expected).all()
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[: tokens.size - 1])
            if not len(allowed):
                break
            token = int(choices.choice(allowed.tolist()))
            cursor.advance(token)
            other.advance(token)
    assert used or parser == "earley"


@pytest.mark.parametrize("byte", [0, ord("b"), 255])
def test_a_similar_row_has_nothing_behind_the_bytes_that_differ(byte: int) -> None:
    tokens = [bytes((each,)) for each in range(256)] + [b"ab", b"ba", b"bab", b"ca", b"\0a", b"\xffa"]
    vocabulary = sk.Vocabulary(tokens=[*tokens, b""], eos_token_ids={len(tokens)})
    trie = vocabulary.trie
    start = int(trie.child_node[trie.child_byte[: trie.child_count[0]].tolist().index(byte)])
    nodes = np.arange(1, len(trie.byte), dtype=np.int32)
    every = Row(Mask(np.full(vocabulary.mask_words, 0xFFFFFFFF, np.uint32)), nodes, 3)
    difference = Difference(0, np.array([start], np.int32), np.array([-1], np.int32))
    automaton = sk.compile(sk.Regex("a"), vocabulary, cache=False).index.automaton
    row = SimilarRows(automaton, vocabulary).row(every, difference, None)
    assert row.exit_nodes.tolist() == [each for each in nodes if not start <= each < trie.end[start]]
    mask = row.mask.dense(vocabulary.mask_words)
    for number, token in enumerate(tokens):
        assert bool(mask[number >> 5] >> (number & 31) & 1) == (token[0] != byte)
