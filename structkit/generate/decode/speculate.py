"""Drafts: tokens that a sequence may well go on with, so that the model can read them together and be asked after each.

What a draft says decides nothing. Every token is still chosen from the model's logits under its own mask; where it is
the drafted one, the logits of the next are there already (Leviathan et al. 2023). So what is written is the same with
drafts and without.
"""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.errors import TokenRefused
from structkit.generate.decode.retokenize import Speller, whole_characters
from structkit.generate.sample.sample import allowed_logits, failure, logsumexp, only_id
from structkit.generate.sample.step import Draft
from structkit.guide.guide import Cursor
from structkit.models.protocols import LogitsModel
from structkit.models.single_row import asked
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Drafting", "Drafts", "Lookup", "ModelDrafts", "PromptDrafts"]

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
_CLOSING = (b'"', b"}", b", ", b",", b"]")

_SURE = 0.3
"""A draft model goes on as long as it finds its draft at least so likely."""


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


class Drafts(Protocol):
    """What drafts the rest of one sequence."""

    def draft(self, cursor: Cursor, most: int) -> Draft:
        """Draft what follows.

        Args:
            cursor: Where the sequence stands; it is there again afterwards.
            most: Tokens at most.
        """
        ...


Drafting: TypeAlias = "Callable[[Sequence[int], Vocabulary, Speller], Drafts]"
"""Begins the drafts of a sequence, of which it is given the prompt."""


class _Walk:
    """A draft that grows, and a cursor that goes with it."""

    def __init__(self, cursor: Cursor, speller: Speller, most: int) -> None:
        self.draft = Draft()
        self.cursor = cursor
        self._speller = speller
        self._most = most

    @property
    def room(self) -> int:
        """The tokens that there is room for."""
        return self._most - len(self.draft.token_ids)

    def take(self, token_ids: Sequence[int], *, guesses: int) -> None:
        """Draft tokens, as far as the language allows them and there is room; the first `guesses` are guesses."""
        for number, token in enumerate(token_ids[: self.room]):
            try:
                self.cursor.advance(token)
            except TokenRefused:
                return
            self.draft.token_ids.append(token)
            self.draft.guessed.append(number < guesses)

    def force(self) -> None:
        """Draft the text that must come next, but for its last token, which may be another with what follows."""
        self.take(self.spelled(self.cursor.forced_bytes())[:-1], guesses=0)

    def opened(self, text: bytes) -> list[int]:
        """The tokens of a text, with the quote of a string after it if the language allows one there."""
        quoted, taken = self.spelled(text + b'"') if text else [], 0
        try:
            for token in quoted:
                self.cursor.advance(token)
                taken += 1
        except TokenRefused:
            quoted = []
        self.cursor.rollback(taken)
        return quoted or self.spelled(text)

    def spelled(self, text: bytes) -> list[int]:
        """The tokens of a text, as far as its characters are whole."""
        return self._speller.tokens(whole_characters(text))

    def back(self) -> Draft:
        """The draft; the cursor is where it was."""
        self.cursor.rollback(len(self.draft.token_ids))
        return self.draft


class PromptDrafts:
    """Drafts without a model: text that must come next, and values that are copied from the prompt; see `Drafts`.

    Args:
        prompt_ids: The prompt.
        vocabulary: The tokens.
        speller: The model's tokenizer.
    """

    def __init__(self, prompt_ids: Sequence[int], vocabulary: Vocabulary, speller: Speller) -> None:
        self._tokens = vocabulary.tokens
        self._lookup = Lookup(self._tokens, prompt_ids)
        self._speller = speller

    def draft(self, cursor: Cursor, most: int) -> Draft:
        """See `Drafts.draft`."""
        walk, before = _Walk(cursor, self._speller, most), most + 1
        while 0 < walk.room < before:
            before = walk.room
            walk.take(walk.opened(cursor.forced_bytes()), guesses=0)
            copied = self._lookup.after(self._end(cursor))
            if copied is not None:
                ids = copied[1] or walk.spelled(copied[0])
                walk.take(ids, guesses=len(ids))
                walk.take(self._closing(walk), guesses=1)
        return walk.back()

    def _end(self, cursor: Cursor) -> bytes:
        """What was written last."""
        return b"".join(self._tokens[token] for token in cursor.token_ids[-_LONGEST:])[-_LONGEST:]

    def _closing(self, walk: _Walk) -> list[int]:
        """The end of a value, if it may end here, and what must follow."""
        for closing in _CLOSING:
            taken = 0
            try:
                for token in walk.spelled(closing):
                    walk.cursor.advance(token)
                    taken += 1
                forced = walk.cursor.forced_bytes()
            except TokenRefused:
                continue
            finally:
                walk.cursor.rollback(taken)
            if taken:
                return walk.opened(closing + forced)
        return []


class ModelDrafts:
    """Drafts by a smaller model of the same tokens, greedily and under the mask; see `Drafts`.

    Args:
        model: The smaller model.
        prompt_ids: The prompt.
        vocabulary: The tokens.
        speller: The model's tokenizer.
    """

    def __init__(
        self, model: LogitsModel, prompt_ids: Sequence[int], vocabulary: Vocabulary, speller: Speller
    ) -> None:
        self._model = model
        self._session = asked(model.session, model.name, who="the draft model")
        self._fed: list[int] = []
        self._prompt_ids = list(prompt_ids)
        self._vocabulary = vocabulary
        self._speller = speller

    def draft(self, cursor: Cursor, most: int) -> Draft:
        """See `Drafts.draft`.

        Raises:
            ModelFailed: The smaller model broke, or its logits are useless.
        """
        walk, sure, begin = _Walk(cursor, self._speller, most), 1.0, time.perf_counter()
        mask = np.zeros(self._vocabulary.words, np.uint32)
        walk.force()
        while walk.room > 0:
            cursor.fill_mask(mask)
            token = only_id(mask)
            if token is None:
                logits = self._logits([*self._prompt_ids, *cursor.token_ids])
                if logits is None:
                    break
                token, chance = _likeliest(logits, mask, f"{self._model.name}, as a draft model")
                sure *= chance
            if token in self._vocabulary.end_ids or sure < _SURE:
                break
            walk.take([token], guesses=1)
            walk.force()
        draft = walk.back()
        draft.seconds = time.perf_counter() - begin
        return draft

    def _logits(self, sequence: list[int]) -> NDArray[np.float32] | None:
        """The logits after a sequence; `None` if it is longer than the model can read."""
        longest = self._model.context_length
        if longest is not None and len(sequence) > longest:
            return None
        pairs = zip(sequence[:-1], self._fed, strict=False)
        same = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(sequence) - 1, len(self._fed)))

        def read() -> NDArray[np.float32]:
            if same < len(self._fed):
                self._session.crop(same)
            return self._session.logits(sequence[same:])

        logits = asked(read, self._model.name, who="the draft model")
        self._fed = sequence
        return logits


def _likeliest(logits: NDArray[np.float32], mask: NDArray[np.uint32], place: str) -> tuple[int, float]:
    """The likeliest allowed token, and its probability among them."""
    ids, row = allowed_logits(logits, mask)
    total = logsumexp(row)
    if not np.isfinite(total):
        raise failure(logits, mask, place)
    best = int(row.argmax())
    return best if ids is None else int(ids[best]), math.exp(float(row[best]) - total)
