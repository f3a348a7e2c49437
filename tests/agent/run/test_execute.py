"""Execution of tools: threads and event loops, timeouts, and exceptions."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import TypeAdapter

import structkit as sk
from structkit.agent.run.actions import AwaitValue, CallOutcome, PreparedCall
from structkit.agent.run.execute import Executor, _await_value
from structkit.testing import ScriptedModel
from tests.agent.run.execute_cases import RUNS, agent_of
from tests.calls import call


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
    agent = agent_of(*tools, script=script, max_parallel_calls=2, errors="report")

    async def in_a_loop() -> list[sk.AgentResult[str]]:
        return [agent.run("x"), await agent.arun("x")]  # the first runs in an event loop, as in a notebook

    alone = agent_of(*tools, script=script, max_parallel_calls=2, errors="report").run("x")
    for result in [alone, *asyncio.run(in_a_loop())]:
        assert [each.tool_result for each in result.calls] == ["A", "B", "C", None]
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


SIGNALS = [StopIteration, StopAsyncIteration, GeneratorExit, asyncio.CancelledError]


@pytest.mark.parametrize("timeout", [None, 20.0])
@pytest.mark.parametrize("error", [*SIGNALS, KeyError, sk.ToolError])
def test_any_exception_can_be_fatal(error: type[BaseException], timeout: float | None) -> None:
    def fail() -> None:
        raise error("over")

    for run in RUNS:
        with pytest.raises(sk.AgentError if error in SIGNALS else error) as caught:
            run(agent_of(sk.tool(fail, reraise=error, timeout=timeout), script=[call("fail")]))
        assert isinstance(caught.value, error) or isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("timeout", [None, 20.0])
def test_a_recursion_error_ends_a_run(timeout: float | None) -> None:
    def endless() -> None:
        endless()

    for run in RUNS:
        with pytest.raises(RecursionError, match="maximum recursion depth"):
            run(agent_of(sk.tool(endless, timeout=timeout), script=[call("endless")]))


@pytest.mark.parametrize("kind", ["function", "thread", "async"])
def test_an_agent_that_calls_itself_ends(kind: str) -> None:
    """Each thread and task has its own stack, so Python's recursion limit does not stop the recursion."""

    def again() -> str:
        runs.append(kind)
        return agent.run("x").value

    async def again_later() -> str:
        runs.append(kind)
        return (await agent.arun("x")).value

    tools = {"function": again, "thread": sk.tool(again, timeout=30.0), "async": again_later}
    script = [call("again_later" if kind == "async" else "again")] * 50
    for run in RUNS:
        runs: list[str] = []
        agent = agent_of(tools[kind], script=script)
        with pytest.raises(sk.AgentRecursionError, match="nested more than 8 deep"):
            run(agent)
        assert len(runs) == 8


def test_a_recursion_of_agents_is_an_agent_error_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def again() -> str:
        return agent.run("x").value

    agent = agent_of(again, script=[call("again")] * 50)
    with caplog.at_level("INFO", "structkit"), pytest.raises(sk.AgentError) as caught:
        agent.run("x")
    assert isinstance(caught.value, RecursionError)
    assert caught.value.remedy == "let it return without a run in some case"
    assert [each.getMessage().split(": ")[-1] for each in caplog.records] == ["AgentRecursionError"]


@pytest.mark.parametrize("errors", ["raise", "report"])
def test_a_recursion_of_agents_is_never_reported_to_a_model(errors: Any) -> None:
    def again() -> str:
        return agent.run("x").value

    tools = [sk.tool(again, reraise=KeyError)]
    agent = sk.Agent(ScriptedModel([call("again")] * 50), tools=tools, errors=errors)
    with pytest.raises(sk.AgentRecursionError):
        agent.run("x")


