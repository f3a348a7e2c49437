"""Drafts for speculative decoding: likely next tokens, which the model reads in one step (Leviathan et al. 2023).

A draft does not change the output. Every token is chosen from the logits of the model under its own mask; if the
chosen token is the drafted one, the logits of the next token are already computed.
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

from structkit.errors import TokenRejected
from structkit.generate.decode.retokenize import Retokenizer, complete_characters
from structkit.generate.sample.sample import allowed_logits, logits_error, logsumexp, only_id
from structkit.generate.sample.step import Draft
from structkit.guide.guide import Cursor
from structkit.models.protocols import LogitsModel
from structkit.models.single_row import call_model
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = [
    "AcceptanceRate",
    "AssistantDrafter",
    "DraftPace",
    "Drafter",
    "DrafterFactory",
    "PromptLookup",
    "PromptLookupDrafter",
    "best_width",
]

_MAX_MATCH = 32
"""Maximum bytes to search for in the prompt."""

_MIN_MATCH = 6
"""Minimum bytes of a match that is not the start of a value."""

_MAX_OCCURRENCES = 8
"""Maximum occurrences in the prompt to check for the start of a word."""

_MAX_COPIED = 256
"""Maximum bytes to copy from the prompt."""

_NUMBER = re.compile(rb"(?P<prefix>-?\d[\d.eE+-]*)\Z")
_STRING = re.compile(rb'"(?P<prefix>[^"\\:,\[\]{}][^"\\]*)\Z')
_STOP = re.compile(rb'["\\\r\n]|[,;:.!?()\[\]{}]+(?=\s|\Z)|\s(?=[-(\[{"])')
_NUMBER_STOP = re.compile(rb"[^\d.eE+-]|\.(?!\d)")
_CLOSINGS = (b'"', b"}", b", ", b",", b"]")

_MIN_PROBABILITY = 0.3
"""An assistant model stops drafting when the probability of its draft falls below this."""


class PromptLookup:
    r"""Finds the end of the generated text in a prompt, to copy what follows (Saxena 2023, "prompt lookup decoding").

    The search compares text instead of tokens, which depend on the text before them: a name after a quote has other
    tokens than after a space.

    Args:
        tokens: The bytes of each token of a vocabulary.
        prompt_ids: The prompt.

    >>> lookup = PromptLookup([b"Ana", b" Sou", b"za", b" is", b",", b" "], [0, 1, 2, 4, 3, 5, 0])
    >>> lookup.continuation(b'{"name": "Ana'), lookup.continuation(b'{"name": "Eva')
    ((b' Souza', [1, 2]), None)
    """

    def __init__(self, tokens: Sequence[bytes], prompt_ids: Sequence[int]) -> None:
        self._ids = list(prompt_ids)
        self._ends = [0, *accumulate(len(tokens[token]) for token in self._ids)]
        self._text = b"".join(tokens[token] for token in self._ids)

    def continuation(self, text: bytes) -> tuple[bytes, list[int]] | None:
        """Return the text that follows the end of `text` in the prompt.

        Returns:
            The continuation up to a likely end of a value, and its tokens in the prompt (empty if it starts or ends
            inside a token); `None` without a match.
        """
        string = _STRING.search(text)
        number = None if string else _NUMBER.search(text)
        start = self._match_end(text, string or number)
        if start is None:
            return None
        stops = (_NUMBER_STOP if number else _STOP).search(self._text, start, start + _MAX_COPIED)
        stop = stops.start() if stops else min(len(self._text), start + _MAX_COPIED)
        first, last = bisect_right(self._ends, start) - 1, bisect_right(self._ends, stop) - 1
        is_aligned = self._ends[first] == start and self._ends[last] == stop
        return self._text[start:stop], self._ids[first:last] if is_aligned else []

    def _match_end(self, text: bytes, value: re.Match[bytes] | None) -> int | None:
        """Return the end of the match in the prompt for the end of a text."""
        prefix = value["prefix"] if value else b""
        longest = self._longest_suffix(text)
        if longest > max(_MIN_MATCH, len(prefix)):
            return self._text.index(text[-longest:]) + longest
        return self._word_end(prefix) if prefix else None

    def _word_end(self, prefix: bytes) -> int | None:
        """Return the end of `prefix` in the first word that starts with it, among the first occurrences."""
        start = -1
        for _ in range(_MAX_OCCURRENCES):
            start = self._text.find(prefix, start + 1)
            if start < 0:
                return None
            if not self._text[max(0, start - 1) : start].isalnum():
                return start + len(prefix)
        return None

    def _longest_suffix(self, text: bytes) -> int:
        """Return the length of the longest suffix of a text that the prompt contains."""
        low, high = 0, min(_MAX_MATCH, len(text))
        while low < high:
            middle = (low + high + 1) // 2
            if text[-middle:] in self._text:
                low = middle
            else:
                high = middle - 1
        return low


class Drafter(Protocol):
    """Drafts tokens of one sequence."""

    def draft(self, cursor: Cursor, max_tokens: int) -> Draft:
        """Draft the next tokens.

        Args:
            cursor: The cursor of the sequence; it is moved and restored.
            max_tokens: Maximum tokens of the draft.
        """
        ...


DrafterFactory: TypeAlias = "Callable[[Sequence[int], Vocabulary, Retokenizer], Drafter]"
"""Creates the drafter of a sequence from the tokens of its prompt."""


class _DraftBuilder:
    """A draft under construction, and a cursor that advances with it."""

    def __init__(self, cursor: Cursor, retokenizer: Retokenizer, max_tokens: int) -> None:
        self.draft = Draft()
        self.cursor = cursor
        self._retokenizer = retokenizer
        self._max_tokens = max_tokens

    @property
    def remaining(self) -> int:
        """The number of tokens that can be added."""
        return self._max_tokens - len(self.draft.token_ids)

    def append(self, token_ids: Sequence[int], *, guess_count: int) -> bool:
        """Append tokens until the language rejects one or the draft is full; the first `guess_count` are guesses.

        Returns:
            Whether the language takes all of them.
        """
        for number, token in enumerate(token_ids[: self.remaining]):
            try:
                self.cursor.advance(token)
            except TokenRejected:
                return False
            self.draft.token_ids.append(token)
            self.draft.is_guess.append(number < guess_count)
        return True

    def append_forced(self) -> None:
        """Append the tokens of the forced text, except the last, which later text may retokenize."""
        self.append(self.encode(self.cursor.forced_bytes())[:-1], guess_count=0)

    def append_string(self, text: bytes) -> None:
        """Append the tokens of forced text; see `encode_string`. The token of a quote that is not forced is a guess."""
        tokens, length = self.cursor.guide.vocabulary.tokens, 0
        for token in self.encode_string(text):
            length += len(tokens[token])
            if not self.append([token], guess_count=int(length > len(text))):
                return

    def encode_string(self, text: bytes) -> list[int]:
        """Return the tokens of a text, followed by the opening quote of a string if the language allows one."""
        quoted, advanced = self.spell(text + b'"') if text[-1:] not in (b"", b'"') else [], 0
        try:
            for token in quoted:
                self.cursor.advance(token)
                advanced += 1
        except TokenRejected:
            quoted = []
        self.cursor.rollback(advanced)
        return quoted or self.spell(text)

    def spell(self, text: bytes) -> list[int]:
        """Return the tokens of the complete characters of a text, as the model spelled them before."""
        return self._retokenizer.spell(complete_characters(text))

    def encode(self, text: bytes) -> list[int]:
        """Return the tokens of the complete characters of a text."""
        return self._retokenizer.encode(complete_characters(text))

    def finish(self) -> Draft:
        """Restore the cursor, and return the draft."""
        self.cursor.rollback(len(self.draft.token_ids))
        return self.draft


class PromptLookupDrafter:
    """Drafts forced text and values copied from the prompt, without a model; see `Drafter`.

    Args:
        prompt_ids: The prompt.
        vocabulary: The vocabulary of the model.
        retokenizer: The tokenizer of the model.
    """

    def __init__(self, prompt_ids: Sequence[int], vocabulary: Vocabulary, retokenizer: Retokenizer) -> None:
        self._tokens = vocabulary.tokens
        self._lookup = PromptLookup(self._tokens, prompt_ids)
        self._retokenizer = retokenizer

    def draft(self, cursor: Cursor, max_tokens: int) -> Draft:
        """See `Drafter.draft`."""
        builder, previous = _DraftBuilder(cursor, self._retokenizer, max_tokens), max_tokens + 1
        while 0 < builder.remaining < previous:
            previous = builder.remaining
            builder.append_string(cursor.forced_bytes())
            copied = self._lookup.continuation(self._generated_suffix(cursor))
            if copied is not None:
                ids = copied[1] or builder.encode(copied[0])
                if builder.append(ids, guess_count=len(ids)):
                    builder.append(self._closing_ids(builder), guess_count=1)
        return builder.finish()

    def _generated_suffix(self, cursor: Cursor) -> bytes:
        """Return the last bytes of the generated text."""
        return b"".join(self._tokens[token] for token in cursor.token_ids[-_MAX_MATCH:])[-_MAX_MATCH:]

    def _closing_ids(self, builder: _DraftBuilder) -> list[int]:
        """Return the tokens of the end of a value and of the forced text after it; empty if it cannot end here."""
        for closing in _CLOSINGS:
            advanced = 0
            try:
                for token in builder.encode(closing):
                    builder.cursor.advance(token)
                    advanced += 1
                forced = builder.cursor.forced_bytes()
            except TokenRejected:
                continue
            finally:
                builder.cursor.rollback(advanced)
            if advanced:
                return builder.encode_string(closing + forced)
        return []


class AssistantDrafter:
    """Drafts with an assistant model, greedily and under the mask; see `Drafter`.

    Args:
        model: The assistant model, with the same vocabulary as the model.
        prompt_ids: The prompt.
        vocabulary: The vocabulary of the model.
        retokenizer: The tokenizer of the model.
    """

    def __init__(
        self, model: LogitsModel, prompt_ids: Sequence[int], vocabulary: Vocabulary, retokenizer: Retokenizer
    ) -> None:
        self._model = model
        self._session = call_model(model.session, model.name, subject="the assistant model")
        self._read_ids: list[int] = []
        self._prompt_ids = list(prompt_ids)
        self._vocabulary = vocabulary
        self._retokenizer = retokenizer

    def draft(self, cursor: Cursor, max_tokens: int) -> Draft:
        """See `Drafter.draft`.

        Raises:
            ModelError: The assistant model failed, or its logits are unusable.
        """
        started, probability = time.perf_counter(), 1.0
        builder = _DraftBuilder(cursor, self._retokenizer, max_tokens)
        mask = np.zeros(self._vocabulary.mask_words, np.uint32)
        builder.append_forced()
        while builder.remaining > 0:
            cursor.fill_mask(mask)
            token = only_id(mask)
            if token is None:
                logits = self._logits([*self._prompt_ids, *cursor.token_ids])
                if logits is None:
                    break
                token, token_probability = _argmax(logits, mask, f"{self._model.name}, as an assistant model")
                probability *= token_probability
            if token in self._vocabulary.eos_token_ids or probability < _MIN_PROBABILITY:
                break
            builder.append([token], guess_count=1)
            builder.append_forced()
        draft = builder.finish()
        draft.seconds = time.perf_counter() - started
        return draft

    def _logits(self, sequence: list[int]) -> NDArray[np.float32] | None:
        """Return the logits after a sequence; `None` if the sequence exceeds the context of the assistant model."""
        max_length = self._model.context_length
        if max_length is not None and len(sequence) > max_length:
            return None
        pairs = zip(sequence[:-1], self._read_ids, strict=False)
        shared = min(len(sequence) - 1, len(self._read_ids))
        shared = next((number for number, (a, b) in enumerate(pairs) if a != b), shared)

        def read() -> NDArray[np.float32]:
            if shared < len(self._read_ids):
                self._session.crop(shared)
            return self._session.logits(sequence[shared:])

        logits = call_model(read, self._model.name, subject="the assistant model")
        self._read_ids = sequence
        return logits


def _argmax(logits: NDArray[np.float32], mask: NDArray[np.uint32], location: str) -> tuple[int, float]:
    """Return the most likely allowed token, and its probability among the allowed tokens."""
    ids, row = allowed_logits(logits, mask)
    total = logsumexp(row)
    if not np.isfinite(total):
        raise logits_error(logits, mask, location)
    best = int(row.argmax())
    return best if ids is None else int(ids[best]), math.exp(float(row[best]) - total)


class AcceptanceRate:
    """Recent acceptance rate of guesses."""

    def __init__(self) -> None:
        self._accepted, self._total = _PRIOR_ACCEPTED, _PRIOR_TOTAL

    @property
    def rate(self) -> float:
        """The probability that a guess is accepted if the guesses before it are."""
        return self._accepted / self._total

    def update(self, accepted: int, rejected: int) -> None:
        """Count guesses; older counts decay."""
        self._accepted = _DECAY * self._accepted + (1 - _DECAY) * _PRIOR_ACCEPTED + accepted
        self._total = _DECAY * self._total + (1 - _DECAY) * _PRIOR_TOTAL + accepted + rejected

    def probabilities(self, draft: Draft) -> list[float]:
        """Return the probability of each token of a draft."""
        return [self.rate**guesses for guesses in accumulate(draft.is_guess)]

    def pays_off(self, rows: int, overhead: int) -> bool:
        """Return whether a typical draft saves time in a batch of `rows` rows."""
        return (1 + _TYPICAL_DRAFT * self.rate) * (overhead + rows) > overhead + (1 + _TYPICAL_DRAFT) * rows


class DraftPace:
    """How often a batch of many rows drafts guesses: less often while it reads none, because each row takes time.

    >>> pace = DraftPace()
    >>> pace.update(32, is_read=False)
    >>> [pace.is_due(rows) for rows in (32, 32)], pace.is_due(2)
    ([False, True], True)
    """

    def __init__(self) -> None:
        self._interval = 1
        self._steps = 0

    def is_due(self, rows: int) -> bool:
        """Return whether to draft at this step of a batch."""
        self._steps += 1
        return self._steps >= min(self._interval, rows // _ROWS_PER_STEP)

    def update(self, rows: int, *, is_read: bool) -> None:
        """Note whether the batch read a guess at a step that drafted."""
        self._interval = 1 if is_read else max(2, min(2 * self._interval, rows // _ROWS_PER_STEP))
        self._steps = 0


_ROWS_PER_STEP = 4
"""Rows for each step from one that drafts to the next, at most: a few rows draft at each step."""

_PRIOR_ACCEPTED, _PRIOR_TOTAL = 1.2, 2.0
"""Prior acceptance rate of guesses: 1.2 of 2."""

_DECAY = 0.97
"""Factor by which older counts decay at each update."""

_TYPICAL_DRAFT = 4
"""Tokens of a typical useful draft."""


def best_width(probabilities: Sequence[Sequence[float]], overhead: int) -> int:
    """Return the number of tokens to read per row that minimizes the time per useful token.

    A row with fewer tokens is padded; a row with more reads the others in the next step. Otherwise all rows would pay
    for the forced text of one.

    Args:
        probabilities: For each token of each row, the probability that it is used.
        overhead: See `Batch.overhead`.

    >>> forced = [[1.0], [1.0], [1.0], [1.0] * 9]
    >>> best_width(forced, overhead=4), best_width(forced, overhead=1_000)
    (1, 9)
    >>> best_width([[1.0, 0.5, 0.1]], overhead=8), best_width([[1.0, 0.5, 0.1]] * 8, overhead=8)
    (2, 1)
    """
    gains = np.zeros(max(map(len, probabilities)))
    for worth in probabilities:
        gains[: len(worth)] += worth
    rates = np.cumsum(gains) / (overhead + len(probabilities) * np.arange(1, len(gains) + 1))
    return int(rates.argmax()) + 1
