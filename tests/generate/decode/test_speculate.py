"""Drafts: fewer forward passes, and the same output."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

import structkit as sk
from structkit.generate.decode.config import Decoded, Flow
from structkit.generate.decode.decode import Attempt
from structkit.generate.decode.retokenize import Retokenizer
from structkit.generate.decode.speculate import (
    _DECAY,
    _PRIOR_ACCEPTED,
    _PRIOR_TOTAL,
    _TYPICAL_DRAFT,
    PromptLookup,
    PromptLookupDrafter,
)
from structkit.generate.decode.speculate import AcceptanceRate as _AcceptanceRate
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.sample.sample import Sampling
from structkit.generate.sample.step import Draft, SampleRequest
from structkit.generate.sample.step import Draft as _Draft
from structkit.processors import Penalty
from structkit.testing import RandomModel, small_vocabulary
from tests.generate.driving import run_flows
from tests.models.tiny import tiny_llama
from tests.shared import cases

SMALL = small_vocabulary()
MODEL = RandomModel(vocabulary=SMALL)

PEOPLE = [
    "Ana Souza, 34, works as a nurse in Porto.",
    "Tom is 7.",
    "Maria Silva is a 51-year-old engineer from Lisbon, and she has two brothers, one of whom is a teacher.",
    'Correct this: {"name": "Luca Rossi", "age": 20, "job": "gardener"}',
    "John Smith (45), teacher",
]


class Person(BaseModel):
    name: str = Field(max_length=30)
    age: int
    job: str | None = None


class Item(BaseModel):
    product: Annotated[str, sk.MaxTokens(3)]
    kind: Literal["tool", "toy"]
    price: float


class Adult(BaseModel):
    name: str
    age: int

    @field_validator("age")
    @classmethod
    def grown(cls, age: int) -> int:
        if age < 40:
            raise ValueError("too young")
        return age


class Tables:
    """Rows of a model whose logits depend on the last two tokens."""

    max_rows = None

    def __init__(self, seed: int, overhead: int, prompt: str) -> None:
        self.noise = np.random.default_rng(seed).standard_normal((32, 32, SMALL.size), np.float32) * 3
        # Tokens of the prompt are likely, so that some drafts are accepted.
        self.noise[:, :, sorted(set(MODEL.encode_text(prompt)))] += 3
        self.overhead = overhead
        self.rows: list[list[int]] = []
        self.steps = 0

    def add(self, sequences: list[list[int]]) -> np.ndarray:
        self.rows += [[] for _ in sequences]
        return self.feed_multi(
            [[]] * (len(self.rows) - len(sequences)) + [list(ids) for ids in sequences], 1
        )[-len(sequences) :, -1]

    def feed(self, token_ids: list[list[int]]) -> np.ndarray:
        assert all(token_ids)
        return self.feed_multi(token_ids, 1)[:, -1]

    def feed_multi(self, token_ids: list[list[int]], logits_to_keep: int) -> np.ndarray:
        self.steps += 1
        logits = np.full((len(self.rows), logits_to_keep, SMALL.size), np.nan, np.float32)
        for row, ids, out in zip(self.rows, token_ids, logits, strict=True):
            row += ids
            for back in range(min(logits_to_keep, len(ids))):
                at = len(row) - back
                out[logits_to_keep - 1 - back] = self.noise[row[at - 2] % 32, row[at - 1] % 32]
        return logits

    def rollback(self, row: int, count: int) -> None:
        assert 0 < count <= len(self.rows[row])
        del self.rows[row][len(self.rows[row]) - count :]

    def score(self, row: int, branches: list[list[int]]) -> list[np.ndarray]:
        scores = []
        for branch in branches:
            ids, score = [*self.rows[row], branch[0]], np.zeros(len(branch), np.float32)
            for at, token in enumerate(branch[1:], 1):
                logits = self.noise[ids[-2] % 32, ids[-1] % 32].astype(np.float64)
                score[at] = logits[token] - np.log(np.exp(logits).sum())
                ids.append(token)
            scores.append(score)
        return scores

    def select(self, rows: list[int]) -> None:
        self.rows = [self.rows[row] for row in rows]


def _flow(prompt: str, number: int, options: Settings) -> Flow[Decoded]:
    guide = sk.compile(Person, SMALL)
    request = Request(model=MODEL, prompt=prompt, target=Person, settings=options, number=number)
    return Attempt(request, MODEL.encode(prompt), guide.cursor(), 60).run()


def _any_draft(draft: Callable[[int], Draft] | None, drafts: np.random.Generator, max_tokens: int) -> Draft:
    ids = [] if draft is None else draft(9).token_ids
    ids = [t if drafts.random() < 0.8 else int(drafts.integers(SMALL.size)) for t in ids]
    ids += drafts.integers(SMALL.size, size=drafts.integers(3)).tolist()
    return Draft(ids, [True] * len(ids))


def _with_drafts(flow: Flow[Decoded], drafts: np.random.Generator) -> Flow[Decoded]:
    """Replace a fifth of the drafted tokens of a flow by random ones, and append others."""

    request = next(flow)
    while True:
        if isinstance(request, SampleRequest):
            request.draft = partial(_any_draft, request.draft, drafts)
        try:
            request = flow.send((yield request))
        except StopIteration as end:
            return end.value


def _ends(rows: Tables, flows: list[Flow[Decoded]], size: int) -> list[Decoded]:
    driven = {d.index: d.outcome for d in run_flows(flows, rows, size) if d is not None}  # type: ignore[arg-type]
    ends = [driven[number] for number in range(len(flows))]
    assert all(isinstance(end, Decoded) for end in ends), ends
    return ends  # type: ignore[return-value]


@pytest.mark.long
@settings(max_examples=cases(10, of=40), deadline=None)
@given(
    seed=st.integers(0, 2**20),
    size=st.integers(1, 4),
    overhead=st.sampled_from([2, 24, 256]),
    temperature=st.sampled_from([0.0, 0.7]),
    scored=st.booleans(),
)
def test_no_draft_changes_the_output(
    seed: int, size: int, overhead: int, temperature: float, scored: bool
) -> None:
    def flows(prompt_lookup: int) -> list[Flow[Decoded]]:
        sampling = Sampling(temperature=temperature, seed=seed)
        options = Settings(sampling=sampling, confidence=scored, prompt_lookup=prompt_lookup)
        return [_flow(prompt, number, options) for number, prompt in enumerate(PEOPLE)]

    text = " ".join(PEOPLE)
    expected = _ends(Tables(seed, overhead, text), flows(0), size)
    drafts = np.random.default_rng(seed)
    for each in ([_with_drafts(flow, drafts) for flow in flows(8)], flows(8)):
        for drafted, other in zip(_ends(Tables(seed, overhead, text), each, size), expected, strict=True):
            assert drafted.token_ids == other.token_ids
            assert (drafted.finish_reason, drafted.read_tokens) == (other.finish_reason, other.read_tokens)


@settings(max_examples=cases(20, of=100), deadline=None)
@given(
    text=st.sampled_from(PEOPLE),
    prefix=st.text('AnaSouz 345",:{}', max_size=12),
    max_tokens=st.integers(0, 12),
)
def test_a_draft_is_in_the_language_and_does_not_move_the_cursor(
    text: str, prefix: str, max_tokens: int
) -> None:
    cursor = sk.compile(dict[str, str | int], SMALL).cursor()
    for token in MODEL.encode_text('{"' + prefix):
        try:
            cursor.advance(token)
        except sk.TokenRejected:
            break
    before = cursor.token_ids
    drafts = PromptLookupDrafter(MODEL.encode(text), SMALL, Retokenizer(MODEL.encode_text, SMALL))
    draft = drafts.draft(cursor, max_tokens)
    assert cursor.token_ids == before
    assert len(draft.token_ids) == len(draft.is_guess) <= max_tokens
    for token in draft.token_ids:
        cursor.advance(token)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{"name": "Ana', b" Souza"),
        ('{"name": "Ana Sou', b"za"),
        ('{"age": 3', b"4"),
        ('{"age": 34', b""),
        ('{"city": "Por', b"to"),
        ('{"name": "', None),
        ('{"name": "ouza', None),
        ('{"name": "Eva', None),
        ("", None),
    ],
)
def test_the_continuation_in_the_prompt(text: str, after: bytes | None) -> None:
    found = PromptLookup(SMALL.tokens, MODEL.encode(PEOPLE[0])).continuation(text.encode())
    assert (None if found is None else found[0]) == after
    if found is not None and found[1]:
        assert b"".join(SMALL.tokens[token] for token in found[1]) == after


def test_a_copied_value_and_the_key_after_it_are_drafted_together() -> None:
    guide = sk.compile(Person, SMALL)
    cursor, text = guide.cursor(), '{"name": "Ana'
    for token in MODEL.encode_text(text):
        cursor.advance(token)
    drafts = PromptLookupDrafter(MODEL.encode(PEOPLE[0]), SMALL, Retokenizer(MODEL.encode_text, SMALL))
    draft = drafts.draft(cursor, 24)
    assert b"".join(SMALL.tokens[token] for token in draft.token_ids) == b' Souza", "age": '
    assert draft.is_guess[-1] is False


def test_no_empty_string_is_drafted() -> None:
    drafts = PromptLookupDrafter(MODEL.encode("Ana is 34."), SMALL, Retokenizer(MODEL.encode_text, SMALL))
    draft = drafts.draft(sk.compile(Person, SMALL).cursor(), 24)
    assert b"".join(SMALL.tokens[token] for token in draft.token_ids) == b'{"name": "'


def test_the_quote_of_an_optional_string_is_a_guess() -> None:
    cursor = sk.compile(Person, SMALL).cursor()
    for token in MODEL.encode_text('{"name": "Eva", "age": 3, '):
        cursor.advance(token)
    drafts = PromptLookupDrafter(MODEL.encode("Ana is 34."), SMALL, Retokenizer(MODEL.encode_text, SMALL))
    draft = drafts.draft(cursor, 24)
    assert b"".join(SMALL.tokens[token] for token in draft.token_ids) == b'"job": "'
    assert draft.is_guess == [False] * (len(draft.is_guess) - 1) + [True]


def test_no_value_ends_in_place_of_a_copy_that_the_language_rejects() -> None:
    cursor = sk.compile(dict[str, list[int]], SMALL).cursor()
    for token in MODEL.encode_text('{"children": ['):
        cursor.advance(token)
    prompt = MODEL.encode('Tree = {"children": [Tree, ...]}')
    drafts = PromptLookupDrafter(prompt, SMALL, Retokenizer(MODEL.encode_text, SMALL))
    assert drafts.draft(cursor, 24).token_ids == []


@pytest.fixture(scope="module")
def demo():
    pytest.importorskip("transformers", reason="needs transformers")
    return sk.load()


OPTIONS: list[dict[str, object]] = [
    {},
    {"fast_forward": False},
    {"temperature": 0.8, "seed": 5},
    {"temperature": 1.0, "top_p": 0.9, "seed": 6, "fast_forward": False},
    {"max_tokens": 14},
    {"repetition_penalty": 1.3},
    {"processors": [Penalty(0.8)]},
    {"whitespace": "compact", "order": "any"},
    {"confidence": True},
]


@pytest.mark.long(every=4)
@pytest.mark.parametrize(
    ("options", "size"),
    [(options, size) for size in (4, 1) for options in OPTIONS][: cases(len(OPTIONS), of=2 * len(OPTIONS))],
    ids=str,
)
def test_drafts_do_not_change_the_results_of_the_demo_model(
    demo, options: dict[str, object], size: int
) -> None:
    targets = [Person, list[Person], Person, Person, Item]
    given = options | {"batch_size": size, "return_exceptions": True}
    with_drafts = sk.generate_many(demo, PEOPLE, targets, **given)  # type: ignore[call-overload]
    without = sk.generate_many(demo, PEOPLE, targets, prompt_lookup=False, **given)  # type: ignore[call-overload]
    for mine, other in zip(with_drafts, without, strict=True):
        if isinstance(other, Exception):
            assert str(mine) == str(other)
            continue
        assert mine.text == other.text
        assert mine.token_ids == other.token_ids
        assert mine.finish_reason == other.finish_reason
        assert [token.forced for token in mine.events] == [token.forced for token in other.events]
        np.testing.assert_allclose(
            [token.logprob for token in mine.events], [token.logprob for token in other.events], atol=1e-4
        )
        assert mine.confidence.keys() == other.confidence.keys()
        for path, confidence in mine.confidence.items():
            assert (confidence.choices or {}) == pytest.approx(other.confidence[path].choices or {}, abs=1e-4)
        assert other.usage.drafted_tokens == other.usage.accepted_tokens == 0
        assert mine.usage.accepted_tokens <= mine.usage.drafted_tokens
        assert not any(token.drafted for token in other.events)
        assert sum(token.drafted for token in mine.events) <= mine.usage.drafted_tokens
        assert not any(token.drafted and token.forced for token in mine.events)
    assert sum(mine.usage.accepted_tokens for mine in with_drafts if isinstance(mine, sk.Result)) > 0


def test_the_tokens_that_a_draft_guessed_are_marked(demo) -> None:
    result = sk.generate(demo, PEOPLE[0], Person)
    drafted = [token.text.decode() for token in result.events if token.drafted]
    assert " Souza" in "".join(drafted)  # it was copied from the prompt
    assert 0 < len(drafted) <= result.usage.drafted_tokens
    assert [span.text for span in result.trace.spans if "drafted" in span.detail] == drafted


def test_attempts_are_the_same_with_drafts(demo) -> None:
    for prompt in PEOPLE[:3]:
        with_drafts, without = (
            sk.generate(demo, prompt, Adult, prompt_lookup=prompt_lookup, retries=3)
            for prompt_lookup in (True, False)
        )
        assert with_drafts.attempts == without.attempts
        assert with_drafts.value == without.value


def test_events_are_the_same_with_drafts(demo) -> None:
    def field_events(prompt_lookup: bool) -> list[object]:
        events = list(sk.stream(demo, PEOPLE[0], Person, prompt_lookup=prompt_lookup))
        return [event for event in events if isinstance(event, (sk.FieldStart, sk.FieldEnd))]

    assert field_events(True) == field_events(False)


def test_thinking_is_not_drafted(demo) -> None:
    with_drafts, without = (
        sk.generate(demo, PEOPLE[0], Person, thinking=10, prompt_lookup=prompt_lookup)
        for prompt_lookup in (True, False)
    )
    assert (with_drafts.thinking, with_drafts.text) == (without.thinking, without.text)


def test_drafts_save_forward_passes(demo, monkeypatch: pytest.MonkeyPatch) -> None:
    forward, passes = type(demo.model).forward, [0]

    def counting(self: object, *args: object, **kwargs: object) -> object:
        passes[0] += 1
        return forward(self, *args, **kwargs)

    counting.__signature__ = __import__("inspect").signature(forward)  # type: ignore[attr-defined]
    monkeypatch.setattr(type(demo.model), "forward", counting)
    counts = []
    for prompt_lookup in (False, 4, True):
        passes[0] = 0
        sk.extract(demo, PEOPLE[0], Person, prompt_lookup=prompt_lookup)
        counts.append(passes[0])
    assert counts[0] > counts[1] >= counts[2]
    assert counts[2] <= 0.6 * counts[0]


@pytest.fixture(scope="module")
def random_assistant(demo):
    """A random model with the demo model's tokens."""
    return tiny_llama(demo.tokenizer, max_position_embeddings=120)


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 4),
        ({"temperature": 0.8, "seed": 5}, 4),
        ({}, 1),
        ({"fast_forward": False}, 4),
        ({"fast_forward": False}, 1),
        ({"temperature": 0.8, "seed": 5}, 1),
    ][: cases(3, of=6)],
    ids=str,
)
def test_an_assistant_model_does_not_change_the_tokens(
    demo, random_assistant, options: dict[str, object], size: int
) -> None:
    given = options | {"batch_size": size}
    without = sk.generate_many(demo, PEOPLE, Person, prompt_lookup=False, **given)  # type: ignore[call-overload]
    for draft in (demo, random_assistant, RandomModel(1, demo.vocabulary)):
        with_drafts = sk.generate_many(demo, PEOPLE, Person, assistant_model=draft, **given)  # type: ignore[call-overload]
        assert [each.token_ids for each in with_drafts] == [each.token_ids for each in without]
        drafted = sum(each.usage.drafted_tokens for each in with_drafts)
        accepted = sum(each.usage.accepted_tokens for each in with_drafts)
        # A random assistant guesses little, and forced text that the model has spelled before is not counted.
        assert drafted > 0 or (draft is not demo and not options)
        assert accepted <= drafted
        if draft is demo and not options:  # its drafts are its own tokens; the last token need not be read
            assert drafted - accepted <= 2 * len(PEOPLE)


