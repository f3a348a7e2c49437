"""Random texts of a guide: complete, within their budget, and of tokens that the mask allows."""

from __future__ import annotations

from random import Random

import numpy as np

import structkit as sk

__all__ = ["vocabularies", "walk"]


def walk(guide: sk.Guide, chance: Random, spare: int = 24) -> bytes:
    """Write a random text with a budget of the fewest tokens and at most `spare` more; return its bytes.

    Raises:
        AssertionError: A mask is empty, or allows a token that is no text or that is rejected, or the text is longer.
    """
    vocabulary, cursor, text = guide.vocabulary, guide.cursor(), b""
    mask = np.empty(vocabulary.mask_words, np.uint32)
    left = cursor.min_tokens_to_end()
    assert cursor.fits(left) and not (left and cursor.fits(left - 1)), left
    left += chance.randint(0, spare)
    while True:
        cursor.fill_mask(mask, left)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        assert len(allowed), ("no token is allowed", text, left)
        token = int(chance.choice(allowed.tolist()))
        cursor.advance(token)
        if token in vocabulary.eos_token_ids:
            return text
        assert left > 0, ("past the budget", text)
        assert vocabulary.tokens[token], ("a token without text", token)
        text, left = text + vocabulary.tokens[token], left - 1


def vocabularies(chance: Random) -> sk.Vocabulary:
    """Return a random vocabulary: all bytes, in any order, and duplicates, empty, torn, long and invalid tokens."""
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    pieces = (*'{}[]",: 01.-eabtrufnls\\é😀', "true", "null", '{"', '": ', "\\u", "00", '"}', "  ")
    for _ in range(chance.randint(0, 200)):
        text = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 4))).encode()
        start = chance.randint(0, len(text) - 1)
        tokens.append(text[start : chance.randint(start, len(text))])
    tokens += chance.choices(tokens, k=20)
    odd = (None, b"", b"a" * 10_000, b"[" * 300, b"\xff\xfe", b"\x80", b'"' + b"\xf0\x9f", b"0" * 40)
    tokens += chance.sample(odd, k=chance.randint(0, len(odd)))
    chance.shuffle(tokens)
    size = len(tokens)
    return sk.Vocabulary(tokens, chance.sample(range(size, size + 40), k=chance.randint(1, 3)))
