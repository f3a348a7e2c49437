"""Text in the tokens that the model's own tokenizer would write for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from structkit.errors import VocabularyError
from structkit.vocabulary.control_tokens import to_bytes
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Spell", "Speller", "whole_characters"]

_AFTER = ('"', "a", "0", "-", "{", "}", "[", "]", " ")
"""What may follow a text, of each kind that a tokenizer cuts differently."""

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
        self._settled: dict[str, int] = {}

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; none if the tokenizer cannot write exactly that."""
        if text not in self._spelled:
            self._spelled[text] = self._exact(text)
        return self._spelled[text]

    def settled(self, text: str) -> int:
        """How many of the tokens of a text stay what they are when more is written, as far as samples of that tell.

        The last one may become longer. Those before it may change with it: `:{"` is `:` and `{"`, and `:{""` is `:{`
        and `""`.
        """
        if text not in self._settled:
            ids = self.tokens(text)
            count = max(0, len(ids) - 1)
            for after in _AFTER if count else ():
                pairs = zip(ids[:count], self._exact(text + after) or ids, strict=False)
                count = next((at for at, (a, b) in enumerate(pairs) if a != b), count)
            self._settled[text] = count
        return self._settled[text]

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
