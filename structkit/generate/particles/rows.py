"""The rows of particles: what the model has read for each group of equal particles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from structkit.generate.sample.select import on_cpu
from structkit.generate.schedule.locks import MODEL_LOCKS
from structkit.models.protocols import Batch, LogitsModel, SupportsTransfer
from structkit.models.single_row import SingleRowBatch, call_model, checked_logits, new_batch

__all__ = ["ParticleRows"]


class ParticleRows:
    """The rows of a model for sequences of equal length that branch.

    A batch whose rows can be copied computes all sequences in one step. For another model each sequence has a session
    of its own, and a branch is read again from its first token.

    Args:
        model: The model.
        prompt_ids: The tokens that all sequences start with.
        most: The maximum number of rows.
    """

    def __init__(self, model: LogitsModel, prompt_ids: Sequence[int], most: int) -> None:
        self._model = model
        self._lock = MODEL_LOCKS.lock_of(model)
        self._sequences = [list(prompt_ids)]
        self._batch = new_batch(model)
        fits = self._batch.max_rows is None or self._batch.max_rows >= most
        self._transfer = self._batch if isinstance(self._batch, SupportsTransfer) and fits else None
        self._sessions: list[Batch] = [SingleRowBatch(model)]

    def start(self) -> NDArray[np.float32]:
        """Read the prompt; return float32[1, width], the logits of the next token."""
        batch = self._sessions[0] if self._transfer is None else self._batch
        with self._lock:
            return on_cpu(checked_logits(partial(batch.add, self._sequences), 1))

    def step(self, parents: Sequence[int], token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Continue sequences by one token each; those that nothing continues are dropped.

        Args:
            parents: For each new sequence, the number of the one that it continues.
            token_ids: The token of each new sequence.

        Returns:
            float32[sequences, width], the logits of the tokens that follow.
        """
        sequences = [[*self._sequences[at], token] for at, token in zip(parents, token_ids, strict=True)]
        with self._lock:
            if self._transfer is None:
                logits = self._step_sessions(parents, sequences)
            else:
                logits = self._step_batch(self._transfer, parents, token_ids)
        self._sequences = sequences
        return logits

    def _step_batch(
        self, transfer: SupportsTransfer, parents: Sequence[int], token_ids: Sequence[int]
    ) -> NDArray[np.float32]:
        batch, length = self._batch, len(self._sequences[0])
        kept = sorted(set(parents))
        order = [parents.index(parent) for parent in kept]
        call_model(partial(batch.select, kept))
        forks = []
        for row, parent in enumerate(kept):
            others = [number for number, each in enumerate(parents) if each == parent][1:]
            if others:
                forks.append(call_model(partial(transfer.fork, row, length, len(others))))
                order += others
        for fork in forks:
            call_model(partial(transfer.merge, fork))
        fed = [[token_ids[number]] for number in order]
        logits = on_cpu(checked_logits(partial(batch.feed, fed), len(order)))
        return logits[np.argsort(order)]

    def _step_sessions(
        self, parents: Sequence[int], sequences: Sequence[Sequence[int]]
    ) -> NDArray[np.float32]:
        sessions, logits = [], []
        for number, (parent, token_ids) in enumerate(zip(parents, sequences, strict=True)):
            if parent in parents[:number]:
                session: Batch = SingleRowBatch(self._model)
                read = partial(session.add, [token_ids])
            else:
                session = self._sessions[parent]
                read = partial(session.feed, [token_ids[-1:]])
            logits.append(on_cpu(checked_logits(read, 1)))
            sessions.append(session)
        self._sessions = sessions
        return np.concatenate(logits)
