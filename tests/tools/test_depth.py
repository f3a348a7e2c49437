"""Runs inside of runs: some are what agents are for, without an end they are an error."""

from __future__ import annotations

import asyncio
import sys

import pytest

import structkit as sk
from structkit.testing import ScriptedModel

CALL = '{"name": "again", "arguments": {}}'


def _agent(again: object) -> sk.Agent[str]:
    return sk.Agent(ScriptedModel([CALL] * 50), tools=[again], result=str)  # type: ignore[list-item]


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_a_tool_that_runs_its_own_agent_without_an_end(timeout: float | None) -> None:
    def again() -> str:
        runs.append(len(runs))
        return agent.run("again").value

    runs: list[int] = []
    agent = _agent(sk.tool(again, timeout=timeout) if timeout else again)
    with pytest.raises(sk.AgentError, match="run inside of each other 8 deep"):
        agent.run("Go.")
    assert len(runs) == 8


def test_an_async_tool_that_does() -> None:
    async def again() -> str:
        runs.append(len(runs))
        return (await agent.arun("again")).value

    runs: list[int] = []
    agent = _agent(again)
    with pytest.raises(sk.AgentError, match="run inside of each other 8 deep"):
        asyncio.run(agent.arun("Go."))
    with pytest.raises(sk.AgentError, match="run inside of each other 8 deep"):
        agent.run("Go.")
    assert len(runs) == 16


def test_the_deepest_that_is_allowed_has_frames_left() -> None:
    """What is not refused must work: Python refuses 1,000 calls inside of each other."""
    left: list[int] = []

    def again(level: int) -> str:
        depth, frame = 0, sys._getframe()
        while frame is not None:
            depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
        left.append(sys.getrecursionlimit() - depth)
        return agents[level - 1].run("again").value if level else "deep"

    agents = [
        sk.Agent(
            ScriptedModel([CALL.replace("{}", f'{{"level": {level}}}'), '"up"']), tools=[again], result=str
        )
        for level in range(7)
    ]
    assert agents[6].run("Go.").value == "up"
    assert len(left) == 7 and left[-1] > 150


def test_many_runs_one_after_the_other_are_not_deep() -> None:
    def again() -> str:
        return "done"

    for _ in range(20):
        agent = sk.Agent(ScriptedModel([CALL, '"end"']), tools=[again], result=str)
        assert agent.run("Go.").value == "end"
