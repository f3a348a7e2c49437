"""Text in the tokens that the model's own tokenizer would write for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from structkit.errors import VocabularyError
from structkit.vocabulary.control_tokens import to_bytes
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Retokenizer", "Tokenize", "complete_characters"]

_CONTINUATIONS = ('"', "a", "0", "-", "{", "}", "[", "]", " ")
"""What may follow a text, of each kind that a tokenizer cuts differently."""

Tokenize: TypeAlias = Callable[[str], Sequence[int]]
"""Text to the tokens that the model's own tokenizer would write for it."""


class Retokenizer:
    """A tokenizer, and what it wrote already.

    Args:
        tokenize: The tokenizer; `None` for one that writes nothing.
        vocabulary: The tokens that it should write.
    """

    def __init__(self, tokenize: Tokenize | None, vocabulary: Vocabulary) -> None:
        self._tokenize = tokenize
        self._vocabulary = vocabulary
        self._encoded: dict[str, list[int]] = {}
        self._stable_counts: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; none if the tokenizer cannot write exactly that."""
        if text not in self._encoded:
            self._encoded[text] = self._encode_exact(text)
        return self._encoded[text]

    def stable_count(self, text: str) -> int:
        """How many of the tokens of a text stay what they are when more is written, as far as samples of that tell.

        The last one may become longer. Those before it may change with it: `:{"` is `:` and `{"`, and `:{""` is `:{`
        and `""`.
        """
        if text not in self._stable_counts:
            ids = self.encode(text)
            count = max(0, len(ids) - 1)
            for after in _CONTINUATIONS if count else ():
                pairs = zip(ids[:count], self._encode_exact(text + after) or ids, strict=False)
                count = next((at for at, (a, b) in enumerate(pairs) if a != b), count)
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
    """The text up to the first character that is not whole: forced bytes may end, or begin, inside of one."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()
