"""Tools that return iterators."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import count
from typing import Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit import messages
from tests.agent.run.execute_cases import RUNS, agent_of, endless
from tests.calls import call


def several() -> Iterator[int]:
    yield from (1, 2)


async def several_later() -> AsyncIterator[int]:
    yield 1
    await asyncio.sleep(0)
    yield 2


def handed_on() -> Iterator[int]:
    return several()


async def awaited() -> Iterator[int]:
    return several()


def mapped() -> Iterator[int]:
    return map(int, "12")


def broken() -> Iterator[int]:
    yield 1
    raise KeyError("late")


@pytest.mark.parametrize("function", [several, several_later, handed_on, awaited, mapped])
def test_an_iterator_is_read_out_in_the_call(function: Any) -> None:
    for run in RUNS:
        result = run(agent_of(function, script=[call(function.__name__)]))
        assert result.calls[0].tool_result == [1, 2]
        assert [each.content for each in result.messages if isinstance(each, messages.Output)] == ["[1, 2]"]


class Lazy(BaseModel):
    numbers: Iterable[int]


def test_what_a_tool_does_with_its_arguments_is_not_recorded() -> None:
    """Neither mutation nor iteration changes the recorded arguments, even beside a value that cannot be copied."""

    def spoil(lazy: Lazy, words: list[str], more: Iterable[int]) -> int:
        words.clear()
        return sum(lazy.numbers) + sum(more)

    script = [call("spoil", lazy={"numbers": [1, 2]}, words=["a"], more=[3])]
    (made,) = agent_of(spoil, script=script).run("x").calls
    assert made.tool_result == 6
    assert made.arguments["words"] == ["a"]
    assert made.arguments["more"] == [3]
    assert list(made.arguments["lazy"].numbers) == [1, 2]  # type: ignore[attr-defined]


def test_an_iterator_that_fails_or_has_no_end_is_told() -> None:
    for run in RUNS:
        tools = [broken, sk.tool(endless, timeout=0.1)]
        result = run(agent_of(*tools, script=[call("broken"), call("endless")], errors="report"))
        assert [each.error for each in result.calls] == [
            "KeyError: 'late'",
            "the call did not return within 0.1 seconds",
        ]


@pytest.mark.long
def test_an_iterator_is_read_no_further_when_nobody_waits() -> None:
    """An infinite iterator would otherwise fill the memory."""
    read: list[int] = []

    def counted() -> Iterator[int]:
        for number in count():
            time.sleep(0.005)
            read.append(number)
            yield number

    async def later_counted() -> AsyncIterator[int]:
        for number in counted():
            yield number

    for function in (counted, later_counted):
        for run in RUNS:
            result = run(agent_of(sk.tool(function, name="f", timeout=0.05), script=[call("f")]))
            assert result.calls[0].error
            seen, deadline = -1, time.monotonic() + 20
            while len(read) != seen:
                assert time.monotonic() < deadline
                seen = len(read)
                time.sleep(0.05)


def test_an_exception_that_ends_loops_is_told_like_any_other() -> None:
    def fail() -> None:
        next(iter(()))

    for result in (
        agent_of(fail, script=[call("fail")], errors="report").run("x"),
        asyncio.run(agent_of(fail, script=[call("fail")], errors="report").arun("x")),
    ):
        assert result.calls[0].error == "StopIteration"
        assert result.value == "done"
