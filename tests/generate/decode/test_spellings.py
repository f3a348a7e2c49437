"""The model's spelling of forced text is drafted in later sequences."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.generate.decode import spellings
from structkit.generate.decode.forced import ForcedText
from structkit.generate.decode.retokenize import Retokenizer
from structkit.generate.decode.spellings import Spellings, spellings_of
from structkit.models.transformers.kv_batch import TransformersBatch
from structkit.testing import RandomModel, small_vocabulary

TOKENS = [b"label", b"l", b"ab", b"el", b'": ']


class Leaf(BaseModel):
    label: str
    is_hazardous: bool


def test_the_last_choice_is_spelled_again() -> None:
    found = Spellings(TOKENS)
    first = ForcedText(TOKENS, found)
    for token in (1, 2, 3):
        first.start([0, 4] if token == 1 else [], b'label": '[{1: 0, 2: 1, 3: 3}[token] :])
        first.advance([token])
    second = ForcedText(TOKENS, found)
    second.start([0, 4], b'label": ')
    assert second.drafted_ids(9) == [1, 2, 3, 4]
    assert second.drafted_ids(2) == [1, 2]
    assert second.token_ids == [0, 4], "what counts as forced does not depend on other sequences"


def test_a_draft_is_the_rest_of_the_spelling_until_the_model_spells_otherwise() -> None:
    found = Spellings(TOKENS)
    for at, token, previous in ((0, 1, -1), (1, 2, 1), (3, 3, 2)):
        found.note(b'label": ', at, token, previous)
    forced = ForcedText(TOKENS, found)
    forced.start([0, 4], b'label": ')
    assert forced.drafted_ids(9) == [1, 2, 3, 4]
    forced.advance([1])
    assert forced.drafted_ids(9) == [2, 3, 4], "also what only the tokenizer spelled"
    forced.start([0, 4], b'label": ')
    assert forced.drafted_ids(9) == [1, 2, 3, 4]
    forced.advance([0])
    assert forced.drafted_ids(9) == [4], "not the spelling of the token before"


def test_the_token_before_a_text_decides() -> None:
    found = Spellings(TOKENS)
    found.note(b"label", 0, 1, previous=4)
    found.note(b"label", 0, 0, previous=2)
    assert found.spell(b"label", [0], previous=4) == [1]
    assert found.spell(b"label", [0], previous=3) == [0]


def test_a_token_that_continues_after_the_text_is_not_drafted() -> None:
    found = Spellings(TOKENS)
    found.note(b"lab", 0, 0, previous=4)
    assert found.spell(b"lab", [1, 2], previous=4) == [1, 2]


def test_the_spellings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spellings, "_MAX_TEXTS", 4)
    found = Spellings(TOKENS)
    for number in range(100):
        found.note(b"%d" % number * 1000, 0, 1, previous=4)
    assert len(found._chosen) == 4
    assert all(len(text) <= 64 for _, text in found._chosen._values)
    found.note(b"l" * 100, 0, 1, previous=1)
    assert found.spell(b"l" * 10**6, [1] * 10**6) == [1] * 256


def test_the_spellings_are_those_of_the_model() -> None:
    one, other = (RandomModel(seed, small_vocabulary()) for seed in (1, 2))
    assert spellings_of(one) is spellings_of(one)
    assert spellings_of(one) is not spellings_of(other)


def test_a_second_sequence_takes_fewer_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    monkeypatch.setattr(spellings, "_SPELLINGS", WeakKeyDictionary())
    demo, passes, forward = sk.load(), [0], TransformersBatch._forward

    def counting(self: object, *arguments: object) -> object:
        passes[0] += 1
        return forward(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TransformersBatch, "_forward", counting)
    runs = []
    for _ in range(2):
        passes[0] = 0
        result = sk.generate(demo, "The acid is dangerous.", Leaf, include_schema=False)
        runs.append((passes[0], result.token_ids, result.usage.forced_tokens))
    assert runs[0][1:] == runs[1][1:]
    assert runs[1][0] < runs[0][0]


def test_a_text_is_spelled_as_the_model_spelled_it() -> None:
    found, vocabulary = Spellings(TOKENS), sk.Vocabulary(TOKENS, {5})
    retokenizer = Retokenizer(lambda text: [0], vocabulary, found)
    assert retokenizer.spell("label") == [0]
    for start, token, previous in ((0, 1, 0), (1, 2, 1), (3, 3, 2)):
        found.note(b"label", start, token, previous)
    assert retokenizer.spell("label") == [1, 2, 3]
    assert Retokenizer(lambda text: [0], vocabulary).spell("label") == [0]


def test_without_known_spellings_the_usual_one_is_drafted() -> None:
    for known in (None, Spellings(TOKENS)):
        text = ForcedText(TOKENS, known)
        text.start([0, 4], b'label": ')
        assert text.drafted_ids(9) == [0, 4]
        text.advance([0])
        assert text.drafted_ids(9) == [4]
    assert ForcedText(TOKENS, is_drafted=False).drafted_ids(9) == []
