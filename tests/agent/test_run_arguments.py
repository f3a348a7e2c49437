"""Arguments that a method of an agent does not have, and outputs that can be calls: the remedies work."""

from __future__ import annotations

import asyncio
from inspect import iscoroutinefunction
from typing import Any, NewType, Protocol, TypeVar

import pytest

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel

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


def pay(euros: float) -> str:
    return f"paid {euros}"


@sk.tool(defer=True)
def sign(document: str) -> str:
    raise NotImplementedError


PAY = '{"name": "pay", "arguments": {"euros": 1.5}}'
SIGN = '{"name": "sign", "arguments": {"document": "a"}}'


def suspended(*calls: str) -> tuple[Any, sk.RunSuspended]:
    """Return an agent, and the error of its run, which waits for decisions about calls."""
    model = ScriptedModel([f"[{', '.join(calls)}]", "Done."])
    agent = sk.Agent(model, [sk.require_approval(pay), sign], max_parallel_calls=3)
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x")
    return agent, caught.value


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda agent, error: agent.run(), "Agent.run() has no prompt; write agent.run(prompt)"),
        (lambda agent, error: agent.run("x", []), "takes at most 1 argument by position; write messages=..."),
        (lambda agent, error: agent.run(None), 'write agent.run("...")'),
        (lambda agent, error: agent.run([]), 'write agent.run("...", messages=result.messages)'),
        (lambda agent, error: agent.run(error), "write agent.resume(error.state, approvals={'call_1': True})"),
        (lambda agent, error: agent.run(error.state), "write agent.resume(state, approvals={'call_1': True})"),
        (lambda agent, error: agent.run("x", messages="y"), "write [structkit.messages.User(content='y')]"),
        (lambda agent, error: agent.resume(), "no state; write agent.resume(state, approvals=...)"),
        (lambda agent, error: agent.resume(error.state), "no approvals; write agent.resume(state, approvals=...)"),
        (lambda agent, error: agent.resume(error.state, True), "write approvals=..."),
        (lambda agent, error: agent.resume(error, approvals=True), "write agent.resume(error.state, approvals="),
        (lambda agent, error: agent.resume("{}", approvals=True), "structkit.RunState.loads(text)"),
        (lambda agent, error: agent.resume(3, approvals=True), "write agent.resume(error.state, "),
        (lambda agent, error: agent.resume(error.state, approvals=[]), "write approvals={'call_1': True}"),
        (lambda agent, error: agent.resume(error.state, approvals={}), "write approvals={'call_1': True}"),
        (lambda agent, error: agent.resume(error.state, approvals={"pay": True}), "are call_1 (pay)"),
        (lambda agent, error: agent.resume(error.state, approvals={"call_1": sk.Deny}), "structkit.Deny()"),
        (lambda agent, error: agent.resume(error.state, approvals={"call_1": 3}), "structkit.Return(3)"),
        (lambda agent, error: sk.Approve({"euros": 2}), "write arguments=..."),
        (lambda agent, error: sk.Deny(message="no"), "write reason=..."),
        (lambda agent, error: agent.as_tool(), "write agent.as_tool(name)"),
        (lambda agent, error: agent.as_tool(tool_name="a"), "Agent.as_tool() has no argument 'tool_name'; write name="),
        (lambda agent, error: agent.as_tool("a", tool_description="b"), "write description=..."),
    ],
)  # fmt: skip
def test_a_wrong_call_of_a_method_says_what_to_write(call: Any, remedy: str) -> None:
    with pytest.raises((TypeError, sk.AgentError)) as caught:
        call(*suspended(PAY))
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([PAY], "calls require approval: call_1 (pay)"),
        ([SIGN], "calls wait for their results: call_1 (sign)"),
        (
            [SIGN, PAY],
            "calls require approval: call_2 (pay), and calls wait for their results: call_1 (sign)",
        ),
    ],
)
def test_the_error_of_a_suspended_run_has_the_call_that_resumes_it(calls: list[str], message: str) -> None:
    agent, error = suspended(*calls)
    assert error.cause == message
    pasted = str(error.remedy).removeprefix("continue with ").replace("...", "'by hand'")
    names = {"agent": agent, "error": error, "structkit": sk}
    result: sk.AgentResult[str] = eval(pasted, names)
    assert {call.name: call.tool_result for call in result.calls} == {
        name: outcome
        for name, outcome in (("pay", "paid 1.5"), ("sign", "by hand"))
        if any(name in call for call in calls)
    }


