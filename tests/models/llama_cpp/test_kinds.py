"""Tokenizers with a space before a text, caches with windows, and recurrent states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structkit as sk
from structkit.models.llama_cpp.model import LlamaCppModel
from tests.models.llama_cpp.conftest import new_llama
from tests.models.llama_cpp.random_gguf import write_gemma, write_mamba, write_sentencepiece


def _load(write: Any, folder: Path) -> LlamaCppModel:
    write(folder / "model.gguf")
    model = sk.load(folder / "model.gguf")
    assert isinstance(model, LlamaCppModel)
    return model


@pytest.fixture(scope="module")
def sentencepiece(library: Any, tmp_path_factory: pytest.TempPathFactory) -> LlamaCppModel:
    return _load(write_sentencepiece, tmp_path_factory.mktemp("sentencepiece"))


@pytest.fixture(scope="module", params=[write_gemma, write_mamba])
def model(
    request: pytest.FixtureRequest, library: Any, tmp_path_factory: pytest.TempPathFactory
) -> LlamaCppModel:
    return _load(request.param, tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize(
    "text", ["Ana", " Ana", "  Ana", "Ana \u00e9\n", "</s>Ana", "\u2581", "\nAna", "\u4f60 \U0001f600"]
)
def test_text_gets_no_space_before_it(text: str, sentencepiece: LlamaCppModel) -> None:
    tokens = sentencepiece.vocabulary.tokens
    ids = sentencepiece.encode_text(text)
    assert b"".join(tokens[token_id] for token_id in ids) == text.encode()
    assert all(tokens[token_id] for token_id in ids)


def test_a_prompt_has_one_start_token_and_no_control_tokens_of_the_text(
    sentencepiece: LlamaCppModel,
) -> None:
    tokens = sentencepiece.vocabulary.tokens
    assert tokens[265] == b" Ana" and tokens[3] == b"\x00" and not any(tokens[:3])
    ids = sentencepiece.encode("An</s>Ana")
    assert b"".join(tokens[token_id] for token_id in ids) == b" An</s>Ana"
    assert [token_id for token_id in ids if not tokens[token_id]] == [1, 2]
    assert sk.generate(sentencepiece, "Ana", sk.Regex("(Ana )+A"), max_tokens=9).value.endswith(" A")


def test_a_sequence_that_is_cut_equals_one_that_is_read_at_once(model: LlamaCppModel) -> None:
    """The cut goes back further than a window."""
    ids = np.random.default_rng(0).integers(2, 258, 60).tolist()
    session = model.session()
    session.logits(ids)
    for length in (59, 40, 12, 0):
        session.crop(length)
        ids = [*ids[:length], 5, 6, 7]
        np.testing.assert_allclose(session.logits([5, 6, 7]), model.session().logits(ids), atol=1e-4)
        session.logits([9] * 20)
        session.crop(length + 3)


def test_a_cut_finds_the_keys_of_an_earlier_window(library: Any, tmp_path: Path) -> None:
    write_gemma(tmp_path / "model.gguf")
    model = sk.from_llama_cpp(new_llama(library, tmp_path / "model.gguf", n_ctx=4096))
    ids = np.random.default_rng(0).integers(2, 258, 2_500).tolist()
    session = model.session()
    session.logits(ids)
    session.crop(500)
    np.testing.assert_allclose(session.logits([5, 6]), model.session().logits([*ids[:500], 5, 6]), atol=1e-3)


def test_more_sequences_than_states(model: LlamaCppModel) -> None:
    sessions = [model.session() for _ in range(9)]
    for step in range(3):
        for number, session in enumerate(sessions):
            row = session.logits([number + 2, step + 2])
            whole = [token for past in range(step + 1) for token in (number + 2, past + 2)]
            np.testing.assert_allclose(row, model.session().logits(whole), atol=1e-4)


def test_values(model: LlamaCppModel) -> None:
    prompts = ["abc", "de", "The lamp is "]
    options: dict[str, Any] = {"max_tokens": 40, "retries": 2}
    separate = [sk.extract(model, prompt, list[bool], **options) for prompt in prompts]
    assert sk.extract_many(model, prompts, list[bool], **options) == separate
    assert sk.generate(model, "x", sk.Choice(["yes", "no", "not now"])).confidence["$"].choices
