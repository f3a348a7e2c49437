"""What several tests of the execution of calls use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import structkit as sk
from structkit.testing import ScriptedModel


def agent_of(*tools: Any, script: list[str], strict: bool = True, **options: Any) -> sk.Agent[str]:
    return sk.Agent(ScriptedModel([*script, "done"] * 2, strict=strict), tools=list(tools), **options)


async def _streamed(agent: sk.Agent[str]) -> sk.AgentResult[str]:
    async with agent.astream("x") as stream:
        return await stream.result()


RUNS: list[Callable[[sk.Agent[str]], sk.AgentResult[str]]] = [
    lambda agent: agent.run("x"),
    lambda agent: asyncio.run(agent.arun("x")),
    lambda agent: agent.stream("x").result,
    lambda agent: asyncio.run(_streamed(agent)),
]


def endless() -> Iterator[int]:
    while True:
        time.sleep(0.01)
        yield 1