def test_a_usage_is_no_method() -> None:
    result: Any = sk.Agent(ScriptedModel(["Hello."])).run("Hi")
    with pytest.raises(TypeError, match=r"not a method; write \.usage without parentheses"):
        result.usage()


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        (lambda agent: sk.Agent(name="clerk"), "Agent() has no model; write Agent(model)"),
        (lambda agent: sk.Agent(agent.model, [], str), "write output_type=..."),
        (lambda agent: sk.Agent(agent.model, end_strategy="early"), "leave it out"),
        (lambda agent: sk.Agent(agent.model, tool_use_behavior="stop_on_first_tool"), "write output_type=f"),
        (
            lambda agent: sk.Agent(agent.model, tool_choice="required"),
            "write structkit.tool(f, available=...)",
        ),
        (lambda agent: sk.Agent(agent.model, managed_agents=[]), "write tools=[agent.as_tool(name)]"),
        (lambda agent: sk.Agent(agent.model, middleware=[]), "agent.step(...)"),
        (lambda agent: sk.Agent(agent.model, prompt="Be brief."), "write instructions=..."),
        (
            lambda agent: sk.Agent(agent.model, [{"name": "f"}]),
            "structkit.Tool(function=f, name='...', schema=",
        ),
        (lambda agent: agent.run("x", stream=True), "write agent.stream(...)"),
        (lambda agent: agent.run("x", config={}), "write deps=... or usage_limits=..."),
        (lambda agent: agent.run("x", usage=sk.Usage()), "write context.spend(result.usage)"),
        (lambda agent: agent.run("x")["messages"], "no items; write .messages"),
        (lambda agent: agent.run("x").new_items, "write .messages"),
        (lambda agent: agent.run("x").token_usage, "write .usage"),
        (lambda agent: agent.run("x").messages[0].role, "User has no attribute 'role'; write .kind"),
        (lambda agent: agent.run("x").messages[1].tool_calls, "write .calls"),
        (lambda agent: sk.Context(3), "write Context(deps=...)"),
        (lambda agent: agent.run_stream("x"), "write .astream(...), or .stream(...)"),
        (lambda agent: sk.Agent(count), "write structkit.from_function(f)"),
        (lambda agent: agent.step("x"), "write [structkit.messages.User(content='x')]"),
        (lambda agent: agent.batch(["x"]), "write asyncio.gather("),
        (lambda agent: agent.clone(), "write .with_model(model)"),
        (lambda agent: sk.tool("search"), "write structkit.tool(name='search')"),
        (lambda agent: sk.tool(count).invoke({}), "write the call of the function, f(...)"),
        (lambda agent: sk.tool(handle_tool_error=True), "raise structkit.ToolError"),
        (lambda agent: sk.Tool(count), "write structkit.tool(f)"),
        (lambda agent: sk.Tool(function=count, takes_ctx=True), "annotate the first parameter"),
        (lambda agent: sk.Toolset([count]).prefixed("a_"), "write .prefix(...)"),
        (lambda agent: sk.Toolset([count]).add_function(count), "write Toolset([*toolset, f])"),
        (lambda agent: sk.Agent(agent.model, [lambda ctx: ctx][0]), "write tools=["),
        (lambda agent: sk.Agent(agent.model, max_calls=3), "UsageLimits(max_tool_calls=...) for a run"),
        (lambda agent: sk.Agent(agent.model, pre_model_hook=count), "write history_processors=..."),
        (lambda agent: agent.chat("x"), "write .run(...)"),
        (lambda agent: agent.run("x").text, "write .value"),
        (lambda agent: agent.run("x").usage.requests, "write result.steps"),
        (lambda agent: agent.run("x").messages[0].text, "write .content"),
        (lambda agent: sk.Tool(name="count", func=count), "write structkit.tool(f)"),
    ],
)
def test_names_of_other_libraries_have_a_remedy(written: Any, remedy: str) -> None:
    with pytest.raises((TypeError, AttributeError, sk.AgentError)) as caught:
        written(sk.Agent(ScriptedModel(["Hello."])))
    assert remedy in str(caught.value)


def test_a_context_without_an_annotation_has_the_annotation_as_its_remedy() -> None:
    def look(ctx, title: str) -> str:  # type: ignore[no-untyped-def]
        return title

    with pytest.raises(sk.SchemaError, match=r"such as ctx: structkit\.Context\[object\]"):
        sk.Agent(ScriptedModel([]), [look])


def test_the_name_and_the_model_of_an_agent_are_those_of_its_override() -> None:
    model, other = ScriptedModel([]), ScriptedModel([])
    agent = sk.Agent(model, name="clerk")
    assert (agent.name, agent.model) == ("clerk", model)
    with agent.override(model=other):
        assert agent.model is other


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


def test_the_type_of_the_dependencies_is_a_type() -> None:
    wrong: Any = sk.Agent
    for given, remedy in ((3, "write deps_type=int"), ("Shop", "write it without quotation marks")):
        with pytest.raises(TypeError, match=f"deps_type must be a type, not {given!r}; {remedy}"):
            wrong(RandomModel(), deps_type=given)
    for kind in (None, Any, dict[str, int], str | None, Protocol, TypeVar("T"), NewType("Id", int)):
        wrong(RandomModel(), deps_type=kind)
