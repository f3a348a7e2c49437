"""A batch of one: the row of a model that writes one sequence after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelError, StructkitError
from structkit.models.protocols import Batch, Logits, LogitsModel, Session, SupportsBatching

__all__ = ["SingleRowBatch", "call_model", "checked_logits", "new_batch"]

R = TypeVar("R")


def new_batch(model: LogitsModel, prefix: Sequence[int] = ()) -> Batch:
    """A batch of a model, of many rows where the model can; see `Batching`."""
    rows = model.batch(prefix) if isinstance(model, SupportsBatching) else None
    return SingleRowBatch(model) if rows is None else rows


def call_model(call: Callable[[], R], location: str | None = None, *, subject: str = "the model") -> R:
    """What a model answers, or a processor of its logits.

    Raises:
        ModelError: It raised something.
        StructkitError: It raised that.
    """
    try:
        return call()
    except StructkitError:
        raise
    except Exception as error:  # it is anyone's code
        raise ModelError(f"{subject} broke: {type(error).__name__}: {error}", place=location) from error


def checked_logits(call: Callable[[], Logits], rows: int) -> Logits:
    """float[rows, width]: the logits that a batch answers with.

    Raises:
        ModelError: It raised something, or answered something else.
        StructkitError: It raised that.
    """
    logits = call_model(call)
    shape = getattr(logits, "shape", type(logits).__name__)
    if len(shape) != 2 or shape[0] != rows:
        raise ModelError(
            f"the model gave logits of shape {[*shape]} for {rows} rows; give float32[rows, width]"
        )
    return logits


@runtime_checkable
class _SupportsRetry(Protocol):
    """A session that must be told that what it wrote was refused."""

    def retry(self) -> None: ...


class SingleRowBatch:
    """A session as the only row; see `Rows`."""

    max_rows = 1
    overhead = 1_000

    def __init__(self, model: LogitsModel) -> None:
        self._model = model
        self._session: Session | None = None

    def add(self, sequences: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Begin the sequence; see `Rows.add`."""
        self._session = None
        return self.feed(sequences)

    def feed(self, token_ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Feed tokens; see `Rows.feed`."""
        (ids,) = token_ids
        if self._session is None:
            self._session = self._model.session()
        row = self._logits(ids)
        if not isinstance(row, np.ndarray):
            raise ModelError(
                f"the model gave a {type(row).__name__} as logits; give an array, float32[width]"
            )
        if row.ndim != 1:
            raise ModelError(
                f"the model gave logits of shape {list(row.shape)}; give one row, float32[width]"
            )
        return row[None].astype(np.float32)  # a copy, for a row of a user's model is not ours to write on

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """What the model thinks of several ways to go on; see `Rows.score`."""
        length = self._active_session.length
        scores = []
        for branch in branches:
            score = np.zeros(len(branch), np.float32)
            for position in range(1, len(branch)):
                logits = self._logits([branch[position - 1]]).astype(np.float64)
                top = logits.max()
                total = top + np.log(np.exp(logits - top).sum())
                token = branch[position]  # past the width it is one that the model cannot say
                score[position] = logits[token] - total if token < len(logits) else -np.inf
            self._active_session.crop(length)
            scores.append(score)
        return scores

    def rollback(self, row: int, count: int) -> None:
        """Take back tokens; see `Rows.back`."""
        if count == self._active_session.length:
            self._session = None  # another attempt, from its first token on
        elif count:
            self._active_session.crop(self._active_session.length - count)
            if isinstance(self._active_session, _SupportsRetry):
                self._active_session.retry()

    def select(self, rows: Sequence[int]) -> None:
        """Let go of the sequence, or not; see `Rows.keep`."""
        if not rows:
            self._session = None

    @property
    def _active_session(self) -> Session:
        if self._session is None:
            raise ModelError("no sequence was begun")
        return self._session

    def _logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        session = self._active_session
        return call_model(lambda: session.logits(token_ids), f"position {session.length}")
