"""Overrides of an agent: its model, its tools and its dependencies, for the code inside a `with` statement."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

import structkit as sk
from structkit.messages import User
from structkit.testing import RandomModel, ScriptedModel

WHO = '{"name": "who", "arguments": {}}'


def who(context: sk.Context[str]) -> str:
    return context.deps


def other(context: sk.Context[str]) -> str:
    return f"other {context.deps}"


AGENT: sk.Agent[bool, str] = sk.Agent(RandomModel(), [who], output_type=bool, deps_type=str)


def ask(deps: str = "own") -> object:
    """Run the agent, as the code under test does; return what its first tool returned."""
    return AGENT.run("x", deps=deps).calls[0].tool_result


def test_each_part_is_replaced_and_restored() -> None:
    model = ScriptedModel([WHO, "true"] * 2 + [WHO.replace("who", "other"), "true"] + [WHO, "true"])
    with AGENT.override(model=model):
        assert ask() == "own"
        with AGENT.override(deps="b"):
            assert ask() == "b"
            with AGENT.override(tools=[other], deps="c"):
                assert [tool.name for tool in AGENT.tools] == ["other"]
                assert AGENT.run("x", deps="own").calls[0].tool_result == "other c"
            assert ask() == "b"
        assert repr(AGENT).startswith("<Agent scripted: who")
    assert repr(AGENT).startswith("<Agent random: who")
    assert [tool.name for tool in AGENT.tools] == ["who"]


def test_a_replacement_that_is_no_model() -> None:
    wrong: Any = "gpt2"
    with pytest.raises(TypeError, match=r"the model is a string, 'gpt2'; write structkit.load\('gpt2'\)"):
        AGENT.with_model(wrong)
    with pytest.raises(TypeError, match="the model is a string"), AGENT.override(model=wrong):
        pass


def test_none_is_a_value_of_dependencies() -> None:
    agent: sk.Agent[bool, str | None] = sk.Agent(
        ScriptedModel([WHO, "true"]), [who_or_none], output_type=bool
    )
    with agent.override(deps=None):
        assert agent.run("x", deps="a").calls[0].tool_result == "None"


def who_or_none(context: sk.Context[Any]) -> str:
    return f"{context.deps}"


who_or_none.__name__ = "who"


def test_other_agents_and_copies_have_their_own() -> None:
    second = AGENT.with_model(ScriptedModel(["true"]))
    with AGENT.override(model=ScriptedModel([]), deps="x"):
        assert second.run("x", deps="y").value is True


def test_every_way_to_run_is_overridden() -> None:
    async def main() -> list[object]:
        *_, last = [event async for event in AGENT.astream("x", deps="own")]
        assert isinstance(last, sk.RunEnd)
        ran = await AGENT.arun("x", deps="own")
        step = await AGENT.astep([User(content="x")], deps="own")
        return [last.result.calls[0].tool_result, ran.calls[0].tool_result, step.calls[0].name]

    with AGENT.override(model=ScriptedModel([WHO, "true"] * 3 + [WHO] * 2), deps="b"):
        *_, last = AGENT.stream("x", deps="own")
        assert isinstance(last, sk.RunEnd)
        assert last.result.calls[0].tool_result == "b"
        assert asyncio.run(main()) == ["b", "b", "who"]
        assert AGENT.step([User(content="x")], deps="own").calls[0].name == "who"


def test_tasks_do_not_see_the_overrides_of_each_other() -> None:
    async def task(name: str) -> object:
        with AGENT.override(model=ScriptedModel([WHO, "true"]), deps=name):
            await asyncio.sleep(0.01)
            return (await AGENT.arun("x", deps="own")).calls[0].tool_result

    async def main() -> list[object]:
        return await asyncio.gather(*map(task, "abcd"))

    assert asyncio.run(main()) == ["a", "b", "c", "d"]


def test_other_threads_are_not_overridden() -> None:
    seen: list[str] = []
    with AGENT.override(model=ScriptedModel([])):
        thread = threading.Thread(target=lambda: seen.append(repr(AGENT)))
        thread.start()
        thread.join()
    assert seen == [repr(AGENT)]


def test_an_agent_inside_a_tool_is_overridden() -> None:
    async def later(number: int) -> object:
        return (await AGENT.arun("x", deps="own")).calls[0].tool_result

    def now(number: int) -> object:
        return ask()

    calls = [
        '{"name": "now", "arguments": {"number": 1}}',
        '{"name": "later", "arguments": {"number": 1}}',
        '{"name": "as_tool", "arguments": {"prompt": "x"}}',
    ]
    outer: sk.Agent[bool, str] = sk.Agent(
        ScriptedModel([*calls, "true"]), [now, later, AGENT.as_tool("as_tool")], output_type=bool
    )
    with AGENT.override(model=ScriptedModel([WHO, "true"] * 3), deps="b"):
        results = [call.tool_result for call in outer.run("x", deps="own").calls]
    assert results == ["b", "b", True]


def test_replies_that_are_left_are_an_error_at_the_end() -> None:
    left = "1 of 3 replies were not used, the first of them 'false'"
    with (
        pytest.raises(sk.ScriptError, match=left),
        AGENT.override(model=ScriptedModel([WHO, "true", "false"])),
    ):
        ask()
    with pytest.raises(KeyError), AGENT.override(model=ScriptedModel(["true"])):
        raise KeyError
    assert repr(AGENT).startswith("<Agent random")


@pytest.mark.parametrize(
    "reply",
    ['{"name": "whom", "arguments": {}}', '{"name": "who", "arguments": {"a": 1}}', "maybe", WHO + " true"],
)
def test_a_wrong_reply_is_an_error_and_calls_nothing(reply: str) -> None:
    called = []

    def who() -> None:
        called.append(1)

    agent = sk.Agent(ScriptedModel([reply, "true"]), [who], output_type=bool)
    with pytest.raises(sk.ScriptError, match="cannot be written"):
        agent.run("x")
    with pytest.raises(sk.ScriptError, match="cannot be written"):
        list(agent.with_model(ScriptedModel([reply, "true"])).stream("x"))
    assert called == []


def odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("not odd")
    return number


def test_a_wrong_reply_after_a_rejection_is_not_told_to_the_model() -> None:
    bad = '{"name": "pick", "arguments": {"number": 2}}'
    agent = sk.Agent(ScriptedModel([bad, bad.replace("pick", "peck"), "true"]), [pick], output_type=bool)
    with pytest.raises(sk.ScriptError, match="peck"):
        agent.run("x")


def pick(number: Annotated[int, AfterValidator(odd)]) -> None: ...


def wants_number(context: sk.Context[int]) -> None: ...


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"tools": [who, who]}, sk.AgentError),
        ({"tools": [pick, 3]}, sk.AgentError),
        ({"tools": [wants_number]}, sk.AgentError),
    ],
)
def test_a_replacement_is_checked(parts: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error), AGENT.override(**parts):
        pass
    assert repr(AGENT).startswith("<Agent random: who")


def test_a_wrong_reply_in_an_agent_as_a_tool_ends_the_outer_run() -> None:
    inner = sk.Agent(ScriptedModel(["maybe"]), output_type=bool).as_tool("inner")
    outer = sk.Agent(
        ScriptedModel(['{"name": "inner", "arguments": {"prompt": "x"}}', "true"]),
        [inner],
        output_type=bool,
        errors="report",
    )
    with pytest.raises(sk.ScriptError, match="maybe"):
        outer.run("x")
