"""`validate=` and `context=`: a function of the user accepts or rejects the value, and the model reads why."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Transformer
from pydantic import AfterValidator, BaseModel, ValidationInfo, field_validator

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary

TEXTS = ["[1]", "[2]", "[3]", "[4]"]


def at_least(minimum: int, value: list[int]) -> None:
    if sum(value) < minimum:
        raise sk.Retry(f"the sum is at least {minimum}")


async def at_least_async(minimum: int, value: list[int]) -> None:
    await asyncio.sleep(0)
    at_least(minimum, value)


def run_async(function: Callable[..., Any], *args: object, **options: object) -> Any:
    async def main() -> Any:
        return await function(*args, **options)

    return asyncio.run(main())


def stream_async(*args: Any, **options: Any) -> Any:
    async def main() -> Any:
        return await sk.astream(*args, **options).result()

    return asyncio.run(main())


WAYS: dict[str, Callable[..., Any]] = {
    "generate": sk.generate,
    "agenerate": partial(run_async, sk.agenerate),
    "stream": lambda *args, **options: sk.stream(*args, **options).result,
    "astream": stream_async,
    "generate_many": lambda model, prompt, target, **options: sk.generate_many(
        model, [prompt], target, **options
    )[0],
    "agenerate_many": lambda model, prompt, target, **options: run_async(
        sk.agenerate_many, model, [prompt], target, **options
    )[0],
}


@pytest.mark.parametrize("validate", [at_least, at_least_async])
@pytest.mark.parametrize("way", WAYS)
def test_a_rejected_value_is_generated_again_after_the_model_has_read_the_error(
    way: str, validate: Callable[..., object]
) -> None:
    model = ScriptedModel(TEXTS)
    result = WAYS[way](model, "Which?", list[int], validate=validate, context=3, include_schema=False)
    assert (result.value, result.attempts) == ([3], ("[1]", "[2]", "[3]"))
    first, second, third = model.prompts
    assert first.endswith("Which?")
    assert second.endswith("Which?\n\nThe answer [1] is wrong: the sum is at least 3. Give another.")
    assert third == f"{second}\n\nThe answer [2] is wrong: the sum is at least 3. Give another."


@pytest.mark.parametrize("validate", [at_least, at_least_async])
@pytest.mark.parametrize("way", WAYS)
def test_a_validator_that_always_rejects_ends_with_all_attempts(
    way: str, validate: Callable[..., object]
) -> None:
    with pytest.raises(sk.OutputValidationError, match="the sum is at least 9") as caught:
        WAYS[way](ScriptedModel(TEXTS), "x", list[int], validate=validate, context=9, retries=2)
    error = caught.value
    assert error.attempts == ("[1]", "[2]", "[3]")
    assert (error.text, error.path) == ("[3]", ())
    assert isinstance(error.error, sk.Retry)
    assert error.__cause__ is error.error


@pytest.mark.parametrize("fault", [KeyError("stock"), sk.ModelError("nested"), sk.ToolError("a tool")])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rejections", [0, 1])
def test_another_exception_is_raised_to_the_caller(way: str, fault: Exception, rejections: int) -> None:
    seen: list[object] = []

    async def look_up(value: object) -> None:
        seen.append(value)
        raise ValueError("no") if len(seen) <= rejections else fault

    with pytest.raises(type(fault)) as caught:
        WAYS[way](ScriptedModel(TEXTS), "x", list[int], validate=look_up)
    assert caught.value is fault
    assert len(seen) == rejections + 1


@pytest.mark.parametrize(
    "validate",
    [lambda: None, lambda a, b, c: None, lambda value, *, strict: None, 3, "f", ["f"]],
)
@pytest.mark.parametrize("way", WAYS)
def test_a_wrong_signature_is_refused_before_the_model_runs(way: str, validate: object) -> None:
    model = ScriptedModel(TEXTS)
    with pytest.raises(
        TypeError, match=r"validate must be a function f\(value\) or f\(context, value\), not"
    ):
        WAYS[way](model, "x", list[int], validate=validate)
    assert not model.prompts


def test_the_error_of_a_wrong_signature_has_the_place() -> None:
    def check(a: int, b: int, c: int) -> None: ...

    with pytest.raises(TypeError, match=r"not check\(a, b, c\) at .*test_validate.py:\d+"):
        sk.extract(ScriptedModel(["1"]), "x", int, validate=check)


class Checker:
    def value(self, value: object, strict: bool = True) -> None:
        assert strict

    def both(self, context: object, value: object, *rest: object) -> None:
        assert context == "c"

    def __call__(self, *values: object) -> None:
        assert len(values) == 1


@pytest.mark.parametrize(
    "validate",
    [Checker().value, Checker().both, Checker(), partial(at_least, 0), lambda value=0: None, print],
)
def test_signatures(validate: Callable[..., object]) -> None:
    assert sk.extract(ScriptedModel(["[1]"]), "x", list[int], validate=validate, context="c") == [1]


@pytest.mark.parametrize("returned", [True, False, [1], "ok"])
def test_a_validator_that_returns_a_verdict_is_a_fault(returned: object) -> None:
    with pytest.raises(TypeError, match="it must return None or its argument"):
        sk.extract(ScriptedModel(["[1]"]), "x", list[int], validate=lambda value: returned)
    assert sk.extract(ScriptedModel(["[1]"]), "x", list[int], validate=lambda value: value) == [1]


def test_no_validator() -> None:
    assert sk.extract(ScriptedModel(["1"]), "x", int, validate=None) == 1


@pytest.mark.parametrize("target", [sk.Choice(["a", "b"]), sk.Regex("[ab]"), {"enum": ["a", "b"]}])
def test_targets_that_are_no_types(target: Any) -> None:
    def other(value: object) -> None:
        if value == "a":
            raise ValueError("not a")

    is_json = isinstance(target, dict)
    assert (
        sk.extract(ScriptedModel(['"a"' if is_json else "a"] * 2, strict=False), "x", target, validate=other)
        == "b"
    )


def test_a_finite_type_of_which_every_value_is_rejected_ends() -> None:
    def never(value: object) -> None:
        raise ValueError("neither")

    with pytest.raises(sk.OutputValidationError) as caught:
        sk.extract(ScriptedModel(["true"] * 9, strict=False), "x", bool, validate=never, retries=8)
    assert sorted(caught.value.attempts) == ["false", "true"]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 4), st.sampled_from([list[bool], str, int, dict[str, int]]))
def test_no_rejected_text_is_generated_again(seed: int, retries: int, target: Any) -> None:
    def never(value: object) -> None:
        raise ValueError("no")

    model = RandomModel(seed, byte_vocabulary(), brevity=3.0)
    with pytest.raises(sk.OutputValidationError) as caught:
        sk.generate(model, "x", target, validate=never, retries=retries, temperature=1.0, seed=seed)
    assert len(set(caught.value.attempts)) == len(caught.value.attempts) == retries + 1


def test_a_validator_can_use_the_same_model() -> None:
    """A judge: the locks of the model are released while a validator runs, in whichever thread it uses the model."""
    model = ScriptedModel(["[1]", "false", "[2]", "true"])

    def judge(value: object) -> None:
        if not sk.extract(model, f"Is {value} good?", bool):
            raise sk.Retry("it is not good")

    async def judge_async(value: object) -> None:
        if not await sk.aextract(model, f"Is {value} good?", bool):
            raise sk.Retry("it is not good")

    for way in WAYS.values():
        for validate in (judge, judge_async):
            model = ScriptedModel(["[1]", "false", "[2]", "true"])
            assert way(model, "x", list[int], validate=validate).value == [2]


def test_more_validators_than_threads_of_the_pool() -> None:
    async def judge(value: object) -> None:
        await sk.aextract(RandomModel(), "?", bool)

    async def main() -> list[object]:
        return await asyncio.gather(
            *(sk.aextract(ScriptedModel(["1"]), "x", int, validate=judge) for _ in range(40))
        )

    assert asyncio.run(main()) == [1] * 40


VARIABLE: ContextVar[str] = ContextVar("variable", default="unset")


def test_an_async_validator_runs_on_the_event_loop_of_the_caller() -> None:
    seen: list[tuple[object, str]] = []

    async def look(value: object) -> None:
        seen.append((asyncio.get_running_loop(), VARIABLE.get()))

    async def main() -> object:
        VARIABLE.set("caller")
        await sk.aextract(ScriptedModel(["1"]), "x", int, validate=look)
        await sk.astream(ScriptedModel(["1"]), "x", int, validate=look).result()
        await sk.aextract_many(ScriptedModel(["1"]), ["x"], int, validate=look)
        return asyncio.get_running_loop()

    loop = asyncio.run(main())
    assert seen == [(loop, "caller")] * 3


def test_sync_calls_await_validators_on_a_loop_of_their_own_and_inside_a_running_loop() -> None:
    loops: list[object] = []

    async def look(value: object) -> None:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)

    async def main() -> object:
        sk.extract(ScriptedModel(["1"]), "x", int, validate=look)
        return asyncio.get_running_loop()

    assert asyncio.run(main()) is not loops[0]
    before = threading.active_count()
    sk.extract(ScriptedModel(["1"]), "x", int, validate=look)
    assert threading.active_count() <= before


def test_cancelling_the_call_cancels_its_validator() -> None:
    started, ended = threading.Event(), threading.Event()

    async def wait(value: object) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def main() -> None:
        task = asyncio.create_task(sk.aextract(ScriptedModel(["1"]), "x", int, validate=wait))
        while not started.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not ended.is_set():
            await asyncio.sleep(0.01)

    begun = time.perf_counter()
    asyncio.run(main())
    assert time.perf_counter() - begun < 30


def test_closing_a_stream_cancels_its_validator() -> None:
    started = threading.Event()

    async def wait(value: object) -> None:
        started.set()
        await asyncio.sleep(60)

    async def main() -> None:
        async def read() -> None:
            async with sk.astream(ScriptedModel(["1"]), "x", int, validate=wait) as stream:
                async for _ in stream:
                    pass

        task = asyncio.create_task(read())
        while not started.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begun = time.perf_counter()
    asyncio.run(main())
    assert time.perf_counter() - begun < 30


def test_a_stream_retracts_a_rejected_value() -> None:
    model = ScriptedModel(["[1]", "[2]"])
    events = list(sk.stream(model, "x", list[int], validate=at_least, context=2))
    retracted = [event.path for event in events if isinstance(event, sk.FieldRetracted)]
    assert retracted == ["$"]
    assert [event.value for event in events if isinstance(event, sk.FieldEnd)][-2:] == [2, [2]]


class Order(BaseModel):
    title: str
    copies: int

    @field_validator("copies")
    @classmethod
    def in_stock(cls, copies: int, info: ValidationInfo) -> int:
        stock: dict[str, int] = info.context  # type: ignore[assignment]
        if copies > stock[info.data["title"]]:
            raise ValueError(f"there are {stock[info.data['title']]}")
        return copies


ORDERS = [f'{{"title": "Salt", "copies": {copies}}}' for copies in (12, 3)]


@pytest.mark.parametrize("way", WAYS)
def test_the_validators_of_the_type_read_the_context(way: str) -> None:
    model = ScriptedModel(ORDERS)
    result = WAYS[way](
        model,
        "x",
        Order,
        context={"Salt": 5},
        retries=1,
        examples=[("y", Order.model_construct(title="Salt", copies=5))],
    )
    assert (result.value.copies, result.attempts) == (3, tuple(ORDERS))
    assert "is wrong: copies: there are 5. Give another." in model.prompts[-1]


def test_the_events_of_a_stream_read_the_context() -> None:
    def doubled(value: int, info: ValidationInfo) -> int:
        factor: int = info.context  # type: ignore[assignment]
        return value * factor

    events = list(
        sk.stream(ScriptedModel(["[1, 2]"]), "x", list[Annotated[int, AfterValidator(doubled)]], context=10)
    )
    assert [event.value for event in events if isinstance(event, sk.FieldEnd)] == [10, 20, [10, 20]]


def named(*names: str) -> AfterValidator:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"one of\n {names[0]}")
        return name

    return AfterValidator(check)


class Cat(BaseModel):
    kind: Literal["cat"]
    name: Annotated[str, named("Tom")]


class Dog(BaseModel):
    name: Annotated[str, named("Rex")]
    age: int


class Pets(BaseModel):
    first: Cat | Dog | None
    others: dict[str, list[Cat | int]] = {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"first": {"kind": "cat", "name": "A"}, "others": {}}', "first.name: one of Tom"),
        ('{"first": {"name": "A", "age": 3}, "others": {}}', "first.name: one of Rex"),
        (
            '{"first": {"name": "A", "age": 3}, "others": {"a b": [1, {"kind": "cat", "name": "B"}]}}',
            'first.name: one of Rex\nothers["a b"][1].name: one of Tom',
        ),
    ],
)
def test_the_error_is_one_line_for_each_fault_of_the_member_that_the_text_belongs_to(
    text: str, message: str
) -> None:
    with pytest.raises(sk.OutputValidationError) as caught:
        sk.extract(ScriptedModel([text]), "x", Pets, retries=0)
    assert caught.value.rejected.message == message
    for noise in ("http", "Field required", "Value error", "input_value"):
        assert noise not in str(caught.value)


def test_a_pydantic_error_in_a_validator_is_one_line_for_each_fault() -> None:
    class Strict(BaseModel):
        name: Literal["Tom"]
        age: Annotated[int, AfterValidator(lambda age: age)]

    model = ScriptedModel(['{"name": "Ana"}', '{"name": "Tom"}'])

    def validate(value: object) -> None:
        Strict.model_validate(
            {**value, "age": "x"} if value == {"name": "Ana"} else {"name": "Tom", "age": 1}
        )  # type: ignore[dict-item]

    sk.extract(model, "x", dict[str, str], validate=validate)
    assert model.prompts[1].endswith(
        'The answer {"name": "Ana"} is wrong:\n'
        "- name: Input should be 'Tom'\n"
        "- age: Input should be a valid integer, unable to parse string as an integer\n"
        "Give another."
    )


def test_retry_in_a_validator_of_the_type() -> None:
    def never(value: int) -> int:
        raise sk.Retry("give another number")

    with pytest.raises(sk.OutputValidationError) as caught:
        sk.extract(ScriptedModel(["1"]), "x", Annotated[int, AfterValidator(never)], retries=0)
    assert caught.value.rejected.message == "give another number"


def test_the_samples_of_one_prompt_are_validated_separately() -> None:
    model = ScriptedModel(["1", "2", "3", "4"])
    seen: list[object] = []

    def odd(value: int) -> None:
        seen.append(value)
        if value % 2 == 0:
            raise sk.Retry("an odd number")

    results = sk.generate(model, "x", int, n=2, temperature=1, seed=1, validate=odd)
    assert all(result.value % 2 for result in results)
    assert len(seen) == sum(len(result.attempts) for result in results)


@pytest.mark.parametrize(
    ("target", "rejected", "longer"),
    [
        (sk.Grammar('start: "a"+'), "a", "aaa"),
        (sk.Grammar(r'start: NUMBER (" + " NUMBER)*' "\n" r"NUMBER: /[0-9]/"), "1", "1 + 2"),
        (sk.Regex(r"[0-9]+(?:,[0-9]+)*"), "12", "12,3"),
        (sk.Choice(["New York", "New York City"]), "New York", "New York City"),
    ],
)
def test_a_text_that_begins_with_a_rejected_text_is_allowed(target: Any, rejected: str, longer: str) -> None:
    def check(value: str) -> None:
        if value == rejected:
            raise ValueError("too short")

    result = sk.generate(ScriptedModel([rejected, longer], strict=False), "x", target, validate=check)
    assert result.value == longer
    again = sk.generate(ScriptedModel([rejected, rejected], strict=False), "x", target, validate=check)
    assert again.value.startswith(rejected) and len(again.value) > len(rejected)


def test_a_text_that_a_transformer_refuses_can_go_on() -> None:
    class Total(Transformer[Any, int]):
        def start(self, numbers: list[str]) -> int:
            if sum(map(int, numbers)) < 3:
                raise ValueError("the sum is at least 3")
            return sum(map(int, numbers))

    sums = sk.Grammar('start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]/', transformer=Total())
    assert sk.extract(ScriptedModel(["1", "1+2"], strict=False), "x", sums) == 3


def test_no_longer_text_is_left() -> None:
    def check(value: str) -> None:
        raise ValueError("no")

    with pytest.raises(sk.OutputValidationError) as caught:
        sk.generate(RandomModel(), "x", sk.Choice(["a", "ab"]), validate=check, retries=5)
    assert sorted(caught.value.attempts) == ["a", "ab"]