def test_an_exception_that_passes_several_runs_has_one_note() -> None:
    def fail() -> None:
        raise KeyError("x")

    def ask() -> str:
        return agent_of(fail, script=[call("fail")]).run("x").value

    with pytest.raises(KeyError) as caught:
        agent_of(ask, script=[call("ask")]).run("x")
    assert [note[:16] for note in getattr(caught.value, "__notes__", ["the tool fail ra"])] == [
        "the tool fail ra"
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_programs_ends_a_run(error: type[BaseException]) -> None:
    def fail() -> None:
        raise error("over")

    for run in RUNS:
        with pytest.raises((error, sk.AgentError)) as caught:
            run(agent_of(fail, script=[call("fail")]))
        assert isinstance(caught.value, error) or isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize(
    "options",
    [
        {"reraise": "KeyError"},
        {"reraise": KeyError("x")},
        {"reraise": int},
        {"requires_approval": "yes"},
        {"requires_approval": _later},
    ],
)
def test_what_is_said_of_a_tool_is_checked(options: Any) -> None:
    with pytest.raises(TypeError, match=r"exception|requires_approval"):
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
    assert [each.error for each in result.calls] == ["the call did not return within 0.1 seconds", None, None]
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
    prompts = agent._config.model.prompts  # type: ignore[attr-defined]
    assert "look cannot be called any more" in prompts[1]

    asked.clear()
    asking = sk.tool(other, requires_approval=True)
    with pytest.raises(sk.RunSuspended) as caught:
        agent_of(tool, asking, script=[call("other")]).run("x")
    assert asked == [1]
    resumed = sk.Agent(ScriptedModel(["done"]), [tool, asking])
    resumed.resume(caught.value.state, approvals=True)
    assert asked == [1, 2]


@pytest.mark.parametrize("run", RUNS)
def test_whether_a_tool_is_available_may_be_awaited(
    run: Callable[[sk.Agent[str]], sk.AgentResult[str]],
) -> None:
    def look() -> str:
        return "seen"

    def other() -> None: ...

    async def now(context: sk.Context[object]) -> bool:
        await asyncio.sleep(0)
        return context.step == 2

    (tool,) = sk.Toolset([look]).available(now)
    agent = agent_of(tool, other, script=[call("other"), call("look"), call("look")], strict=False)
    assert [each.name for each in run(agent).calls][:2] == ["other", "look"]
    assert "look cannot be called any more" in agent._config.model.prompts[2]  # type: ignore[attr-defined]

    async def unsure(context: sk.Context[object]) -> bool:
        raise LookupError("no such switch")

    with pytest.raises(LookupError, match="no such switch"):
        run(agent_of(*sk.Toolset([look]).available(unsure), script=[]))


def test_what_is_spent_is_a_usage() -> None:
    def spend(context: sk.Context[object]) -> None:
        context.spend("3 tokens")  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="spend takes a Usage"):
        agent_of(spend, script=[call("spend")]).run("x")


def test_what_is_not_awaited_any_more_is_cancelled() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def main() -> list[str]:
        assert await _await_value(AwaitValue(endless(), 0.01)) is None
        waiting = asyncio.ensure_future(_await_value(AwaitValue(endless(), None)))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0)
        return list(ended)  # `asyncio.run` cancels what is left

    assert asyncio.run(main()) == ["cancelled", "cancelled"]