def test_an_assistant_model_with_a_shorter_context(demo, random_assistant) -> None:
    long = " ".join(PEOPLE) * 2
    with_drafts, without = (
        sk.generate(demo, long, Person, assistant_model=draft, prompt_lookup=draft is not None)
        for draft in (random_assistant, None)
    )
    assert with_drafts.token_ids == without.token_ids


def test_a_stream_with_an_assistant_model(demo, random_assistant) -> None:
    assert sk.stream(demo, PEOPLE[0], Person, assistant_model=random_assistant).result.value == sk.extract(
        demo, PEOPLE[0], Person
    )


def test_a_failing_assistant_model_fails_its_row(demo) -> None:
    class Broken(RandomModel):
        started = 0

        def session(self):  # type: ignore[no-untyped-def]
            session = super().session()
            self.started += 1
            if self.started == 1:
                session.logits = lambda ids: 1 / 0  # type: ignore[method-assign]
            return session

    draft = Broken(1, demo.vocabulary)
    outcomes = sk.extract_many(demo, PEOPLE, Person, assistant_model=draft, return_exceptions=True)
    failed = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert [str(error) for error in failed] == [
        "at `random`:\n  the assistant model failed: ZeroDivisionError: division by zero\n  see its traceback above"
    ]
    assert sum(isinstance(outcome, Person) for outcome in outcomes) == len(PEOPLE) - 1


