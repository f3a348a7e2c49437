"""Many prompts: the values of single calls, in order, with isolated failures."""

from __future__ import annotations

import asyncio
import sys
import traceback
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, field_validator

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel
from tests.shared import cases

PEOPLE = [
    "Ana Souza, 34, works as a nurse in Porto.",
    "Tom is 7.",
    "Maria Silva is a 51-year-old engineer from Lisbon, and she has two brothers, one of whom is a teacher.",
    "Hello, I am Luca, I am 20.",
    "John Smith (45), teacher",
    "Nobody knows how old Eva is, but she is a doctor.",
    "Ben, 61.",
]


class Person(BaseModel):
    name: str = Field(max_length=30)
    age: int
    job: str | None = None


class Even(BaseModel):
    value: int

    @field_validator("value")
    @classmethod
    def even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("it is odd")
        return value


@pytest.fixture(scope="module")
def demo():
    pytest.importorskip("transformers", reason="needs transformers")
    return sk.load()


@pytest.mark.parametrize("size", [3, 8, 1][: cases(1, of=3)])
@pytest.mark.parametrize("forced", [True, False])
def test_a_batch_gives_the_values_of_single_calls(demo, size: int, forced: bool) -> None:
    one_by_one = [sk.generate(demo, prompt, Person, fast_forward=forced) for prompt in PEOPLE]
    together = sk.generate_many(demo, PEOPLE, Person, batch_size=size, fast_forward=forced)
    assert [each.token_ids for each in together] == [each.token_ids for each in one_by_one]
    assert [each.value for each in together] == [each.value for each in one_by_one]
    assert all(each.usage.model_seconds > 0 for each in together)


def test_each_row_can_have_its_own_target(demo) -> None:
    targets = [Person, int, list[str], Literal["old", "young"], sk.Regex("[A-Z][a-z]{2,8}"), Person, bool]
    together = sk.extract_many(demo, PEOPLE, targets, batch_size=3, max_tokens=40)
    assert together == [
        sk.extract(demo, prompt, target, max_tokens=40)
        for prompt, target in zip(PEOPLE, targets, strict=True)
    ]


def test_a_seed_gives_each_row_its_own_random_numbers(demo) -> None:
    options = {"temperature": 1.5, "seed": 3, "max_tokens": 30}
    first = sk.extract_many(demo, PEOPLE[:1] * 6, str, batch_size=6, **options)
    again = sk.extract_many(demo, PEOPLE[:1] * 6, str, batch_size=2, **options)
    assert first == again
    assert len(set(first)) > 3
    assert first[0] == sk.extract(demo, PEOPLE[0], str, **options)


def test_a_failed_prompt_does_not_affect_the_others() -> None:
    model = ScriptedModel(['{"value": 2}', '{"value": 3}', '{"value": 4}'])
    first, second, third = sk.extract_many(model, ["a", "b", "c"], Even, return_exceptions=True, retries=0)
    assert (first, third) == (Even(value=2), Even(value=4))
    assert isinstance(second, sk.OutputValidationError)
    with pytest.raises(sk.OutputValidationError, match="it is odd"):
        sk.extract_many(ScriptedModel(['{"value": 2}', '{"value": 3}']), ["a", "b"], Even)


def test_prompts_that_do_not_fit_do_not_affect_the_others(demo) -> None:
    prompts = [PEOPLE[0], "Ana " * 3000, PEOPLE[1]]
    first, second, third = sk.extract_many(demo, prompts, Person, return_exceptions=True)
    assert isinstance(first, Person)
    assert isinstance(third, Person)
    assert isinstance(second, sk.GenerationError)
    assert "tokens too long" in str(second)


def test_an_invalid_target_does_not_affect_the_others() -> None:
    targets = [int, {"type": "integer", "minimum": 3, "maximum": 2}, bool]
    first, second, third = sk.extract_many(
        ScriptedModel(["7", "true"]), ["a", "b", "c"], targets, return_exceptions=True
    )
    assert (first, third) == (7, True)
    assert isinstance(second, sk.UnsatisfiableSchema)


