"""Toolsets: tools changed together, by making new ones."""

from __future__ import annotations

import json

import pytest

import structkit as sk
from structkit.testing import ScriptedModel


def read(table: str) -> str:
    """Read a table."""
    return f"rows of {table}"


def drop(table: str) -> str:
    return f"dropped {table}"


DATABASE = sk.Toolset([read, sk.tool(drop, max_calls=1)])


def names(tools: sk.Toolset) -> list[str]:
    return [tool.name for tool in tools]


def call(name: str, /, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def test_each_change_leaves_the_old_ones_as_they_are() -> None:
    assert names(DATABASE.filter(lambda tool: tool.max_calls is None)) == ["read"]
    assert names(DATABASE.prefix("db_")) == ["db_read", "db_drop"]
    assert names(DATABASE.rename({"drop": "remove"})) == ["read", "remove"]
    assert names(DATABASE) == ["read", "drop"]
    assert [tool.max_calls for tool in DATABASE.prefix("x_")] == [None, 1]
    with pytest.raises(sk.AgentError, match=r"no tool gone to rename; there are drop, read"):
        DATABASE.rename({"gone": "away"})


def test_an_agent_takes_toolsets_among_its_tools() -> None:
    model = ScriptedModel([call("a_read", table="t"), call("b_read", table="u"), '"done"'])
    result = sk.Agent(model, tools=[DATABASE.prefix("a_"), DATABASE.prefix("b_"), read]).run("x")
    assert [each.output for each in result.calls] == ["rows of t", "rows of u"]
    with pytest.raises(sk.AgentError, match="two tools are called read"):
        sk.Agent(model, tools=[DATABASE, read])


def test_some_need_approval() -> None:
    careful = DATABASE.approve(
        lambda tool: tool.name == "drop", calls=lambda call: call.arguments["table"] != "tmp"
    )
    model = ScriptedModel([call("read", table="t"), call("drop", table="t")])
    with pytest.raises(sk.RunPaused) as caught:
        sk.Agent(model, tools=[careful]).run("x")
    assert [each.name for each in caught.value.state.pending] == ["drop"]


def test_some_are_there_only_now_and_then() -> None:
    later = DATABASE.available(lambda context: bool(context.deps) and context.step > 1)
    tools = [later.filter(lambda tool: tool.name == "drop"), read]
    script = [call("read", table="t"), call("drop", table="t"), '"done"']
    agent = sk.Agent(ScriptedModel(script * 2), tools=tools)
    first = agent.run("x", deps=False)
    assert [each.name for each in first.calls][:1] == ["read"]
    assert "drop" not in [each.name for each in first.calls]
