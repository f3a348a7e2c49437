"""Calls of tools in a run: their errors, limits, context and order."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from contextlib import suppress
from datetime import date
from typing import Any

import pytest

import structkit as sk
from structkit.testing import ScriptedModel
from tests.agent.answers import ANSWER, Answer, Db, Plain, fail, stock, weather
from tests.calls import call


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


def test_parallel_calls_run_concurrently_and_are_reported_in_order() -> None:
    together = threading.Barrier(3, timeout=60)

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
