"""Drafts: tokens that a sequence may well go on with, so that the model can read them together and be asked after each.

What a draft says decides nothing. Every token is still chosen from the model's logits under its own mask; where it is
the drafted one, the logits of the next are there already (Leviathan et al. 2023). So what is written is the same with
drafts and without.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from structkit.errors import TokenRefused
from structkit.generate.spelling import Speller, whole_characters
from structkit.guide.guide import Cursor
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Draft", "Lookup", "PromptDrafts"]

_LONGEST = 32
"""Bytes that are looked for in the prompt at most."""

_CONTEXT = 6
"""Bytes that must be found in the prompt where they are not the beginning of a value."""

_PLACES = 8
"""Places in the prompt that are looked at to find a word that begins so."""

_COPIED = 256
"""Bytes of the prompt that are copied at most."""

_NUMBER = re.compile(rb"(?P<begun>-?\d[\d.eE+-]*)\Z")
_STRING = re.compile(rb'"(?P<begun>[^"\\:,\[\]{}][^"\\]*)\Z')
_STOP = re.compile(rb'["\\\r\n]|[,;:.!?()\[\]{}]+(?=\s|\Z)|\s(?=[-(\[{"])')
_NUMBER_STOP = re.compile(rb"[^\d.eE+-]|\.(?!\d)")
_CLOSING = ('"', "}", ", ", ",", "]")


@dataclass(slots=True)
class Draft:
    """Tokens that may come next.

    Attributes:
        token_ids: The tokens, from the one on that is being asked for.
        guessed: For each whether it is a guess; the others follow from those before them.
    """

    token_ids: list[int] = field(default_factory=list)
    guessed: list[bool] = field(default_factory=list)


class Lookup:
    r"""Finds in a prompt what is being written, and what follows it there (Saxena 2023, "prompt lookup decoding").

    It looks for text, not for tokens, which depend on what is before them: a name after a quote is written in other
    tokens than after a space.

    Args:
        tokens: The bytes of each token of a vocabulary.
        prompt_ids: The prompt.

    >>> lookup = Lookup([b"Ana", b" Sou", b"za", b" is", b",", b" "], [0, 1, 2, 4, 3, 5, 0])
    >>> lookup.after(b'{"name": "Ana'), lookup.after(b'{"name": "Eva')
    ((b' Souza', [1, 2]), None)
    """

    def __init__(self, tokens: Sequence[bytes], prompt_ids: Sequence[int]) -> None:
        self._ids = list(prompt_ids)
        self._ends = [0, *accumulate(len(tokens[token]) for token in self._ids)]
        self._text = b"".join(tokens[token] for token in self._ids)

    def after(self, text: bytes) -> tuple[bytes, list[int]] | None:
        """What follows in the prompt what a text ends with.

        Returns:
            It, up to where a value may well end, and its tokens in the prompt if it is made of whole ones, else none;
            `None` if the prompt has nothing like the text.
        """
        string = _STRING.search(text)
        number = None if string else _NUMBER.search(text)
        start = self._found(text, string or number)
        if start is None:
            return None
        stops = (_NUMBER_STOP if number else _STOP).search(self._text, start, start + _COPIED)
        stop = stops.start() if stops else min(len(self._text), start + _COPIED)
        first, last = bisect_right(self._ends, start) - 1, bisect_right(self._ends, stop) - 1
        whole = self._ends[first] == start and self._ends[last] == stop
        return self._text[start:stop], self._ids[first:last] if whole else []

    def _found(self, text: bytes, value: re.Match[bytes] | None) -> int | None:
        """Where what a text ends with ends in the prompt."""
        begun = value["begun"] if value else b""
        longest = self._longest(text)
        if longest > max(_CONTEXT, len(begun)):
            return self._text.index(text[-longest:]) + longest
        return self._word(begun) if begun else None

    def _word(self, begun: bytes) -> int | None:
        """The end of the first word that begins so; only the first places are looked at."""
        at = -1
        for _ in range(_PLACES):
            at = self._text.find(begun, at + 1)
            if at < 0:
                return None
            if not self._text[max(0, at - 1) : at].isalnum():
                return at + len(begun)
        return None

    def _longest(self, text: bytes) -> int:
        """How many bytes at the end of a text are together in the prompt."""
        low, high = 0, min(_LONGEST, len(text))
        while low < high:
            middle = (low + high + 1) // 2
            if text[-middle:] in self._text:
                low = middle
            else:
                high = middle - 1
        return low


class PromptDrafts:
    """Drafts of one sequence, without a model: text that must come next, and values that are copied from the prompt.

    Args:
        prompt_ids: The prompt.
        vocabulary: The tokens.
        speller: The model's tokenizer.
    """

    def __init__(self, prompt_ids: Sequence[int], vocabulary: Vocabulary, speller: Speller) -> None:
        self._tokens = vocabulary.tokens
        self._lookup = Lookup(self._tokens, prompt_ids)
        self._speller = speller

    def draft(self, cursor: Cursor, text: bytes, most: int) -> Draft:
        """Draft what follows.

        Args:
            cursor: Where the sequence stands; it is there again afterwards.
            text: What was written.
            most: Tokens at most.
        """
        draft, written, before = Draft(), bytearray(text), -1
        while before < len(draft.token_ids) < most:
            before = len(draft.token_ids)
            self._take(cursor, draft, written, self._forced(cursor), guesses=0)
            copied = self._lookup.after(bytes(written[-_LONGEST:]))
            if copied is not None and len(draft.token_ids) < most:
                ids = copied[1] or self._spelled(copied[0])
                self._take(cursor, draft, written, ids, guesses=len(ids))
                self._take(cursor, draft, written, self._closing(cursor), guesses=1)
        cursor.rollback(len(draft.token_ids))
        return Draft(draft.token_ids[:most], draft.guessed[:most])

    def _take(
        self, cursor: Cursor, draft: Draft, written: bytearray, token_ids: Sequence[int], *, guesses: int
    ) -> None:
        """Draft tokens, as far as the language allows them; the first `guesses` are guesses."""
        for number, token in enumerate(token_ids):
            try:
                cursor.advance(token)
            except TokenRefused:
                return
            draft.token_ids.append(token)
            draft.guessed.append(number < guesses)
            written += self._tokens[token]

    def _forced(self, cursor: Cursor) -> list[int]:
        return self._speller.tokens(whole_characters(cursor.forced_bytes()))

    def _closing(self, cursor: Cursor) -> list[int]:
        """The end of a value, if it may end here, and what must follow."""
        for closing in _CLOSING:
            taken = 0
            try:
                for token in self._speller.tokens(closing):
                    cursor.advance(token)
                    taken += 1
                forced = cursor.forced_bytes()
            except TokenRefused:
                continue
            finally:
                cursor.rollback(taken)
            if taken:
                return self._speller.tokens(closing + whole_characters(forced))
        return []

    def _spelled(self, text: bytes) -> list[int]:
        return self._speller.tokens(whole_characters(text))