@pytest.mark.parametrize("breaks", ["session", "crop"])
def test_errors_of_an_assistant_model(demo, breaks: str) -> None:
    class Broken(RandomModel):
        def session(self):  # type: ignore[no-untyped-def]
            session = super().session()
            if breaks == "session":
                raise KeyError("no more")
            session.crop = lambda length: {}["no more"]  # type: ignore[method-assign]
            return session

    with pytest.raises(
        sk.ModelError, match="at `random`:\n  the assistant model failed: KeyError: 'no more'"
    ):
        sk.extract(
            demo, PEOPLE[0], Person, assistant_model=Broken(1, demo.vocabulary), temperature=1.0, seed=3
        )


def test_unsuitable_assistant_models_raise(demo) -> None:
    with pytest.raises(sk.GenerationError, match="random has other tokens than demo"):
        sk.extract(demo, "x", bool, assistant_model=RandomModel())
    with pytest.raises(sk.GenerationError, match="cannot take back"):
        sk.extract(RandomModel(), "x", bool, assistant_model=RandomModel())
    with pytest.raises(TypeError, match="assistant_model must be a model"):
        sk.extract(demo, "x", bool, assistant_model="small")  # type: ignore[call-overload]


def test_models_that_cannot_roll_back_have_no_drafts() -> None:
    result = sk.generate(RandomModel(3), PEOPLE[0], Person, prompt_lookup=True, max_tokens=60)
    assert result.usage.drafted_tokens == 0


