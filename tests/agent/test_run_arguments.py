"""Arguments that a method of an agent does not have, and outputs that can be calls: the remedies work."""

from __future__ import annotations

import asyncio
from inspect import iscoroutinefunction
from typing import Any

import pytest

import structkit as sk
from structkit.testing import ScriptedModel

CALL = '{"name": "count", "arguments": {"title": "Salt"}}'


def count(title: str) -> int:
    return 3


@pytest.mark.parametrize("method", ["run", "arun", "stream", "astream"])
@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("message_history", "write messages=..."),
        ("context", "write deps=..."),
        ("instructions", "agent.override(instructions=...)"),
        ("toolsets", "agent.override(tools=[...])"),
        ("model", "agent.with_model(model)"),
        ("output_type", "Agent(..., output_type=...)"),
        ("max_turns", "usage_limits=structkit.UsageLimits(max_steps=...)"),
        ("deferred_tool_results", "agent.resume(state, approvals=...)"),
        ("message", "write messages=..."),
        ("anything", "it takes prompt, messages, deps, usage_limits"),
    ],
)
def test_an_argument_of_a_run_that_does_not_exist_has_a_remedy(method: str, name: str, remedy: str) -> None:
    agent: Any = sk.Agent(ScriptedModel(["Hello."]))
    run = getattr(agent, method)
    with pytest.raises(TypeError) as error:
        asyncio.run(run("Hi", **{name: None})) if method == "arun" else run("Hi", **{name: None})
    assert f"Agent.{method}() has no argument '{name}'; " in str(error.value)
    assert remedy in str(error.value)


def test_other_methods_name_their_arguments() -> None:
    agent: Any = sk.Agent(ScriptedModel(["Hello."]))
    with pytest.raises(TypeError, match=r"Agent.override\(\) has no argument 'toolsets'; write tools="):
        agent.override(toolsets=[])
    with pytest.raises(TypeError, match=r"Agent.step\(\) has no argument 'max_steps'; write usage_limits="):
        agent.step([], max_steps=3)
    with pytest.raises(
        TypeError, match=r"Agent.resume\(\) has no argument 'deferred_tool_results'; write approv"
    ):
        agent.resume(None, deferred_tool_results={})


def test_async_methods_stay_async_functions() -> None:
    agent = sk.Agent(ScriptedModel(["Hello."]))
    assert iscoroutinefunction(agent.arun)
    assert not iscoroutinefunction(agent.run)


def test_instructions_are_overridden_and_restored() -> None:
    model = ScriptedModel(["One.", "Two.", "Three."])
    agent = sk.Agent(model, instructions="Be brief.", deps_type=str)
    with agent.override(instructions=["Be long.", lambda context: f"You serve {context.deps}."]):
        agent.run("x", deps="Ana")
    with agent.override(instructions=""):
        agent.run("x", deps="Ana")
    agent.run("x", deps="Ana")
    first, second, third = model.prompts
    assert "Be long.\n\nYou serve Ana." in first
    assert "Be brief." not in first
    assert "Be" not in second
    assert "Be brief." in third


def test_wrong_instructions_are_refused() -> None:
    agent: Any = sk.Agent(ScriptedModel([]))
    with pytest.raises(TypeError, match="instructions must be a string"), agent.override(instructions=3):
        pass


@pytest.mark.parametrize("target", [dict[str, str], dict[str, Any], Any, dict, object])
def test_the_remedy_of_an_output_that_can_be_a_call_works(target: Any) -> None:
    with pytest.raises(sk.AgentError, match=r"write output_type=answer, with `def answer\(value: ") as error:
        sk.Agent(ScriptedModel([]), tools=[count], output_type=target)
    names: dict[str, Any] = {"Any": Any}
    exec(str(error.value.remedy).split("`")[1].replace("typing.", ""), names)  # the remedy, pasted
    value = '{"name": "count", "arguments": {"title": "Salt"}}' if target != dict[str, str] else '{"a": "b"}'
    model = ScriptedModel([CALL, f'{{"value": {value}}}'])
    result = sk.Agent(model, tools=[count], output_type=names["answer"]).run("x")
    assert len(result.calls) == 1
    assert isinstance(result.value, dict)
    other = ScriptedModel([f"<tool_call>\n{CALL}\n</tool_call>", value])
    assert sk.Agent(other, tools=[count], output_type=target, format="hermes").run("x").value == result.value
