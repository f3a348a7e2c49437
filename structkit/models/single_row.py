"""A batch of one row, for models without batching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from structkit.error_notes import type_and_message
from structkit.errors import ModelError, StructkitError
from structkit.models.protocols import (
    Batch,
    ChecksText,
    Logits,
    LogitsModel,
    Session,
    SupportsBatching,
    SupportsLookahead,
)

__all__ = [
    "SingleRowBatch",
    "call_model",
    "checked_logits",
    "log_probability",
    "new_batch",
    "supports_lookahead",
]

R = TypeVar("R")


def new_batch(model: LogitsModel) -> Batch:
    """Start a batch of a model, with many rows if the model supports batching; see `SupportsBatching`."""
    rows = model.batch() if isinstance(model, SupportsBatching) else None
    return SingleRowBatch(model) if rows is None else rows


def supports_lookahead(model: LogitsModel) -> bool:
    """Return whether the batches of a model return the logits of several tokens at once; see `SupportsLookahead`."""
    if not isinstance(model, SupportsBatching):
        return False
    try:
        if model not in _LOOKAHEAD:
            _LOOKAHEAD[model] = isinstance(model.batch(), SupportsLookahead)
        return _LOOKAHEAD[model]
    except TypeError:  # the model is not hashable, or has no weak references
        return isinstance(model.batch(), SupportsLookahead)


_LOOKAHEAD: WeakKeyDictionary[LogitsModel, bool] = WeakKeyDictionary()
"""What a model's batches support; a batch is not made for each sequence."""


def call_model(call: Callable[[], R], location: str | None = None, *, subject: str = "the model") -> R:
    """Call the code of a model or logits processor, and convert its exceptions.

    Raises:
        StructkitError: The call raised a `StructkitError`, which is passed on unchanged.
        ModelError: The call raised any other exception.
    """
    try:
        return call()
    except StructkitError:
        raise
    except Exception as error:  # user code
        raise ModelError(
            f"{subject} failed: {type_and_message(error)}; see its traceback above",
            place=location,
        ) from error


def checked_logits(call: Callable[[], Logits], rows: int) -> Logits:
    """Call a batch and return its logits, float[rows, width], after checking their shape.

    Raises:
        StructkitError: The call raised a `StructkitError`, which is passed on unchanged.
        ModelError: The call raised any other exception, or the shape is wrong.
    """
    logits = call_model(call)
    shape = getattr(logits, "shape", type(logits).__name__)
    if len(shape) != 2 or shape[0] != rows:
        raise ModelError(
            f"the model returned logits of shape {[*shape]} for {rows} rows; expected float32[rows, width]"
        )
    return logits


def log_probability(logits: NDArray[np.float32], token_id: int) -> float:
    """Return the log-probability of a token, given the logits of a step.

    >>> round(log_probability(np.log(np.array([0.25, 0.75], np.float32)), 1), 4)  # log(0.75)
    -0.2877
    """
    if token_id >= len(logits):  # the model cannot generate it
        return -np.inf
    exact = logits.astype(np.float64)
    top = exact.max()
    return float(exact[token_id] - top - np.log(np.exp(exact - top).sum()))


@runtime_checkable
class _SupportsRetry(Protocol):
    """A session that is notified when its text is rejected."""

    def retry(self) -> None: ...


class SingleRowBatch:
    """A session as the only row; see `Batch`."""

    max_rows = 1
    overhead = 1_000

    def __init__(self, model: LogitsModel) -> None:
        self._model = model
        self._session: Session | None = None
        self._checks_text = False

    def add(self, sequences: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Start the sequence; see `Batch.add`."""
        self._session = None
        return self.feed(sequences)

    def feed(self, token_ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Feed tokens; see `Batch.feed`."""
        (ids,) = token_ids
        self.check_text(ids, is_complete=False)
        row = self._logits(ids)
        if not isinstance(row, np.ndarray):
            raise ModelError(
                f"the model returned a {type(row).__name__} as logits; expected a numpy array, float32[width]"
            )
        if row.ndim != 1:
            raise ModelError(
                f"the model returned logits of shape {list(row.shape)}; expected one row, float32[width]"
            )
        # A copy: the caller may modify the logits, but not the model's array.
        return row[None].astype(np.float32)

    def check_text(self, token_ids: Sequence[int], *, is_complete: bool) -> None:
        """Start the sequence if it has not started, and check its text; see `ChecksText`."""
        starts = self._session is None
        if self._session is None:
            self._session = self._model.session()
            self._checks_text = isinstance(self._session, ChecksText)
        if self._checks_text:
            cast("ChecksText", self._session).check_text(token_ids, is_complete=is_complete)
        if starts and is_complete:  # the text was forced, so nothing was fed
            self._session = None

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Score continuations; see `Batch.score`."""
        length = self._active_session.length
        scores = []
        for branch in branches:
            score = np.zeros(len(branch), np.float32)
            for position in range(1, len(branch)):
                score[position] = log_probability(self._logits([branch[position - 1]]), branch[position])
            self._active_session.crop(length)
            scores.append(score)
        return scores

    def rollback(self, row: int, count: int) -> None:
        """Remove tokens; see `Batch.rollback`."""
        if count == self._active_session.length:
            self._session = None  # a retry starts from the first token
        elif count:
            self._active_session.crop(self._active_session.length - count)
            if isinstance(self._active_session, _SupportsRetry):
                self._active_session.retry()

    def select(self, rows: Sequence[int]) -> None:
        """Keep or drop the sequence; see `Batch.select`."""
        if not rows:
            self._session = None

    @property
    def _active_session(self) -> Session:
        if self._session is None:
            raise ModelError("the batch has no sequence; call `add` first")
        return self._session

    def _logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        session = self._active_session
        return call_model(lambda: session.logits(token_ids), f"position {session.length}")
