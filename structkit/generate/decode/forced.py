"""Forced text: the text that is the only one to follow, and its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.errors import TokenRejected
from structkit.generate.decode.retokenize import Retokenizer, complete_characters
from structkit.generate.decode.spellings import Spellings
from structkit.generate.input.request import Request
from structkit.generate.sample.step import Draft
from structkit.guide.guide import Cursor
from structkit.models.single_row import supports_lookahead

__all__ = ["ForcedText", "advance_forced", "model_spells", "with_forced"]


class ForcedText:
    """Forced text that is drafted in its usual spelling, while the model chooses each token.

    A model that spells a text differently may also continue it differently: in 9 of 100 answers on schemas that the
    demo model never saw. The model reads the draft in the step in which it would read appended text, so its choice
    costs a mask for each token, and the answer is that of decoding token by token.

    Args:
        tokens: The bytes of each token of the vocabulary.
        spellings: How the model spelled such texts before; `None` if the tokenizer spells them.
        is_drafted: Whether the model reads the text as a draft; otherwise only its certainty is of use.

    Attributes:
        token_ids: The rest of the usual spelling.
        length: The number of its bytes.

    >>> tokens = [b'", ', b'"', b"age"]
    >>> forced = ForcedText(tokens, Spellings(tokens))
    >>> forced.start([0, 1], b'", "age')
    >>> forced.contains(0), forced.contains(2)
    (True, True)
    >>> forced.advance([0])
    >>> forced.token_ids, forced.length, forced.contains(2)
    ([1], 1, False)
    """

    def __init__(
        self, tokens: Sequence[bytes], spellings: Spellings | None = None, *, is_drafted: bool = True
    ) -> None:
        self.token_ids: list[int] = []
        self.length = 0
        self._tokens = tokens
        self._spellings = spellings
        self._is_drafted = is_drafted
        self._text = b""
        self._at = 0
        self._previous = -1
        self._spelled: list[int] = []

    def __bool__(self) -> bool:
        return bool(self.token_ids)

    def drafted_ids(self, remaining: int) -> list[int]:
        """Return the tokens to draft, at most `remaining`: in the spelling of the model where it is known."""
        if not self._is_drafted:
            return []
        if self._spellings is None or self._at >= len(self._text):
            return self.token_ids
        if not self._spelled:
            self._spelled = self._spellings.spell(self._text, self.token_ids, self._at, self._previous)
        return self._spelled[: max(0, remaining)]

    def start(self, token_ids: Sequence[int], text: bytes = b"") -> None:
        """Set the usual spelling of the text that follows, and the complete text."""
        self._text, self._at, self._spelled = text, 0, []
        self._set(token_ids)

    def contains(self, token_id: int) -> bool:
        """Return whether an allowed token spells only forced text."""
        return 0 < len(self._tokens[token_id]) <= self.length

    def advance(self, token_ids: Sequence[int]) -> None:
        """Remove the first tokens of the text; after an unusual token the rest has another spelling."""
        for token_id in token_ids:
            if self._spellings is not None and self._at < len(self._text):
                self._spellings.note(self._text, self._at, token_id, self._previous)
                self._at += len(self._tokens[token_id])
            self._previous = token_id
            self._spelled = self._spelled[1:] if self._spelled[:1] == [token_id] else []
            if self:
                self._set(self.token_ids[1:] if self.token_ids[0] == token_id else [])

    def _set(self, token_ids: Sequence[int]) -> None:
        self.token_ids = list(token_ids)
        self.length = sum(len(self._tokens[token_id]) for token_id in token_ids)


def advance_forced(cursor: Cursor, forced: bytes, retokenizer: Retokenizer, remaining: int) -> list[int]:
    """Advance by the tokens of forced text that no later text can retokenize; return them.

    For one byte the list is empty: the model chooses its token together with the text after it.

    Args:
        cursor: The cursor of the sequence.
        forced: Its forced bytes.
        retokenizer: The tokenizer of the model.
        remaining: The tokens of the budget.
    """
    text = complete_characters(forced)
    if len(forced) < 2 or not text:
        return []
    ids = retokenizer.encode(text)[:remaining]
    count = 0
    try:
        for token_id in ids:
            cursor.advance(token_id)
            count += 1
    except TokenRejected:
        cursor.rollback(count)
        return []
    if not cursor.is_finished:  # later text may retokenize the last tokens
        stable = min(max(0, count - 1), retokenizer.stable_count(text))
        cursor.rollback(count - stable)
        count = stable
    while count and not cursor.fits(remaining - count):
        cursor.rollback(1)
        count -= 1
    return ids[:count]


def with_forced(token_ids: Sequence[int], draft: Draft) -> Draft:
    """Return a draft after forced text."""
    return Draft(
        [*token_ids, *draft.token_ids],
        [*[False] * len(token_ids), *draft.is_guess],
        draft.seconds,
        forced_count=len(token_ids),
    )


def model_spells(request: Request) -> bool:
    """Return whether the model chooses the tokens of forced text, which it reads as a draft.

    A sampled spelling, or one after logits processors, is not the one that the model prefers: there the tokenizer
    decides, and so it does for a model that reads only one token ahead.
    """
    settings = request.settings
    if not settings.fast_forward or settings.sampling.temperature or settings.processors:
        return False
    return supports_lookahead(request.logits_model)
