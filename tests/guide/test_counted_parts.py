"""Patterns with counted parts that overlap: a text has many parses, and tokens enter rules at many trie nodes."""

from __future__ import annotations

import random
import re
from itertools import product

import numpy as np
import pytest

import structkit as sk
from structkit.automaton.core.memory import Memory
from structkit.automaton.runtime.configurations import Configurations
from structkit.automaton.runtime.stack import Frame
from structkit.index.mask_builder import vocabulary_memory
from structkit.index.rows.row_kernels import SLOTS
from tests.guide.reference import ReferenceCursor
from tests.shared import cases

_WORDS = ["".join(letters) for size in range(2, 8) for letters in product("ab", repeat=size)]
VOCABULARY = sk.Vocabulary(
    tokens=[*(bytes([byte]) for byte in range(256)), *(word.encode() for word in _WORDS), b'a"', b"<end>"],
    eos_token_ids={256 + len(_WORDS) + 1},
)
PATTERNS = [
    "(?:.{0,12}a){3}",
    "^(?:.{0,12}a){3}$",
    "^(?:.{2,12}a){2,4}b$",
    "^(?:[ab]{0,12}(?:b|ab)){2}$",
    "^(?:(?:a|bb){1,9}b){3}.{0,3}$",
]


@pytest.mark.long(every=3)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_masks_equal_those_of_the_reference(pattern: str) -> None:
    guide = sk.compile({"type": "string", "pattern": pattern}, VOCABULARY, cache=False)
    chance = random.Random(pattern)
    mask = np.zeros(VOCABULARY.mask_words, np.uint32)
    expected, tight = mask.copy(), mask.copy()
    for _ in range(cases(2, of=20)):
        cursor, reference = guide.cursor(), ReferenceCursor(guide.index.automaton, VOCABULARY)
        text = b""
        while len(text) < 25:
            cursor.fill_mask(mask)
            reference.fill_mask(expected)
            assert mask.tolist() == expected.tolist(), text
            tokens = [
                token
                for token in range(len(VOCABULARY.tokens) - 1)
                if mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1)
            ]
            budget = cursor.min_tokens_to_end() + 2
            cursor.fill_mask(tight, budget)
            assert not tokens or tight.any()
            for token in chance.sample(tokens, min(len(tokens), 20)):
                after = cursor.fork()
                after.advance(token)
                if tight[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
                    assert after.min_tokens_to_end() < budget, (text, token)
            long = [token for token in tokens if len(VOCABULARY.tokens[token]) > 1]
            if not tokens:
                break
            token = chance.choice(long or tokens)
            cursor.advance(token)
            reference.advance(token)
            text += VOCABULARY.tokens[token]
            assert cursor.is_accepting == reference.can_end
            assert (
                cursor.state.frames == reference.past[-1][0]
            )  # the kernel and `Reader` leave out the same parses


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_equal_those_of_re(pattern: str) -> None:
    guide = sk.compile({"type": "string", "pattern": pattern}, VOCABULARY, cache=False)
    chance, found = random.Random(pattern), set()
    for _ in range(cases(200, of=2000)):
        text = "".join(chance.choices("ab", [chance.random(), 1], k=chance.randrange(40)))
        cursor = guide.cursor()
        try:
            for byte in f'"{text}"'.encode():
                cursor.advance(byte)
        except sk.TokenRejected:
            accepts = False
        else:
            accepts = cursor.is_accepting
        assert accepts == bool(re.search(pattern, text)), text
        found.add(accepts)
    assert found == {True, False}


def test_parses_with_more_iterations_than_others_are_left_out() -> None:
    index = sk.compile({"type": "string", "pattern": "(?:.{0,40}a){12}"}, VOCABULARY, cache=False).index
    memory = Memory(SLOTS, vocabulary_memory(VOCABULARY, index.automaton.limits.parse_states))
    configurations = Configurations(index.reader, lambda: index.token_distances, memory, 2**26)
    after = configurations.advance_bytes(configurations.start, b'"' + b"bab" * 12)
    assert len(configurations.frames(after)[0]) < 20


def test_exits_that_do_not_matter_share_a_row() -> None:
    """A state that only reads `a` has one row for all exits before an `a`, whatever other exits there are."""
    guide = sk.compile({"type": "string", "pattern": "^(?:.{0,12}a){3}$"}, VOCABULARY, cache=False)
    cursor, index, trie = guide.cursor(), guide.index, VOCABULARY.trie
    cursor.advance(ord('"'))
    (frame,) = (frame for frame in cursor.state.frames if frame.below)
    assert isinstance(frame.below, Frame)
    exits = np.arange(1, len(trie), dtype=np.int32)
    before_a = [
        node
        for node in exits.tolist()
        if ord("a") in trie.child_byte[trie.child_first[node] :][: trie.child_count[node]]
    ]
    assert 0 < len(before_a) < len(exits) / 2
    row = index.continuation_row(exits, frame.below)
    assert index.continuation_row(np.array(before_a, np.int32), frame.below) is row
    assert ord("a") not in row.mask.tokens() and VOCABULARY.tokens.index(b"aaa") in row.mask.tokens()


def test_iterations_that_may_be_empty_make_few_parses() -> None:
    guide = sk.compile(sk.Regex("^((a{0,100}b?){0,100}c?){0,100}$"), VOCABULARY, cache=False)
    chance = random.Random(1)
    for _ in range(cases(4, of=40)):
        cursor, text = guide.cursor(), ""
        for _ in range(cases(120, of=400)):
            more = "a" * chance.choice([1, 1, 2, 7, 99, 100, 101]) + chance.choice(["", "b", "b", "c"])
            try:
                for letter in more:
                    cursor.advance(ord(letter))
                    text += letter
            except sk.TokenRejected:
                assert _iterations(text + letter) > 100
                break
            assert cursor.is_accepting
            assert _iterations(text) <= 100
            assert len(cursor.state.frames) < 10


def test_masks_of_iterations_that_may_be_empty() -> None:
    tokens = [
        *(bytes([byte]) for byte in range(256)),
        b"a" * 60,
        b"ab" * 25,
        b"bc" * 40,
        b"abc" * 40,
        b"<end>",
    ]
    vocabulary = sk.Vocabulary(tokens=tokens, eos_token_ids={len(tokens) - 1})
    guide = sk.compile(sk.Regex("^((a{0,100}b?){0,100}c?){0,100}$"), vocabulary, cache=False)
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    for begun in range(0, 104, 13):
        cursor, text = guide.cursor(), "c" * begun
        for letter in text:
            if _iterations(text) <= 100:
                cursor.advance(ord(letter))
        if _iterations(text) > 100:
            continue
        cursor.fill_mask(mask)
        for token in (97, 98, 99, 100, *range(256, 260)):
            after = text + tokens[token].decode()
            is_allowed = bool(mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1))
            assert is_allowed == ("d" not in after and _iterations(after) <= 100), after


def _iterations(text: str) -> int:
    """Return how many iterations of `(a{0,100}b?){0,100}c?` the text takes."""
    total = 0
    for part in re.findall("[ab]*c|[ab]+$", text):
        runs = sum(max(1, -(-run.count("a") // 100)) for run in re.findall("a*b|a+", part))
        total += max(1, -(-runs // 100))
    return total
