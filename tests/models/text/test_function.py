"""Functions as models: how they are called, closed, cancelled and bounded."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.models.capabilities import Capabilities
from structkit.models.protocols import Message
from structkit.models.text.function import FunctionModel
from structkit.models.text.protocol import TextRequest
from structkit.testing import RandomModel, ScriptedModel


class Person(BaseModel):
    name: str
    age: int


ANA = Person(name="Ana", age=34)
REST = 'Ana", "age": 34}'


def test_capabilities_are_stated() -> None:
    chat = sk.from_function(lambda messages: "", chat=True, continues=False, name="chat")
    assert (chat.capabilities.logits, chat.capabilities.takes_messages) == ("none", True)
    assert (chat.capabilities.continues_prefix, chat.name) == (False, "chat")
    assert Capabilities().continues_prefix
    assert [model.capabilities.logits for model in (RandomModel(), ScriptedModel([]))] == ["full", "full"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout": 0}, ValueError),
        ({"max_calls": 0}, ValueError),
        ({"max_calls": "3"}, TypeError),
        ({"context_length": 0}, ValueError),
    ],
)
def test_arguments_are_checked(options: dict[str, int], error: type[Exception]) -> None:
    with pytest.raises(error):
        sk.from_function(lambda text: "", **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a function"):
        sk.from_function("text")  # type: ignore[arg-type]


def test_messages_and_texts_reach_the_function_they_fit() -> None:
    texts: list[str | list[Message]] = []

    def function(given: str | list[Message]) -> str:
        texts.append(given)
        return REST

    sk.extract(sk.from_function(function), "Ana is 34.", Person, include_schema=False)
    sk.extract(
        sk.from_function(function, chat=True), "Ana is 34.", Person, system="Be brief.", include_schema=False
    )
    assert texts == [
        'Ana is 34.{"name": "',
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Ana is 34."},
            {"role": "assistant", "content": '{"name": "'},
        ],
    ]
    with pytest.raises(sk.GenerationError, match="chat=True"):
        sk.extract(sk.from_function(function), "Ana is 34.", Person, system="Be brief.")
    for continues in (True, False):
        model = sk.from_function(function, chat=True, continues=continues)
        prompt = sk.render_prompt(model, "Ana is 34.", Person)
        sk.extract(model, "Ana is 34.", Person, max_corrections=0, finish="shortest")
        last = texts[-1]
        assert not isinstance(last, str)
        assert prompt == "\n".join(f"{each['role']}: {each['content']}" for each in last)


def test_what_needs_logits_is_an_error() -> None:
    model = sk.from_function(lambda text: "true")
    with pytest.raises(sk.ModelError, match="needs logits"):
        sk.classify(model, "Is it?", bool)  # type: ignore[arg-type]
    with pytest.raises(sk.GenerationError, match="max_length instead"):
        sk.extract(model, "Is it?", Annotated[str, sk.MaxTokens(5)])
    with pytest.raises(sk.GenerationError, match="n=2 samples"):
        sk.generate(model, "Is it?", bool, n=2, temperature=1.0)


def test_an_iterator_is_closed_where_its_rest_is_not_needed() -> None:
    closed = threading.Event()

    def function(text: str) -> Iterator[str]:
        try:
            yield REST
            raise AssertionError
        finally:
            closed.set()

    assert sk.extract(sk.from_function(function), "Ana is 34.", Person) == ANA
    assert closed.wait(60)


def test_an_async_iterator_is_closed_on_the_loop_of_the_caller() -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    closed = threading.Event()

    async def function(text: str) -> AsyncIterator[str]:
        loops.append(asyncio.get_running_loop())
        try:
            yield REST
            raise AssertionError
        finally:
            closed.set()

    async def main() -> None:
        assert await sk.aextract(sk.from_function(function), "Ana is 34.", Person) == ANA
        assert loops == [asyncio.get_running_loop()]
        while not closed.is_set():
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 60))
    closed.clear()
    assert sk.extract(sk.from_function(function), "Ana is 34.", Person) == ANA
    assert closed.wait(60)


@pytest.mark.long
def test_calls_run_side_by_side_only_if_the_function_allows_it() -> None:
    active, most = 0, 0
    guard = threading.Lock()

    def function(text: str) -> str:
        nonlocal active, most
        with guard:
            active += 1
            most = max(most, active)
        time.sleep(0.3)
        with guard:
            active -= 1
        return REST

    async def async_function(text: str) -> str:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.3)
        active -= 1
        return REST

    def most_active(model: FunctionModel) -> int:
        nonlocal most
        most = 0
        assert sk.extract_many(model, ["Ana is 34."] * 4, Person) == [ANA] * 4
        return most

    assert most_active(sk.from_function(function, timeout=1)) == 1
    assert most_active(sk.from_function(function, thread_safe=True)) > 1
    assert most_active(sk.from_function(async_function)) > 1


def test_a_cancelled_call_ends_at_once() -> None:
    started = threading.Event()

    async def function(text: str) -> str:
        started.set()
        await asyncio.sleep(30)
        return ""

    async def main() -> None:
        task = asyncio.create_task(sk.aextract(sk.from_function(function), "Ana is 34.", Person))
        while not started.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begin = time.perf_counter()
    asyncio.run(main())
    assert time.perf_counter() - begin < 10


@pytest.mark.long
def test_a_function_that_hangs_does_not_keep_the_next_call_waiting() -> None:
    calls: list[str] = []
    hangs = threading.Event()

    def function(text: str) -> str:
        calls.append(text)
        if len(calls) == 1:
            hangs.wait(30)
        return REST

    model = sk.from_function(function, timeout=1)
    with pytest.raises(sk.ModelError, match="the reply was not complete"):
        sk.extract(model, "Ana is 34.", Person)
    assert sk.extract(model, "Ana is 34.", Person) == ANA
    hangs.set()


def test_an_error_after_text_continues_and_one_without_text_is_raised() -> None:
    calls: list[str] = []

    def function(text: str) -> Iterator[str]:
        calls.append(text)
        if len(calls) == 1:
            yield 'Ana", '
            raise OSError("the line is down")
        yield "34}"

    result = sk.generate(sk.from_function(function), "Ana is 34.", Person)
    assert (result.value, [draft.end for draft in result.trace.drafts]) == (ANA, ["failed", "complete"])

    def broken(text: str) -> str:
        raise OSError("the line is down")

    with pytest.raises(sk.ModelError, match="OSError: the line is down") as caught:
        sk.extract(sk.from_function(broken), "Ana is 34.", Person)
    assert isinstance(caught.value.__cause__, OSError)
    many = sk.extract_many(sk.from_function(broken), ["a", "b"], Person, return_exceptions=True)
    assert [type(each) for each in many] == [sk.ModelError, sk.ModelError]


def test_max_tokens_bounds_the_bytes() -> None:
    model = sk.from_function(lambda text: '{"name": "' + "Ana " * 50 + '", "age": 34}')
    result = sk.generate(model, "Ana is 34.", Person, max_tokens=40, finish="shortest")
    assert (len(result.text.encode()) <= 40, result.finish_reason) == (True, "budget")
    with pytest.raises(sk.BudgetTooSmall):
        sk.extract(model, "Ana is 34.", Person, max_tokens=10)


def test_a_validator_is_called_and_its_reason_is_read() -> None:
    texts: list[str] = []

    def function(text: str) -> str:
        texts.append(text)
        return '"low"' if "too low" in text else '"high"'

    def validate(value: str) -> None:
        if value == "high":
            raise sk.Retry("it is too low")

    found = sk.extract(sk.from_function(function), "?", Literal["low", "high"], validate=validate)
    assert (found, len(texts)) == ("low", 2)


def test_a_reply_that_fails_after_a_rejection_is_the_cause_of_the_rejection() -> None:
    replies = iter(['"high"', "", ""])
    model = sk.from_function(lambda messages: next(replies), chat=True, continues=False)

    def validate(value: str) -> None:
        raise sk.Retry("it is too low")

    with pytest.raises(sk.OutputValidationError, match="it is too low") as caught:
        sk.extract(model, "?", Literal["low", "high"], validate=validate, max_corrections=1)
    assert isinstance(caught.value.__cause__, sk.CorrectionsExhausted)


def test_quotes_come_from_the_prompt() -> None:
    class Found(BaseModel):
        name: Annotated[str, sk.Quote()]

    texts: list[str] = []

    def function(text: str) -> str:
        texts.append(text)
        return "Anna" if len(texts) == 1 else ' Souza"}'

    result = sk.generate(sk.from_function(function), "Ana Souza is 34.", Found)
    assert result.value.name in "Ana Souza is 34."
    assert result.spans["name"].start == "Ana Souza is 34.".find(result.value.name)


def test_a_stream_that_is_closed_closes_the_reply() -> None:
    closed = threading.Event()

    def function(text: str) -> Iterator[str]:
        try:
            yield 'Ana", '
            yield '"age": 3'
            raise AssertionError
        finally:
            closed.set()

    with sk.stream(sk.from_function(function), "Ana is 34.", Person) as stream:
        for event in stream:
            if event == sk.FieldEnd("name", "Ana"):
                break
    assert closed.wait(60)


def test_the_function_writes_forced_text_without_fast_forward() -> None:
    texts: list[str] = []

    def function(text: str) -> str:
        texts.append(text)
        return '{"name": "Ana", "age": 34}'

    result = sk.generate(sk.from_function(function), "Ana.", Person, fast_forward=False, include_schema=False)
    assert (texts, result.usage.forced_tokens) == (["Ana."], 0)


def test_a_prompt_over_the_context_is_an_error_before_the_first_call() -> None:
    called: list[str] = []
    model = sk.from_function(lambda text: called.append(text) or REST, context_length=60)  # type: ignore[func-returns-value]
    assert sk.extract(model, "Ana is 34.", Person, include_schema=False) == ANA
    shortest = len('{"name": "", "age": 0}')
    with pytest.raises(
        sk.GenerationError, match=r"(?s)100 bytes .* context of 60.* 62 bytes too long.*context_length="
    ) as raised:
        sk.extract(model, "x" * 100, Person, include_schema=False)
    assert (raised.value.place, 100 + shortest - 60, len(called)) == ("prompt", 62, 1)


def test_an_answer_ends_within_the_context() -> None:
    model = sk.from_function(lambda text: "x" * 1_000, context_length=100)
    result = sk.generate(model, "y" * 50, list[str], include_schema=False, finish="shortest")
    assert (len(result.text.encode()) <= 50, result.finish_reason) == (True, "budget")
    assert sk.from_function(len).capabilities.context_length is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (lambda: "x", {}, r"too many positional arguments; write def complete\(text: str\) -> str"),
        (lambda a, b: "x", {"chat": True}, r"required argument: 'b'; write def complete\(messages: list"),
        (lambda a: "x", {"chat": "yes"}, "chat must be True or False, not 'yes'"),
        ("x", {}, "takes a function of a text, not 'x'; write def complete"),
    ],
)
def test_what_is_no_function_of_a_text_is_refused_at_once(
    function: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        sk.from_function(function, **options)


def test_the_repr_has_the_name() -> None:
    assert repr(sk.from_function(str.upper)) == "<FunctionModel upper>"


class Upset(str):
    """A string whose own methods fail."""

    def encode(self, *arguments: object, **options: object) -> bytes:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("reply", [Upset("[1]"), [Upset("["), Upset("1]")]], ids=["whole", "pieces"])
def test_a_subclass_of_str_is_read_as_a_string(reply: str | list[str]) -> None:
    assert sk.extract(sk.from_function(lambda text: reply), "one", list[int]) == [1]


def _exit(text: str) -> str:
    raise SystemExit(3)


def _exit_later(text: str) -> Iterator[str]:
    yield "["
    raise SystemExit(3)


async def _exit_async(text: str) -> str:
    raise SystemExit(3)


@pytest.mark.parametrize("function", [_exit, _exit_later, _exit_async])
def test_an_exit_is_raised_in_the_thread_of_the_caller(function: Callable[[str], str]) -> None:
    """At once, and later calls of async functions still have an event loop."""
    model = sk.from_function(function, timeout=3_600, thread_safe=True)
    with pytest.raises(SystemExit):
        sk.extract(model, "one", list[int])
    with pytest.raises(SystemExit):
        sk.extract_many(model, ["one", "two"], list[int], batch_size=2)

    async def whole(text: str) -> str:
        return "[1]"

    assert sk.extract(sk.from_function(whole), "one", list[int]) == [1]


def test_a_model_of_pydantic_is_no_reply() -> None:
    class Person(BaseModel):
        name: str

    wrong: Any = lambda text: Person(name="Ana")  # noqa: E731
    with pytest.raises(
        sk.ModelError, match=r"a value of the type Person .*\n  return its JSON, as in reply\.model_d"
    ):
        sk.extract(sk.from_function(wrong), "x", Person)


class _Plain:
    """A model of a user, which states no capability."""

    name, timeout, max_calls, lock = "plain", 20.0, 9, None
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.prompts: list[object] = []

    def request(self, request: TextRequest) -> Iterator[str]:
        self.prompts.append(request.prompt)
        yield "true"


def test_a_model_without_a_word_on_messages_reads_a_text() -> None:
    model = _Plain()
    assert sk.extract(model, "Is it so?", bool) is True
    agent = sk.Agent(model, output_type=bool, instructions="Be brief.")
    assert agent.run("Is it so?").value is True
    assert all(isinstance(prompt, str) and "Is it so?" in prompt for prompt in model.prompts)
    assert str(model.prompts[-1]).endswith("\n\nAssistant:")
