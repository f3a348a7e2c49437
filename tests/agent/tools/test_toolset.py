"""Toolsets: methods that return new toolsets."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk
from structkit.agent.tools.approval import is_approval_required
from structkit.agent.tools.toolset import _either_approval
from structkit.testing import ScriptedModel
from tests.calls import call


def read(table: str) -> str:
    """Read a table."""
    return f"rows of {table}"


def drop(table: str) -> str:
    return f"dropped {table}"


DATABASE = sk.Toolset([read, sk.tool(drop, max_calls=1)])


def names(tools: sk.Toolset) -> list[str]:
    return [tool.name for tool in tools]


def test_each_method_returns_a_new_toolset() -> None:
    assert names(DATABASE.filter(lambda tool: tool.max_calls is None)) == ["read"]
    assert names(DATABASE.prefix("db_")) == ["db_read", "db_drop"]
    assert names(DATABASE.rename({"drop": "remove"})) == ["read", "remove"]
    assert names(DATABASE) == ["read", "drop"]
    assert [tool.max_calls for tool in DATABASE.prefix("x_")] == [None, 1]
    with pytest.raises(sk.AgentError, match=r"unknown tool gone\n  the tools are drop, read"):
        DATABASE.rename({"gone": "away"})


def test_an_agent_accepts_toolsets_among_its_tools() -> None:
    model = ScriptedModel([call("a_read", table="t"), call("b_read", table="u"), "done"])
    result = sk.Agent(model, tools=[DATABASE.prefix("a_"), DATABASE.prefix("b_"), read]).run("x")
    assert [each.tool_result for each in result.calls] == ["rows of t", "rows of u"]
    with pytest.raises(sk.AgentError, match="two tools are named read"):
        sk.Agent(model, tools=[DATABASE, read])


def test_some_tools_require_approval() -> None:
    careful = DATABASE.require_approval(
        lambda tool: tool.name == "drop", when=lambda call: call.arguments["table"] != "tmp"
    )
    model = ScriptedModel([call("read", table="t"), call("drop", table="t")])
    with pytest.raises(sk.RunSuspended) as caught:
        sk.Agent(model, tools=[careful]).run("x")
    assert [each.name for each in caught.value.state.pending] == ["drop"]


ALWAYS, NEVER = (lambda call: True), (lambda call: False)


@pytest.mark.parametrize(
    "tools",
    [
        DATABASE.require_approval().require_approval(when=NEVER),
        DATABASE.require_approval(when=NEVER).require_approval(),
        DATABASE.require_approval(when=ALWAYS).require_approval(when=NEVER),
        DATABASE.require_approval(when=NEVER).require_approval(when=ALWAYS),
        sk.Toolset([sk.tool(drop, requires_approval=True)]).require_approval(when=NEVER),
    ],
)
def test_approval_requirements_accumulate(tools: sk.Toolset) -> None:
    with pytest.raises(sk.RunSuspended):
        sk.Agent(ScriptedModel([call("drop", table="t")]), tools=[tools]).run("x")


async def later(context: sk.Context[object]) -> bool:
    return context.step > 1


@pytest.mark.parametrize("other", [lambda context: True, later])
def test_a_tool_is_available_if_all_predicates_hold(other: Callable[[sk.Context[object]], bool]) -> None:
    def first(context: sk.Context[object]) -> bool:
        return context.step == 2

    for tools in (DATABASE.available(first).available(other), DATABASE.available(other).available(first)):
        rest = sk.Toolset([sk.tool(read, name="look")])
        script = [call("look", table="t"), call("read", table="t"), call("look", table="t"), "done"]
        agent = sk.Agent(ScriptedModel(script), tools=[tools, rest])
        assert [each.name for each in agent.run("x").calls] == ["look", "read", "look"]
        prompts = agent._config.model.prompts  # type: ignore[attr-defined]
        assert ["read" in prompt.rsplit("\n", 1)[-1] for prompt in prompts] == [False, False, True, False]


def test_toolsets_of_toolsets() -> None:
    inner = sk.Toolset([DATABASE, sk.tool(read, name="look")]).filter(lambda tool: tool.name != "drop")
    outer = sk.Toolset([inner.prefix("a_"), inner.prefix("b_").rename({"b_look": "see"})]).prefix("x.")
    assert names(outer) == ["x.a_read", "x.a_look", "x.b_read", "x.see"]
    model = ScriptedModel([call("x.b_read", table="t"), "done"])
    assert sk.Agent(model, tools=[outer]).run("x").calls[0].tool_result == "rows of t"
    with pytest.raises(sk.AgentError, match=r"two tools are named a_read"):
        sk.Agent(model, tools=[inner.prefix("a_"), sk.tool(read, name="a_read")])
    with pytest.raises(sk.AgentError, match="invalid tool name"):
        inner.prefix("x" * 61)
    assert names(inner.prefix("3-")) == ["3-read", "3-look"]
    with pytest.raises(TypeError, match="list of functions"):
        sk.Toolset(read)  # type: ignore[arg-type]


def test_a_tool_without_a_docstring_is_described_by_its_signature() -> None:
    model = ScriptedModel(["done"])
    sk.Agent(model, tools=[drop]).run("x")
    assert '{"name": "drop", "arguments": {"table": string}}\n' in model.prompts[0]


def test_tools_can_be_available_in_some_steps() -> None:
    later = DATABASE.available(lambda context: bool(context.deps) and context.step > 1)
    tools = [later.filter(lambda tool: tool.name == "drop"), read]
    script = [call("read", table="t"), call("drop", table="t"), "done"]
    agent = sk.Agent(ScriptedModel(script * 2, strict=False), tools=tools)
    first = agent.run("x", deps=False)
    assert [each.name for each in first.calls][:1] == ["read"]
    assert "drop" not in [each.name for each in first.calls]


def test_a_lambda_has_a_remedy_that_works() -> None:
    with pytest.raises(
        sk.AgentError, match=r"'<lambda>'\n  write a def, or structkit\.tool\(\.\.\., name='\.\.\.'\)"
    ):
        sk.tool(lambda: 1)
    assert sk.tool(lambda: 1, name="one").name == "one"


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda tools: tools["read"], TypeError, "write {tool.name: tool for tool in toolset}[name]"),
        (lambda tools: "read" in tools, TypeError, "write 'read' in [tool.name for tool in toolset]"),
        (lambda tools: tools.with_prefix("x_"), AttributeError, "write .prefix(...)"),
        (lambda tools: sk.Toolset(None), TypeError, "leave it out"),
        (
            lambda tools: sk.Toolset(sk.Agent(ScriptedModel([]))),
            TypeError,
            "write tools=[agent.as_tool(name)]",
        ),
        (lambda tools: sk.Toolset({"read": read}), TypeError, "write tools=[f]"),
    ],
)
def test_other_ways_to_use_a_toolset_have_a_remedy(
    use: Callable[[sk.Toolset], object], error: type[Exception], message: str
) -> None:
    assert DATABASE.tools[0] in DATABASE
    with pytest.raises(error, match=re.escape(message)):
        use(DATABASE)


def test_a_toolset_is_shown_by_the_names_of_its_tools() -> None:
    assert repr(DATABASE) == "<Toolset: read, drop>" and len(DATABASE) == 2
    assert repr(sk.Toolset([])) == "<Toolset: no tools>"


@pytest.mark.parametrize("one", [True, False, "some"])
@pytest.mark.parametrize("other", [True, False, "others"])
def test_approval_is_required_if_either_says_so(one: Any, other: Any) -> None:
    """Requirements are constants, or functions of the call."""
    named = {"some": lambda call: call.name == "read", "others": lambda call: len(call.arguments) == 1}
    both = [named.get(each, each) for each in (one, other)]
    found = _either_approval(*both)
    for name, arguments in (("read", {}), ("read", {"a": 1}), ("drop", {}), ("drop", {"a": 1})):
        call: Any = SimpleNamespace(name=name, arguments=arguments)
        expected = any(each(call) if callable(each) else each for each in both)
        assert is_approval_required(found, call) == expected
