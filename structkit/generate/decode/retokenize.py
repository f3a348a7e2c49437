"""Tokenization of generated text with the tokenizer of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from structkit.errors import VocabularyError
from structkit.generate.decode.spellings import Spellings
from structkit.vocabulary.control_tokens import to_bytes
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Retokenizer", "Tokenize", "complete_characters"]

_CONTINUATIONS = ('"', "a", "0", "-", "{", "}", "[", "]", " ")
"""Sample continuations of a text, one for each class of characters that a tokenizer splits differently."""

Tokenize: TypeAlias = Callable[[str], Sequence[int]]
"""Encodes text with the tokenizer of the model."""


class Retokenizer:
    """A tokenizer with a cache.

    Args:
        tokenize: The tokenizer; `None` if there is none, and every text encodes as an empty list.
        vocabulary: The vocabulary of the tokens.
        spellings: How the model spells forced text, if that is noted.
    """

    def __init__(
        self, tokenize: Tokenize | None, vocabulary: Vocabulary, spellings: Spellings | None = None
    ) -> None:
        self._spellings = spellings
        self._tokenize = tokenize
        self._vocabulary = vocabulary
        self._encoded: dict[str, list[int]] = {}
        self._stable_counts: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; an empty list if the tokenizer cannot encode exactly that text."""
        if text not in self._encoded:
            self._encoded[text] = self._encode_exact(text)
        return self._encoded[text]

    def spell(self, text: str) -> list[int]:
        """Return the tokens of a text as the model spelled its parts before; the others are those of `encode`."""
        ids = self.encode(text)
        return ids if self._spellings is None else self._spellings.spell(to_bytes(text), ids)

    def stable_count(self, text: str) -> int:
        """Return how many leading tokens of a text do not change when text follows, estimated with samples.

        The last token can become longer, and earlier tokens can change with it: `:{"` is `:` and `{"`, but `:{""` is
        `:{` and `""`.
        """
        if text not in self._stable_counts:
            ids = self.encode(text)
            count = max(0, len(ids) - 1)
            for continuation in _CONTINUATIONS if count else ():
                pairs = zip(ids[:count], self._encode_exact(text + continuation) or ids, strict=False)
                count = next((number for number, (a, b) in enumerate(pairs) if a != b), count)
            self._stable_counts[text] = count
        return self._stable_counts[text]

    def _encode_exact(self, text: str) -> list[int]:
        if self._tokenize is None:
            return []
        try:
            ids = list(self._tokenize(text))
        except VocabularyError:
            return []
        tokens, size = self._vocabulary.tokens, self._vocabulary.size
        pieces = [tokens[i] if 0 <= i < size else b"" for i in ids]
        return ids if all(pieces) and b"".join(pieces) == to_bytes(text) else []


def complete_characters(text: bytes) -> str:
    """Return the text before the first incomplete character: forced bytes can start or end inside a character."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()
