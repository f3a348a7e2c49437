"""The bound on the beginnings of the tokens of a vocabulary."""

from __future__ import annotations

import pytest

import structkit as sk
from structkit.index import trie_arrays as module


def test_a_vocabulary_has_fewer_beginnings_than_labels_leave_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LABEL_SHIFT", 5)
    tokens = [bytes((byte,)) for byte in range(40)]
    few, many = (sk.Vocabulary(tokens[:size], eos_token_ids={size}) for size in (30, 31))
    assert len(few.trie.byte) == 31 and module.trie_arrays(few)
    with pytest.raises(sk.VocabularyError, match="more than 32 different"):
        module.trie_arrays(many)
