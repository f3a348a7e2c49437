"""One sequence: budgets, forced text and finish reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

import structkit as sk
from structkit.generate.decode.config import Decoded, Flow
from structkit.generate.decode.decode import Attempt
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.sample.sample import Sampling
from structkit.guide.guide import Cursor
from structkit.models.single_row import SingleRowBatch, new_batch
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary
from tests.generate.driving import drive

BYTES, SMALL = byte_vocabulary(), small_vocabulary()


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)
    job: Literal["nurse", "teacher"] | None


class Tree(BaseModel):
    value: int
    children: list[Tree]


TARGETS = [Person, Tree, list[Person], dict[str, list[int]], int | str, list[bool], sk.Regex("(ab|abc)*c")]
GUIDES = [sk.compile(target, SMALL, cache=False) for target in TARGETS]


def _rows(session: Recorder) -> SingleRowBatch:
    """Return a batch whose only row is a session."""
    rows = SingleRowBatch(RandomModel())
    rows._session = session
    rows.add = rows.feed
    return rows


class Recorder:
    """A session that records the tokens that it is fed."""

    def __init__(self, logits: Callable[[int], np.ndarray]) -> None:
        self.fed: list[list[int]] = []
        self._logits = logits

    @property
    def length(self) -> int:
        return sum(map(len, self.fed))

    def logits(self, token_ids: Sequence[int]) -> np.ndarray:
        self.fed.append(list(token_ids))
        return self._logits(len(self.fed) - 1)

    def crop(self, length: int) -> None:
        raise NotImplementedError


def _preferring(text: str, vocabulary: sk.Vocabulary) -> Recorder:
    """Return a session that prefers a text after a prompt of one token."""
    model = ScriptedModel([text], vocabulary)
    model.encode("a")
    session = model.session()
    recorder = Recorder(lambda step: session.logits(recorder.fed[step]))
    return recorder


def _attempt(model: sk.LogitsModel, cursor: Cursor, budget: int, **settings: Any) -> Flow[Decoded]:
    request = Request(model=model, prompt="a", target=object, settings=Settings(prompt_lookup=0, **settings))
    return Attempt(request, [97], cursor, budget).run()


def _decode(
    target: object, text: str, vocabulary: sk.Vocabulary, budget: int = 200, forced: bool = True
) -> tuple[Decoded, Recorder]:
    model = ScriptedModel([], vocabulary)
    session = _preferring(text, vocabulary)
    cursor = sk.compile(target, vocabulary, cache=False).cursor()
    flow = _attempt(model, cursor, budget, fast_forward=forced)
    return drive(flow, _rows(session)), session


def _text(decoded: Decoded, vocabulary: sk.Vocabulary) -> str:
    return b"".join(vocabulary.tokens[i] for i in decoded.token_ids).decode()


@settings(deadline=None)
@given(st.sampled_from(range(len(TARGETS))), st.integers(0, 80), st.integers(0, 10**6), st.booleans())
def test_the_budget_is_always_met_by_a_complete_value(
    which: int, budget: int, seed: int, forced: bool
) -> None:
    target, guide = TARGETS[which], GUIDES[which]
    model = RandomModel(seed, SMALL, brevity=seed % 4)
    needed = guide.cursor().min_tokens_to_end()

    def begin() -> Flow[Decoded]:
        sampling = Sampling(temperature=1.0, seed=seed)
        return _attempt(model, guide.cursor(), budget, sampling=sampling, fast_forward=forced)

    if budget < needed:
        with pytest.raises(sk.BudgetTooSmall, match=f"needs {needed} tokens? and only {budget}"):
            begin()
        return
    flow = begin()
    decoded = drive(flow, new_batch(model))
    assert len(decoded.token_ids) <= budget
    text = _text(decoded, SMALL)
    if isinstance(target, sk.Regex):
        cursor = guide.cursor()
        for token_id in decoded.token_ids:
            cursor.advance(token_id)
        assert cursor.is_accepting
    else:
        TypeAdapter(target).validate_json(text)


@pytest.mark.parametrize("vocabulary", [BYTES, SMALL], ids=["bytes", "small"])
@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ana Souza", "age": 34, "job": "nurse"}',
        '{"name": "\\"é😀\\n", "age": 0, "job": null}',
        '{"name": "", "age": 150, "job": "teacher"}',
    ],
)
def test_a_preferred_text_of_the_language_is_generated(
    vocabulary: sk.Vocabulary, forced: bool, text: str
) -> None:
    decoded, _ = _decode(Person, text, vocabulary, forced=forced)
    assert _text(decoded, vocabulary) == text
    assert decoded.finish_reason == "stop"


def test_forced_text_is_fed_together_with_the_token_before_it() -> None:
    decoded, session = _decode(Person, '{"name": "Ana", "age": 7, "job": null}', BYTES)
    assert [bytes(fed) for fed in session.fed] == [
        b'a{"name": "',
        b"A",
        b"n",
        b"a",
        b'", "age": ',
        b"7",
        b', "job": ',
    ]
    assert decoded.forced_tokens == len('{"name": "') + len(', "age": ') + len(' "job": ') + len("ull}")


def test_forced_text_has_the_tokens_of_the_tokenizer() -> None:
    decoded, _ = _decode(Person, '{"name": "Ana", "age": 7, "job": null}', SMALL)
    tokens = [SMALL.tokens[i] for i in decoded.token_ids]
    assert tokens[:3] == [b'{"name', b'": "', b"Ana"]
    assert decoded.forced_tokens == 5


def test_a_constant_needs_no_model() -> None:
    decoded, session = _decode(Literal["teacher"], "", SMALL)
    assert _text(decoded, SMALL) == '"teacher"'
    assert session.fed == []
    assert decoded.forced_tokens == len(decoded.token_ids)


def test_without_fast_forward_the_model_is_run() -> None:
    decoded, session = _decode(Literal["teacher"], '"teacher"', SMALL, forced=False)
    assert _text(decoded, SMALL) == '"teacher"'
    assert len(session.fed) > 0


@pytest.mark.parametrize(
    "encode_text",
    [
        lambda text: [0],
        lambda text: [],
        lambda text: [300],
        lambda text: [*text.encode(), 256],
        lambda text: [-1, *text.encode()],
    ],
)
def test_a_tokenization_with_other_bytes_is_ignored(encode_text: Callable[[str], list[int]]) -> None:
    model = ScriptedModel([], BYTES)
    model.encode_text = encode_text  # type: ignore[method-assign]
    flow = _attempt(model, sk.compile(Literal["yes"], BYTES, cache=False).cursor(), 20)
    decoded = drive(flow, _rows(_preferring('"yes"', BYTES)))
    assert _text(decoded, BYTES) == '"yes"'


def test_forced_text_can_end_inside_a_character() -> None:
    # "é" is C3 A9 and "è" is C3 A8: the forced bytes end after C3.
    decoded, _ = _decode(sk.Choice(["caché", "cachè"]), "cachè", BYTES)
    assert _text(decoded, BYTES) == "cachè"


def test_forced_tokens_that_exceed_the_budget_are_not_appended() -> None:
    # As bytes the forced text has 19 tokens, as pieces fewer; only the pieces fit the budget.
    target = Literal["teacher teacher"]
    guide = sk.compile(target, SMALL, cache=False)
    needed = guide.cursor().min_tokens_to_end()
    model = ScriptedModel([], SMALL)
    model.encode_text = lambda text: list(text.encode())  # type: ignore[method-assign]
    flow = _attempt(model, guide.cursor(), needed)
    decoded = drive(flow, _rows(_preferring('"teacher teacher"', SMALL)))
    assert _text(decoded, SMALL) == '"teacher teacher"'
    assert len(decoded.token_ids) == needed


@pytest.mark.parametrize(
    ("target", "text", "budget", "expected", "reason"),
    [
        (str, '"abc"', 5, '"abc"', "stop"),  # exactly the budget
        (str, '"abcdef"', 5, '"abc"', "budget"),  # closed earlier than the model preferred
        (int, "12", 2, "12", "budget"),  # the budget ended before the model could end the value
        (int, "12", 3, "12", "stop"),
        (bool, "true", 4, "true", "stop"),  # nothing can follow
        (list[int], "[1, 2, 3]", 7, "[1, 2]", "budget"),
        (sk.Regex("a*"), "", 0, "", "budget"),
        (sk.Regex("a*"), "", 3, "", "stop"),
        (sk.Regex("a*"), "aaaa", 3, "aaa", "budget"),
    ],
)
def test_finish_reason(target: object, text: str, budget: int, expected: str, reason: str) -> None:
    decoded, _ = _decode(target, text, BYTES, budget)
    assert (_text(decoded, BYTES), decoded.finish_reason) == (expected, reason)


def test_the_error_of_invalid_logits_has_their_step() -> None:
    steps = [np.zeros(257, np.float32), np.full(257, np.nan, np.float32)]
    cursor = sk.compile(str, BYTES, cache=False).cursor()
    flow = _attempt(ScriptedModel([], BYTES), cursor, 9, fast_forward=False)
    with pytest.raises(sk.ModelError, match="token 2") as caught:
        assert drive(flow, _rows(Recorder(lambda step: steps[step])))
    assert caught.value.place == "token 2"
