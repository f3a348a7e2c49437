"""Integration with transformers: a guide as a logits processor of `model.generate`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from structkit.arguments.names import names_arguments
from structkit.errors import GenerationError, TokenRejected, VocabularyError
from structkit.generate.output.json_reader import JsonReader
from structkit.guide.guide import Cursor, Guide
from structkit.lru_cache import LruCache
from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

__all__ = ["LogitsProcessor"]

_log = logging.getLogger("structkit")

_MAX_STATES = 4_096
"""Number of cached sequences; others are read again from their start."""


@dataclass(frozen=True, slots=True)
class _RowState:
    """The guide state of a row, and a reader of its text if the text is JSON."""

    cursor: Cursor
    reader: JsonReader | None

    def fork(self) -> _RowState:
        return _RowState(self.cursor.fork(), None if self.reader is None else self.reader.fork())

    def advance(self, token: int) -> None:
        """Advance by a token; tokens after the end are padding and ignored."""
        if not self.cursor.is_terminated:
            self.cursor.advance(token)
        if self.reader is not None and not self.cursor.is_terminated:
            self.reader.read(self.cursor.guide.vocabulary.tokens[token])

    def fill_mask(self, mask: NDArray[np.uint32]) -> None:
        """Write the mask of the next token; for deeply nested JSON, only tokens of the shortest completion."""
        is_deep = self.reader is not None and self.reader.is_deep
        self.cursor.fill_mask(mask, self.cursor.min_tokens_to_end() if is_deep else None)


@names_arguments
class LogitsProcessor:
    """Masks the logits of `model.generate(..., logits_processor=[...])` so that only values of a target are generated.

    The text of a row is read from `input_ids`, so batches, reordered beams, drafts of an assistant model with the same
    tokens, and successive calls with one processor are supported. Use a new processor for each thread, and for a prompt
    that consists of the previous prompt and the start of its answer, or of all of it and one token: such a prompt is
    indistinguishable from a continued call.

    Put this processor last. If another one, or code after it, selects a token that the mask forbids, the next call
    raises `TokenRejected`. The last token of a row has no next call: check the value, as with any text of
    `model.generate`.

    Use this class where `model.generate` is required. structkit's own functions are faster, never truncate a value at
    `max_new_tokens`, and return validated values. The prompt is unchanged: token healing does not apply. The continuous
    batching of transformers, `model.generate_batch`, ignores processors without an error; use `structkit.extract_many`.

    Args:
        guide: The target's guide over the model's vocabulary: `structkit.compile(target, vocabulary)`.
        strict: Whether a row that leaves the language is an error. Pass `False` for beam search, which adds rows of
            probability 0 where fewer tokens are allowed than there are beams, and for assisted generation, which tries
            tokens of a draft and takes them back. Such rows get end tokens only.

    Raises:
        TokenRejected: From a call with `strict`, if the last token of a row was masked in the call before.
        GenerationError: From a call with `strict`, if another processor forbids every token that the mask allows.
        VocabularyError: From the first call, if the model has fewer logits than the vocabulary of the guide has tokens.

    >>> import torch
    >>> import structkit as sk
    >>> from structkit.testing import byte_vocabulary
    >>> processor = sk.LogitsProcessor(sk.compile(bool, byte_vocabulary()))
    >>> scores = processor(torch.tensor([[7]]), torch.zeros(1, 257))
    >>> bytes(torch.isfinite(scores[0]).nonzero().flatten().tolist())
    b'ft'
    """

    def __init__(self, guide: Guide, *, strict: bool = True) -> None:
        if not isinstance(guide, Guide):
            raise TypeError(
                f"LogitsProcessor takes a guide, not {guide!r:.60}; write structkit.compile(target, vocabulary)"
            )
        self.guide = guide
        self._strict = strict
        self._last: frozenset[tuple[int, ...]] = frozenset()
        self._prompts: set[tuple[int, ...]] = set()
        self._length = self._max_length = 0
        self._states: LruCache[tuple[int, ...], _RowState | None] = LruCache(_MAX_STATES)

    def __repr__(self) -> str:
        return f"LogitsProcessor({self.guide!r}, strict={self._strict})"

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return logits that are -inf for the tokens that are not allowed.

        Args:
            input_ids: int64[rows, tokens], the prompts and the generated tokens.
            scores: float[rows, width].

        Returns:
            float[rows, width], a new tensor.

        Raises:
            TokenRejected: With `strict`, if the last token of a row was masked in the call before.
            GenerationError: With `strict`, if another processor forbids every token that the mask allows.
            VocabularyError: The model has fewer logits than the vocabulary has tokens.
        """
        from structkit.generate.sample.select_torch import apply_masks

        rows = [tuple(row) for row in input_ids.tolist()]
        if self._strict:
            self._check(rows)
        if not self._continues(rows):
            self._start(rows, scores.shape[-1])
        self._last = frozenset(rows)
        self._max_length = max(self._max_length, len(rows[0]) if rows else 0)
        masks = np.zeros((len(rows), self.guide.vocabulary.mask_words), np.uint32)
        for row, mask in zip(rows, masks, strict=True):
            state = self._state_after(row[self._length :])
            if state is not None:
                state.fill_mask(mask)
            else:  # at least one logit of a row must be finite
                for end in self.guide.vocabulary.eos_token_ids:
                    mask[end >> 5] |= np.uint32(1 << (end & 31))
        scores = scores.clone()  # prompt lookup passes the same logits for each token of a draft
        apply_masks(scores, masks)
        if self._strict:
            _check_choice(scores)
        return scores

    def _start(self, rows: list[tuple[int, ...]], width: int) -> None:
        _check_vocabulary(self.guide.vocabulary, rows, width)
        self._prompts = set(rows)
        self._length = self._max_length = len(rows[0]) if rows else 0
        self._states.clear()

    def _check(self, rows: list[tuple[int, ...]]) -> None:
        """Raise an error if a row extends one of the last call by a token that was masked there.

        A new generation whose prompt is such a row cannot be distinguished. Without the error, the language would begin
        again in the middle of the text.
        """
        for number, row in enumerate(rows):
            if row[:-1] not in self._last or len(row) <= self._length:
                continue
            state = self._state_after(row[self._length : -1])
            if state is None or self._state_after(row[self._length :]) is not None:
                continue
            try:
                state.fork().advance(row[-1])
            except TokenRejected as error:
                raise TokenRejected(
                    error.token_id,
                    f"{error.cause}, so something after this processor selected it; put this processor last, use a new "
                    "one for a new prompt, and pass strict=False for beam search and assisted generation",
                    place=f"row {number}, {error.place}",
                ) from None

    def _continues(self, rows: list[tuple[int, ...]]) -> bool:
        """Return whether the rows continue the prompts of the previous calls; otherwise a new generation has started.

        A generation grows by one token, or rolls back. If fewer tokens are allowed than there are beams, beam search
        adds rows of probability 0: the language rejects these, and the others continue.
        """
        if not rows or not self._length < len(rows[0]) <= self._max_length + 1:
            return False
        if any(row[: self._length] not in self._prompts for row in rows):
            return False
        return any(self._state_after(row[self._length :]) is not None for row in rows)

    def _state_after(self, token_ids: tuple[int, ...]) -> _RowState | None:
        """Return the state of a row; `None` if the language rejects it."""
        if token_ids in self._states:
            return self._states.get(token_ids)
        previous = self._states.get(token_ids[:-1]) if token_ids else None
        start = _RowState(self.guide.cursor(), JsonReader() if self.guide.is_json else None)
        state = start if previous is None else previous.fork()
        result: _RowState | None = state
        try:
            for token in token_ids if previous is None else token_ids[-1:]:
                state.advance(token)
        except TokenRejected:
            result = None
        self._states.put(token_ids, result)
        return result


