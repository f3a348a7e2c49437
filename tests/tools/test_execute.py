"""How tools are called: where, how long they are waited for, and what comes of what they raise."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import structkit as sk
from structkit.testing import ScriptedModel


def call(name: str, /, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def agent_of(*tools: Any, script: list[str], **options: Any) -> sk.Agent[str]:
    return sk.Agent(ScriptedModel([*script, '"done"'] * 2), tools=list(tools), **options)


async def _later(text: str) -> str:
    await asyncio.sleep(0)
    return text.upper()


def later(text: str) -> Coroutine[Any, Any, str]:
    """A def that returns a coroutine."""
    return _later(text)


def future(text: str) -> object:
    class Awaitable:
        def __await__(self) -> Any:
            return _later(text).__await__()

    return Awaitable()


def cancelled() -> Coroutine[Any, Any, None]:
    async def ends() -> None:
        raise asyncio.CancelledError

    return ends()


@pytest.mark.parametrize("options", [{}, {"timeout": 5}])
def test_a_function_that_returns_what_must_be_awaited(options: dict[str, Any]) -> None:
    tools = [sk.tool(each, **options) for each in (later, future, cancelled)]
    script = [
        call("later", text="a"),
        f"[{call('future', text='b')}, {call('later', text='c')}]",
        call("cancelled"),
    ]
    agent = agent_of(*tools, script=script, parallel=2)

    async def in_a_loop() -> list[sk.AgentResult[str]]:
        return [agent.run("x"), await agent.arun("x")]  # the first as in a notebook

    for result in [agent_of(*tools, script=script, parallel=2).run("x"), *asyncio.run(in_a_loop())]:
        assert [each.output for each in result.calls] == ["A", "B", "C", None]
        assert result.calls[3].error == "the call was cancelled"


def test_an_async_run_awaits_in_its_own_loop() -> None:
    loops: list[object] = []

    async def note() -> None:
        loops.append(asyncio.get_running_loop())

    def indirectly() -> Coroutine[Any, Any, None]:
        return note()

    async def main() -> None:
        await agent_of(indirectly, note, script=[call("indirectly"), call("note")]).arun("x")
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(main())


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, KeyError, GeneratorExit])
def test_any_exception_can_be_fatal(error: type[BaseException]) -> None:
    def fail() -> None:
        raise error("over")

    expected = sk.AgentError if error in (StopIteration, StopAsyncIteration) else error
    runs: list[Callable[[sk.Agent[str]], object]] = [
        lambda agent: agent.run("x"),
        lambda agent: asyncio.run(agent.arun("x")),
        lambda agent: list(agent.stream("x")),
    ]
    for run in runs:
        with pytest.raises(expected) as caught:
            run(agent_of(sk.tool(fail, fatal=error), script=[call("fail")]))
        assert isinstance(caught.value, error) or isinstance(caught.value.__cause__, error)


def test_an_exception_that_ends_loops_is_told_like_any_other() -> None:
    def fail() -> None:
        next(iter(()))

    for result in (
        agent_of(fail, script=[call("fail")]).run("x"),
        asyncio.run(agent_of(fail, script=[call("fail")]).arun("x")),
    ):
        assert result.calls[0].error == "StopIteration:"
        assert result.value == "done"


@pytest.mark.parametrize(
    "options", [{"fatal": "KeyError"}, {"fatal": KeyError("x")}, {"fatal": int}, {"requires_approval": "yes"}]
)
def test_what_is_said_of_a_tool_is_checked(options: Any) -> None:
    with pytest.raises(TypeError, match=r"exceptions|requires_approval"):
        sk.tool(later, **options)


def test_a_tool_that_keeps_the_event_loop_busy_harms_no_other() -> None:
    release = threading.Event()

    async def busy() -> None:
        release.wait(20)  # blocks the loop

    async def quick() -> str:
        return "quick"

    tools = [sk.tool(busy, timeout=0.1), quick]
    begun = time.perf_counter()
    result = agent_of(*tools, script=[call("busy"), call("quick"), call("quick")]).run("x")
    assert time.perf_counter() - begun < 15
    assert [each.error for each in result.calls] == ["there was no output within 0.1 seconds", None, None]
    release.set()


def test_whether_a_tool_is_available_is_asked_once_a_step() -> None:
    asked: list[int] = []

    def look() -> str:
        return "seen"

    def now(context: sk.Context[object]) -> bool:
        asked.append(context.step)
        return context.step != 2

    (tool,) = sk.Toolset([look]).available(now)

    def other() -> None: ...

    agent = agent_of(tool, other, script=[call("look"), call("other"), call("look")])
    assert [each.name for each in agent.run("x").calls] == ["look", "other", "look"]
    assert asked == [1, 2, 3, 4]
    prompts = agent._setup.model.prompts  # type: ignore[attr-defined]
    assert "look cannot be called any more" in prompts[1]

    asked.clear()
    asking = sk.tool(other, requires_approval=True)
    with pytest.raises(sk.RunPaused) as caught:
        agent_of(tool, asking, script=[call("other")]).run("x")
    assert asked == [1]
    resumed = sk.Agent(ScriptedModel(['"done"']), [tool, asking])
    resumed.resume(caught.value.state, approvals=True)
    assert asked == [1, 2]
