"""Reference cursor without precomputation: reads every token byte by byte with the automaton."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.errors import TokenRejected
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["ReferenceCursor"]


class ReferenceCursor:
    """A sequence that follows an automaton, to compare `Cursor` with.

    Its masks contain the tokens after which the text is a prefix of a text of the language. `Cursor` also masks tokens
    after which the vocabulary cannot spell the rest; a vocabulary with all bytes has no such tokens.
    """

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        self._reader = Reader(automaton)
        self.past = [(automaton.start_frames(), b"")]

    @property
    def can_end(self) -> bool:
        """Whether the value is complete."""
        return self.automaton.is_accepting(self.past[-1][0])

    def fill_mask(self, out: NDArray[np.uint32]) -> None:
        """Write the mask of the tokens that may come next, including end tokens; see `Cursor.fill_mask`."""
        allowed = np.zeros(32 * self.vocabulary.mask_words, bool)
        after = {b"": self.past[-1]}  # tokens have common beginnings
        for token_id, token in enumerate(self.vocabulary.tokens):
            for end in range(1, len(token or b"") + 1):
                if (text := token[:end]) not in after:
                    after[text] = self._reader.read(*after[text[:-1]], text[-1:])
            allowed[token_id] = bool(token) and bool(after[token][0])
        allowed[list(self.vocabulary.eos_token_ids)] = self.can_end
        out[:] = np.packbits(allowed, bitorder="little").view(np.uint32)

    def advance(self, token_id: int) -> None:
        """Append a token that is not an end token.

        Raises:
            TokenRejected: The token is not allowed.
        """
        after = self._reader.read(*self.past[-1], self.vocabulary.tokens[token_id])
        if not after[0]:
            raise TokenRejected(
                token_id, f"token {token_id} is not allowed", place=f"token {len(self.past) - 1}"
            )
        self.past.append(after)

    def rollback(self, n: int) -> None:
        """Remove the last `n` tokens."""
        del self.past[len(self.past) - n :]
