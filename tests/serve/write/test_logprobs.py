"""Log-probabilities of tokens beside a plain softmax."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from structkit.generate.sample.processors import MASK, Penalty
from structkit.models.single_row import new_batch
from structkit.serve.write.logprobs import TokenRecord, TokenRecords, TopRecorder, prompt_records
from structkit.testing import RandomModel, byte_vocabulary

VOCABULARY = byte_vocabulary()
ROWS = [
    np.array([0, 2, -np.inf, 1, 2, 500], np.float32),
    np.array([-np.inf, 3, -np.inf, -np.inf, -np.inf, -np.inf], np.float32),
    np.full(6, -np.inf, np.float32),
    np.array([800, -800, 799, 0, 0, 0], np.float32),
]


def _plain(row: NDArray[np.float32]) -> dict[int, float]:
    """Return the log-probabilities of the tokens with a finite logit, the most likely first."""
    logits = {token: float(row[token]) for token in range(len(row)) if np.isfinite(row[token])}
    peak = max(logits.values(), default=0.0)
    total = np.log(sum(np.exp(value - peak) for value in logits.values())) if logits else 0.0
    ordered = sorted(logits, key=lambda token: -logits[token])
    return {token: logits[token] - peak - total for token in ordered}


def _token(token_id: int, text: bytes, *, forced: bool = False) -> Any:
    return SimpleNamespace(token_id=token_id, text=text, forced=forced)


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_the_most_likely_tokens_are_kept(count: int) -> None:
    recorder = TopRecorder(count)
    step = recorder.begin(VOCABULARY)
    written = [7, 8]
    for row, token in zip(ROWS, [4, 1, 2, 0], strict=True):
        given = row.copy()
        assert step([*written], given) is given
        given[:] = 5  # a later processor
        for is_last in (True, False):
            if not is_last:
                step([*written, token], ROWS[0].copy())  # what the next position reads
            plain = _plain(row)
            found = recorder.record(len(written), _token(token, b"t"), VOCABULARY)
            assert found.text == b"t" and found.logprob == pytest.approx(max(plain.get(token, -1e9), -9999))
            assert len(found.top) == min(count, len(plain))
            assert [value for _, value in found.top] == pytest.approx([*plain.values()][:count], abs=1e-4)
            assert dict(found.top).keys() <= {bytes([each]) for each in plain}
        recorder = TopRecorder(count)
        step = recorder.begin(VOCABULARY)
        written.append(token)
    forced = recorder.record(99, _token(0, b"f", forced=True), VOCABULARY)
    assert forced == TokenRecord(b"f", 0.0, ((b"f", 0.0),)[:count])


def test_a_token_past_the_vocabulary_has_no_text() -> None:
    row = np.zeros(VOCABULARY.size + 1, np.float32)
    row[-1] = 5
    recorder = TopRecorder(1)
    recorder.begin(VOCABULARY)([], row)
    assert [text for text, _ in recorder.record(0, _token(1, b"a"), VOCABULARY).top] == [b""]


def test_the_penalty_follows_the_recorder() -> None:
    recorder, options = TopRecorder(1), {"repetition_penalty": 1.5, "processors": ("x",)}
    first, second, third, penalty = recorder.processors(options)
    assert (first, second, third) == (MASK, recorder, "x") and options == {"processors": ("x",)}
    assert penalty == Penalty(1.5)
    assert recorder.processors({}) == [MASK, recorder]


def test_the_tokens_of_a_text_are_returned_once() -> None:
    """Until the end of an answer only tokens are returned that are in it as a whole."""
    texts = [b"ab", b"c", b"", b"def", b"g"]
    tokens = [_token(number, text, forced=True) for number, text in enumerate(texts)]
    whole = b"".join(texts)
    for first in range(len(whole) + 1):
        for last in range(first, len(whole) + 1):
            records = TokenRecords(TopRecorder(0), 3, VOCABULARY)
            begun = records.until(first, lambda count: tokens[count:], is_end=False)
            rest = records.until(last, lambda count: tokens[count:], is_end=True)
            joined = b"".join(each.text for each in begun)
            assert joined == max((whole[:end] for end in (0, 2, 3, 6, 7) if end <= first), key=len)
            joined += b"".join(each.text for each in rest)
            assert joined == min((whole[:end] for end in (0, 2, 3, 6, 7) if end >= last), key=len)


def test_the_tokens_of_a_prompt_follow_those_before() -> None:
    model = RandomModel(seed=3)
    ids = [(7 * number) % 200 for number in range(70)]  # longer than a step
    batch = new_batch(model)
    rows = [batch.add([ids[:1]])[0].copy(), *(batch.feed([[token]])[0].copy() for token in ids[1:-1])]
    size = len(model.vocabulary.tokens)
    for count in (0, 2):
        records = prompt_records(RandomModel(seed=3), ids, count, threading.Event())
        assert records[0] == TokenRecord(model.vocabulary.tokens[ids[0]], None, ())
        assert [each.text for each in records] == [model.vocabulary.tokens[token] for token in ids]
        for record, token, row in zip(records[1:], ids[1:], rows, strict=True):
            plain = _plain(np.asarray(row)[:size])
            assert record.logprob == pytest.approx(plain[token], abs=1e-4)
            expected = [(model.vocabulary.tokens[each], value) for each, value in [*plain.items()][:count]]
            assert [text for text, _ in record.top] == [text for text, _ in expected]
            assert [value for _, value in record.top] == pytest.approx([value for _, value in expected])
    assert len(prompt_records(model, ids[:1], 2, threading.Event())) == 1
    cancelled = threading.Event()
    cancelled.set()
    assert len(prompt_records(model, ids, 2, cancelled)) == 1