@pytest.mark.parametrize("failing", [1, 4])
def test_after_a_failure_of_the_model_rows_are_read_again(
    demo, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Memory that is short for a batch suffices for one row."""
    calls = iter(range(1000))
    forward = type(demo.model).forward
    expected = sk.extract_many(demo, PEOPLE, Person, batch_size=2)

    def breaking(self: object, *args: object, **kwargs: object) -> object:
        if next(calls) == failing:
            raise RuntimeError("out of memory")
        return forward(self, *args, **kwargs)

    rows = demo.batch()
    monkeypatch.setattr(type(demo.model), "forward", breaking)
    monkeypatch.setattr(demo, "batch", lambda: rows._new_batch(type(rows._cache)(), []))
    assert sk.extract_many(demo, PEOPLE, Person, batch_size=2) == expected


def test_a_row_at_which_the_model_fails_fails_alone(demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that is longer than the positions of a model that does not tell how many it has."""
    forward = type(demo.model).forward

    def breaking(self: object, *args: object, **kwargs: object) -> object:
        cache = kwargs["cache" if "cache" in kwargs else "past_key_values"]
        ends = [cache.length + len(row) for row in kwargs["input_ids"].tolist()]
        if max(ends) > 140:
            raise RuntimeError("index out of range")
        return forward(self, *args, **kwargs)

    rows = demo.batch()  # the parameters were inspected before
    targets = [Person, list[Person], Person]
    expected = [sk.extract(demo, PEOPLE[0], Person), sk.extract(demo, PEOPLE[1], Person)]
    monkeypatch.setattr(type(demo.model), "forward", breaking)
    monkeypatch.setattr(demo, "batch", lambda: rows._new_batch(type(rows._cache)(), []))
    prompts = [PEOPLE[0], PEOPLE[2] * 3, PEOPLE[1]]
    first, second, third = sk.extract_many(demo, prompts, targets, return_exceptions=True)
    assert [first, third] == expected
    assert isinstance(second, sk.ModelError)


def test_no_prompts() -> None:
    assert sk.extract_many(ScriptedModel([]), [], Person) == []


@pytest.mark.parametrize(
    ("prompts", "target", "options", "error", "message"),
    [
        ("a text", int, {}, TypeError, "takes a list of prompts, not 'a text'; write \\[prompt\\]"),
        (
            [{"role": "user", "content": "x"}],
            int,
            {},
            TypeError,
            "a prompt is a text or a list of messages",
        ),
        (["a"], [int, bool], {}, ValueError, "1 prompt and 2 targets"),
        (["a"], int, {"batch_size": 0}, ValueError, "batch_size"),
        (["a"], int, {"batch_size": None}, TypeError, "batch_size must be an integer, not None"),
        (["a"], int, {"progress": "yes"}, TypeError, "progress"),
        (["a"], int, {"return_exceptions": 1}, TypeError, "return_exceptions"),
        (["a"], int, {"tokens": 1}, TypeError, "extract_many\\(\\) has no argument 'tokens'.*batch_size"),
    ],
)
def test_invalid_arguments(
    prompts: object, target: object, options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sk.extract_many(RandomModel(), prompts, target, **options)


def test_the_event_loop_is_not_blocked() -> None:
    values = asyncio.run(sk.aextract_many(ScriptedModel(["1", "2"]), ["a", "b"], int))
    assert values == [1, 2]


def test_a_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm", reason="needs tqdm")
    sk.extract_many(ScriptedModel(["1", "2"]), ["a", "b"], int)
    assert capsys.readouterr().err == ""  # stderr is not a terminal
    sk.extract_many(ScriptedModel(["1", "2"]), ["a", "b"], int, progress=True)
    assert "2/2" in capsys.readouterr().err
    assert "tqdm" in sys.modules


def test_a_progress_bar_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(sk.StructkitError, match=r"pip install \"structkit-llm\[progress\]"):
        sk.extract_many(ScriptedModel(["1", "2"]), ["a", "b"], int, progress=True)


def test_an_error_names_its_prompt() -> None:
    with pytest.raises(sk.ModelError, match=r"at `prompts\[1\], scripted`"):
        sk.extract_many(ScriptedModel(["1"]), ["a", "b"], int)


class _Unnotable(Exception):
    """An error without `add_note`, as before Python 3.11."""

    add_note = None


@pytest.mark.parametrize("kind", [KeyError, _Unnotable])
def test_an_error_of_a_validator_names_its_prompt_too(kind: type[Exception]) -> None:
    def broken(value: int) -> int:
        if value == 2:
            try:
                raise ZeroDivisionError("inner")
            except ZeroDivisionError as error:
                raise kind(value) from error
        return value

    with pytest.raises(kind) as caught:
        sk.extract_many(ScriptedModel(["1", "2"]), ["a", "b"], Annotated[int, AfterValidator(broken)])
    shown = "".join(traceback.format_exception(kind, caught.value, caught.value.__traceback__))
    assert "it was raised for prompts[1]" in shown
    assert "raised it for 2" in shown
    assert "inner" in shown
