"""Values from functions that return text: replies are read, cut and continued."""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from collections.abc import AsyncIterator, Callable, Iterator
from enum import Enum
from typing import Annotated

import pytest
from pydantic import BaseModel, field_validator

import structkit as sk
from structkit.models.protocols import Message


class Person(BaseModel):
    name: str
    age: int


class Level(Enum):
    low = "low"
    high = "high"


class Ticket(BaseModel):
    level: Level
    title: str


class Note(BaseModel):
    title: str
    size: int


ANA = Person(name="Ana", age=34)

COMPLETE = [
    '{"name": "Ana", "age": 34}',
    '{"name":"Ana","age":34}',
    '{\n  "name": "Ana",\n  "age": 34\n}\n',
    '\n\n{"name": "Ana", "age": 34}   ',
    '```json\n{"name": "Ana", "age": 34}\n```',
    'Sure! Here it is:\n\n```\n{"name": "Ana",\n"age": 34}\n```\nAnything else?',
    'Sure {as you like}! {"name": "Ana", "age": 34}',
    '<think>{"name": "Tom", "age": 1}?</think>\n{"name": "Ana", "age": 34}',
    '{"name": "\\u0041na", "age": 34}',
]

CONTINUED = [
    'Ana", "age": 34}',
    '"Ana", "age": 34}',
    ' Ana", "age": 34}',
    '"name": "Ana", "age": 34}',
    'Ana",\n"age":34}\n```',
]


@pytest.mark.parametrize("continues", [True, False])
@pytest.mark.parametrize("reply", COMPLETE)
def test_one_reply_is_enough(reply: str, continues: bool) -> None:
    result = sk.generate(sk.from_function(lambda text: reply, continues=continues), "Ana is 34.", Person)
    assert (result.value, result.usage.calls, result.guarantee) == (ANA, 1, "corrected")


@pytest.mark.parametrize("reply", CONTINUED)
def test_a_reply_continues_the_forced_text(reply: str) -> None:
    result = sk.generate(sk.from_function(lambda text: reply), "Ana is 34.", Person)
    assert (result.value.name.strip(), result.value.age, result.usage.calls) == ("Ana", 34, 1)


@pytest.mark.parametrize("reply", COMPLETE)
def test_pieces_and_async_replies_are_read_alike(reply: str) -> None:
    def pieces(text: str) -> Iterator[str]:
        yield from reply

    async def whole(text: str) -> str:
        return reply

    async def async_pieces(text: str) -> AsyncIterator[str]:
        for piece in reply:
            yield piece

    functions: list[Callable[[str], object]] = [pieces, whole, async_pieces]
    for function in functions:
        model = sk.from_function(function)  # type: ignore[arg-type]
        assert sk.extract(model, "Ana is 34.", Person) == ANA
        assert asyncio.run(sk.aextract(model, "Ana is 34.", Person)) == ANA
        assert sk.extract_many(model, ["Ana is 34."] * 3, Person) == [ANA] * 3


@pytest.mark.parametrize(
    ("target", "reply", "place"),
    [
        (sk.Regex(r"\[1, 2\][ab]"), "[1, 2", "byte 6"),
        (list[int], "[1, 2", "[1]"),
        (Person, '{"name": "Ana", "age": ', "age"),
    ],
)
def test_the_place_of_an_error_is_a_path_in_json_and_otherwise_a_position(
    target: object, reply: str, place: str
) -> None:
    with pytest.raises(sk.CorrectionsExhausted) as caught:
        sk.extract(sk.from_function(lambda text: reply, max_calls=1), "x", target)  # type: ignore[call-overload]
    assert caught.value.place == place


def test_a_wrong_key_is_corrected() -> None:
    texts: list[str] = []

    def function(text: str) -> str:
        texts.append(text)
        return " 34}" if text.endswith('"age":') else 'Ana", "years": 34}'

    result = sk.generate(sk.from_function(function), "Ana is 34.", Person)
    assert result.value == ANA
    first, second = result.trace.drafts
    assert (first.prefix, first.accepted, first.refused, first.forced) == (
        '{"name": "',
        'Ana", ',
        '"years": 34}',
        '"age": ',
    )
    assert (second.accepted, second.end, result.trace.corrections) == ("34}", "complete", 1)
    assert texts[1].endswith('{"name": "Ana", "age":')


def test_a_reply_is_closed_where_it_leaves_the_target() -> None:
    read, closed = [], []

    def function(text: str) -> Iterator[str]:
        try:
            for piece in ["Ana", '", "y', "ears", '": 34', "}"]:
                read.append(piece)
                yield piece
        finally:
            closed.append(True)

    with pytest.raises(sk.CorrectionsExhausted):
        sk.extract(sk.from_function(function), "Ana is 34.", Person, max_corrections=0)
    deadline = time.monotonic() + 20
    while not closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (read, closed) == (["Ana", '", "y'], [True])