@pytest.mark.parametrize(("prompt_lookup", "error"), [(-1, ValueError), ("yes", TypeError), (2.5, TypeError)])
def test_invalid_prompt_lookup_raises(prompt_lookup: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="prompt_lookup"):
        sk.extract(MODEL, "x", bool, prompt_lookup=prompt_lookup)  # type: ignore[call-overload]


def test_the_acceptance_rate_is_a_mean_whose_older_counts_decay() -> None:
    rng = np.random.default_rng(1)
    rate, counts = _AcceptanceRate(), list[tuple[int, int]]()
    assert rate.rate == _PRIOR_ACCEPTED / _PRIOR_TOTAL
    for _ in range(20):
        counts.append((int(rng.integers(6)), int(rng.integers(6))))
        rate.update(*counts[-1])
        weights = [_DECAY**age for age in range(len(counts))][::-1]
        accepted = sum(weight * good for weight, (good, _) in zip(weights, counts, strict=True))
        total = sum(weight * (good + bad) for weight, (good, bad) in zip(weights, counts, strict=True))
        assert rate.rate == pytest.approx((_PRIOR_ACCEPTED + accepted) / (_PRIOR_TOTAL + total))
    draft = _Draft([1, 2, 3, 4], [False, True, False, True])
    assert rate.probabilities(draft) == pytest.approx([1, rate.rate, rate.rate, rate.rate**2])


