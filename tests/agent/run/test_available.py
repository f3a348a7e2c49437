"""Tools that are not available in a step are neither in its prompt nor in its language."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.agent.formats.step import AvailableTool
from structkit.agent.run.config import PromptHeader
from structkit.messages import User
from structkit.testing import RandomModel, ScriptedModel
from tests.calls import call


def look(table: str) -> str:
    """Read a table."""
    return f"rows of {table}"


def drop_all() -> str:
    """Delete the production database."""
    return "dropped"


def is_admin(context: sk.Context[str]) -> bool:
    return context.deps == "admin"


async def is_admin_async(context: sk.Context[str]) -> bool:
    await asyncio.sleep(0)
    return context.deps == "admin"


def stepped(name: str, steps: set[int]) -> sk.Tool[..., str]:
    """A tool that is available in some steps."""

    def function() -> str:
        return "ok"

    return sk.tool(
        function, name=name, description=f"About {name}.", available=lambda context: context.step in steps
    )


@pytest.mark.parametrize("available", [is_admin, is_admin_async])
@pytest.mark.parametrize("max_steps", [1, 3])
@pytest.mark.parametrize("run", ["run", "arun", "stream", "astream"])
def test_a_guest_does_not_see_the_tools_of_an_admin(available: Any, max_steps: int, run: str) -> None:
    def prompts(deps: str) -> list[str]:
        calls = [call("look", table="t"), call("drop_all")] if deps == "admin" else [call("look", table="t")]
        model = ScriptedModel([*calls[: max_steps - 1], "done"])
        tools: list[Any] = [look, sk.tool(drop_all, available=available)]
        agent = sk.Agent(model, tools, deps_type=str, max_steps=max_steps)
        result = _result(agent, run, deps)
        assert ("drop_all" in [each.name for each in result.calls]) == (deps == "admin" and max_steps > 2)
        return list(model.prompts)

    assert all("Delete the production database" in prompt for prompt in prompts("admin"))
    for prompt in prompts("guest"):
        assert "drop_all" not in prompt
        assert "Read a table" in prompt


def _result(agent: sk.Agent[str, Any], run: str, deps: str) -> sk.AgentResult[str]:
    async def last(stream: sk.AsyncAgentStream[str]) -> sk.AgentResult[str]:
        return await stream.result()

    match run:
        case "run":
            return agent.run("x", deps=deps)
        case "arun":
            return asyncio.run(agent.arun("x", deps=deps))
        case "stream":
            return agent.stream("x", deps=deps).result
    return asyncio.run(last(agent.astream("x", deps=deps)))


def test_without_a_shown_tool_the_prompt_asks_for_the_output_only() -> None:
    model = ScriptedModel(["true"])
    hidden = sk.Toolset([look, drop_all]).available(lambda context: False)
    assert sk.Agent(model, [hidden], output_type=bool).run("x").value is True
    (prompt,) = model.prompts
    assert prompt.startswith("user: x\n\nAnswer with JSON")
    assert "call" not in prompt


@given(steps=st.lists(st.sets(st.integers(1, 4)), min_size=1, max_size=4), data=st.data())
def test_prompt_and_language_follow_the_filter_in_each_step(
    steps: list[set[int]], data: st.DataObject
) -> None:
    """The law: a step with calls shows exactly the tools whose filter holds, and calls no other."""
    tools = [stepped(f"tool_{number}", there) for number, there in enumerate(steps)]
    script = []
    for step in range(1, 5):
        available = [call(f"tool_{number}") for number, each in enumerate(steps) if step in each]
        if not available:
            break
        script.append(data.draw(st.sampled_from(available)))
    model = ScriptedModel([*script, "true"])
    agent = sk.Agent(model, tools, output_type=bool, max_steps=6)
    assert len(agent.run("x").calls) == len(script)
    for step, prompt in enumerate(model.prompts[: len(script)], 1):
        for number, there in enumerate(steps):
            assert (f"About tool_{number}." in prompt) == (step in there)

    noise = agent.with_model(RandomModel(seed=len(script)))
    for step, made in enumerate(noise.run("x").calls, 1):
        assert step in steps[int(made.name.removeprefix("tool_"))]


def test_a_tool_without_calls_left_stays_in_the_prompt() -> None:
    """The prompt of a step continues that of the step before, so that the model reads only what is new."""
    model = ScriptedModel([call("look", table="t"), call("drop_all"), "done"])
    sk.Agent(model, [sk.tool(look, max_calls=1), drop_all], max_steps=3).run("x")
    assert all(
        later.startswith(earlier) for earlier, later in zip(model.prompts, model.prompts[1:], strict=False)
    )
    assert len(model.prompts) == 3


def test_targets_are_cached_by_the_tools_shown_and_bounded() -> None:
    agent = sk.Agent(RandomModel(), [stepped(f"tool_{bit}", set()) for bit in range(8)], output_type=bool)
    config = agent._config
    for number in range(100):
        offers = [AvailableTool(each) for bit, each in enumerate(config.tools) if number >> bit & 1]
        target = config.step_target(offers)
        assert config.step_target(offers) is target
        assert [each.tool for each in target.tools] == [each.tool for each in offers]
        config.turns([User(content="x")], PromptHeader(None, tuple(each.tool for each in offers)))
    assert len(config._targets) == len(config._descriptions) == 64


def test_a_set_of_tools_is_compiled_once() -> None:
    tools: list[Any] = [look, stepped("odd", {1, 3, 5})]
    script = [call("look", table="t")] * 5 + ["true"]
    agent = sk.Agent(ScriptedModel(script * 2), tools, output_type=bool, max_steps=6)
    assert agent.run("x").value is agent.run("x").value is True
    assert len(agent._config._targets) == 3  # with `odd`, without it, and the output only


def test_a_filter_that_raises_is_a_fault_of_the_program() -> None:
    def broken(context: sk.Context[object]) -> bool:
        raise LookupError("no such switch")

    async def broken_async(context: sk.Context[object]) -> bool:
        raise LookupError("no such switch")

    for available in (broken, broken_async):
        model = ScriptedModel([])
        agent = sk.Agent(model, [sk.tool(look, available=available)])
        for run in ("run", "arun", "stream", "astream"):
            with pytest.raises(LookupError, match="no such switch") as caught:
                _result(agent, run, "")
            assert "available of look" in "".join(getattr(caught.value, "__notes__", ["available of look"]))
        assert not model.prompts

    forgot: Any = lambda context: None  # noqa: E731
    with pytest.raises(TypeError, match="available of look returned None; return True or False"):
        sk.Agent(ScriptedModel([]), [sk.tool(look, available=forgot)]).run("x")

    async def forgot_async(context: sk.Context[object]) -> Any:
        return None

    both = sk.Toolset([sk.tool(look, available=forgot_async)]).available(lambda context: True)
    with pytest.raises(TypeError, match="available of look returned None; return True or False"):
        sk.Agent(ScriptedModel([]), [both]).run("x")
    with pytest.raises(TypeError, match=r"when must be a function of \(context\), not True"):
        sk.Toolset([look]).available(True)  # type: ignore[arg-type]
