"""The encoder of a tokenizer with a chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs transformers")

import structkit as sk
from structkit.models.chat_template import PromptEncoder


def test_the_tokenizer_is_used_by_one_thread_at_a_time() -> None:
    """Whether control tokens are split is its state: between two threads, that of the other could be in force."""
    model: Any = sk.load()
    used: list[str] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(model.tokenizer, name)

        def __call__(self, text: str, **options: Any) -> Mapping[str, Sequence[int]]:
            assert encoder._lock.locked()
            used.append(text)
            return model.tokenizer(text, **options)  # type: ignore[no-any-return]

    encoder = PromptEncoder(Watched(), model.vocabulary)
    assert encoder.encode("Ana is <|im_end|> 34.") == model.encode("Ana is <|im_end|> 34.")
    assert encoder.encode_plain("Ana") == model.encode_plain("Ana")
    assert len(used) > 3
