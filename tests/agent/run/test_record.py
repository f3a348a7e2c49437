"""The record of a run that an exception ends."""

from __future__ import annotations

import asyncio
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

import structkit as sk
from structkit import messages
from structkit.agent.run.call_log import CallLog
from structkit.models.protocols import Session
from structkit.testing import RandomModel, ScriptedModel
from tests.agent.answers import is_even
from tests.agent.run.test_execute import call


def stock(title: str) -> int:
    return {"Salt": 3}[title]


def sold(title: str) -> int:
    return 7


_Even = Annotated[int, AfterValidator(is_even)]


def record_of(error: BaseException) -> sk.RunRecord:
    record = sk.run_record(error)
    assert record is not None
    assert messages.loads(messages.dumps(record.messages)) == record.messages
    return record


async def _streamed(agent: sk.Agent[Any], prompt: str) -> sk.AgentResult[Any]:
    async with agent.astream(prompt) as stream:
        return await stream.result()


RUNS: list[Callable[[sk.Agent[Any]], sk.AgentResult[Any]]] = [
    lambda agent: agent.run("x"),
    lambda agent: asyncio.run(agent.arun("x")),
    lambda agent: agent.stream("x").result,
    lambda agent: asyncio.run(_streamed(agent, "x")),
]


@pytest.mark.parametrize("run", RUNS)
def test_an_exception_of_a_tool_keeps_its_type_and_carries_the_record(
    run: Callable[[sk.Agent[Any]], sk.AgentResult[Any]],
) -> None:
    script = [call("sold", title="Salt"), call("stock", title="Sugar")]
    agent = sk.Agent(ScriptedModel(script), [stock, sold])
    with pytest.raises(KeyError, match="Sugar") as caught:
        run(agent)
    record = record_of(caught.value)
    assert [(each.name, each.raised) for each in record.calls] == [("sold", None), ("stock", caught.value)]
    assert [each.kind for each in record.messages] == ["user", "calls", "output", "calls", "output"]
    assert "Sugar" not in str(record.messages[-1])
    assert "trace=" not in repr(record)
    assert record.steps == 2
    assert record.usage.generated_tokens > 0


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_in_a_tool_carries_the_record(
    error: type[BaseException], run: Callable[[sk.Agent[Any]], sk.AgentResult[Any]]
) -> None:
    def leave() -> None:
        raise error("bye")

    with pytest.raises(error) as caught:
        run(sk.Agent(ScriptedModel([call("leave")]), [leave]))
    assert [each.raised for each in record_of(caught.value).calls] == [caught.value]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt`, also in a process that was started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot interrupt one thread")
def test_an_interrupt_while_calls_are_awaited_carries_the_record() -> None:
    both, cancelled, is_seen = threading.Barrier(3), [False, False], threading.Event()

    def wait(context: sk.Context[object], number: int) -> None:
        both.wait(60)
        cancelled[number] = context.cancelled.wait(60)
        is_seen.set()
        both.wait(60)

    def interrupt() -> None:
        both.wait(60)
        for _ in range(10):  # a signal just before the main thread blocks does not end the wait
            time.sleep(0.2)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            if is_seen.wait(5):
                break

    script = [f"[{call('wait', number=0)}, {call('wait', number=1)}]"]
    agent = sk.Agent(ScriptedModel(script), [wait], max_parallel_calls=2)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        agent.run("x")
    record = record_of(caught.value)
    assert [each.error for each in record.calls] == [
        "the call was interrupted, so it may or may not have been executed"
    ] * 2
    both.wait(60)  # both calls have seen that they are cancelled
    assert cancelled == [True, True]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_cancelled_run_carries_the_record(streamed: bool) -> None:
    async def cancel() -> asyncio.CancelledError:
        started = asyncio.Event()

        async def wait() -> None:
            started.set()
            await asyncio.sleep(60)

        agent = sk.Agent(ScriptedModel([call("sold", title="Salt"), call("wait")]), [sold, wait])
        task = asyncio.create_task(_streamed(agent, "x") if streamed else agent.arun("x"))
        await started.wait()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return error
        raise AssertionError("it was not cancelled")

    record = record_of(asyncio.run(cancel()))
    assert [(each.name, each.error is None) for each in record.calls] == [("sold", True), ("wait", False)]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_run_that_is_cancelled_while_the_model_writes_carries_the_record(streamed: bool) -> None:
    async def cancel() -> asyncio.CancelledError:
        loop, started, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def write(prompt: str) -> str:
            loop.call_soon_threadsafe(started.set)
            go_on.wait(20)
            return "1"

        agent = sk.Agent(sk.from_function(write), output_type=int)
        task = asyncio.create_task(_streamed(agent, "x") if streamed else agent.arun("x"))
        await started.wait()
        task.cancel()
        loop.call_later(0.1, go_on.set)
        try:
            await task
        except asyncio.CancelledError as error:
            return error
        raise AssertionError("it was not cancelled")

    assert record_of(asyncio.run(cancel())).steps == 1


@pytest.mark.parametrize("run", RUNS)
def test_the_other_calls_of_the_step_are_recorded(
    run: Callable[[sk.Agent[Any]], sk.AgentResult[Any]],
) -> None:
    def asking() -> None:
        raise sk.ApprovalRequired("why not")

    both = f"[{call('stock', title='Sugar')}, {call('asking')}, {call('sold', title='Salt')}]"
    tools = [stock, asking, sold]
    with pytest.raises(KeyError) as caught:
        run(sk.Agent(ScriptedModel([both]), tools, max_parallel_calls=3))
    record = record_of(caught.value)
    assert [type(each.raised) for each in record.calls] == [KeyError, type(None), type(None)]
    assert [each.error for each in record.calls] == [
        "the call failed with an unexpected error",
        "the call was not executed",
        None,
    ]
    assert isinstance(record.messages[-1], messages.Output)
    assert record.messages[-1].content == "7"


def test_another_run_continues_with_the_messages() -> None:
    agent = sk.Agent(ScriptedModel([call("stock", title="Sugar")]), [stock])
    with pytest.raises(KeyError) as caught:
        agent.run("How many?")
    model = ScriptedModel(["None."])
    result = agent.with_model(model).run("Go on.", messages=record_of(caught.value).messages)
    assert result.value == "None."
    assert "stock failed: the call failed with an unexpected error" in model.prompts[0]
    assert "Sugar'" not in model.prompts[0]


class _Broken(RandomModel):
    def session(self) -> Session:
        raise OSError("the device is gone")


@pytest.mark.parametrize("run", RUNS)
def test_errors_of_the_model_and_of_predicates_carry_the_record(
    run: Callable[[sk.Agent[Any]], sk.AgentResult[Any]],
) -> None:
    with pytest.raises(sk.ModelError) as caught:
        run(sk.Agent(_Broken(), [sold]))
    assert record_of(caught.value).messages == (messages.User(content="x"),)

    async def unsure(context: sk.Context[object]) -> bool:
        raise LookupError("no such switch")

    with pytest.raises(LookupError, match="no such switch") as failed:
        run(sk.Agent(ScriptedModel([]), sk.Toolset([sold]).available(unsure)))
    assert record_of(failed.value).calls == ()

    def picky(call: sk.Call[object]) -> bool:
        raise ZeroDivisionError

    tool = sk.tool(sold, requires_approval=picky)
    with pytest.raises(ZeroDivisionError) as divided:
        run(sk.Agent(ScriptedModel([call("sold", title="Salt")]), [tool]))
    assert [each.error for each in record_of(divided.value).calls] == ["the call was not executed"]


def test_a_rejected_output_carries_the_record() -> None:
    agent = sk.Agent(ScriptedModel([call("sold", title="Salt"), "3"]), [sold], output_type=_Even, retries=0)
    with pytest.raises(sk.OutputValidationError) as caught:
        agent.run("x")
    assert [each.tool_result for each in record_of(caught.value).calls] == [7]


def test_the_record_is_that_of_the_outer_run() -> None:
    inner = sk.Agent(ScriptedModel([call("stock", title="Sugar")]), [stock])
    helper = inner.as_tool("helper", "Helps.")
    with pytest.raises(KeyError) as caught:
        sk.Agent(ScriptedModel([call("helper", prompt="Sugar?")]), [helper]).run("x")
    record = record_of(caught.value)
    assert [each.name for each in record.calls] == ["helper"]
    assert record.usage.generated_tokens > len("x")


class Slotted(Exception):
    __slots__ = ("code",)


@pytest.mark.parametrize("error", [Slotted("x"), sk.AgentError("x", place="here")])
def test_every_exception_can_carry_a_record_and_be_pickled(error: Exception) -> None:
    def fail() -> None:
        raise error

    agent = sk.Agent(ScriptedModel([call("fail")]), [fail])
    with pytest.raises(type(error)) as caught:
        agent.run("x")
    assert record_of(caught.value).calls[0].raised is error
    read = pickle.loads(pickle.dumps(caught.value))
    assert str(read) == str(error)
    assert record_of(read).calls[0].raised is read


def test_an_exception_outside_of_a_run_has_no_record() -> None:
    assert sk.run_record(KeyError("x")) is None
    forged = KeyError("x")
    vars(forged)["__structkit_run_record__"] = "a text of another library"
    assert sk.run_record(forged) is None
    with pytest.raises(TypeError, match="error must be the exception that a run raised, not 3"):
        sk.run_record(3)  # type: ignore[arg-type]
    suspended = sk.Agent(ScriptedModel([call("sold", title="a")]), [sk.tool(sold, requires_approval=True)])
    with pytest.raises(sk.RunSuspended) as caught:
        suspended.run("x")
    assert sk.run_record(caught.value) is None


def test_calls_before_a_run_was_resumed_have_arguments_of_their_types() -> None:
    def look(day: date) -> str:
        return day.isoformat()

    tools = [look, sk.require_approval(sold)]
    script = [call("look", day="2024-02-03"), call("sold", title="Salt"), "done"]
    with pytest.raises(sk.RunSuspended) as caught:
        sk.Agent(ScriptedModel(script[:2]), tools).run("x")
    result = sk.Agent(ScriptedModel(script[2:]), tools).resume(caught.value.state, approvals=True)
    assert result.calls[0].arguments == {"day": date(2024, 2, 3)}
    log = CallLog(sk.Agent(ScriptedModel([]), [sold])._config)
    assert log.arguments(messages.CallPart(id="call_1", name="gone", arguments='{"a": 1}')) == {"a": 1}
