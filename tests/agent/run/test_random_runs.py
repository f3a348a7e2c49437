"""The random model runs any agent: all calls are well-formed, and every run returns a value within its limits."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

import structkit as sk
from structkit import messages
from structkit.testing import RandomModel
from tests.agent.run.noise import random_runs
from tests.shared import cases


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Item(BaseModel):
    name: Annotated[str, Field(max_length=5)]
    sizes: Annotated[list[Size], Field(max_length=2)]
    parts: Annotated[list[Item], Field(max_length=1)] = []


TYPES: list[Any] = [
    int,
    bool,
    float | None,
    Annotated[str, Field(max_length=8)],
    Annotated[int, Field(ge=0, le=9)],
    Literal["a", 1, None],
    date,
    Size,
    Item,
    Annotated[set[int], Field(max_length=3)],
    tuple[bool, Size],
    Annotated[dict[str, bool], Field(max_length=1)],
]

RESULTS: list[Any] = [
    int,
    Size,
    Item,
    Literal["end"],
    Annotated[str, Field(max_length=9)],
    sk.Choice(["yes", "no"]),
]


MADE: Counter[str] = Counter()
"""Number of executed calls of each tool."""


def some_tool(chance: random.Random, number: int) -> tuple[sk.Tool[..., Any], dict[str, Any]]:
    """Return a tool of random parameters, which checks its arguments and may fail, and its limits."""
    types = {f"p{n}": chance.choice(TYPES) for n in range(chance.randrange(4))}
    required = {name: chance.random() < 0.7 for name in types}
    fails = chance.random() < 0.2

    def function(**arguments: object) -> str:
        MADE[f"tool_{number}"] += 1
        assert arguments.keys() == types.keys()
        for name, value in arguments.items():
            if value is not None or required[name]:
                TypeAdapter(types[name]).validate_python(value, strict=True)
        if fails:
            raise sk.ToolError("not today")
        return "y" * chance.randrange(50)

    import inspect

    kinds = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=types[name],
            default=inspect.Parameter.empty if required[name] else None,
        )
        for name in types
    ]
    function.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
    function.__name__ = f"tool_{number}"
    limits = {"max_calls": chance.choice([None, 1, 2]), "tool_retries": chance.randrange(3)}
    return sk.tool(function, **limits), limits


def check(result: sk.AgentResult[Any], agent: dict[str, Any], limits: dict[str, dict[str, Any]]) -> None:
    """Check that a run respects all settings of its agent, and that no call is executed twice."""
    assert Counter(call.name for call in result.calls) == MADE
    assert 1 <= result.steps <= agent["max_steps"]
    assert result.usage.generated_tokens <= agent["max_tokens"]
    assert isinstance(result.messages[-1], messages.Answer)
    in_a_row = dict.fromkeys(limits, 0)
    for call in result.calls:
        assert call.name in limits
        in_a_row[call.name] = in_a_row[call.name] + 1 if call.error else 0
        assert in_a_row[call.name] <= limits[call.name]["tool_retries"] + agent["max_parallel_calls"]
        assert call.error in (None, "not today")  # otherwise the tool received invalid arguments
    for name, limit in limits.items():
        made = sum(call.name == name for call in result.calls)
        assert limit["max_calls"] is None or made <= limit["max_calls"]
    for message in result.messages:
        if isinstance(message, messages.Calls):
            assert 1 <= len(message.calls) <= agent["max_parallel_calls"]
            for part in message.calls:
                assert isinstance(json.loads(part.arguments), dict)
    assert messages.loads(messages.dumps(result.messages)) == result.messages


def some_agent(chance: random.Random) -> tuple[sk.Agent[Any], dict[str, Any]]:
    """Return an agent with random settings, and these settings."""
    told = {
        "max_steps": chance.randrange(2, 8),
        "max_parallel_calls": chance.choice([1, 2, 4]),
        "max_tokens": chance.randrange(300, 900),
    }
    made = [some_tool(chance, number)[0] for number in range(chance.randrange(1, 4))]
    tools: list[Any] = [replace(tool, requires_approval=chance.random() < 0.3) for tool in made]

    def pausing(context: sk.Context[None], number: Annotated[int, Field(ge=0, le=9)]) -> int:
        if number > 3 and not context.approved:
            raise sk.ApprovalRequired("a large number")
        return number

    async def waiting(flag: bool) -> str:
        await asyncio.sleep(0)
        if flag:
            raise sk.ToolError("not today")
        return "waited"

    inner = sk.Agent(
        RandomModel(chance.randrange(99), brevity=3.0),
        [some_tool(chance, 9)[0]],
        output_type=chance.choice(RESULTS),
        max_steps=3,
        on_limit="answer",
    )
    tools += [pausing, sk.tool(waiting, timeout=20), inner.as_tool("inner", "Anything.")]
    result = chance.choice(RESULTS)
    agent = sk.Agent(
        RandomModel(), tools, output_type=result, **told, retries=chance.choice([0, 2]), on_limit="answer"
    )
    return agent, told


@pytest.mark.long
def test_agents_of_everything_at_once() -> None:
    """Parallel and async calls, failures, approvals, suspensions and nested agents all occur."""
    met: Counter[str] = Counter()
    for group in range(16):
        agent, told = some_agent(random.Random(group))
        for seed in range(100 * group, 100 * group + 5):
            MADE.clear()
            (result,) = random_runs(agent, 1, seed)
            usage = result.usage
            assert usage.generated_tokens + usage.discarded_tokens <= told["max_tokens"]
            assert result.steps <= told["max_steps"]
            assert isinstance(result.messages[-1], messages.Answer)
            assert messages.loads(messages.dumps(result.messages)) == result.messages
            for message in result.messages:
                if isinstance(message, messages.Calls):
                    assert 1 <= len(message.calls) <= told["max_parallel_calls"]
                    met["max_parallel_calls"] += len(message.calls) > 1
            denied = ("not now", "the call was denied")
            made = Counter(each.name for each in result.calls if each.error not in denied)
            for name in {*made, *MADE} - {"inner", "pausing", "waiting", "tool_9"}:  # each call is made once
                assert made[name] == MADE[name], name
            for each in result.calls:
                met[each.name.split("_")[0]] += 1
                met[each.error or "fine"] += 1
            met[result.finish_reason] += 1
    wanted = [
        "max_parallel_calls",
        "inner",
        "waiting",
        "pausing",
        "tool",
        "fine",
        "not today",
        "not now",
        "stop",
        "steps",
    ]
    assert {name: met[name] for name in wanted if met[name] < 5} == {}, met
    assert met["the call was denied"]


@pytest.mark.long(every=2)
@pytest.mark.parametrize("block", range(cases(2, of=10)))
def test_runs_of_agents_with_random_tools(block: int) -> None:
    calls = 0
    for group in range(5):
        chance = random.Random(100 * block + group)
        made = [some_tool(chance, number) for number in range(chance.randrange(1, 5))]
        limits = {tool.name: limit for tool, limit in made}
        result = chance.choice(RESULTS)
        told = {
            "max_steps": chance.randrange(1, 9),
            "max_parallel_calls": chance.choice([1, 1, 3]),
            "max_tokens": chance.randrange(300, 600),
        }
        tools = [tool for tool, _ in made]
        agent = sk.Agent(RandomModel(), tools, output_type=result, on_limit="answer", **told)
        for seed in range(10):
            MADE.clear()
            (run,) = random_runs(agent, 1, 1000 * block + 10 * group + seed)
            check(run, told, limits)
            calls += len(run.calls)
    assert calls > 10, "the tools were hardly called"


def test_the_same_seed_is_the_same_run() -> None:
    def look(number: int) -> None: ...

    agent = sk.Agent(RandomModel(), tools=[look], output_type=bool, on_limit="answer")
    first, second = random_runs(agent, 5, seed=3), random_runs(agent, 5, seed=3)
    assert [each.messages for each in first] == [each.messages for each in second]
    assert any(each.calls for each in first)
