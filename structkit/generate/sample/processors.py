"""Logits processors: user-defined changes of the logits before sampling, applied in order.

A callable of transformers, `(input_ids, scores) -> scores` on tensors of one row, is a processor. A processor with
`begin` gets the vocabulary and can keep a state per sequence. `MASK` in the list applies the guide's mask at that
position; the mask is always applied after the last processor too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from structkit.arguments.checks import check_int, check_number
from structkit.errors import ModelError, PatternError
from structkit.generate.sample import kernels
from structkit.models.single_row import call_model
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = [
    "MASK",
    "AnyProcessor",
    "LogitsRow",
    "LogitsStep",
    "Penalty",
    "Processor",
    "ProcessorStack",
    "Suppress",
]

LogitsRow: TypeAlias = NDArray[np.float32]
LogitsStep: TypeAlias = Callable[[Sequence[int], LogitsRow], LogitsRow]
"""Function of the tokens of a sequence and the logits of the next one, float32[width], to new logits."""


class Processor(Protocol):
    """A processor with a state per sequence."""

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """Start a sequence; return its step function."""
        ...


@runtime_checkable
class _StatefulProcessor(Protocol):
    def begin(self, vocabulary: Vocabulary) -> LogitsStep: ...


class _Mask:
    """Type of `MASK`."""

    def __repr__(self) -> str:
        return "MASK"


MASK: Final = _Mask()
"""Position of the guide's mask in a list of processors."""

AnyProcessor: TypeAlias = "Processor | _Mask | Callable[[Any, Any], Any]"
"""An item of `processors=`."""


@dataclass(frozen=True)
class Suppress:
    """Forbid tokens when the next token is sampled; text that has only one continuation can still contain them.

    If all allowed tokens are forbidden, generation raises `ModelError`.

    Args:
        tokens: Token ids, or a regular expression that is searched in the text of each token.

    Raises:
        PatternError: The regular expression is invalid.
        TypeError: A token id is not an integer.
        ValueError: A token id is negative.

    >>> import structkit as sk
    >>> from structkit.testing import RandomModel
    >>> word = sk.extract(RandomModel(seed=1), "x", sk.Regex("[a-z]{20}"), processors=[Suppress("[aeiou]")])
    >>> set("aeiou") & set(word)
    set()
    """

    tokens: str | Sequence[int]

    def __post_init__(self) -> None:
        if not isinstance(self.tokens, str):
            object.__setattr__(self, "tokens", tuple(self.tokens))  # an iterator can be read only once
            for token_id in self.tokens:
                check_int("a token of Suppress", token_id, 0)
            return
        try:
            re.compile(self.tokens)
        except re.error as error:
            raise PatternError(
                f"the pattern of Suppress is invalid: {error}; write one that Python's re accepts",
                pattern=self.tokens,
                column=error.pos or 0,
            ) from error

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `Processor`."""
        is_pattern = isinstance(self.tokens, str)
        forbidden = (
            _matching_tokens(str(self.tokens), vocabulary) if is_pattern else np.array(self.tokens, np.int64)
        )

        def step(token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
            row[forbidden[forbidden < len(row)]] = -np.inf
            return row

        return step


@lru_cache(maxsize=8)
def _matching_tokens(pattern: str, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the tokens whose text contains a match of a pattern; cached, because a call uses it for each sequence."""
    search = re.compile(pattern).search
    texts = (token.decode(errors="replace") for token in vocabulary.tokens)
    return np.array([token_id for token_id, text in enumerate(texts) if search(text)], np.int64)


@dataclass(frozen=True)
class Penalty:
    """Make tokens that already occur in the sequence less likely (Keskar et al. 2019, section 4.1).

    Args:
        factor: Divides the positive logits of such tokens and multiplies the others; 1 changes nothing.
    """

    factor: float

    def __post_init__(self) -> None:
        check_number("factor", self.factor, 0, math.inf, exclusive=True)

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `Processor`."""

        def step(token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
            seen = np.unique(np.array(token_ids, np.int64))
            seen = seen[seen < len(row)]
            row[seen] = np.where(row[seen] > 0, row[seen] / self.factor, row[seen] * self.factor)
            return row

        return step


class ProcessorStack:
    """The processors of one sequence.

    Args:
        processors: Processors in order of application.
        vocabulary: Vocabulary of the model.
    """

    def __init__(self, processors: Sequence[AnyProcessor], vocabulary: Vocabulary) -> None:
        self._steps: list[LogitsStep | None] = [
            None
            if isinstance(each, _Mask)
            else each.begin(vocabulary)
            if isinstance(each, _StatefulProcessor)
            else _from_transformers(each)
            for each in processors
        ]

    def apply(self, token_ids: Sequence[int], row: LogitsRow, mask: NDArray[np.uint32]) -> LogitsRow:
        """Return the logits after all processors and the mask, float32[width]; `row` is not modified.

        Raises:
            ModelError: The processors forbid every token that the mask allows, or a processor failed.
        """
        original, row = row, row.copy()
        for step in self._steps:
            if step is None:
                kernels.apply_mask(row, mask)
            else:
                row = self._apply_step(step, token_ids, row)
        final: LogitsRow = row.copy()
        kernels.apply_mask(final, mask)
        if np.isnan(final).any():
            if not np.isnan(original).any():
                raise ModelError(
                    "the processors returned a logit that is NaN; return float('-inf') to forbid a token",
                    place="processors",
                )
        elif final.max(initial=-np.inf) == -np.inf:
            before = original.copy()
            kernels.apply_mask(before, mask)
            # Otherwise the model itself gives no allowed token a finite logit.
            if before.max(initial=-np.inf) > -np.inf:
                raise ModelError(
                    "the processors forbid every token that the target allows; allow one of them",
                    place="processors",
                )
        return final

    @staticmethod
    def _apply_step(step: LogitsStep, token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
        changed = call_model(partial(step, token_ids, row), "processors", subject="a processor")
        if changed.shape != row.shape:
            raise ModelError(
                f"a processor returned logits of shape {[*changed.shape]}; expected {[*row.shape]}",
                place="processors",
            )
        return changed


def _from_transformers(processor: Callable[[Any, Any], Any]) -> LogitsStep:
    """Adapt a processor of transformers, which takes tensors with a batch dimension."""

    def step(token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
        import torch

        scores = processor(torch.tensor([list(token_ids)]), torch.from_numpy(row)[None])
        if scores is None:
            raise TypeError("it returned None, and must return the scores")
        changed: LogitsRow = scores[0].float().numpy()
        return changed

    return step
