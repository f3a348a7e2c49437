"""Instructions: strings, and functions that a run calls once, before its first step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import structkit as sk
from structkit.messages import User
from structkit.testing import ScriptedModel
from tests.agent.rows import noted_rows
from tests.docs.blocks import needs_demo

CALL = '{"name": "look", "arguments": {}}'


def look() -> str:
    return "seen"


def today() -> str:
    return "Today is Monday."


async def name_of_user(context: sk.Context[str]) -> str:
    await asyncio.sleep(0)
    return f"The user is {context.deps}."


def nothing(context: sk.Context[object]) -> None:
    return None


class Clock:
    def now(self, context: sk.Context[object]) -> str:
        return f"Step {context.step}, {len(context.messages)} messages."

    def __call__(self) -> str:
        return "It is noon."


RUNS: list[Callable[[sk.Agent[str, Any]], sk.AgentResult[str]]] = [
    lambda agent: agent.run("x", deps="Ana"),
    lambda agent: asyncio.run(agent.arun("x", deps="Ana")),
    lambda agent: agent.stream("x", deps="Ana").result,
    lambda agent: asyncio.run(agent.astream("x", deps="Ana").result()),
]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("instructions", "system"),
    [
        ("Be brief.", "Be brief."),
        (today, "Today is Monday."),
        (name_of_user, "The user is Ana."),
        (lambda: "One line.", "One line."),
        (lambda context: context.deps, "Ana"),
        (Clock().now, "Step 1, 1 messages."),
        (Clock(), "It is noon."),
        (["Be brief.", "Be kind."], "Be brief.\n\nBe kind."),
        ([name_of_user, "Be brief.", today], "Be brief.\n\nThe user is Ana.\n\nToday is Monday."),
        ([nothing, "Be brief.", lambda: ""], "Be brief."),
    ],
)
def test_instructions_are_the_system_message(run: Any, instructions: Any, system: str) -> None:
    model = ScriptedModel([CALL, "done"])
    run(sk.Agent(model, tools=[look], instructions=instructions))
    assert all(prompt.startswith(f"system: {system}\nuser: x\n") for prompt in model.prompts)


@pytest.mark.parametrize("instructions", [None, [], nothing])
def test_without_a_text_there_is_no_system_message(instructions: Any) -> None:
    model = ScriptedModel(["done"])
    sk.Agent(model, instructions=instructions).run("x")
    assert model.prompts[0].startswith("user: x")


def test_functions_are_called_once_in_a_run() -> None:
    asked: list[int] = []

    def number(context: sk.Context[object]) -> str:
        asked.append(context.step)
        return f"Run {len(asked)}."

    pay = sk.tool(look, name="pay", requires_approval=True)
    replies = [CALL, CALL, '{"name": "pay", "arguments": {}}', "done"]
    model = ScriptedModel(replies)
    agent = sk.Agent(model, tools=[look, pay], instructions=number)
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x")
    assert asked == [1]
    agent.resume(caught.value.state, approvals=True)
    assert asked == [1, 4]
    assert [prompt.split("\n")[0] for prompt in model.prompts] == [*["system: Run 1."] * 3, "system: Run 2."]


def test_a_nested_agent_has_its_own_instructions() -> None:
    inner = sk.Agent(ScriptedModel(["deep"]), instructions=["Know all.", name_of_user])
    model = ScriptedModel(['{"name": "ask", "arguments": {"prompt": "?"}}', "done"])
    result = sk.Agent(model, tools=[inner.as_tool("ask")]).run("x", deps="Ana")
    assert result.calls[0].tool_result == "deep"
    assert "/* Know all. */" in model.prompts[0]
    assert inner._config.model.prompts[0].startswith("system: Know all.\n\nThe user is Ana.")  # type: ignore[attr-defined]


def _broken() -> str:
    raise LookupError("no clock")


async def _broken_async(context: sk.Context[object]) -> str:
    raise LookupError("no clock")


@pytest.mark.parametrize("broken", [_broken, _broken_async])
@pytest.mark.parametrize("run", RUNS)
def test_a_function_that_raises_ends_the_run_before_its_first_step(run: Any, broken: Any) -> None:
    model = ScriptedModel([])
    with pytest.raises(LookupError, match="no clock") as caught:
        run(sk.Agent(model, tools=[look], instructions=["Be brief.", broken]))
    place = f"instructions[1] ({broken.__name__})"
    assert any(place in note for note in getattr(caught.value, "__notes__", [place]))
    assert not model.prompts


def test_an_error_of_instructions_ends_a_resumed_run_before_its_calls() -> None:
    made: list[int] = []
    pay = sk.tool(lambda: made.append(1), name="pay", requires_approval=True)
    works = sk.Agent(ScriptedModel(['{"name": "pay", "arguments": {}}']), tools=[pay])
    with pytest.raises(sk.RunSuspended) as caught:
        works.run("x")
    with pytest.raises(LookupError):
        sk.Agent(ScriptedModel([]), tools=[pay], instructions=_broken).resume(
            caught.value.state, approvals=True
        )
    assert not made


async def _slow() -> str:
    await asyncio.sleep(20)
    return ""


@pytest.mark.parametrize(
    ("instructions", "error", "said"),
    [
        (lambda: 3, TypeError, r"instructions \(<lambda>\) returned 3; return a string, or None"),
        (_slow, sk.AgentError, r"(?s)at `instructions \(_slow\)`:\n  .*within the timeout of the run"),
    ],
)
def test_a_function_without_a_text_is_an_error(instructions: Any, error: type[Exception], said: str) -> None:
    model = ScriptedModel([])
    with pytest.raises(error, match=said):
        sk.Agent(model, instructions=instructions, timeout=0.2).run("x")
    assert not model.prompts


@pytest.mark.parametrize(
    ("instructions", "said"),
    [
        (3, "instructions must be a string, or a function"),
        (["Be brief.", 3], r"instructions\[1\] must be a string"),
        ({"Be brief."}, "instructions must be a string"),
        (str, "instructions must be a string"),
        (
            lambda context, more: "",
            r"instructions \(<lambda>\) takes context, more; write a function of \(context\) or of \(\)",
        ),
        ([lambda *, name: ""], r"instructions\[0\] \(<lambda>\) takes name"),
    ],
)
def test_wrong_instructions_raise_when_the_agent_is_made(instructions: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        sk.Agent(ScriptedModel([]), instructions=instructions)


def test_dependencies_of_instructions_are_checked() -> None:
    with pytest.raises(
        sk.AgentError, match=r"instructions \(name_of_user\) takes a Context\[str\], and deps_type is int"
    ):
        sk.Agent(ScriptedModel([]), instructions=name_of_user, deps_type=int)
    with pytest.raises(TypeError, match=r"instructions \(name_of_user\) takes a Context\[str\].*pass deps="):
        sk.Agent(ScriptedModel([]), instructions=name_of_user).run("x")


def test_the_tokens_of_the_static_part_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prefix cache: a run with another dynamic part reads only the tokens after the static part."""
    pytest.importorskip("torch", reason="torch is not installed")
    needs_demo()
    rows = noted_rows(monkeypatch)
    static = "Answer briefly and kindly, and never promise what the shop does not have. " * 12
    agent = sk.Agent(sk.load(), output_type=bool, instructions=[name_of_user, static], deps_type=str)
    agent.run("Is it open?", deps="Ana")
    (row,) = rows
    before = row.read_tokens
    result = agent.run("Is it open?", deps="Bruno, who comes every day")
    assert rows == [row]  # the second run continues the row of the first
    config = agent._config
    with_static = len(config.model.encode(config.turns([User(content="Is it open?")])))
    alone = sk.Agent(sk.load(), output_type=bool)._config
    without = len(alone.model.encode(alone.turns([User(content="Is it open?")])))
    read, written = row.read_tokens - before, result.usage.generated_tokens
    shared = result.usage.prompt_tokens + written - read
    assert shared >= with_static - without - 10
