"""Agents with scripted models."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator

import structkit as sk
from structkit import messages
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.agent.answers import ANSWER, Answer, Db, Plain, is_even, stock, weather
from tests.calls import call


def test_a_run_calls_tools_and_ends_with_a_typed_value() -> None:
    model = ScriptedModel([call("weather", city="Porto"), call("weather", city="Braga", days=3), ANSWER])
    result = sk.Agent(model, tools=[weather], output_type=Answer, max_steps=8).run("How warm is Porto?")
    assert result.value == Answer(city="Porto", celsius=18)
    assert [(each.name, each.arguments, each.tool_result, each.error) for each in result.calls] == [
        ("weather", {"city": "Porto", "days": 1}, {"celsius": 18}, None),
        ("weather", {"city": "Braga", "days": 3}, {"celsius": 20}, None),
    ]
    assert (result.steps, result.finish_reason) == (3, "stop")
    assert [message.kind for message in result.messages] == [
        "user",
        "calls",
        "output",
        "calls",
        "output",
        "answer",
    ]
    assert result.usage.generated_tokens > 30 < result.usage.prompt_tokens
    assert "/* The weather in a city. */" in model.prompts[0]
    assert model.prompts[2].endswith('user: weather returned: {"celsius": 20}')
    assert model.prompts[1].startswith(model.prompts[0])


def test_async_runs_are_equal() -> None:
    seen: list[str] = []

    async def slow(city: str) -> str:
        await asyncio.sleep(0)
        seen.append(threading.current_thread().name)
        return city.upper()

    def quick(city: str) -> str:
        seen.append(threading.current_thread().name)
        return city.lower()

    replies = [call("slow", city="Porto"), call("quick", city="Porto"), "done"]
    agent = sk.Agent(ScriptedModel(replies * 2), tools=[slow, quick])
    later = asyncio.run(agent.arun("x"))
    now = agent.run("x")
    assert later.value == now.value == "done"
    assert (
        [each.tool_result for each in later.calls]
        == [each.tool_result for each in now.calls]
        == ["PORTO", "porto"]
    )
    assert seen == ["MainThread", "structkit-tool", "structkit-tools", "MainThread"]


def test_results_of_every_kind() -> None:
    targets: list[tuple[Any, str, object]] = [
        (int, "7", 7),
        (sk.Choice(["yes", "no"]), "no", "no"),
        (sk.Regex("[a-z]+!"), "hey!", "hey!"),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        (Answer | None, "null", None),
        (list[date], '["2026-11-21"]', [date(2026, 11, 21)]),
    ]
    for target, text, value in targets:
        model = ScriptedModel([call("weather", city="Porto"), text])
        result = sk.Agent(model, tools=[weather], output_type=target).run("x")
        assert (result.value, len(result.calls)) == (value, 1)


@pytest.mark.parametrize("wrong", ["x", None, [{"role": "user", "content": "x"}]])
def test_what_is_no_message_is_not_dumped(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"messages must be a list of messages, not .*; pass the messages of"):
        messages.dumps(wrong)


def test_several_turns_and_messages_as_json() -> None:
    first = sk.Agent(
        ScriptedModel([call("weather", city="Porto"), ANSWER]), tools=[weather], output_type=Answer
    ).run("Porto?")
    text = messages.dumps(first.messages)
    assert json.loads(text)[1]["calls"][0]["arguments"] == '{"city": "Porto"}'
    assert messages.loads(text) == first.messages
    model = ScriptedModel([call("weather", city="Braga"), ANSWER])
    second = sk.Agent(model, tools=[weather], output_type=Answer).run(
        "And Braga?", messages=messages.loads(text)
    )
    assert second.messages[: len(first.messages)] == first.messages
    assert [each.id for each in second.calls] == ["call_2"]
    assert model.prompts[0].count("To call a function") == 1
    assert "assistant: " + ANSWER + "\nuser: And Braga?" in model.prompts[0]
    with pytest.raises(ValueError, match="kind"):
        messages.loads('[{"content": "Hi", "kind": "nobody"}]')
    with pytest.raises(TypeError, match=r"classes in structkit\.messages"):
        sk.Agent(ScriptedModel([])).run("x", messages=[{"role": "user", "content": "x"}])  # type: ignore[list-item]
    with pytest.raises(sk.AgentError, match="call_1 in the messages has no output"):
        sk.Agent(ScriptedModel([])).run("x", messages=first.messages[:2])


def test_an_agent_as_a_tool() -> None:
    inner = sk.Agent(
        ScriptedModel([call("stock", item="tea"), "two teas"]), tools=[stock], instructions="Count."
    )
    model = ScriptedModel([call("counter", prompt="How much tea?"), "two"])
    result = sk.Agent(model, tools=[inner.as_tool("counter")]).run("Tea?", deps=Db({"tea": 2}))
    assert (result.value, result.calls[0].tool_result) == ("two", "two teas")
    assert "/* Count. */" in model.prompts[0]


def test_instructions_come_first() -> None:
    model = ScriptedModel(["Hi"])
    sk.Agent(model, instructions="Be brief.").run("Hello.")
    assert model.prompts[0].startswith("system: Be brief.\nuser: Hello.")


def test_the_output_is_repaired() -> None:
    hot = '{"city": "Porto", "celsius": 99}'
    result = sk.Agent(ScriptedModel([hot, ANSWER]), tools=[weather], output_type=Answer).run("x")
    assert result.value.celsius == 18
    with pytest.raises(sk.OutputValidationError, match="no city is that hot"):
        sk.Agent(ScriptedModel([hot]), tools=[weather], output_type=Answer, retries=0).run("x")


def totals(numbers: list[Annotated[int, AfterValidator(is_even)]]) -> int:
    return sum(numbers)


def _hermes(name: str, **arguments: object) -> str:
    return f"<tool_call>\n{call(name, **arguments)}\n</tool_call>"


def _pythonic(name: str, **arguments: object) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"


@pytest.mark.parametrize("output", [int, str])
@pytest.mark.parametrize(
    ("style", "before", "written", "count"),
    [
        ("json", "", call, 1),
        ("hermes", "", _hermes, 1),
        ("hermes", "Let me see.\n", _hermes, 1),
        ("hermes", "", _hermes, 2),
        ("pythonic", "", _pythonic, 1),
        ("pythonic", "", _pythonic, 2),
    ],
    ids=["json", "tags", "text", "two", "python", "two of python"],
)
def test_only_the_rejected_part_of_the_arguments_is_generated_again(
    style: Any, before: str, written: Callable[..., str], count: int, output: type
) -> None:
    wrong, right = (
        before
        + "\n".join([*[written("totals", numbers=[2])] * (count - 1), written("totals", numbers=[4, last])])
        for last in (3, 8)
    )
    if style == "pythonic":
        wrong, right = (f"[{each}]".replace("\n", ", ") for each in (wrong, right))
    model = ScriptedModel([wrong, right, "12"], byte_vocabulary())
    run = sk.Agent(
        model,
        tools=[totals],
        output_type=output,
        format=style,
        allow_text=bool(before),
        max_parallel_calls=count,
    ).run("x")
    assert [each.arguments["numbers"] for each in run.calls] == [*[[2]] * (count - 1), [4, 8]]
    assert run.usage.discarded_tokens == len(wrong) - wrong.index("3]")
    assert [each.start for each in run.trace.steps[0].rejected] == [wrong.index("3]")]


def test_a_rejected_literal_of_python_is_generated_again() -> None:
    seen: list[object] = []

    def mixed(
        a: list[bool | str | None], b: dict[str, list[bool | Annotated[int, AfterValidator(is_even)]]]
    ) -> int:
        seen.append(b)
        return 1

    wrong, right = (f'[mixed(a=[True, None, "é=)"], b={{"c": [False, {last}]}})]' for last in (3, 8))
    model = ScriptedModel([wrong, right, "1"], byte_vocabulary())
    run = sk.Agent(model, tools=[mixed], output_type=int, format="pythonic").run("x")
    assert seen == [{"c": [False, 8]}]
    assert run.usage.discarded_tokens == len(wrong) - wrong.index("3]")


def test_arguments_that_validators_reject() -> None:
    def half(number: Annotated[int, AfterValidator(is_even)]) -> int:
        return number // 2

    mended = sk.Agent(ScriptedModel([call("half", number=3), call("half", number=4), "2"]), tools=[half]).run(
        "x"
    )
    assert [each.tool_result for each in mended.calls] == [2]
    model = ScriptedModel([call("half", number=3), "never"])
    told = sk.Agent(model, tools=[half], retries=0).run("x")
    assert told.calls[0].arguments == {"number": 3}
    assert "it is odd" in (told.calls[0].error or "")
    assert "half failed: invalid arguments" in model.prompts[1]


def test_a_budget_of_the_run_reserves_tokens_for_the_output() -> None:
    shortest = sk.Agent(RandomModel(), tools=[weather], output_type=Plain)._config.min_output_tokens
    for budget in (shortest, shortest + 5, shortest + 40, 150):
        for seed in range(5):
            model = RandomModel(seed)
            agent = sk.Agent(model, tools=[weather], output_type=Plain, max_tokens=budget, on_limit="answer")
            result = agent.run("x")
            assert result.usage.generated_tokens <= budget
    with pytest.raises(sk.BudgetTooSmall):
        sk.Agent(RandomModel(), tools=[weather], output_type=Plain, max_tokens=shortest - 1).run("x")


@pytest.mark.parametrize("context", [300, 500, 1_000])
def test_a_short_context_is_sufficient(context: int) -> None:
    def essay(about: str) -> str:
        return "It is a long story. " * 400

    for seed in range(8):
        model = RandomModel(seed, brevity=3, context_length=context)
        agent = sk.Agent(model, tools=[essay], output_type=Plain, max_steps=20, on_limit="answer")
        result = agent.run("x")
        assert isinstance(result.value, Plain)
        for each in result.messages:
            assert not isinstance(each, messages.Output) or "..." in each.content


def test_the_timeout_ends_a_run() -> None:
    def slow() -> str:
        time.sleep(0.2)
        return "slow"

    model = ScriptedModel([call("slow")] * 7 + ["end"], strict=False)
    result = sk.Agent(model, tools=[slow], timeout=0.3, on_limit="answer").run("x")
    assert (len(result.calls) < 7, result.finish_reason) == (True, "budget")


def test_a_seed_makes_a_run_reproducible_and_its_steps_differ() -> None:
    def say(word: Literal["a", "b", "c", "d", "e", "f", "g", "h"]) -> None: ...

    def run(seed: int) -> list[object]:
        model = ScriptedModel([lambda _: ""] * 6, strict=False)
        agent = sk.Agent(
            model, tools=[say], output_type=Literal["end"], max_steps=6, temperature=5.0, seed=seed
        )  # type: ignore[arg-type]
        return [each.arguments["word"] for each in agent.run("x").calls]

    assert run(1) == run(1)
    assert len({tuple(map(str, run(seed))) for seed in range(6)}) > 1


def test_guides_are_compiled_once() -> None:
    agent = sk.Agent(
        ScriptedModel([call("weather", city="A"), ANSWER] * 2), tools=[weather], output_type=Answer
    )
    assert agent.run("x").usage.compile_seconds == agent.run("x").usage.compile_seconds == 0
