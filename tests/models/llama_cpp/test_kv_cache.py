"""Rows of llama.cpp give the logits of individual sequences, whatever happens to their cells."""

from __future__ import annotations

import gc
import random
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import structkit as sk
from structkit.errors import ModelError
from structkit.models.llama_cpp import kv_cache
from structkit.models.llama_cpp.library import Context
from structkit.models.single_row import log_probability
from tests.models.llama_cpp.conftest import new_llama
from tests.models.walk import walk
from tests.shared import cases

if TYPE_CHECKING:
    from pathlib import Path

    from structkit.models.llama_cpp.model import LlamaCppModel
    from structkit.models.transformers.model import TransformersModel


def _whole(model: TransformersModel, ids: list[int]) -> np.ndarray:
    """Return the logits after each token, by one pass of transformers without a cache."""
    torch = pytest.importorskip("torch", reason="needs torch")
    with torch.inference_mode():
        return model.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float().numpy()


def _tokens(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(4, 320, count).tolist()


def _walk(model: LlamaCppModel, reference: TransformersModel, seed: int) -> None:
    walk(
        model.batch,
        lambda ids: _whole(reference, ids),
        seed,
        steps=40,
        width=320,
        tolerance=1e-4,
    )


@pytest.mark.parametrize("seed", range(cases(4, of=12)))
def test_a_row_equals_an_individual_sequence(seed: int, tiny_gguf, tiny) -> None:
    _walk(tiny_gguf, tiny, seed)


@pytest.mark.parametrize("seed", range(cases(4, of=12)))
def test_a_row_without_cells_is_read_again(
    seed: int, library: Any, tiny_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells are few and rows have no sequence of their own for long, so they lose their cells all the time."""
    monkeypatch.setattr(kv_cache, "_SEQUENCES", 12)
    monkeypatch.setattr(kv_cache, "_CELLS", 256)
    model = sk.from_llama_cpp(new_llama(library, tiny_path, n_ctx=256))
    others = [model.session() for _ in range(12)]
    chance = random.Random(seed)
    lengths = [0] * len(others)

    def new_batch() -> Any:
        return model.batch()

    def expected(ids: list[int]) -> np.ndarray:
        number = chance.randrange(len(others))  # another session takes cells between two steps
        others[number].logits(_tokens(3, number))
        lengths[number] += 3
        return _whole(tiny, ids)

    walk(new_batch, expected, seed, steps=30, width=320, tolerance=1e-4)
    assert [other.length for other in others] == lengths


def test_cells_grow_with_the_rows(
    library: Any, tiny_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_cache, "_CELLS", 256)
    model = sk.from_llama_cpp(new_llama(library, tiny_path, n_ctx=256))
    rows, prompts = model.batch(), [_tokens(90, seed) for seed in range(6)]
    assert rows is not None
    added = rows.add(prompts)
    fed = rows.feed([[7]] * 6)
    assert model._cache._context.cells >= 6 * 91
    for number, prompt in enumerate(prompts):
        np.testing.assert_allclose(added[number], _whole(tiny, prompt)[-1], atol=1e-4)
        np.testing.assert_allclose(fed[number], _whole(tiny, [*prompt, 7])[-1], atol=1e-4)


def test_sequences_by_turns_keep_their_cells(
    library: Any, tiny_path: Path, tiny, read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two long sequences do not take each other's cells in turns: the cache grows once."""
    monkeypatch.setattr(kv_cache, "_CELLS", 256)
    model = sk.from_llama_cpp(new_llama(library, tiny_path, n_ctx=256))
    one, other = model.session(), model.session()
    one.logits(_tokens(180, 1))
    other.logits(_tokens(180, 2))
    for step in range(20):
        one.logits([step + 5])
        other.logits([step + 5])
    assert sum(read) <= 3 * 180 + 2 * 20


def test_a_prefix_is_read_once(tiny_gguf, tiny, read) -> None:
    prefix = _tokens(100)
    rows = tiny_gguf.batch()
    rows.add([prefix])
    prompts = [[*prefix, 5, number] for number in range(8)]
    logits = rows.fork(0, len(prefix), 8).feed([prompt[100:] for prompt in prompts])
    assert sum(read) == 100 + 8 * 2
    for row, prompt in zip(logits, prompts, strict=True):
        np.testing.assert_allclose(row, _whole(tiny, prompt)[-1], atol=1e-4)


def test_a_rewind_reads_only_what_is_new(tiny_gguf, tiny, read) -> None:
    rows, prompt = tiny_gguf.batch(), _tokens(80)
    rows.add([prompt])
    rows.rollback(0, 30)
    logits = rows.feed([[9]])
    assert sum(read) == 81
    np.testing.assert_allclose(logits[0], _whole(tiny, [*prompt[:50], 9])[-1], atol=1e-4)


def test_a_rewind_that_fails_reads_the_sequence_again(
    tiny_gguf, tiny, read, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tiny_gguf._cache
    cut = type(cache._context).cut
    monkeypatch.setattr(
        type(cache._context),
        "cut",
        lambda context, sequence, length: not length and cut(context, sequence, length),
    )
    session, prompt = tiny_gguf.session(), _tokens(20)
    session.logits(prompt)
    session.crop(15)
    np.testing.assert_allclose(session.logits([9]), _whole(tiny, [*prompt[:15], 9])[-1], atol=1e-4)
    assert sum(read) == 20 + 16


def test_many_branches_are_scored(tiny_gguf, tiny) -> None:
    rows, prompt = tiny_gguf.batch(), _tokens(20)
    rows.add([prompt])
    branches = [[number, *_tokens(number % 3, number)] for number in range(5, 105)]
    for branch, scored in zip(branches, rows.score(0, branches), strict=True):
        logits = _whole(tiny, prompt + branch)[len(prompt) :]
        expected = [0.0, *(log_probability(logits[at], token) for at, token in enumerate(branch[1:]))]
        np.testing.assert_allclose(scored, expected, atol=1e-4)


def test_a_long_prompt_is_read_in_parts(tiny_gguf, tiny, read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_gguf._cache._context, "batch_size", 16)
    prompts = [_tokens(100, 1), _tokens(5, 2), _tokens(40, 3)]
    rows = tiny_gguf.batch()
    rows.add([prompt[:-3] for prompt in prompts])
    logits = rows.feed_multi([prompt[-3:] for prompt in prompts], 3)
    assert max(read) == 16
    for row, prompt in zip(logits, prompts, strict=True):
        np.testing.assert_allclose(row, _whole(tiny, prompt)[-3:], atol=1e-4)


def test_a_failure_changes_nothing(tiny_gguf, tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tiny_gguf.batch()
    rows.add([_tokens(10, 1), _tokens(10, 2)])

    def fail(*_: object) -> None:
        raise ModelError("the model failed: llama_decode returned -3")

    with monkeypatch.context() as patch:
        patch.setattr(tiny_gguf._cache._context, "decode", fail)
        with pytest.raises(ModelError, match="returned -3"):
            rows.feed([[5], [6]])
    with pytest.raises(ModelError, match=r"260 tokens, 4 more than the model's context of 256"):
        rows.feed([[5], [6] * 250])
    np.testing.assert_allclose(rows.feed([[7], [8]])[1], _whole(tiny, [*_tokens(10, 2), 8])[-1], atol=1e-4)


def test_no_memory_for_more_cells_is_an_error_and_the_model_goes_on(
    library: Any, tiny_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_cache, "_CELLS", 256)
    model = sk.from_llama_cpp(new_llama(library, tiny_path, n_ctx=256))
    session = model.session()
    session.logits(_tokens(50))
    context = model._weights.context
    monkeypatch.setattr(
        model._weights, "context", lambda cells, count: None if cells > 256 else context(cells, count)
    )
    rows = model.batch()
    assert rows is not None
    with pytest.raises(
        ModelError, match=r"no memory for .* tokens\n  shorten the prompts, or lower batch_size"
    ):
        rows.add([_tokens(200, 1), _tokens(200, 2)])
    np.testing.assert_allclose(session.logits([6]), _whole(tiny, [*_tokens(50), 6])[-1], atol=1e-4)
    monkeypatch.setattr(model._weights, "context", lambda *_: None)
    for _ in range(2):
        with pytest.raises(ModelError, match="no memory"):
            rows.add([_tokens(200, 1), _tokens(200, 2)])
        with pytest.raises(ModelError, match="no memory"):
            session.logits([7])
    monkeypatch.setattr(model._weights, "context", context)
    np.testing.assert_allclose(session.logits([8]), _whole(tiny, [*_tokens(50), 6, 8])[-1], atol=1e-4)


def test_rows_that_are_gone_free_their_cells(tiny_gguf, few_objects: None) -> None:
    for seed in range(100):
        tiny_gguf.session().logits(_tokens(30, seed))
        gc.collect()
    assert len(tiny_gguf._cache._rows()) <= 1


def test_rollback_beyond_the_start_is_rejected(tiny_gguf) -> None:
    rows = tiny_gguf.batch()
    rows.add([[5, 6]])
    with pytest.raises(ModelError, match="row 0 has 2 tokens"):
        rows.rollback(0, 3)
    session = tiny_gguf.session()
    session.logits([5, 6])
    for length in (-1, 3):
        with pytest.raises(ModelError, match=f"2 tokens, so it cannot be cropped to {length}"):
            session.crop(length)


def test_threads_share_a_model(tiny_gguf, tiny) -> None:
    failures: list[BaseException] = []

    def run(seed: int) -> None:
        try:
            session, ids = tiny_gguf.session(), _tokens(20, seed)
            for at in range(0, 20, 2):
                row = session.logits(ids[at : at + 2])
            np.testing.assert_allclose(row, _whole(tiny, ids)[-1], atol=1e-4)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of tokens of each call of llama.cpp."""
    counts: list[int] = []
    decode = Context.decode

    def counted(context: Context, token_ids: list[int], *rest: Any) -> list[np.ndarray]:
        found = decode(context, token_ids, *rest)
        counts.append(len(token_ids))
        return found

    monkeypatch.setattr(Context, "decode", counted)
    return counts
