"""The options of the public functions: the lists in errors, the signatures, and what has an effect."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel

ONE = [sk.extract, sk.aextract, sk.generate, sk.agenerate, sk.stream, sk.astream, sk.render_prompt]
MANY = [sk.extract_many, sk.aextract_many, sk.generate_many, sk.agenerate_many]
CLASSIFY = [sk.classify, sk.aclassify]
CALLS: dict[Callable[..., Any], tuple[object, ...]] = {
    **dict.fromkeys([*ONE, *CLASSIFY], ("x", bool)),
    **{function: (["x"], bool) for function in MANY},
    sk.Agent: (),
}


def names(function: Callable[..., Any]) -> set[str]:
    """The keyword arguments that type checkers accept; those of a class that may also be positional are among them."""
    module = sys.modules[function.__module__]
    found: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        may_be_keyword = isinstance(function, type) and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if parameter.kind is parameter.KEYWORD_ONLY or may_be_keyword:
            found.add(name)
        if parameter.kind is parameter.VAR_KEYWORD:
            # The overloads of functions for many prompts have the options; their implementation has objects.
            options = re.fullmatch(r"Unpack\[(\w+)\]", parameter.annotation)
            results = "generate" in function.__name__
            of_many = "ManyResultsOptions" if results else "ManyOptions"
            found |= getattr(module, options[1] if options else of_many).__annotations__.keys()
    return found


def call(function: Callable[..., Any], **options: Any) -> Any:
    result = function(RandomModel(), *CALLS[function], **options)
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    return result


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_the_list_in_the_error_is_the_signature(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"has no argument 'max_token'; write max_tokens=\.\.\.$"):
        call(function, max_token=3)
    with pytest.raises(TypeError, match="has no argument 'colour'; it takes ") as caught:
        call(function, colour=3)
    listed = re.findall(r"\w+", str(caught.value).partition("it takes ")[2])
    assert len(listed) == len(set(listed))
    assert set(listed) == names(function) | {*list(inspect.signature(function).parameters)[:3]}


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_confidence_is_given_or_refused(function: Callable[..., Any]) -> None:
    if "confidence" not in names(function):
        with pytest.raises(TypeError, match=r"has no argument 'confidence'; structkit\.generate returns it"):
            call(function, confidence=True)
        return
    given = call(function, confidence=True)
    if function is sk.render_prompt:
        return
    if isinstance(given, sk.AsyncStream):
        result = asyncio.run(read(given))
    else:
        result = given.result if isinstance(given, sk.Stream) else given
    result = result[0] if isinstance(result, list) else result
    assert set(result.confidence["$"].choices) == {True, False}


async def read(stream: sk.AsyncStream[Any]) -> sk.Result[Any]:
    return await stream.result()


def test_classify_refuses_what_it_cannot_use() -> None:
    with pytest.raises(TypeError, match="has no argument 'validate'"):
        sk.classify(ScriptedModel(["true"]), "x", bool, validate=print)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "function", [sk.extract, sk.generate, sk.stream, sk.aextract, sk.agenerate, sk.astream]
)
def test_a_missing_or_misnamed_target_is_named(function: Callable[..., Any]) -> None:
    for name in ("response_model", "output_type"):
        with pytest.raises(TypeError, match=f"no argument '{name}'; the type is the third argument"):
            run_to_end(function, **{name: bool})
    call = rf"{function.__name__}\(model, prompt, target\)"
    with pytest.raises(TypeError, match=rf"has no target; write {call}$"):
        run_to_end(function)
    with pytest.raises(TypeError, match=r"\(\) has no argument 'taget'; write target=\.\.\.$"):
        run_to_end(function, taget=bool)


@pytest.mark.parametrize("function", [*ONE, *MANY, *CLASSIFY], ids=lambda function: function.__name__)
def test_arguments_before_the_options_are_named(function: Callable[..., Any]) -> None:
    first = ", ".join(list(inspect.signature(function).parameters)[:3])
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) has no prompts?; write \w+\({first}\)$"):
        finish(function(RandomModel(), target=bool))
    with pytest.raises(TypeError, match=r"'messages'; the messages are the second argument, the prompt$"):
        finish(function(RandomModel(), messages=[{"role": "user", "content": "x"}]))
    with pytest.raises(TypeError, match=r"at most 3 arguments by position; each option has a name, such as "):
        finish(function(RandomModel(), *CALLS[function], 60))


def finish(given: Any) -> Any:
    return asyncio.run(given) if inspect.iscoroutine(given) else given


def run_to_end(function: Callable[..., Any], **options: Any) -> None:
    given = function(RandomModel(), "x", **options)
    if inspect.iscoroutine(given):
        asyncio.run(given)
    elif isinstance(given, sk.AsyncStream):
        asyncio.run(read(given))
    elif isinstance(given, sk.Stream):
        list(given)


@pytest.mark.parametrize(
    ("name", "remedy"), [("n", "structkit.generate takes it"), ("stream", "call structkit.stream")]
)
def test_an_argument_of_another_function_is_told_where_it_belongs(name: str, remedy: str) -> None:
    with pytest.raises(TypeError, match=f"has no argument '{name}'; {remedy}"):
        sk.extract(RandomModel(), "x", bool, **{name: 2})


def test_a_value_that_the_budget_changed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel(['"a long text"'] * 6, strict=False)
    calls: list[Callable[..., Any]] = [
        lambda **options: sk.extract(model, "x", str, **options),
        lambda **options: asyncio.run(sk.aextract(model, "x", str, **options)),
        lambda **options: sk.extract_many(model, ["x"], str, **options),
    ]
    for each in calls:
        caplog.clear()
        each()
        assert not caplog.messages
        each(max_tokens=4)
        assert [message.partition(",")[0] for message in caplog.messages] == ["max_tokens"]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("num_return_sequences", "structkit.generate takes it, as n=..."),
        ("stop_sequences", "leave it out: the text ends where the target ends"),
        ("system_prompt", "write system=..."),
        ("guided_regex", "write structkit.Regex(...) as the type"),
        ("format", "the type is the third argument, after model and prompt"),
        ("mode", "leave it out: the mask enforces the type"),
        ("min_tokens", "give the target a minimum length, such as Field(min_length=...)"),
        ("max_completion_tokens", "write max_tokens=..."),
        ("text", "write prompt=..."),
        ("reasoning", "write thinking=..."),
    ],
)
def test_options_of_other_libraries_have_a_remedy(name: str, remedy: str) -> None:
    wrong: Any = sk.extract
    with pytest.raises(TypeError, match=rf"has no argument '{name}'; {re.escape(remedy)}$"):
        wrong(RandomModel(), "x", bool, **{name: 3})


def test_options_of_samples_are_those_of_generate() -> None:
    wrong: Any = sk.Agent
    for function in (
        lambda **options: wrong(RandomModel(), **options),
        lambda **options: call(sk.classify, **options),
    ):
        with pytest.raises(TypeError, match=r"has no argument 'sampling'; structkit\.generate takes it$"):
            function(sampling="faithful")


def test_a_class_is_no_processor_and_a_value_no_result() -> None:
    wrong: Any = sk
    with pytest.raises(TypeError, match=r"a processor is a class; pass an object of it, Suppress\(\.\.\.\)$"):
        wrong.extract(RandomModel(), "x", bool, processors=[sk.processors.Suppress])
    with pytest.raises(ValueError, match="factor must be above 0 and finite, not 0"):
        sk.processors.Penalty(0)
    with pytest.raises(TypeError, match=r"result must be the Result of structkit\.generate, not True"):
        wrong.Calibration("random", {}).apply(True)