@pytest.mark.parametrize("reply", ["High.", "high.", "high", 'high"', "`high`"])
def test_choices_are_offered_where_a_reply_is_cut(reply: str) -> None:
    requests: list[list[Message]] = []

    def function(messages: list[Message]) -> str:
        requests.append(messages)
        if "only one of these" in messages[-1]["content"]:
            return reply
        return '{"level": "urgent", "title": "x"}' if len(requests) < 3 else 'x"}'

    model = sk.from_function(function, chat=True, continues=False)
    result = sk.generate(model, "It burns!", Ticket)
    assert (result.value.level, result.trace.corrections) == (Level.high, 1)
    assert requests[1][-1]["content"].endswith('is wrong; only one of these: `high"`, `low"`')


def test_a_bound_is_an_error_or_the_shortest_end() -> None:
    model = sk.from_function(lambda text: "I cannot answer that.", continues=False)
    with pytest.raises(sk.CorrectionsExhausted, match="within max_corrections=2") as caught:
        sk.extract(model, "Ana is 34.", Person, max_corrections=2)
    assert (len(caught.value.drafts), caught.value.prefix, caught.value.place) == (3, "", "$")
    result = sk.generate(model, "Ana is 34.", Person, max_corrections=2, finish="shortest")
    assert result.value == Person(name="", age=0)
    assert (result.finish_reason, result.trace.forced_fields) == ("budget", ("$", "name", "age"))


def test_validators_see_the_value_and_the_model_reads_their_reason() -> None:
    class Adult(BaseModel):
        age: int

        @field_validator("age")
        @classmethod
        def grown(cls, age: int) -> int:
            if age < 18:
                raise ValueError("too young")
            return age

    texts: list[str] = []

    def function(text: str) -> str:
        texts.append(text)
        return "3}" if len(texts) == 1 else "30}"

    result = sk.generate(sk.from_function(function), "?", Adult)
    assert (result.value.age, result.attempts) == (30, ('{"age": 3}', '{"age": 30}'))
    assert "too young" in texts[1]
    with pytest.raises(sk.OutputValidationError):
        sk.extract(sk.from_function(lambda text: "3}"), "?", Adult, retries=1)


@pytest.mark.parametrize(
    ("returned", "remedy"),
    [(None, "lack a return"), (b"x", "decode"), (3, "return its text"), ({"a": 1}, "return its text")],
)
def test_a_function_that_returns_no_text_is_an_error(returned: object, remedy: str) -> None:
    for reply in (returned, iter([returned])):
        with pytest.raises(sk.ModelError, match=remedy):
            sk.extract(sk.from_function(lambda text, reply=reply: reply), "?", Person)  # type: ignore[misc, arg-type]


def test_a_function_that_hangs_is_left_to_itself() -> None:
    started = time.perf_counter()
    with pytest.raises(sk.ModelError, match=r"within 0\.2 s"):
        sk.extract(sk.from_function(lambda text: time.sleep(30), timeout=0.2), "?", Person)  # type: ignore[arg-type]
    with pytest.raises(sk.CorrectionsExhausted, match=r"timeout=0\.2"):
        sk.extract(sk.from_function(lambda text: time.sleep(30)), "?", Person, timeout=0.2)  # type: ignore[arg-type]
    assert time.perf_counter() - started < 10


@pytest.mark.long
def test_a_function_that_hangs_after_each_token_is_not_asked_again_and_again() -> None:
    calls = 0

    def function(text: str) -> Iterator[str]:
        nonlocal calls
        calls += 1
        yield f"{calls} "
        time.sleep(30)

    model = sk.from_function(function, timeout=0.5, name="a model")
    with pytest.raises(sk.ModelError, match=r"within 0\.5 s") as caught:
        sk.extract(model, "?", Note)
    assert calls == 4
    assert caught.value.place == "a model"
    assert len(caught.value.drafts) == 4
    assert "1" in caught.value.prefix


@pytest.mark.parametrize(
    "options", [{"temperature": 1.0}, {"seed": 1}, {"thinking": True}, {"confidence": True}]
)
def test_options_that_need_logits_are_errors_before_the_first_request(options: dict[str, object]) -> None:
    def function(text: str) -> str:
        raise AssertionError

    with pytest.raises(sk.GenerationError, match="returns logits"):
        sk.generate(sk.from_function(function), "?", Person, **options)  # type: ignore[arg-type]


def test_equal_replies_to_equal_requests_end_the_value() -> None:
    model = sk.from_function(lambda text: "[]")
    with pytest.raises(sk.CorrectionsExhausted, match="same reply 4 times") as caught:
        sk.extract(model, "?", int)
    assert len(caught.value.drafts) == 5
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.drafts) == (str(caught.value), caught.value.drafts)


