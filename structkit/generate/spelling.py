"""Text in the tokens that the model's own tokenizer would write for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from structkit.errors import VocabularyError
from structkit.vocabulary.marks import to_bytes
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Spell", "Speller", "whole_characters"]

Spell: TypeAlias = Callable[[str], Sequence[int]]
"""Text to the tokens that the model's own tokenizer would write for it."""


class Speller:
    """A tokenizer, and what it wrote already.

    Args:
        spell: The tokenizer; `None` for one that writes nothing.
        vocabulary: The tokens that it should write.
    """

    def __init__(self, spell: Spell | None, vocabulary: Vocabulary) -> None:
        self._spell = spell
        self._vocabulary = vocabulary
        self._spelled: dict[str, list[int]] = {}

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; none if the tokenizer cannot write exactly that."""
        if text not in self._spelled:
            self._spelled[text] = self._exact(text)
        return self._spelled[text]

    def _exact(self, text: str) -> list[int]:
        if self._spell is None:
            return []
        try:
            ids = list(self._spell(text))
        except VocabularyError:
            return []
        tokens, size = self._vocabulary.tokens, self._vocabulary.size
        pieces = [tokens[i] if 0 <= i < size else b"" for i in ids]
        return ids if all(pieces) and b"".join(pieces) == to_bytes(text) else []


def whole_characters(text: bytes) -> str:
    """The text up to the first character that is not whole: forced bytes may end, or begin, inside of one."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()
