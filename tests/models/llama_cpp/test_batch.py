"""Batches over a cache without llama.cpp, whose logits follow from the tokens, compared with individual sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from structkit.errors import ModelError
from structkit.models.llama_cpp.batch import LlamaCppBatch, LlamaCppSession
from structkit.models.llama_cpp.kv_cache import KVCache, Row
from structkit.models.protocols import Batch
from tests.models.walk import walk

WIDTH = 40


def _logits(ids: Sequence[int]) -> np.ndarray:
    """Return the logits after each token, which depend on all tokens before."""
    mixed = np.cumsum(np.array(ids) * np.arange(1, len(ids) + 1))
    return np.cos(np.outer(mixed, np.arange(1, WIDTH + 1))).astype(np.float32)


class Cache:
    """Rows as lists of tokens."""

    def read(
        self, rows: Sequence[Row], token_ids: Sequence[Sequence[int]], logits_to_keep: int = 1
    ) -> np.ndarray:
        found = np.full((len(rows), logits_to_keep, WIDTH), np.nan, np.float32)
        for row, ids, logits in zip(rows, token_ids, found, strict=True):
            row.token_ids += ids
            kept = min(len(ids), logits_to_keep)
            logits[-kept:] = _logits(row.token_ids)[-kept:]
        return found

    def cut(self, row: Row, length: int) -> None:
        del row.token_ids[length:]

    def release(self, rows: Sequence[Row]) -> None:
        for row in rows:
            row.token_ids = []


def _check(ids: Sequence[int], length: int) -> None:
    if not ids or length + len(ids) > 500:
        raise ModelError("too long; write less")


def _batch() -> LlamaCppBatch:
    return LlamaCppBatch(cast("KVCache", Cache()), _check, uses_gpu=False)


@pytest.mark.parametrize("seed", range(4))
def test_a_row_equals_an_individual_sequence(seed: int) -> None:
    walk(_batch, lambda ids: _logits(ids), seed, width=WIDTH)


def test_what_is_refused() -> None:
    batch: Any = _batch()
    batch.add([[1, 2]])
    for count in (-1, 3):
        with pytest.raises(ModelError, match=rf"has 2 tokens, so {count} cannot be removed\n  remove fewer"):
            batch.rollback(0, count)
    batch.rollback(0, 2)
    with pytest.raises(ModelError, match="too long"):
        batch.feed([[]])
    with pytest.raises(TypeError, match="the rows of a object are not those of this model"):
        batch.merge(cast("Batch", object()))
    session = LlamaCppSession(cast("KVCache", Cache()), _check)
    assert session.logits([1, 2, 3]) == pytest.approx(_logits([1, 2, 3])[-1]) and session.length == 3
    for length in (-1, 4):
        with pytest.raises(
            ModelError, match=rf"has 3 tokens, so it cannot be cropped to {length}\n  crop to"
        ):
            session.crop(length)
    session.crop(1)
    assert session.logits([4]) == pytest.approx(_logits([1, 4])[-1])
