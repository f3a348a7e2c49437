"""A batch of one: the row of a model that writes one sequence after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from structkit.errors import ModelFailed, StructkitError
from structkit.models.protocols import Batching, Logits, LogitsModel, Rows, Session

__all__ = ["SingleRow", "asked", "logits_of", "rows_of"]

R = TypeVar("R")


def rows_of(model: LogitsModel, prefix: Sequence[int] = ()) -> Rows:
    """A batch of a model, of many rows where the model can; see `Batching`."""
    rows = model.rows(prefix) if isinstance(model, Batching) else None
    return SingleRow(model) if rows is None else rows


def asked(ask: Callable[[], R], place: str | None = None, *, who: str = "the model") -> R:
    """What a model answers, or a processor of its logits.

    Raises:
        ModelFailed: It raised something.
        StructkitError: It raised that.
    """
    try:
        return ask()
    except StructkitError:
        raise
    except Exception as error:  # it is anyone's code
        raise ModelFailed(f"{who} broke: {type(error).__name__}: {error}", place=place) from error


def logits_of(ask: Callable[[], Logits], rows: int) -> Logits:
    """float[rows, width]: the logits that a batch answers with.

    Raises:
        ModelFailed: It raised something, or answered something else.
        StructkitError: It raised that.
    """
    logits = asked(ask)
    shape = getattr(logits, "shape", type(logits).__name__)
    if len(shape) != 2 or shape[0] != rows:
        raise ModelFailed(
            f"the model gave logits of shape {[*shape]} for {rows} rows; give float32[rows, width]"
        )
    return logits


@runtime_checkable
class _Scripted(Protocol):
    """A session that must be told that what it wrote was refused."""

    def again(self) -> None: ...


class SingleRow:
    """A session as the only row; see `Rows`."""

    most = 1
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
            raise ModelFailed(
                f"the model gave a {type(row).__name__} as logits; give an array, float32[width]"
            )
        if row.ndim != 1:
            raise ModelFailed(
                f"the model gave logits of shape {list(row.shape)}; give one row, float32[width]"
            )
        return row[None].astype(np.float32)  # a copy, for a row of a user's model is not ours to write on

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """What the model thinks of several ways to go on; see `Rows.score`."""
        length = self._begun.length
        scores = []
        for branch in branches:
            score = np.zeros(len(branch), np.float32)
            for position in range(1, len(branch)):
                logits = self._logits([branch[position - 1]]).astype(np.float64)
                top = logits.max()
                total = top + np.log(np.exp(logits - top).sum())
                token = branch[position]  # past the width it is one that the model cannot say
                score[position] = logits[token] - total if token < len(logits) else -np.inf
            self._begun.crop(length)
            scores.append(score)
        return scores

    def back(self, row: int, count: int) -> None:
        """Take back tokens; see `Rows.back`."""
        if count == self._begun.length:
            self._session = None  # another attempt, from its first token on
        elif count:
            self._begun.crop(self._begun.length - count)
            if isinstance(self._begun, _Scripted):
                self._begun.again()

    def keep(self, rows: Sequence[int]) -> None:
        """Let go of the sequence, or not; see `Rows.keep`."""
        if not rows:
            self._session = None

    @property
    def _begun(self) -> Session:
        if self._session is None:
            raise ModelFailed("no sequence was begun")
        return self._session

    def _logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        session = self._begun
        return asked(lambda: session.logits(token_ids), f"position {session.length}")
