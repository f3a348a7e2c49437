"""How a model spells forced text: the tokens that it chose before, for the drafts of later sequences."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from structkit.lru_cache import LruCache
from structkit.models.protocols import LogitsModel

__all__ = ["Spellings", "spellings_of"]

_MAX_TEXTS = 4096
"""Maximum number of texts whose first token is kept, of at most `_KEY_BYTES` bytes each: less than 1 MB."""

_ANY = -1
"""In place of the token before a text: any."""

_KEY_BYTES = 64
"""Bytes of a text that determine its first token."""


_MAX_TOKENS = 256
"""Maximum number of tokens of a spelling: more than a step reads, so that a long text is not read in each step."""


class Spellings:
    """The token that a model chose last for the start of a forced text.

    A model that does not know a key spells it differently from the tokenizer, in each sequence: without the
    spelling, each of its tokens takes a step. A spelling is a draft only, so it changes no answer. Thread-safe.

    Args:
        tokens: The bytes of each token of the vocabulary.

    >>> spellings = Spellings([b"age", b"a", b"ge", b'": '])
    >>> spellings.spell(b'age": ', usual=[0, 3])
    [0, 3]
    >>> spellings.note(b'age": ', 0, 1, previous=0)
    >>> spellings.note(b'age": ', 1, 2, previous=1)
    >>> spellings.spell(b'age": ', usual=[0, 3])
    [1, 2, 3]
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        self._tokens = tokens
        self._chosen: LruCache[tuple[int, bytes], int] = LruCache(_MAX_TEXTS)

    def note(self, text: bytes, start: int, token_id: int, previous: int) -> None:
        """Note that the model chose a token for the text from `start` on, after the token `previous`."""
        key = text[start : start + _KEY_BYTES]
        self._chosen.put((previous, key), token_id)
        self._chosen.put((_ANY, key), token_id)

    def spell(
        self, text: bytes, usual: Sequence[int], start: int = 0, previous: int | None = None
    ) -> list[int]:
        """Return the tokens of the text from `start` on: those that the model chose before, otherwise the usual ones.

        The list ends where neither is known, and after `_MAX_TOKENS` tokens.

        Args:
            text: A text.
            usual: The tokens of the tokenizer from `start` on.
            start: The first byte.
            previous: The token before the text, if it is known.
        """
        usual_at, end = {}, start
        for token_id in usual[:_MAX_TOKENS]:
            usual_at[end] = token_id
            end += len(self._tokens[token_id])
        spelled: list[int] = []
        while start < len(text) and len(spelled) < _MAX_TOKENS:
            chosen = self._choice(text, start, previous)
            chosen = usual_at.get(start) if chosen is None else chosen
            if chosen is None:
                break
            spelled.append(chosen)
            start += len(self._tokens[chosen])
            previous = chosen
        return spelled

    def _choice(self, text: bytes, start: int, previous: int | None) -> int | None:
        """Return the token that the model chose last, after the same token if possible, if it spells only the text."""
        key = text[start : start + _KEY_BYTES]
        chosen = None if previous is None else self._chosen.get((previous, key))
        if chosen is None:
            chosen = self._chosen.get((_ANY, key))
        if chosen is None or not self._tokens[chosen] or not text.startswith(self._tokens[chosen], start):
            return None
        return chosen


def spellings_of(model: LogitsModel) -> Spellings:
    """Return the spellings of a model, kept as long as the model; new ones for a model without weak references."""
    try:
        found = _SPELLINGS.get(model)
        if found is None:
            found = _SPELLINGS.setdefault(model, Spellings(model.vocabulary.tokens))
    except TypeError:  # the model is not hashable, or has no weak references
        return Spellings(model.vocabulary.tokens)
    return found


_SPELLINGS: WeakKeyDictionary[LogitsModel, Spellings] = WeakKeyDictionary()
