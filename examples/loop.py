"""A decoding loop of your own: the guide gives masks, you choose the tokens.

Prints:

    {"name": "aaaaaaa", "age": 2}
"""

from dataclasses import dataclass

import numpy as np

import structkit as sk
from structkit.testing import small_vocabulary


@dataclass
class Person:
    name: str
    age: int


def allowed(mask: np.ndarray) -> np.ndarray:
    """The tokens of a mask: bit t % 32 of word t // 32 belongs to token t."""
    return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))


if __name__ == "__main__":
    vocabulary = small_vocabulary()  # or sk.Vocabulary.from_tokenizer(tokenizer)
    cursor = sk.compile(Person, vocabulary).cursor()
    mask = np.zeros((vocabulary.size + 31) // 32, dtype=np.uint32)
    written = b""
    while not cursor.can_end:
        cursor.fill_mask(mask)
        tokens = [token for token in allowed(mask) if vocabulary.tokens[token]]
        token = int(tokens[len(written) % len(tokens)])
        cursor.advance(token)
        written += vocabulary.tokens[token] or b""
        if len(written) > 200:
            break
    print(written.decode())
