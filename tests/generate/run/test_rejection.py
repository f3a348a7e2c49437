"""A rejected value is discarded and generated again, and no rejected text is generated twice."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

import structkit as sk
from structkit.generate.decode.config import Decoded, Flow, GeneratedTokens, RejectedSpan
from structkit.generate.decode.decode import Attempt
from structkit.generate.decode.rejected import RejectedTexts
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.output.json_reader import Field as Value
from structkit.generate.output.json_reader import read_values
from structkit.generate.run.rejection import locate_rejected, retry_prompt, with_rejections
from structkit.generate.sample.sample import Sampling
from structkit.models.protocols import Conversation, Message
from structkit.models.single_row import SingleRowBatch, new_batch
from structkit.rejected import Rejected
from structkit.targets.targets import read_target
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary
from tests.generate.driving import drive
from tests.shared import cases

BYTES, SMALL = byte_vocabulary(), small_vocabulary()
REJECTED = Rejected((), "no", ValueError("no"))


class Level(Enum):
    LOW = "low"
    LOWER = "lower"
    HIGH = "high"


class Visit(BaseModel):
    name: str = Field(max_length=12)
    start: int
    end: int

    @field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        if name not in ("Ana", "Tom"):
            raise ValueError("nobody of this name")
        return name

    @model_validator(mode="after")
    def ordered(self) -> Visit:
        if self.start > self.end:
            raise ValueError("it ends before it starts")
        return self


def test_a_field_that_is_refused_is_written_anew_and_the_rest_goes_on() -> None:
    bad, good = (f'{{"name": "{name}", "start": 1, "end": 2}}' for name in ("Eva", "Tom"))
    model = ScriptedModel([bad, good])
    result = sk.generate(model, "x", Visit)
    assert result.value == Visit(name="Tom", start=1, end=2)
    assert result.attempts == (bad, good)
    assert len(model.prompts) == 1


def test_the_value_is_taken_back_in_the_cache_of_a_real_model() -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    model, refused = sk.load(), []

    class Person(BaseModel):
        name: str
        age: int

        @field_validator("age")
        @classmethod
        def fresh(cls, age: int) -> int:
            if len(refused) < 2:
                refused.append(age)
                raise ValueError("not this one")
            return age

    result = sk.generate(model, "Ana Souza, 34, works as a nurse in Porto.", Person)
    assert refused[0] == 34
    assert len({*refused, result.value.age}) == 3
    assert [json.loads(text)["name"] for text in result.attempts] == ["Ana Souza"] * 3


def test_after_the_rejection_of_a_complete_value_the_model_reads_the_error() -> None:
    texts = [f'{{"name": "Ana", "start": {start}, "end": 1}}' for start in (3, 4, 5, 1)]
    model = ScriptedModel(texts)
    result = sk.generate(model, "When?", Visit, retries=3, include_schema=False)
    assert result.attempts == tuple(texts)
    assert len(model.prompts) == 4
    for number, prompt in enumerate(model.prompts):
        assert prompt.count("it ends before it starts") == number
        assert [text in prompt for text in texts] == [n < number for n in range(4)]


def test_the_last_retry_of_a_part_starts_over_with_the_error() -> None:
    texts = [f'{{"name": "{name}", "start": 1, "end": 2}}' for name in ("Eva", "Eve", "Tom")]
    model = ScriptedModel(texts)
    assert sk.generate(model, "When?", Visit, retries=2, include_schema=False).attempts == tuple(texts)
    assert len(model.prompts) == 2
    assert model.prompts[1].endswith(f"{texts[1]} is wrong: name: nobody of this name. Give another.")
    assert sk.generate(ScriptedModel(texts), "When?", Visit, retries=3).attempts == tuple(texts)


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_the_error_knows_every_attempt(retries: int) -> None:
    texts = [f'{{"name": "Ana", "start": {start}, "end": 1}}' for start in (3, 4, 5)]
    with pytest.raises(sk.OutputValidationError, match="allow more retries") as caught:
        sk.extract(ScriptedModel(texts), "When?", Visit, retries=retries)
    assert caught.value.attempts == tuple(texts[: retries + 1])
    assert caught.value.path == ()


def test_another_error_of_a_validator_is_passed_on() -> None:
    class Broken(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def broken(cls, x: int) -> int:
            return {}[x]

    with pytest.raises(KeyError) as caught:
        sk.extract(ScriptedModel(['{"x": 1}']), "x", Broken)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ['a validator of Broken raised it for {"x": 1}']


def test_an_attempt_that_ran_short_is_not_that_of_the_result() -> None:
    class Note(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def brief(cls, text: str) -> str:
            if len(text) > 5:
                raise ValueError("too long")
            return text

    script = ['{"text": "' + "a" * 40 + '"}', '{"text": "abc"}']
    result = sk.generate(ScriptedModel(script, BYTES, strict=False), "x", Note, max_tokens=22)
    assert [len(text) for text in result.attempts] == [22, 15]
    assert result.finish_reason == "stop"


TARGETS: list[object] = [
    bool,
    Level,
    Literal[1, 12, 123],
    int,
    float,
    str,
    list[bool],
    dict[str, int],
    list[Level] | None,
    sk.Choice(["a", "ab", "abc"]),
    sk.Choice(["a", 1, 11, None]),
]


@settings(deadline=None)
@given(
    st.sampled_from(TARGETS),
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([12, 60]),
    st.booleans(),
)
def test_no_text_is_written_twice(
    target: object, seed: int, refusals: int, temperature: float, budget: int, forced: bool
) -> None:
    """Every text is refused: each time another one is written, until there is none or the retries are used up."""
    model = RandomModel(seed, SMALL, brevity=seed % 4)
    raw = isinstance(target, sk.Choice) and target.is_raw

    def check(text: str) -> RejectedSpan | None:
        whole = Value((), "string", 0, len(text.encode()))
        return locate_rejected(REJECTED, [whole] if raw else read_values(text.encode()))

    options = Settings(
        sampling=Sampling(temperature=temperature, seed=seed),
        fast_forward=forced,
        prompt_lookup=0,
        retries=refusals,
    )
    request = Request(model=model, prompt="a", target=target, settings=options)
    attempt = Attempt(request, [97], sk.compile(target, SMALL).cursor(), budget, validate=check)
    decoded = drive(attempt.run(), new_batch(model))
    assert decoded.rejection is not None
    assert len(set(decoded.rejected)) == len(decoded.rejected) <= refusals
    if not raw:
        values = [json.loads(text) for text in decoded.rejected]
        if not isinstance(target, sk.Choice):
            for value in values:
                TypeAdapter(target).validate_json(json.dumps(value))
    members = {bool: 2, Level: 3, TARGETS[2]: 3}.get(target, 100)  # type: ignore[call-overload]
    assert len(decoded.rejected) == min(refusals, members) or members == 100


def rejected_text(target: object, text: str) -> str:
    """The part of a text that validators of a type reject."""
    rejected = read_target(target).parse(text)
    assert isinstance(rejected, Rejected)
    span = locate_rejected(rejected, read_values(text.encode()))
    return text[span.start : span.end]


def test_the_place_of_an_error() -> None:
    class Item(BaseModel):
        price: int = Field(alias="unit price")

        @field_validator("price")
        @classmethod
        def even(cls, price: int) -> int:
            if price % 2:
                raise ValueError("odd")
            return price

    text = '{"x": [{"unit price": 2}, {"unit price": 35}]}'
    rejected = rejected_text(dict[str, list[str | Item]], text)
    assert rejected == text or rejected == "35" or rejected.startswith('{"unit price": 35')


def never(value: object) -> object:
    raise ValueError("not this one")


class Told(BaseModel):
    kind: Annotated[Literal["aba", "abb"], AfterValidator(never)]


@pytest.mark.parametrize("retries", [3, 6])
def test_a_field_of_which_every_value_is_refused_ends(retries: int) -> None:
    """A token that writes the first byte of a value with what is before it is no way around a ban."""
    texts = ['{"kind": "aba"}', '{"kind": "abb"}']
    model = ScriptedModel([*texts, *texts, *texts, *texts])
    with pytest.raises(sk.OutputValidationError) as caught:
        sk.extract(model, "x", Told, retries=retries)
    assert caught.value.attempts == tuple(texts)  # from the start there is nothing else either
    assert len(model.prompts) == 2


@pytest.mark.parametrize(
    ("kind", "bad", "good"), [(bool, "true", "false"), (int | None, "null", "3"), (list[int], "[]", "[3]")]
)
def test_a_refused_value_is_not_written_again_in_a_longer_token(kind: object, bad: str, good: str) -> None:
    refused = json.loads(bad)

    def other(value: object) -> object:
        if value == refused:
            raise ValueError("not this one")
        return value

    class Answer(BaseModel):
        x: Annotated[kind, AfterValidator(other)]  # type: ignore[valid-type]

    text = '{"x": %s}'
    result = sk.generate(
        ScriptedModel([text % bad, text % bad, text % bad], strict=False), "x", Answer, retries=1
    )
    assert result.attempts[0] == text % bad
    assert len(result.attempts) == 2


class Reader(SingleRowBatch):
    """A row that remembers what the model has in its cache."""

    fed: bytes = b""

    def feed(self, token_ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        logits = super().feed(token_ids)
        tokens: list[int] = self._session.token_ids  # type: ignore[union-attr]
        self.fed = bytes(tokens)
        return logits


@pytest.mark.parametrize("thoughts", [0, 12])
@pytest.mark.parametrize("target", [bool, str, list[bool]])
def test_the_model_has_read_the_prompt_its_thoughts_and_the_text_and_nothing_else(
    target: object, thoughts: int
) -> None:
    model = RandomModel(3, BYTES, brevity=3)
    guide, rows, begun = sk.compile(target, BYTES), Reader(model), []

    def check(text: str) -> RejectedSpan:
        begun.append((rows.fed, text))
        return RejectedSpan(REJECTED, 0, len(text))

    options = Settings(prompt_lookup=0, retries=3, max_thinking_tokens=thoughts)
    request = Request(model=model, prompt="first", target=target, settings=options)
    attempt = partial(Attempt, request, budget=9, validate=check, generated=GeneratedTokens())

    def flow() -> Flow[Decoded]:
        first = attempt(b"first", guide.cursor())
        before = yield from first.run()
        first.generated.truncate(0, 0)
        before = replace(before, rejected=(), rejected_texts=RejectedTexts(), rejection=None)
        return (yield from attempt(b"then", guide.cursor(), previous=before).run())

    drive(flow(), rows)
    thought = {fed[: fed.index(b"</think>\n\n") + 10] if thoughts else b"" for fed, _ in begun}
    assert len(thought) == (2 if thoughts else 1)
    for fed, text in begun:
        lead = next(lead for lead in (thought if thoughts else (b"first", b"then")) if fed.startswith(lead))
        assert lead.startswith((b"first", b"then"))
        assert text.encode().startswith(fed[len(lead) :])


def test_the_name_of_a_type_in_a_location_is_not_taken_for_a_field() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]
        cat: str
        age: Annotated[int, AfterValidator(never)]

    class Dog(BaseModel):
        kind: Literal["dog"]

    text = '{"pet": {"kind": "cat", "cat": "Tom", "age": 99}}'
    assert rejected_text(dict[str, Annotated[Cat | Dog, Field(discriminator="kind")]], text) == "99"


def test_a_name_that_is_refused_takes_its_object_with_it() -> None:
    text = '{"x": {"bad": 1}}'
    target = dict[str, dict[Annotated[str, AfterValidator(never)], int]]
    assert rejected_text(target, text) == '{"bad": 1}'


@pytest.mark.long
def test_the_attempt_from_the_start_has_the_time_that_is_left() -> None:
    refused = []

    def slow(value: list[int]) -> list[int]:
        if len(refused) < 2:
            refused.append(value)
            time.sleep(2.0 if len(refused) == 1 else 0)
            raise ValueError("no")
        return value

    model = ScriptedModel(["[1, 2]", "[3, 4]", "[5, 6]"], strict=False)
    target = Annotated[list[int], AfterValidator(slow)]
    result = sk.generate(model, "x", target, timeout=2, retries=2)
    assert result.attempts == ("[1, 2]", "[]", "[5]")  # the shortest that was not refused


@settings(deadline=None, max_examples=cases(20, of=60))
@given(st.sampled_from(TARGETS), st.integers(0, 10**6), st.integers(0, 3), st.sampled_from([12, 60]))
def test_the_attempt_from_the_start_writes_nothing_that_was_refused(
    target: object, seed: int, retries: int, budget: int
) -> None:
    refused: list[str] = []

    def never_again(value: object) -> object:
        refused.append(repr(value))
        raise ValueError("no")

    model = RandomModel(seed, SMALL, brevity=seed % 4)
    if isinstance(target, sk.Choice):
        return
    with pytest.raises(sk.OutputValidationError) as caught:
        sk.generate(
            model,
            "x",
            Annotated[target, AfterValidator(never_again)],
            retries=retries,
            max_tokens=budget,
            temperature=1.0,
            seed=seed,
        )
    assert len(set(caught.value.attempts)) == len(caught.value.attempts) == len(refused) <= retries + 1
    assert caught.value.text == caught.value.attempts[-1]


def test_what_a_schema_leaves_to_be_checked_after_is_repaired_too() -> None:
    """Where the place of the fault is known, the rest of the value stays."""
    twice = {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 2, "not": {"uniqueItems": True}}
    kind = {"type": "object", "properties": {"name": {"type": "string"}, "ids": twice}}
    schema = {**kind, "required": ["name", "ids"], "additionalProperties": False}
    model = ScriptedModel(['{"name": "x", "ids": [1, 2]}', '{"name": "x", "ids": [2, 2]}'])
    result = sk.generate(model, "x", sk.JsonSchema(schema, strict=False))
    assert result.value == {"name": "x", "ids": [2, 2]}
    assert result.attempts == ('{"name": "x", "ids": [1, 2]}', '{"name": "x", "ids": [2, 2]}')
    assert len(model.prompts) == 1


def test_the_error_has_the_path_of_the_rejected_value() -> None:
    class Person(BaseModel):
        name: str
        age: Annotated[int, AfterValidator(never)]

    people = ScriptedModel(['[{"name": "Ana", "age": 34}]'])
    with pytest.raises(sk.OutputValidationError, match="not this one") as caught:
        sk.extract(people, "x", list[Person], retries=0)
    assert caught.value.path == (0, "age")
    assert caught.value.error is caught.value.__cause__
    assert isinstance(caught.value.error, ValidationError)


def test_a_rejected_answer_of_a_model_that_returns_text_is_in_no_event() -> None:
    """It writes the answer again from the start, so no part of the first one stands."""

    def ascending(items: list[int]) -> list[int]:
        if items != sorted(items):
            raise ValueError("not sorted")
        return items

    replies = iter(["[1, 3, 2]", "[1, 3, 4]"])
    model = sk.from_function(lambda text: next(replies))
    with sk.stream(model, "x", Annotated[list[int], AfterValidator(ascending)]) as events:
        told = [*events]
    assert [event.value for event in told if isinstance(event, sk.FieldEnd)] == [1, 3, 4, [1, 3, 4]]
    assert not any(isinstance(event, sk.FieldRetracted) for event in told)


@pytest.mark.parametrize(
    "prompt",
    [
        "How old?",
        [Message(role="user", content="How old?")],
        Conversation((Message(role="user", content="How old?"),), ({"type": "function"},)),
    ],
    ids=["text", "messages", "conversation"],
)
def test_several_rejected_answers_are_added_as_one_after_the_other(prompt: Prompt) -> None:
    rejected = [("-1", "it is negative"), ("x", "age: no number\nname: missing"), ("", " ")]
    expected = prompt
    for text, message in rejected:
        expected = retry_prompt(expected, text, message)
    assert with_rejections(prompt, rejected) == expected
    assert type(with_rejections(prompt, rejected)) is type(prompt)
    assert with_rejections(prompt, []) == prompt
