"""Random texts of a grammar over bytes, each within a budget."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np

import structkit as sk
from structkit.testing import byte_vocabulary

__all__ = ["VOCABULARY", "mutant", "random_text"]

VOCABULARY = byte_vocabulary()
END = VOCABULARY.eos_token_ids[0]


def random_text(guide: sk.Guide, source: random.Random, budget: int) -> str:
    """Return a random text of at most `budget` bytes, or twice that and so on if no text is so short."""
    cursor, text = guide.cursor(), bytearray()
    out = np.zeros(VOCABULARY.mask_words, np.uint32)
    while not cursor.fits(budget):
        budget *= 2
    while True:
        cursor.fill_mask(out, budget - len(text))
        allowed = np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little")).tolist()
        assert allowed, f"no byte is allowed after {bytes(text)!r}"
        if END in allowed and (len(allowed) == 1 or source.random() < 0.02):
            assert len(text) <= budget
            return text.decode()
        groups = defaultdict(list)  # each kind of character is as likely as the others
        for token in allowed:
            if token != END:
                groups[_kind(token)].append(token)
        token = source.choice(groups[source.choice(list(groups))])
        cursor.advance(token)
        text.append(token)


def _kind(byte: int) -> str:
    if byte >= 128:
        return "not ASCII"
    character = chr(byte)
    return "letter" if character.isalpha() else "digit" if character.isdigit() else "other"


def mutant(text: str, source: random.Random) -> str:
    """Return a text in which up to two characters are replaced or another one is inserted."""
    start = source.randrange(len(text) + 1)
    end = start + source.choice([0, 1, 2])
    characters = source.choices(text + " \n\"'#=[]{},._-+0aeTZ:|/\\%~()", k=2)
    return text[:start] + source.choice(["", *characters]) + text[end:]
