"""Log-probabilities of the tokens of an answer, with alternatives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.generate.input.options import ResultOptions
from structkit.generate.output.token import Token
from structkit.generate.sample.processors import MASK, AnyProcessor, LogitsStep, Penalty
from structkit.generate.sample.select import on_cpu
from structkit.generate.schedule.locks import MODEL_LOCKS
from structkit.models.protocols import LogitsModel, SupportsLookahead
from structkit.models.single_row import call_model, checked_logits, new_batch
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["TokenRecord", "TokenRecords", "TokensFrom", "TopRecorder", "prompt_records"]

_PROMPT_STEP = 64
"""Maximum number of tokens of a prompt whose logits are in memory: 40 MB with a vocabulary of 150,000."""

_LOWEST_LOGPROB = -9999.0
"""The log-probability of a token with the probability 0: JSON has no infinity, and OpenAI writes this number."""


TokensFrom: TypeAlias = "Callable[[int], Sequence[Token]]"


@dataclass(frozen=True)
class TokenRecord:
    """A token of an answer, or of a prompt that is shown.

    Attributes:
        text: Its bytes.
        logprob: Its log-probability among the tokens that the target allows; 0 for the only continuation, and
            `None` for the first token of a prompt.
        top: The most likely of these tokens, with their log-probabilities.
    """

    text: bytes
    logprob: float | None
    top: tuple[tuple[bytes, float], ...]


@dataclass(frozen=True)
class _Distribution:
    """The logits of the allowed tokens at a position, and the logarithm of the sum of their exponentials."""

    position: int
    row: NDArray[np.float32]
    total: float

    def logprob(self, token_id: int) -> float:
        return max(float(self.row[token_id]) - self.total, _LOWEST_LOGPROB)


class TopRecorder:
    """A processor that changes nothing, and keeps the log-probabilities of one sequence.

    One thread can read what another one generates.

    Args:
        count: Number of the most likely tokens to keep at each position.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._tops: dict[int, list[tuple[int, float]]] = {}
        self._logprobs: dict[int, float] = {}
        self._last: _Distribution | None = None

    def processors(self, options: ResultOptions) -> list[AnyProcessor]:
        """Return the processors of a generation with this one.

        The alternatives have the distribution of the model among the allowed tokens, so the repetition penalty, which
        is taken out of the options, follows this processor.
        """
        processors: list[AnyProcessor] = [MASK, self, *options.get("processors", ())]
        if (penalty := options.pop("repetition_penalty", None)) is not None:
            processors.append(Penalty(penalty))
        return processors

    def begin(self, vocabulary: Vocabulary) -> LogitsStep:
        """See `structkit.processors.Processor`."""

        def step(token_ids: Sequence[int], row: NDArray[np.float32]) -> NDArray[np.float32]:
            position, last = len(token_ids), self._last
            if last is not None and last.position < position:
                self._logprobs[last.position] = last.logprob(token_ids[last.position])
            logits = row.copy()  # later processors change the row
            self._last = found = _Distribution(position, logits, _total(logits))
            if self._count:
                self._tops[position] = _top(found, self._count)
            return row

        return step

    def record(self, position: int, token: Token, vocabulary: Vocabulary) -> TokenRecord:
        """Return the record of a token at a position; a forced one has no logits, so it is the only alternative."""
        if token.forced:
            return TokenRecord(token.text, 0.0, ((token.text, 0.0),)[: self._count])
        tokens, last = vocabulary.tokens, self._last
        is_last = last is not None and last.position == position
        logprob = last.logprob(token.token_id) if last is not None and is_last else self._logprobs[position]
        top = [(tokens[id] if id < len(tokens) else b"", value) for id, value in self._tops.get(position, ())]
        return TokenRecord(token.text, logprob, tuple(top))


class TokenRecords:
    """The tokens of an answer, each returned once with its log-probabilities.

    Args:
        recorder: The processor of the generation.
        prompt_tokens: The length of the prompt.
        vocabulary: The vocabulary of the model.
    """

    def __init__(self, recorder: TopRecorder, prompt_tokens: int, vocabulary: Vocabulary) -> None:
        self._recorder = recorder
        self._position = prompt_tokens
        self._vocabulary = vocabulary
        self._count = self._bytes = 0

    def until(self, length: int, tokens: TokensFrom, *, is_end: bool) -> tuple[TokenRecord, ...]:
        """Return the further tokens of the first bytes of an answer.

        Args:
            length: The number of bytes.
            tokens: Returns the tokens of the answer so far from a number on.
            is_end: Whether the answer ends there: a token that it has only a part of is then one of them.
        """
        found = []
        for token in tokens(self._count):
            if (self._bytes if is_end else self._bytes + len(token.text) - 1) >= length:
                break
            found.append(self._recorder.record(self._position + self._count, token, self._vocabulary))
            self._count += 1
            self._bytes += len(token.text)
        return tuple(found)


def prompt_records(
    model: LogitsModel, token_ids: Sequence[int], count: int, cancelled: threading.Event
) -> tuple[TokenRecord, ...]:
    """Return the tokens of a prompt, each with its log-probability after those before it; the first has none.

    Args:
        model: The model.
        token_ids: The tokens.
        count: Number of the most likely tokens at each position.
        cancelled: Ends the work.

    Raises:
        StructkitError: The model failed.
    """
    tokens = model.vocabulary.tokens
    records = [TokenRecord(tokens[token_ids[0]], None, ())]
    for position, row in enumerate(_prompt_logits(model, token_ids[:-1]), 1):
        if cancelled.is_set():
            break
        row = row[: len(tokens)]  # logits past the vocabulary are padding
        found = _Distribution(position, row, _total(row))
        top = [(tokens[token_id], logprob) for token_id, logprob in _top(found, count)] if count else []
        token_id = token_ids[position]
        records.append(TokenRecord(tokens[token_id], found.logprob(token_id), tuple(top)))
    return tuple(records)


def _prompt_logits(model: LogitsModel, token_ids: Sequence[int]) -> Iterator[NDArray[np.float32]]:
    """Yield the logits after each token."""
    if not token_ids:
        return
    # The lock is held until the end, so that the caches of only one prompt are in memory beside the batch.
    with MODEL_LOCKS.lock_of(model):
        batch = new_batch(model)
        yield on_cpu(checked_logits(partial(batch.add, [token_ids[:1]]), 1))[0]
        step = _PROMPT_STEP if isinstance(batch, SupportsLookahead) else 1
        for start in range(1, len(token_ids), step):
            some = [token_ids[start : start + step]]
            if isinstance(batch, SupportsLookahead) and len(some[0]) > 1:
                yield from on_cpu(call_model(partial(batch.feed_multi, some, len(some[0])))[0])
            else:
                yield on_cpu(checked_logits(partial(batch.feed, some), 1))[0]


def _total(row: NDArray[np.float32]) -> float:
    allowed = row[np.isfinite(row)].astype(np.float64)
    if not len(allowed):
        return 0.0
    peak = allowed.max()
    return float(peak + np.log(np.exp(allowed - peak).sum()))


def _top(found: _Distribution, count: int) -> list[tuple[int, float]]:
    """Return the most likely of the tokens with a finite logit, most likely first."""
    allowed = np.flatnonzero(np.isfinite(found.row))
    if not len(allowed):
        return []
    logits = found.row[allowed]
    best = np.argpartition(logits, -min(count, len(logits)))[-count:]
    best = best[np.argsort(-logits[best], kind="stable")]
    return [(int(allowed[each]), found.logprob(int(allowed[each]))) for each in best]
