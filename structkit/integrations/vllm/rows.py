"""The sequences of a batch in vLLM: tokens that were generated go in, masks come out. Independent of vLLM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from structkit.compile import compile
from structkit.errors import GenerationError, StructkitError
from structkit.guide.guide import Cursor, Guide
from structkit.integrations.vllm.arguments import read_target
from structkit.lru_cache import LruCache
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Guides", "Row"]

_log = logging.getLogger("structkit")

_MAX_GUIDES = 256
"""Compiled targets that are kept; a guide that is in use is kept by its rows."""

EndOfThinking = Callable[[Sequence[int], Sequence[int]], bool]
"""Returns whether thinking ends with the last tokens of a sequence, given all tokens and the last ones."""


class Row:
    """One request: what it has generated, and where its text is in the target.

    A request cannot fail here without ending the engine. So a row whose target cannot be compiled or followed logs the
    error and allows only the end tokens from there on.

    Args:
        guide: The guide, or the error of its compilation.
        max_tokens: Maximum number of tokens of the request; `None` if unlimited.
        prompt: The tokens of the prompt, read while the model thinks.
        end_of_thinking: While the model thinks, everything is allowed; `None` if it does not think.
    """

    def __init__(
        self,
        guide: Guide | StructkitError,
        max_tokens: int | None = None,
        *,
        prompt: Sequence[int] = (),
        end_of_thinking: EndOfThinking | None = None,
    ) -> None:
        self.error: StructkitError | None = None
        self.cursor: Cursor | None = None
        self.size = 0
        self._max_tokens = max_tokens
        self._limit: int | None = None
        self._seen = list(prompt) if end_of_thinking is not None else []
        self._end_of_thinking = end_of_thinking
        if isinstance(guide, StructkitError):
            self.fail(guide)
            return
        self.cursor = guide.cursor()
        if end_of_thinking is None:
            self._begin()

    @property
    def is_thinking(self) -> bool:
        """Whether the text of the target has not started."""
        return self._end_of_thinking is not None

    @property
    def budget(self) -> int | None:
        """The tokens in which the value must be complete; `None` if there is no limit, or the value does not fit."""
        return None if self._limit is None else max(self._limit - self.size, 0)

    def read(self, tokens: Sequence[int]) -> None:
        """Read the tokens that were generated since the last call."""
        for token in tokens:
            self.size += 1
            if self.error is not None or self.cursor is None:
                continue
            if self._end_of_thinking is not None:
                self._seen.append(token)
                if self._end_of_thinking(self._seen, [token]):
                    self._end_of_thinking = None
                    self._begin()
            elif not self.cursor.is_terminated:
                try:
                    self.cursor.advance(token)
                except StructkitError as error:
                    self.fail(error)

    def fail(self, error: StructkitError) -> None:
        """Log the error and end the row."""
        _log.error("a request in vLLM ends early: %s", error)
        self.error = error

    def _begin(self) -> None:
        """Reserve a token for the end, if the value fits in what is left; else only the length is limited."""
        if self._max_tokens is None or self.cursor is None:
            return
        for limit in (self._max_tokens - 1, self._max_tokens):
            if limit > self.size and self.cursor.fits(limit - self.size):
                self._limit = limit
                return
        left = self._max_tokens - self.size
        _log.warning(
            "no value fits in the %d tokens that a request in vLLM has left: it will be cut off", left
        )


class Guides:
    """The guides of an engine, and the masks of its batches.

    Args:
        vocabulary: The tokens of the model, as wide as its logits.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._guides: LruCache[str, Guide | StructkitError] = LruCache(_MAX_GUIDES)
        self._ends = np.zeros(vocabulary.mask_words, np.uint32)
        for end in vocabulary.eos_token_ids:
            self._ends[end >> 5] |= np.uint32(1 << (end & 31))

    def guide(self, key: str) -> Guide | StructkitError:
        """Return the guide of a target, or the error of its compilation; see `read_target`."""
        known = self._guides.get(key)
        if isinstance(known, StructkitError) or (known is not None and not known.needs_recompiling):
            return known
        found: Guide | StructkitError
        try:
            found = compile(read_target(key), self.vocabulary)
        except StructkitError as error:
            found = error
        except (TypeError, ValueError, RecursionError) as error:
            found = GenerationError(str(error))
        self._guides.put(key, found)
        return found

    def fill_masks(self, rows: Sequence[Row | None], out: NDArray[np.uint32]) -> None:
        """Write the masks of a batch.

        Args:
            rows: `None` for a row that nothing constrains.
            out: uint32[rows, words].
        """
        cursors = [None if row is None or row.is_thinking or row.error else row.cursor for row in rows]
        first = next((cursor for cursor in cursors if cursor is not None), None)
        if first is None:
            out[:] = 0xFFFFFFFF
        else:
            budgets = [None if row is None else row.budget for row in rows]
            errors = first.guide.fill_masks(cursors, out, budgets, return_exceptions=True)
            for number, error in errors.items():
                if (row := rows[number]) is not None:
                    row.fail(error)
        for number, row in enumerate(rows):
            # A mask without a token would make the probabilities undefined.
            if row is not None and (row.error or not (row.is_thinking or out[number].any())):
                out[number] = self._ends
