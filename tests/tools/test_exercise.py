"""The random model runs any agent: no call is malformed, every run ends in a value, within all its limits."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import BaseModel, Field, TypeAdapter

import structkit as sk
from structkit import messages
from structkit.testing import RandomModel, byte_vocabulary, exercise
from structkit.tools.native import FormatName


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


def some_tool(chance: random.Random, number: int) -> tuple[sk.Tool[..., Any], dict[str, Any]]:
    """A tool of random parameters, which checks what it is given, and may fail."""
    types = {f"p{n}": chance.choice(TYPES) for n in range(chance.randrange(4))}
    required = {name: chance.random() < 0.7 for name in types}
    fails = chance.random() < 0.2

    def function(**arguments: object) -> str:
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
    limits = {"max_calls": chance.choice([None, 1, 2]), "retries": chance.randrange(3)}
    return sk.tool(function, **limits), limits


def check(result: sk.AgentResult[Any], agent: dict[str, Any], limits: dict[str, dict[str, Any]]) -> None:
    """A run kept to everything that was said."""
    assert 1 <= result.steps <= agent["max_steps"]
    assert result.usage.generated_tokens <= agent["max_tokens"]
    assert isinstance(result.messages[-1], messages.Answer)
    in_a_row = dict.fromkeys(limits, 0)
    for call in result.calls:
        assert call.name in limits
        in_a_row[call.name] = in_a_row[call.name] + 1 if call.error else 0
        assert in_a_row[call.name] <= limits[call.name]["retries"] + agent["parallel"]
        assert call.error in (None, "not today")  # else the tool was given something wrong
    for name, limit in limits.items():
        made = sum(call.name == name for call in result.calls)
        assert limit["max_calls"] is None or made <= limit["max_calls"]
    for message in result.messages:
        if isinstance(message, messages.Calls):
            assert 1 <= len(message.calls) <= agent["parallel"]
            for part in message.calls:
                assert isinstance(json.loads(part.arguments), dict)
    assert messages.loads(messages.dumps(result.messages)) == result.messages


def some_agent(chance: random.Random, vocabulary: Any) -> tuple[sk.Agent[Any], dict[str, Any]]:
    """An agent of everything at once, and what it may not do."""
    told = {
        "max_steps": chance.randrange(2, 8),
        "parallel": chance.choice([1, 2, 4]),
        "max_tokens": chance.randrange(300, 900),
    }
    made = [some_tool(chance, number)[0] for number in range(chance.randrange(1, 4))]
    tools: list[Any] = [replace(tool, requires_approval=chance.random() < 0.3) for tool in made]

    def pausing(context: sk.Context[None], number: Annotated[int, Field(ge=0, le=9)]) -> int:
        if number > 3 and not context.approved:
            raise sk.Pause("a large number")
        return number

    async def waiting(flag: bool) -> str:
        await asyncio.sleep(0)
        if flag:
            raise sk.ToolError("not today")
        return "waited"

    inner = sk.Agent(
        RandomModel(chance.randrange(99), vocabulary, brevity=3.0),
        [some_tool(chance, 9)[0]],
        result=chance.choice(RESULTS),
        max_steps=3,
    )
    tools += [pausing, sk.tool(waiting, timeout=20), inner.as_tool("inner", "Anything.")]
    result = chance.choice(RESULTS)
    agent = sk.Agent(RandomModel(0, vocabulary), tools, result=result, **told, retries=chance.choice([0, 2]))
    return agent, told


def test_agents_of_everything_at_once() -> None:
    """Parallel and async calls, failures, approval, pauses, and agents as tools, each of them really met."""
    vocabulary = byte_vocabulary()
    met: Counter[str] = Counter()
    for group in range(16):
        agent, told = some_agent(random.Random(group), vocabulary)
        for result in exercise(agent, 5, seed=100 * group):
            usage = result.usage
            assert usage.generated_tokens + usage.discarded_tokens <= told["max_tokens"]
            assert result.steps <= told["max_steps"]
            assert isinstance(result.messages[-1], messages.Answer)
            assert messages.loads(messages.dumps(result.messages)) == result.messages
            for message in result.messages:
                if isinstance(message, messages.Calls):
                    assert 1 <= len(message.calls) <= told["parallel"]
                    met["parallel"] += len(message.calls) > 1
            for each in result.calls:
                met[each.name.split("_")[0]] += 1
                met[each.error or "fine"] += 1
            met[result.finish_reason] += 1
    wanted = [
        "parallel",
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
    assert met["nobody approved of this call"]


@pytest.mark.parametrize("block", range(10))
def test_500_runs_of_agents_with_random_tools(block: int) -> None:
    vocabulary = byte_vocabulary()
    calls = 0
    for group in range(5):
        chance = random.Random(100 * block + group)
        made = [some_tool(chance, number) for number in range(chance.randrange(1, 5))]
        limits = {tool.name: limit for tool, limit in made}
        result = chance.choice(RESULTS)
        told = {
            "max_steps": chance.randrange(1, 9),
            "parallel": chance.choice([1, 1, 3]),
            "max_tokens": chance.randrange(300, 600),
        }
        agent = sk.Agent(RandomModel(0, vocabulary), [tool for tool, _ in made], result=result, **told)
        for seed in range(5):  # noise alone
            model = RandomModel(seed, vocabulary, brevity=chance.choice([0.0, 3.0]))
            check(agent.with_model(model).run("x"), told, limits)
        results = exercise(agent, 5, seed=1000 * block + 10 * group)  # calls as often as results
        for run in results:
            check(run, told, limits)
            calls += len(run.calls)
    assert calls > 10, "the tools were hardly called"


@pytest.mark.parametrize("name", get_args(FormatName))
def test_what_is_said_before_calls_and_results_is_tried(name: FormatName) -> None:
    def add(a: Annotated[int, Field(ge=0, le=99)], b: Annotated[int, Field(ge=0, le=99)]) -> int:
        return a + b

    agent = sk.Agent(RandomModel(), [add], result=bool, text=True, format=name, parallel=2, max_tokens=500)
    met: Counter[tuple[str, bool]] = Counter()
    for result in exercise(agent, 10):
        assert {call.error for call in result.calls} <= {None}
        assert messages.loads(messages.dumps(result.messages)) == result.messages
        for message in result.messages:
            if isinstance(message, (messages.Calls, messages.Answer)):
                met[message.kind, bool(message.text)] += 1
    wanted = [("calls", True), ("calls", False), ("answer", True)]
    assert all(met[each] for each in wanted), met


def half(number: Annotated[int, Field(ge=0, le=3)]) -> float:
    return 1 / number


def test_exercise_finds_what_a_tool_did_not_think_of() -> None:
    agent = sk.Agent(RandomModel(), tools=[half], max_tokens=200)
    with pytest.raises(
        sk.AgentError, match=r"half\(number=0\) raised ZeroDivisionError.* at `seed=\d+`"
    ) as caught:
        exercise(agent)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_exercise_approves_and_denies() -> None:
    def pay(euros: Annotated[int, Field(ge=0, le=9)]) -> str:
        if euros > 5:
            raise sk.Pause("much")
        return "paid"

    agent = sk.Agent(RandomModel(), tools=[sk.tool(pay, requires_approval=True)], result=bool, max_steps=3)
    results = exercise(agent, 30)
    errors = {call.error for result in results for call in result.calls}
    assert errors >= {None, "not now", "nobody approved of this call"}


def _runs(run: Callable[[], sk.AgentResult[Any]]) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in run().calls]


def test_the_same_seed_is_the_same_run() -> None:
    def look(number: int) -> None: ...

    agent = sk.Agent(RandomModel(), tools=[look], result=bool)
    first, second = exercise(agent, 5, seed=3), exercise(agent, 5, seed=3)
    assert [each.messages for each in first] == [each.messages for each in second]
    assert _runs(lambda: first[0]) == _runs(lambda: second[0])


def test_what_cannot_be_exercised() -> None:
    with pytest.raises(TypeError, match="exercise takes an agent"):
        exercise(max)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n must be at least 1"):
        exercise(sk.Agent(RandomModel()), n=0)
