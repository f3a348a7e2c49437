"""Masks around the number of words up to which a mask is kept as a list of its words."""

from __future__ import annotations

import numpy as np
import pytest

import structkit as sk
from structkit.index.rows.mask import MAX_SPARSE_WORDS
from structkit.index.rows.scratch import Scratch
from structkit.vocabulary.vocabulary import Vocabulary

WORDS = MAX_SPARSE_WORDS + 2


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    tokens = [f"{'x' if at % 32 == 5 else 'y'}{at:05}".encode() for at in range(32 * WORDS)]
    return Vocabulary([*tokens, *(bytes([byte]) for byte in range(256))], eos_token_ids={len(tokens) + 256})


@pytest.mark.parametrize("count", [1, MAX_SPARSE_WORDS - 1, MAX_SPARSE_WORDS, MAX_SPARSE_WORDS + 1])
def test_a_mask_has_each_allowed_token_whatever_the_number_of_its_words(
    count: int, vocabulary: Vocabulary
) -> None:
    """One token of each of `count` words is allowed, and the byte that all of them begin with."""
    allowed = [32 * word + 5 for word in range(count - 1)]
    choice = sk.Choice([vocabulary.tokens[token].decode() for token in allowed] or ["x"])
    cursor = sk.compile(choice, vocabulary, cache=False).cursor()
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    cursor.fill_mask(mask)
    found = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
    assert found.tolist() == [*allowed, 32 * WORDS + ord("x")]


@pytest.mark.parametrize("count", [0, 1, MAX_SPARSE_WORDS, MAX_SPARSE_WORDS + 1])
def test_a_taken_mask_does_not_change_with_the_arrays(count: int, vocabulary: Vocabulary) -> None:
    scratch, size = Scratch(vocabulary), vocabulary.mask_words
    plain = np.zeros(size, np.uint32)
    plain[:count] = 7
    if count > MAX_SPARSE_WORDS:
        scratch.mask[:] = plain
    else:
        scratch.words[:count], scratch.values[:count] = np.arange(count), 7
    mask = scratch.take_mask(count)
    assert not scratch.mask.any()
    scratch.mask[:] = scratch.values[:] = 9
    assert mask.dense(size).tolist() == plain.tolist()