def test_a_draft_pays_off_while_its_tokens_cost_less_than_the_steps_that_they_save() -> None:
    rate = _AcceptanceRate()
    rate.update(1000, 0)
    assert rate.pays_off(1, 8) and not _worst().pays_off(32, 8)
    for rows in range(1, 65):
        gain = (1 + _TYPICAL_DRAFT * rate.rate) * (8 + rows)
        assert rate.pays_off(rows, 8) == (gain > 8 + (1 + _TYPICAL_DRAFT) * rows)


def _worst() -> _AcceptanceRate:
    rate = _AcceptanceRate()
    for _ in range(50):
        rate.update(0, 20)
    return rate


@pytest.mark.parametrize("length", [1, 100, 254, 255, 256, 257, 1000])
@pytest.mark.parametrize("end", [b"", b'"', b". "])
def test_a_copy_ends_where_a_value_is_likely_to_end_or_after_256_bytes(length: int, end: bytes) -> None:
    prompt = b"Is Ana " + b"b" * length + end
    lookup = PromptLookup([bytes([byte]) for byte in range(256)], list(prompt))
    copied = b" " + b"b" * min(length, 255)
    assert lookup.continuation(b'{"name": "Ana') == (copied, list(copied))
    number = PromptLookup([bytes([byte]) for byte in range(256)], list(b"x 12" + b"3" * length + end))
    digits = b"3" * min(length, 256)
    assert number.continuation(b'{"n": 12') == (digits, list(digits))
