"""The decode flow: one sequence from prompt to end, written once, without a model.

It is a generator, as httpx's `auth_flow` is: it asks for a token after others that the model is to read, and is told
the one that was chosen. Sync, async and batch drivers run the same flow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from structkit.errors import BudgetTooSmall, TokenRefused, VocabularyError
from structkit.generate.choose import Ask, Told
from structkit.generate.result import FinishReason
from structkit.generate.sample import Sampling, allows, only_id
from structkit.guide.guide import Cursor
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Decoded", "Flow", "decode"]

Spell: TypeAlias = Callable[[str], Sequence[int]]
"""Text to the tokens that the model's own tokenizer would write for it."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a flow asks for: how likely the model finds several ways to go on; see `Rows.score`.

    Attributes:
        branches: The tokens of each way.
    """

    branches: list[list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A complete text of the language, as tokens.

    Attributes:
        token_ids: The tokens, the end token not included.
        finish_reason: See `Result.finish_reason`.
        forced_tokens: How many of the tokens were not sampled.
        seconds: Time spent in the flow itself: masks, cursor, sampling, forced text.
    """

    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    forced_tokens: int
    seconds: float


Flow: TypeAlias = "Generator[Ask | Score, Told | list[NDArray[np.float32]], Decoded]"
"""A `Told` answers an `Ask`, a list of arrays a `Score`."""


def decode(
    prompt_ids: Sequence[int],
    cursor: Cursor,
    vocabulary: Vocabulary,
    *,
    budget: int,
    sampling: Sampling,
    spell: Spell | None = None,
    row: int = 0,
) -> Flow:
    """Decode one sequence.

    Args:
        prompt_ids: The tokens that begin the sequence; they are yielded with the first request.
        cursor: A cursor at the start of the language; it is moved.
        vocabulary: The tokens of the cursor's guide.
        budget: The most tokens to write, the end token not counted.
        sampling: How tokens are chosen.
        spell: The model's tokenizer, to write forced text in its own tokens; with `None` the model chooses
            them.
        row: The number of the sequence among those of one call; each draws its own random numbers.

    Yields:
        What it asks for; it is sent the answer.

    Returns:
        The complete text, through `StopIteration.value`.

    Raises:
        BudgetTooSmall: The shortest value needs more tokens than the budget; raised at once.
        ModelFailed: The logits are useless.
    """
    if not cursor.fits(budget):
        raise BudgetTooSmall(cursor.tokens_to_end(), budget)
    return _Decoding(cursor, vocabulary, budget, sampling, spell, row).run(list(prompt_ids))


class _Decoding:
    """One run of the flow, and what it keeps count of."""

    def __init__(
        self,
        cursor: Cursor,
        vocabulary: Vocabulary,
        budget: int,
        sampling: Sampling,
        spell: Spell | None,
        row: int,
    ) -> None:
        self.cursor = cursor
        self.vocabulary = vocabulary
        self.left = budget
        self.sampling = sampling
        self.spell = spell
        self.generator = sampling.generator(row)
        self.mask = np.zeros(vocabulary.words, np.uint32)
        self.free = np.zeros(vocabulary.words, np.uint32)
        self.written: list[int] = []
        self.spelled: dict[str, list[int]] = {}
        self.forced = 0
        self.limited = False
        self.shortened = False
        self.waited = 0.0

    def run(self, fresh: list[int]) -> Flow:
        """The flow; `fresh` are the tokens that the model has not read yet."""
        begin = time.perf_counter()
        while True:
            fresh += self.force()
            if self.cursor.must_end or self.left == 0:
                break
            token = self.only_token()
            if token is None:
                asked = time.perf_counter()
                told = cast("Told", (yield self.ask(fresh)))
                self.waited += time.perf_counter() - asked
                token = self.hear(told)
                fresh = []
            if token in self.vocabulary.end_ids:
                break
            self.cursor.advance(token)
            fresh += self.keep([token])
        return self.decoded(time.perf_counter() - begin - self.waited)

    def only_token(self) -> int | None:
        """Look at what may follow, and return it if the model need not be asked."""
        self.cursor.fill_mask(self.free)
        self.cursor.fill_mask(self.mask, self.left)
        self.limited = not np.array_equal(self.mask, self.free)
        if self.limited and not self.shortened:
            return None  # the model is asked, to learn whether it would have gone another way
        token = only_id(self.mask)
        self.forced += token is not None and token not in self.vocabulary.end_ids
        return token

    def ask(self, fresh: list[int]) -> Ask:
        """What to ask for after tokens that the model has not read yet."""
        return Ask(
            token_ids=fresh,
            mask=self.mask,
            free=self.free if self.limited and not self.shortened else None,
            sampling=self.sampling,
            generator=self.generator,
            place=f"token {len(self.written)}",
        )

    def hear(self, told: Told) -> int:
        """The token chosen; notice when the model would rather have gone where the budget has no room."""
        if told.wanted is not None:
            self.shortened = not allows(self.mask, told.wanted)
        return told.token

    def force(self) -> list[int]:
        """Take the tokens of the text that must come next, as far as what follows cannot respell them."""
        ids = self.spelling(self.cursor.forced_bytes())[: self.left]
        taken = 0
        try:
            for token_id in ids:
                self.cursor.advance(token_id)
                taken += 1
        except TokenRefused:
            self.cursor.rollback(taken)
            return []
        # The last token might be a longer one if the tokenizer saw what follows; at the end nothing does.
        surplus = int(taken > 0 and not self.cursor.must_end)
        self.cursor.rollback(surplus)
        taken -= surplus
        while taken and not self.cursor.fits(self.left - taken):
            self.cursor.rollback(1)
            taken -= 1
        self.forced += taken
        return self.keep(ids[:taken])

    def spelling(self, forced: bytes) -> list[int]:
        """The tokens that the model's tokenizer writes for forced bytes, if it can."""
        text = _whole_characters(forced)
        if self.spell is None or len(forced) < 2 or not text:  # one byte leaves no choice but between tokens
            return []
        if text not in self.spelled:
            self.spelled[text] = _spell(text, self.spell, self.vocabulary)
        return self.spelled[text]

    def keep(self, token_ids: list[int]) -> list[int]:
        """Write tokens that the cursor has taken, and pass them on."""
        self.written += token_ids
        self.left -= len(token_ids)
        return token_ids

    def decoded(self, seconds: float) -> Decoded:
        """What was written, at the end."""
        shortened = self.shortened or (self.left == 0 and not self.cursor.must_end)
        return Decoded(
            token_ids=tuple(self.written),
            finish_reason="budget" if shortened else "stop",
            forced_tokens=self.forced,
            seconds=seconds,
        )


def _whole_characters(text: bytes) -> str:
    """The text up to the first character that is not whole: forced bytes may end, or begin, inside of one."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()


def _spell(text: str, spell: Spell, vocabulary: Vocabulary) -> list[int]:
    """The tokens of a text, or none if the tokenizer cannot write exactly this text."""
    try:
        ids = list(spell(text))
    except VocabularyError:
        return []
    pieces = [vocabulary.tokens[i] if 0 <= i < vocabulary.size else b"" for i in ids]
    return ids if all(pieces) and b"".join(pieces) == text.encode() else []
