"""Agents with scripted models."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, field_validator

import structkit as sk
from structkit import messages
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.calls import call


class Plain(BaseModel):
    city: str
    celsius: int


class Answer(BaseModel):
    city: str
    celsius: int

    @field_validator("celsius")
    @classmethod
    def possible(cls, celsius: int) -> int:
        if celsius > 60:
            raise ValueError("no city is that hot")
        return celsius


def weather(city: str, days: int = 1) -> dict[str, int]:
    """The weather in a city.

    Args:
        city: Which city.
    """
    return {"celsius": 17 + days}


def fail(text: str) -> str:
    raise KeyError(text)


ANSWER = '{"city": "Porto", "celsius": 18}'


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


def test_the_last_step_allows_only_the_output() -> None:
    def agent(model: ScriptedModel, max_steps: int) -> sk.Agent[Answer]:
        return sk.Agent(model, tools=[weather], output_type=Answer, max_steps=max_steps, on_limit="answer")

    model = ScriptedModel([call("weather", city="Porto")] * 2 + [ANSWER])
    result = agent(model, 3).run("x")
    assert (len(result.calls), result.steps, result.finish_reason) == (2, 3, "steps")
    assert model.prompts[-1].endswith("No function can be called any more; give the answer.")
    alone = agent(ScriptedModel([ANSWER]), 1).run("x")
    assert (alone.value.celsius, alone.finish_reason) == (18, "steps")
    assert sk.Agent(ScriptedModel(["Hi"])).run("x").finish_reason == "stop"


def test_a_tool_that_reached_its_limit_disappears() -> None:
    once = sk.tool(weather, max_calls=1)
    model = ScriptedModel(
        [call("weather", city="A"), call("weather", city="B"), call("add", a=1), ANSWER], strict=False
    )

    def add(a: int) -> int:
        return a + 1

    result = sk.Agent(model, tools=[once, add], output_type=Answer).run("x")
    first, *others = [each.name for each in result.calls]
    assert first == "weather" not in others
    assert "weather cannot be called any more." in model.prompts[1]


def test_errors_are_reported_to_the_model_and_the_run_continues() -> None:
    def lookup(name: str) -> str:
        raise sk.ToolError(f"nobody is called {name}")

    model = ScriptedModel([call("lookup", name="Ana"), call("fail", text="x"), ANSWER])
    result = sk.Agent(model, tools=[lookup, fail], output_type=Answer, errors="report").run("x")
    assert [each.error for each in result.calls] == ["nobody is called Ana", "KeyError: 'x'"]
    assert isinstance(result.calls[1].raised, KeyError)
    assert "lookup failed: nobody is called Ana" in model.prompts[1]
    assert "fail failed: KeyError: 'x'" in model.prompts[2]


def test_a_tool_that_keeps_failing_disappears() -> None:
    model = ScriptedModel([call("fail", text="x")] * 2 + [ANSWER])
    tools = [sk.tool(fail, tool_retries=1)]
    agent = sk.Agent(model, tools=tools, output_type=Answer, on_limit="answer", errors="report")
    result = agent.run("x")
    assert (len(result.calls), result.finish_reason) == (2, "no_tools")


def test_reraised_errors_end_the_run() -> None:
    agent = sk.Agent(ScriptedModel([call("fail", text="x")]), tools=[sk.tool(fail, reraise=LookupError)])
    with pytest.raises(KeyError) as caught:
        agent.run("x")
    if sys.version_info >= (3, 11):
        assert any("the tool fail raised it" in note for note in caught.value.__notes__)


def test_results_that_cannot_be_serialized_raise() -> None:
    def opened() -> object:
        return threading.Lock()

    with pytest.raises(sk.AgentError, match=r"at `opened`:\n  opened returned a value of type lock.*"):
        sk.Agent(ScriptedModel([call("opened")]), tools=[opened]).run("x")


def test_a_tool_that_hangs_is_abandoned() -> None:
    ended = threading.Event()

    def hang() -> None:
        ended.wait(20)

    async def wait() -> None:
        await asyncio.sleep(20)

    tools = [sk.tool(hang, timeout=0.05), sk.tool(wait, timeout=0.05)]
    begun = time.perf_counter()
    for run in (lambda agent: agent.run("x"), lambda agent: asyncio.run(agent.arun("x"))):
        result = run(sk.Agent(ScriptedModel([call("hang"), call("wait"), "late"]), tools=tools))
        assert [each.error for each in result.calls] == ["the call did not return within 0.05 seconds"] * 2
    assert time.perf_counter() - begun < 15
    ended.set()


@dataclass
class Db:
    rows: dict[str, int]


def stock(context: sk.Context[Db], item: str) -> int:
    """The number of items."""
    assert context.step == 1
    assert isinstance(context.messages[-1], messages.Calls)
    return context.deps.rows[item]


def test_the_context_is_passed_and_not_generated() -> None:
    agent = sk.Agent(ScriptedModel([call("stock", item="lamp"), "3"]), tools=[stock])
    result = agent.run("x", deps=Db({"lamp": 3}))
    assert (result.calls[0].tool_result, result.calls[0].arguments) == (3, {"item": "lamp"})
    for deps in (None, {"lamp": 3}):
        with pytest.raises(TypeError, match=r"stock takes a Context\[Db\].*pass deps="):
            agent.run("x", deps=deps)
    with pytest.raises(
        sk.SchemaError,
        match=r"(?s)at `stock\(context\)`:\n  .*parameter context of stock is a Context, which an agent supplies",
    ):
        sk.extract(ScriptedModel([]), "x", stock)


def test_dependencies_are_checked_against_deps_type() -> None:
    class Shop(Db): ...

    def agent(**options: Any) -> sk.Agent[str, Any]:
        return sk.Agent(ScriptedModel([call("stock", item="lamp"), "3"]), [stock, weather], **options)

    assert agent(deps_type=Shop).run("x", deps=Shop({"lamp": 3})).calls[0].tool_result == 3
    with pytest.raises(sk.AgentError, match=r"stock takes a Context\[Db\], and deps_type is dict"):
        agent(deps_type=dict)
    for deps in (Db({"lamp": 3}), None):
        with pytest.raises(TypeError, match=r"the agent has deps_type=Shop.*; pass deps=\.\.\. of type Shop"):
            agent(deps_type=Shop).run("x", deps=deps)
    for inner in (agent(), agent(deps_type=Db)):
        outer = sk.Agent(ScriptedModel([]), [inner.as_tool("stock", "Knows.")])
        with pytest.raises(TypeError, match=r"stock takes a Context\[Db\]"):
            outer.run("x")
    # Mismatches that are undetectable at run time are left to type checkers.
    assert agent(deps_type=Db | None).run("x", deps=Db({"lamp": 3})).calls[0].error is None


def google(city: str) -> None:
    """The weather.

    Args:
        city: Which city.
    """


def numpy(city: str) -> None:
    """The weather.

    Parameters
    ----------
    city : str
        Which city.
    """


def sphinx(city: str) -> None:
    """The weather.

    :param city: Which city.
    """


def test_the_prompt_contains_docstrings_of_each_style() -> None:
    model = ScriptedModel(["x"])
    sk.Agent(model, tools=[google, numpy, sphinx]).run("x")
    for name in ("google", "numpy", "sphinx"):
        arguments = '{"city": string /* Which city. */} /* The weather. */'
        assert f'{{"name": "{name}", "arguments": {arguments}}}' in model.prompts[0]


def test_a_call_has_typed_arguments_and_seconds() -> None:
    def slow(answer: Plain, day: date = date(2026, 1, 1)) -> Plain:
        time.sleep(0.1)
        return answer

    async def late(answer: Plain) -> None:
        await asyncio.sleep(0.1)
        raise sk.ToolError("no")

    porto = {"city": "Porto", "celsius": 18}
    script = [call("slow", answer=porto), call("late", answer=porto), "done"]
    agent = sk.Agent(ScriptedModel(script * 2), tools=[slow, late])
    for result in (agent.run("x"), asyncio.run(agent.arun("x"))):
        first, second = result.calls
        assert first.arguments == {"answer": Plain(city="Porto", celsius=18), "day": date(2026, 1, 1)}
        assert (first.tool_result, second.error) == (Plain(city="Porto", celsius=18), "no")
        assert all(0.1 <= each.seconds < 10 for each in result.calls)


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


def even(number: int) -> int:
    if number % 2:
        raise ValueError("it is odd")
    return number


def totals(numbers: list[Annotated[int, AfterValidator(even)]]) -> int:
    return sum(numbers)


def _hermes(name: str, **arguments: object) -> str:
    return f"<tool_call>\n{call(name, **arguments)}\n</tool_call>"


@pytest.mark.parametrize("output", [int, str])
@pytest.mark.parametrize(
    ("style", "before", "written", "count"),
    [
        ("json", "", call, 1),
        ("hermes", "", _hermes, 1),
        ("hermes", "Let me see.\n", _hermes, 1),
        ("hermes", "", _hermes, 2),
    ],
    ids=["json", "tags", "text", "two"],
)
def test_only_the_rejected_part_of_the_arguments_is_generated_again(
    style: Any, before: str, written: Callable[..., str], count: int, output: type
) -> None:
    wrong, right = (
        before
        + "\n".join([*[written("totals", numbers=[2])] * (count - 1), written("totals", numbers=[4, last])])
        for last in (3, 8)
    )
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


def test_arguments_that_validators_reject() -> None:
    def half(number: Annotated[int, AfterValidator(even)]) -> int:
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


def test_parallel_calls_run_concurrently_and_are_reported_in_order() -> None:
    together = threading.Barrier(3, timeout=10)

    def meet(name: str) -> str:
        together.wait()
        return name

    async def ameet(name: str) -> str:
        await asyncio.to_thread(together.wait)
        return name

    three = "[" + ", ".join([call("meet", name="a"), call("ameet", name="b"), call("meet", name="c")]) + "]"
    agent = sk.Agent(ScriptedModel([three, "met"] * 2), tools=[meet, ameet], max_parallel_calls=3)
    for result in (agent.run("x"), asyncio.run(agent.arun("x"))):
        assert [each.tool_result for each in result.calls] == ["a", "b", "c"]
        assert [each.id for each in result.calls] == ["call_1", "call_2", "call_3"]
        assert result.steps == 2


def test_a_single_parallel_call_is_not_a_list() -> None:
    agent = sk.Agent(
        ScriptedModel([call("weather", city="Porto"), ANSWER]),
        tools=[weather],
        output_type=Answer,
        max_parallel_calls=3,
    )
    assert len(agent.run("x").calls) == 1


def test_a_list_of_calls_respects_the_limits_of_each_tool() -> None:
    def other() -> None: ...

    once = sk.tool(weather, max_calls=2)
    a, b = call("weather", city="A"), call("other")
    agent = sk.Agent(
        ScriptedModel([f"[{a}, {b}, {a}, {a}]", ANSWER], strict=False),
        tools=[once, other],
        output_type=Answer,
        max_parallel_calls=4,
    )
    assert [each.name for each in agent.run("x").calls].count("weather") == 2


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


def test_methods_and_decorated_methods_are_tools() -> None:
    class Shop:
        def __init__(self, prices: dict[str, int]) -> None:
            self.prices = prices

        def price(self, item: str) -> int:
            return self.prices[item]

        @sk.tool(name="sale-price", max_calls=1)
        def sale(self, item: str) -> float:
            return self.prices[item] / 2

    shop = Shop({"tea": 4})
    assert shop.sale("tea") == 2
    model = ScriptedModel([call("price", item="tea"), call("sale-price", item="tea"), "4"])
    assert [each.tool_result for each in sk.Agent(model, tools=[shop.price, shop.sale]).run("x").calls] == [
        4,
        2,
    ]


class Callish(BaseModel):
    name: Literal["weather"]
    arguments: dict[str, int]


def plain(x) -> None: ...  # type: ignore[no-untyped-def]
def star(*x: int) -> None: ...
def stars(**x: int) -> None: ...
def unwritable(x: Callable[[], int]) -> None: ...


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda m: sk.Agent(m, tools=[weather, sk.tool(fail, name="weather")]),
            sk.AgentError,
            "two tools are named weather",
        ),
        (lambda m: sk.Agent(m, tools=[plain]), sk.SchemaError, r"parameter x of plain has no annotation"),
        (
            lambda m: sk.Agent(m, tools=[unwritable]),
            sk.SchemaError,
            r"at `unwritable\(x\)`:\n  .*no JSON form",
        ),
        (lambda m: sk.Agent(m, tools=[star]), sk.SchemaError, r"parameter x of star takes any number"),
        (
            lambda m: sk.Agent(m, tools=[stars]),
            sk.SchemaError,
            r"parameter x of stars takes arguments of any name",
        ),
        (lambda m: sk.Agent(m, tools=[lambda x: x]), sk.AgentError, "invalid tool name"),
        (lambda m: sk.Agent(m, tools=[Answer]), sk.AgentError, "the class Answer is not a tool"),
        (
            lambda m: sk.Agent(m, tools=[sk.mcp.connect(["server"])]),
            sk.AgentError,
            r"for an MCP server, give its tools\(\)",
        ),
        (lambda m: sk.Agent(m, tools=None), TypeError, "list of functions, not None$"),
        (lambda m: sk.Agent(m, tools=weather), TypeError, r"list of functions.*write tools=\[weather\]"),
        (
            lambda m: sk.Agent(m, tools=[weather], output_type=Callish),
            sk.AgentError,
            "can be the text of a call of weather",
        ),
        (
            lambda m: sk.Agent(m, tools=[weather], output_type=dict[str, Any]),
            sk.AgentError,
            "can be the text of a call of weather",
        ),
        (
            lambda m: sk.Agent(m, tools=[weather], output_type=list[Callish], max_parallel_calls=2),
            sk.AgentError,
            "can be the text of a call",
        ),
        (lambda m: sk.Agent(m, tools=[weather], output_type=Callable[[], int]), sk.SchemaError, "JSON"),
        (lambda m: sk.Agent(m, max_steps=0), ValueError, "max_steps"),
        (lambda m: sk.Agent(m, max_parallel_calls=0), ValueError, "max_parallel_calls"),
        (lambda m: sk.Agent(m, max_parallel_calls=129), ValueError, "max_parallel_calls must be at most 128"),
        (lambda m: sk.Agent(m, max_steps=None), TypeError, "max_steps must be an integer"),
        (lambda m: sk.tool(weather, max_calls=0), ValueError, "max_calls"),
        (lambda m: sk.Agent(m, system="x"), TypeError, "instructions"),
        (lambda m: sk.Agent(m, max_token=3), TypeError, "max_token"),
        (lambda m: sk.Agent(m).run(["x"]), TypeError, "prompt of an agent is a text"),
        (lambda m: sk.Agent(m).run("x", messages=None), TypeError, r"write messages=result\.messages"),
        (lambda m: sk.Agent("gpt-4", [weather]), TypeError, r"write structkit\.load\('gpt-4'\)"),
        (lambda m: sk.tool(weather, name="a b"), sk.AgentError, "invalid tool name 'a b'"),
        (lambda m: sk.tool(weather, tool_retries=-1), ValueError, "tool_retries"),
        (lambda m: sk.tool(weather, timeout=0), ValueError, "timeout"),
        (lambda m: sk.tool(weather, name=3), TypeError, "name of a tool is a string, not 3"),
        (lambda m: sk.tool(weather, description=3), TypeError, "description of a tool is a string"),
        (
            lambda m: sk.Tool(function=weather, name="w", available=True),
            TypeError,
            "available of w must be a func",
        ),
        (lambda m: sk.Agent(m, [sk.Agent(m)]), sk.AgentError, r"for an agent, give agent\.as_tool\(name\)"),
        (lambda m: sk.Agent(m, instructions=3), TypeError, "instructions must be a string"),
        (lambda m: sk.Agent(m, on_limit="stop"), ValueError, "on_limit must be"),
        (lambda m: sk.Agent(m, errors="ignore"), ValueError, "errors must be"),
        (lambda m: sk.Agent(m, allow_text="yes"), TypeError, "allow_text must be True or False"),
        (
            lambda m: sk.Agent(m).run("x", usage_limits=None),
            TypeError,
            r"usage_limits must be a structkit\.UsageLimits",
        ),
    ],
)
def test_invalid_agents_are_rejected_before_a_run(
    make: Callable[[ScriptedModel], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(ScriptedModel([]))


def test_an_output_that_resembles_a_call_is_accepted() -> None:
    class Named(BaseModel):
        name: str
        age: int

    agent = sk.Agent(ScriptedModel(['{"name": "weather", "age": 3}']), tools=[weather], output_type=Named)
    assert agent.run("x").value.name == "weather"
    sk.Agent(
        ScriptedModel([]), tools=[weather], output_type=list[Callish]
    )  # lists of calls require max_parallel_calls


def test_quotes_come_from_the_source_of_the_agent() -> None:
    agent = sk.Agent(
        ScriptedModel(['"Ana Souza"']), output_type=Annotated[str, sk.Quote()], source="Ana Souza is 34."
    )
    assert agent.run("Who?").value == "Ana Souza"


def test_an_async_tool_that_does_not_end_is_abandoned() -> None:
    async def deaf() -> None:
        for _ in range(2):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(30)

    async def busy() -> str:
        time.sleep(1.5)
        return "late"

    for function in (deaf, busy):
        called = json.dumps({"name": function.__name__, "arguments": {}})
        model = ScriptedModel([called, "done"])
        agent = sk.Agent(model, tools=[sk.tool(function, timeout=0.1)], output_type=str)
        begin = time.perf_counter()
        (call,) = agent.run("x").calls
        assert "did not return within 0.1 seconds" in (call.error or "")
        assert time.perf_counter() - begin < 20
    agent = sk.Agent(
        ScriptedModel(['{"name": "deaf", "arguments": {}}', "done"]),
        tools=[sk.tool(deaf, timeout=0.1)],
        output_type=str,
    )
    assert "did not return" in (asyncio.run(agent.arun("x")).calls[0].error or "")


def test_mutated_arguments_and_error_messages() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def clear(names: list[str]) -> int:
        names.clear()
        return 0

    async def cancelled() -> None:
        raise asyncio.CancelledError

    def mute() -> None:
        raise Mute

    script = [
        '{"name": "clear", "arguments": {"names": ["a"]}}',
        '{"name": "cancelled", "arguments": {}}',
        '{"name": "mute", "arguments": {}}',
        "done",
    ]
    agent = sk.Agent(ScriptedModel(script), tools=[clear, cancelled, mute], output_type=str, errors="report")
    for result in (agent.run("x"), asyncio.run(agent.with_model(ScriptedModel(script)).arun("x"))):
        assert [call.arguments for call in result.calls] == [{"names": ["a"]}, {}, {}]
        assert [call.error for call in result.calls] == [None, "the call was cancelled", "Mute"]


def test_the_names_of_other_libraries_are_translated() -> None:
    for name in ("results", "result_type", "response_model", "output_typ"):
        with pytest.raises(TypeError, match=rf"no argument '{name}'; write output_type=\.\.\.$"):
            sk.Agent(ScriptedModel([]), **{name: int})


def test_an_example_that_the_agent_cannot_give_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"examples\[1\] cannot be written as"):
        sk.Agent(ScriptedModel([]), [weather], output_type=int, examples=[("a", 3), ("b", "three")])
    agent = sk.Agent(ScriptedModel(["4"]), [weather], output_type=int, examples=[("a", 3)])
    assert agent.run("x").value == 4


def test_copies_of_an_agent_are_the_agent_and_pickling_has_a_remedy() -> None:
    agent = sk.Agent(ScriptedModel(["Hello."]))
    assert copy.copy(agent) is agent
    assert copy.deepcopy([agent])[0].run("Hi").value == "Hello."
    with pytest.raises(TypeError, match=r"Agent cannot be pickled.*; pass a function that makes the agent"):
        pickle.dumps(agent)
