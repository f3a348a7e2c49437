"""Random generations in the tokens of a vocabulary, within a budget or without."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

import structkit as sk

__all__ = ["Kinds", "generate"]


class Kinds:
    """The tokens of a vocabulary by kind: those that end a text, and the others by their first character.

    Attributes:
        vocabulary: The vocabulary.
        ends: The mask of the tokens that end a text.
        others: The masks of the other kinds.
    """

    def __init__(self, vocabulary: sk.Vocabulary) -> None:
        self.vocabulary = vocabulary
        kinds: dict[str, list[int]] = {}
        for token, text in enumerate(vocabulary.tokens):
            kinds.setdefault(_kind(text), []).append(token)
        self.ends = self._mask(vocabulary.eos_token_ids)
        self.others = [self._mask(tokens) & ~self.ends for tokens in kinds.values()]

    def _mask(self, tokens: object) -> NDArray[np.uint32]:
        bits = np.zeros(32 * self.vocabulary.mask_words, np.uint8)
        bits[np.asarray(tokens)] = 1
        return np.packbits(bits, bitorder="little").view(np.uint32)


def _kind(token: bytes) -> str:
    if not token or token[0] >= 128:
        return "not ASCII"
    character = chr(token[0])
    return "letter" if character.isalpha() else "digit" if character.isdigit() else "other"


def generate(guide: sk.Guide, kinds: Kinds, source: random.Random, tokens: int, *, limited: bool) -> str:
    """Return a random text in which each kind of token is as likely as the others.

    It fails where the masks lead to a dead end, or beyond the budget.

    Args:
        guide: The language.
        kinds: The tokens of its vocabulary.
        source: What draws.
        tokens: The budget, which is doubled until a text fits into it.
        limited: Whether the masks know the budget. Otherwise all tokens that the language allows are drawn from, and
            behind the budget the text ends in as few tokens as the guide promises.
    """
    cursor, text = guide.cursor(), bytearray()
    while not cursor.fits(tokens):
        tokens *= 2
    mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
    while True:
        if not limited and tokens == 0:
            limited, tokens = True, cursor.min_tokens_to_end()
        if limited:
            cursor.fill_mask(mask, tokens)
        else:
            cursor.fill_mask(mask)
        found = [part for kind in kinds.others if (part := mask & kind).any()]
        can_end = bool((mask & kinds.ends).any())
        assert can_end == cursor.is_accepting
        assert can_end or found, f"no token is allowed after {bytes(text)!r}"
        if can_end and (not found or source.random() < 0.02):
            return text.decode()
        allowed = np.flatnonzero(np.unpackbits(source.choice(found).view(np.uint8), bitorder="little"))
        token = int(source.choice(allowed))
        cursor.advance(token)
        text += guide.vocabulary.tokens[token]
        tokens -= 1
