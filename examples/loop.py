"""A custom decoding loop: the guide gives the allowed tokens, the loop chooses among them.

Prints:

    {"mood": "positive", "stars": 1}
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

import structkit as sk
from structkit.testing import small_vocabulary


@dataclass
class Review:
    mood: Literal["positive", "negative"]
    stars: Annotated[int, Field(ge=1, le=5)]


if __name__ == "__main__":
    vocabulary = small_vocabulary()  # or sk.Vocabulary.from_tokenizer(tokenizer)
    cursor = sk.compile(Review, vocabulary).cursor()
    mask = np.zeros((vocabulary.size + 31) // 32, dtype=np.uint32)
    random = np.random.default_rng(0)
    written = b""
    while not cursor.is_accepting:
        logits = random.normal(size=vocabulary.size)  # your model goes here
        cursor.fill_mask(mask)
        allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")[: vocabulary.size].astype(bool)
        token = int(np.where(allowed, logits, -np.inf).argmax())
        cursor.advance(token)
        written += vocabulary.tokens[token]
    print(written.decode())