def test_a_cancelled_run_cancels_its_tool() -> None:
    seen: list[str] = []

    async def endless() -> None:
        """Wait."""
        seen.append("begun")
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> list[str]:
        run = asyncio.ensure_future(agent_of(sk.tool(endless), script=[call("endless")]).arun("x"))
        while not seen:
            await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return list(seen)

    assert asyncio.run(main()) == ["begun", "cancelled"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("option", ["instructions", "history", "available", "validate"])
def test_other_functions_that_run_their_own_agent_end(option: str, is_async: bool) -> None:
    def again(value: object) -> object:
        runs.append(option)
        return agent.run("x").value

    async def again_later(value: object) -> object:
        runs.append(option)
        return (await agent.arun("x")).value

    function: Any = again_later if is_async else again
    if option == "instructions":
        function.__annotations__["value"] = sk.Context[object]
    tools = [sk.tool(called, available=function)] if option == "available" else [called]
    options: dict[str, Any] = {} if option == "available" else {option: function}
    for run in RUNS:
        runs: list[str] = []
        agent = sk.Agent(ScriptedModel(["x"] * 50), tools=tools, **options)
        with pytest.raises(sk.AgentRecursionError, match="nested more than 8 deep"):
            run(agent)
        assert len(runs) <= 10


def test_the_deepest_call_can_run_an_agent() -> None:
    def ask(depth: int) -> int:
        model = ScriptedModel(
            [f'{{"name": "ask", "arguments": {{"depth": {depth - 1}}}}}', "0"] if depth else ["0"]
        )
        return sk.Agent(model, tools=[ask], output_type=int).run("x").value

    assert ask(8) == 0
    with pytest.raises(sk.AgentRecursionError):
        ask(9)


def called() -> None: ...


@pytest.mark.parametrize("value", ["B 12", {"place": "B 12"}, None])
def test_the_model_does_not_read_the_metadata_of_a_result(value: object) -> None:
    image = object()  # the program gets the same object

    async def find(title: str) -> sk.Return:
        return sk.Return(value, metadata=image)

    for run in RUNS:
        result = run(agent_of(find, script=[call("find", title="Salt")]))
        (made,) = result.calls
        assert (made.tool_result, made.metadata) == (value, image)
        (output,) = [each for each in result.messages if each.kind == "output"]
        assert output.content == (value if isinstance(value, str) else json.dumps(value))
        TypeAdapter(sk.AgentResult[str]).dump_json(result)


def test_a_supplied_result_has_metadata_too() -> None:
    agent = agent_of(sk.tool(called, defer=True), script=[call("called")])
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x")
    result = agent.resume(caught.value.state, approvals={"call_1": sk.Return(3, metadata="by hand")})
    assert (result.calls[0].tool_result, result.calls[0].metadata) == (3, "by hand")


def test_a_suspended_run_keeps_the_metadata_of_its_calls(caplog: pytest.LogCaptureFixture) -> None:
    image = object()

    def find(title: str) -> sk.Return:
        return sk.Return("B 12", metadata={"page": 12} if title == "Salt" else image)

    agent = agent_of(
        find,
        sk.tool(called, defer=True),
        script=[call("find", title="Salt"), call("find", title="Sand"), call("called")],
    )
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x")
    state = caught.value.state
    for stored, last in ((state, image), (sk.RunState.loads(state.dumps()), None)):
        result = agent.with_model(ScriptedModel(["Done."])).resume(stored, approvals={"call_3": sk.Return(3)})
        assert [each.metadata for each in result.calls] == [{"page": 12}, last, None]
    assert [each.message.partition(",")[0] for each in caplog.records] == [
        "the metadata of call_2 is left out of the state of the run"
    ]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("own", "left", "waits"), [(2, 2, 2), (2, None, 2), (None, 3, 3.5), (9, 3, 3.5), (2, 3, 2)]
)
def test_a_call_is_waited_for_until_its_timeout(
    is_async: bool, own: float | None, left: float | None, waits: float
) -> None:
    """The timeout of the tool, or a moment after that of the run; an async tool has a moment to end by itself."""
    waited: list[float] = []

    class Hanging(Future[CallOutcome]):
        def result(self, timeout: float | None = None) -> CallOutcome:
            waited.append(timeout or 0.0)
            return super().result(0)

    call = SimpleNamespace(
        tool=SimpleNamespace(tool=SimpleNamespace(timeout=own)),
        context=SimpleNamespace(cancelled=threading.Event(), seconds_left=left if left is not None else own),
    )
    started = time.perf_counter() - 1
    loop = asyncio.new_event_loop() if is_async else None
    with Executor() as executor:
        for begun in (started, started - 100):
            outcome = executor._wait(cast("PreparedCall", call), Hanging(), loop, begun)
            assert call.context.cancelled.is_set() and outcome.seconds >= 1
    if loop is not None:
        loop.close()
    assert waited == [pytest.approx(waits - 1 + 0.5 * is_async, abs=0.2), 0]
    said = f"within {own} seconds" if call.context.seconds_left == own else "before the timeout of the run"
    assert str(outcome.error) == f"the call did not return {said}"


def test_a_sync_tool_does_not_run_in_the_thread_of_the_loop() -> None:
    threads: dict[str, int] = {}

    def slow(city: str) -> str:
        threads["sync"] = threading.get_ident()
        return city

    async def quick(city: str) -> str:
        threads["async"] = threading.get_ident()
        return city

    async def main() -> int:
        model = ScriptedModel([call("slow", city="a"), call("quick", city="a"), "done"])
        await sk.Agent(model, tools=[slow, quick]).arun("x")
        return threading.get_ident()

    loop = asyncio.run(main())
    assert threads["async"] == loop != threads["sync"]
