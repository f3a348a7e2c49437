"""Calls of one step that do not run concurrently, and what a tool knows of its call."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

import structkit as sk
from tests.agent.run.test_execute import RUNS, agent_of, call


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_of_a_sequential_tool_runs_alone(is_async: bool) -> None:
    running: set[str] = set()
    seen: list[tuple[str, set[str]]] = []
    both = threading.Barrier(2, timeout=60)

    def read(place: str) -> str:
        running.add(place)
        if place in ("a", "b"):
            both.wait()  # calls between those of sequential tools run concurrently
        seen.append((place, set(running)))
        running.discard(place)
        return place

    def write(place: str) -> str:
        running.add(place)
        time.sleep(0.05)
        seen.append((place, set(running)))
        running.discard(place)
        return place

    async def write_later(place: str) -> str:
        return await asyncio.to_thread(write, place)

    tool = sk.tool(write_later if is_async else write, name="write", sequential=True)
    names = {"a": "read", "b": "read", "c": "write", "d": "write", "e": "read"}
    script = "[" + ", ".join(call(name, place=place) for place, name in names.items()) + "]"
    for run in RUNS:
        seen.clear()
        result = run(agent_of(read, tool, script=[script], max_parallel_calls=5))
        assert [each.tool_result for each in result.calls] == list(names)
        assert {place for place, _ in seen[:2]} == {"a", "b"}
        assert seen[2:] == [("c", {"c"}), ("d", {"d"}), ("e", {"e"})]


def test_calls_after_a_sequential_call_that_ends_the_run_are_not_executed() -> None:
    made: list[str] = []

    def fail() -> None:
        made.append("fail")
        raise KeyError("x")

    def count() -> None:
        made.append("count")

    script = f"[{call('count')}, {call('fail')}, {call('count')}]"
    agent = agent_of(count, sk.tool(fail, sequential=True), script=[script], max_parallel_calls=3)
    with pytest.raises(KeyError) as caught:
        agent.run("x")
    record = sk.run_record(caught.value)
    assert record is not None
    assert made == ["count", "fail"]
    assert [each.error for each in record.calls] == [
        None,
        "the call failed with an unexpected error",
        "the call was not executed",
    ]


@pytest.mark.long
def test_calls_after_a_sequential_call_that_took_all_the_time_are_not_executed() -> None:
    made: list[str] = []

    def wait(context: sk.Context[object]) -> None:
        context.cancelled.wait(20)

    def count() -> None:
        made.append("count")

    script = f"[{call('wait')}, {call('count')}]"
    agent = agent_of(
        sk.tool(wait, sequential=True),
        count,
        script=[script],
        strict=False,
        max_parallel_calls=2,
        timeout=2,
        on_limit="answer",
    )
    calls = agent.run("x").calls
    assert not made
    assert [each.error for each in calls] == [
        "the call did not return before the timeout of the run",
        "the call was not executed, because the timeout of the run has passed",
    ]


def test_a_tool_knows_the_id_of_its_call() -> None:
    def own(context: sk.Context[object]) -> str | None:
        return context.call_id

    script = f"[{call('own')}, {call('own')}]"
    result = agent_of(own, script=[script], max_parallel_calls=2).run("x")
    assert [(each.id, each.tool_result) for each in result.calls] == [
        ("call_1", "call_1"),
        ("call_2", "call_2"),
    ]