def _check_vocabulary(vocabulary: Vocabulary, rows: Sequence[Sequence[int]], width: int) -> None:
    """Check what shows of a model that its vocabulary is that of the guide: the logits, and the ids of the prompt.

    Raises:
        VocabularyError: The model has fewer logits.
    """
    if any(vocabulary.tokens[width:]) or vocabulary.eos_token_ids[0] >= width:
        raise VocabularyError(
            f"the guide has a vocabulary of size {vocabulary.size}, and the model {width} logits; compile it with "
            f"structkit.Vocabulary.from_tokenizer(tokenizer, size={width}), and the tokenizer of the model"
        )
    largest = max((max(row, default=0) for row in rows), default=0)
    if largest >= vocabulary.size:
        _log.warning(
            "the prompt has the token %d, and the vocabulary of the guide only %d; if it is not that of the model, the "
            "text is not of the target; compile the guide with structkit.Vocabulary.from_tokenizer(tokenizer)",
            largest,
            vocabulary.size,
        )


def _check_choice(scores: torch.Tensor) -> None:
    """Raise an error if a row has no token: the sampling of PyTorch would fail, and the most likely token be any."""
    has_token = (scores > float("-inf")).any(dim=-1).tolist()
    if not all(has_token):
        raise GenerationError(
            "the other processors forbid every token that the language allows; leave out options such as "
            "min_new_tokens and suppress_tokens, and give the target a minimum length in place of the former",
            place=f"row {has_token.index(False)}",
        )