def test_prose_in_an_open_string_ends_before_the_maximum_of_calls() -> None:
    replies = (f"I am not sure what number {number} means. " for number in range(200))
    with pytest.raises(
        sk.CorrectionsExhausted, match="in 32 replies that brought its end no nearer"
    ) as caught:
        sk.extract(sk.from_function(lambda text: next(replies)), "x", Note)
    assert caught.value.place == "title"
    assert len(caught.value.drafts) == 33  # the first one starts the string
    with pytest.raises(sk.CorrectionsExhausted, match="the same reply 4 times") as caught:
        sk.extract(sk.from_function(lambda text: "I cannot answer this. "), "x", Note)
    assert len(caught.value.drafts) == 5
    result = sk.generate(
        sk.from_function(lambda text: "I cannot answer this. "), "x", Note, finish="shortest"
    )
    assert result.value.size == 0 and result.value.title.startswith("I cannot")


@pytest.mark.parametrize(("size", "length"), [(3, 300), (16, 1500), (60, 1800)])
def test_a_long_string_may_take_many_replies(size: int, length: int) -> None:
    title = "".join(f"{number} of a long text, " for number in range(length))[:length]
    answer = json.dumps({"title": title, "size": 3})

    def write(text: str) -> str:
        start = text.index('{"title"')
        return answer[len(text) - start :][:size]

    model = sk.from_function(write)
    assert sk.extract(model, "x", Note, include_schema=False) == Note(title=title, size=3)


def test_an_empty_reply_ends_a_string() -> None:
    replies = iter(["Hello", " there", "", ""])
    result = sk.generate(sk.from_function(lambda text: next(replies)), "?", str)
    assert (result.value, result.usage.calls) == ("Hello there", 3)
    silent = sk.from_function(lambda text: "")
    with pytest.raises(sk.CorrectionsExhausted) as caught:
        sk.extract(silent, "?", str)
    assert caught.value.prefix == '"'


class Choices(BaseModel):
    level: Level
    done: bool | None
    count: int


@pytest.mark.parametrize(
    ("reply", "accepted"),
    [
        ('{"level": "light"', '{"level": '),
        ('{"level": "low", "done": truly', '{"level": "low", "done": '),
        ('{"level": "low", "done": null, "count": 3.5}', '{"level": "low", "done": null, "count": '),
        ('{"level": "low", "dog": ', '{"level": "low", '),
    ],
)
def test_a_part_of_a_word_or_a_number_chooses_nothing(reply: str, accepted: str) -> None:
    result = sk.generate(
        sk.from_function(lambda text: reply, continues=False),
        "?",
        Choices,
        max_corrections=0,
        finish="shortest",
    )
    assert result.trace.drafts[0].accepted == accepted
    assert result.trace.drafts[0].refused == reply[len(accepted) :][: len(result.trace.drafts[0].refused)]


@pytest.mark.parametrize("reply", ["New York is big", "New York ", "New York.", "New York\n\nCity"])
def test_what_follows_a_value_does_not_extend_it(reply: str) -> None:
    model = sk.from_function(lambda text: reply)
    assert sk.extract(model, "?", sk.Choice(["New York", "New York City"])) == "New York"


def test_corrections_are_counted_anew_when_a_value_is_complete() -> None:
    keys = [f"key{number}" for number in range(40)]
    target = {
        "type": "object",
        "properties": {key: {"type": "integer"} for key in keys},
        "required": keys,
        "additionalProperties": False,
    }

    def function(text: str) -> str:
        return "7}" if text.endswith('"key39":') else "7, wrong"

    result = sk.generate(sk.from_function(function), "?", target, max_corrections=1)
    assert result.value == dict.fromkeys(keys, 7)
    assert result.trace.corrections >= 39
    with pytest.raises(sk.CorrectionsExhausted, match="max_calls=9"):
        sk.extract(sk.from_function(function, max_calls=9), "?", target)


def test_empty_replies_point_to_the_context() -> None:
    with pytest.raises(sk.CorrectionsExhausted, match="the last reply is empty, as with a full context"):
        sk.extract(sk.from_function(lambda text: ""), "?", Person)


def test_a_budget_that_no_reply_keeps_ends_the_value() -> None:
    """A key is not cut in its middle, so the replies add nothing."""
    model = sk.from_function(lambda text: '"' + "a long key" * 20)
    result = sk.generate(model, "?", dict[str, int], max_tokens=20)
    assert (result.finish_reason, result.usage.calls) == ("budget", 2)
    assert len(result.text) <= 20
    assert result.value == {}
    with pytest.raises(sk.BudgetExceeded):
        sk.generate(model, "?", dict[str, int], max_tokens=20, on_limit="raise")


def test_a_quote_is_of_the_text_that_was_asked_about_and_nothing_was_drafted() -> None:
    model = sk.from_function(lambda prompt: '"Lisbon"')
    result = sk.generate(model, "The office is in Lisbon.", Annotated[str, sk.Quote()])
    assert result.value == "Lisbon"
    assert (result.usage.drafted_tokens, result.usage.accepted_tokens) == (0, 0)
