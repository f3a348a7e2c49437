"""Logits processors: what users put between the model and the choice of a token, stacked in order.

A processor of transformers, `(input_ids, scores) -> scores` on tensors of one row, is one as it is. Those made here
know the vocabulary. `MASK` says where in the stack the guide's mask stands, by default at its end; it has the last word
wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError, PatternError
from structkit.generate.sample import kernels
from structkit.generate.sample.sample import check_int
from structkit.models.single_row import call_model
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["MASK", "Penalty", "Processor", "ProcessorStack", "Suppress"]

LogitsRow: TypeAlias = NDArray[np.float32]
LogitsStep: TypeAlias = Callable[[Sequence[int], LogitsRow], LogitsRow]
"""From the tokens of a sequence and float32[width], the logits of the next one, to such logits."""


class Processor(Protocol):
    """A processor with a state for each sequence."""

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """A new sequence: what is done to its logits."""
        ...


@runtime_checkable
class _StatefulProcessor(Protocol):
    def begin(self, vocabulary: Vocabulary) -> LogitsStep: ...


class _Mask:
    """Where the guide's mask stands."""

    def __repr__(self) -> str:
        return "MASK"


MASK: Final = _Mask()
"""Where in a stack of processors the guide's mask stands."""

AnyProcessor: TypeAlias = "Processor | _Mask | Callable[[Any, Any], Any]"
"""What `processors=` takes."""


@dataclass(frozen=True)
class Suppress:
    """Forbids tokens, wherever there is a choice; `ModelError` where it leaves none.

    Args:
        tokens: Token ids, or a pattern: tokens in whose text it is found.

    Raises:
        PatternError: The pattern is none.
        TypeError: A token is no whole number.
        ValueError: It is negative.

    >>> import structkit as sk
    >>> from structkit.testing import RandomModel
    >>> word = sk.extract(RandomModel(seed=1), "x", sk.Regex("[a-z]{20}"), processors=[Suppress("[aeiou]")])
    >>> set("aeiou") & set(word)
    set()
    """

    tokens: str | Sequence[int]

    def __post_init__(self) -> None:
        if not isinstance(self.tokens, str):
            object.__setattr__(self, "tokens", tuple(self.tokens))  # what is given may be read only once
            for token_id in self.tokens:
                check_int("a token of Suppress", token_id, 0)
            return
        try:
            re.compile(self.tokens)
        except re.error as error:
            raise PatternError(
                f"the pattern of Suppress is none: {error}", pattern=self.tokens, column=error.pos or 0
            ) from error

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `Processor`."""
        found = isinstance(self.tokens, str)
        forbidden = (
            _matching_tokens(str(self.tokens), vocabulary) if found else np.array(self.tokens, np.int64)
        )

        def step(token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
            row[forbidden[forbidden < len(row)]] = -np.inf
            return row

        return step


@lru_cache(maxsize=8)
def _matching_tokens(pattern: str, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """The tokens in whose text a pattern is found; the same for each of many sequences."""
    search = re.compile(pattern).search
    texts = (token.decode(errors="replace") for token in vocabulary.tokens)
    return np.array([token_id for token_id, text in enumerate(texts) if search(text)], np.int64)


@dataclass(frozen=True)
class Penalty:
    """Makes tokens that are in the sequence already less likely (Keskar et al. 2019, section 4.1).

    Args:
        factor: Positive logits of such tokens are divided by it, others multiplied; 1 changes nothing.
    """

    factor: float

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
        processors: In order.
        vocabulary: The model's.
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
        """The logits after all processors, float32[width]; the given ones stay as they are.

        Raises:
            ModelError: They forbid every token that the mask allows, or one of them broke.
        """
        given, row = row, row.copy()
        for step in self._steps:
            if step is None:
                kernels.apply_mask(row, mask)
            else:
                row = self._apply_step(step, token_ids, row)
        final: LogitsRow = row.copy()
        kernels.apply_mask(final, mask)
        if np.isnan(final).any():
            if not np.isnan(given).any():
                raise ModelError("the processors made a logit NaN", place="processors")
        elif final.max(initial=-np.inf) == -np.inf:
            before = given.copy()
            kernels.apply_mask(before, mask)
            if before.max(initial=-np.inf) > -np.inf:  # else the model did
                raise ModelError(
                    "the processors forbid every token that the target allows; allow one of them",
                    place="processors",
                )
        return final

    @staticmethod
    def _apply_step(step: LogitsStep, token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
        made = call_model(partial(step, token_ids, row), "processors", subject="a processor")
        if made.shape != row.shape:
            raise ModelError(
                f"a processor gave logits of shape {[*made.shape]} for {[*row.shape]}", place="processors"
            )
        return made


def _from_transformers(processor: Callable[[Any, Any], Any]) -> LogitsStep:
    """A processor of transformers, which works on tensors of a batch."""

    def step(token_ids: Sequence[int], row: LogitsRow) -> LogitsRow:
        import torch

        scores = processor(torch.tensor([list(token_ids)]), torch.from_numpy(row)[None])
        changed: LogitsRow = scores[0].float().numpy()
        return changed

    return step
