"""Random agents whose outputs contain functions: each call is well-formed and executed once, and only by a run.

`STRUCTKIT_RANDOM_RUNS=1000 pytest tests/agent/run/test_random_calls.py` makes more runs than the default.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Union

import pytest
from pydantic import BaseModel, Field, TypeAdapter, create_model

import structkit as sk
from structkit.testing import RandomModel
from tests.agent.run.noise import Way, random_runs
from tests.agent.run.test_random_runs import TYPES
from tests.shared import cases

RUNS = int(os.environ.get("STRUCTKIT_RANDOM_RUNS", cases(60, of=200)))

RUNS_OF_AN_AGENT = 10

WAYS: list[Way] = ["run", "arun", "stream"]

Function = Callable[..., Any]


class Plain(BaseModel):
    done: bool


@dataclass
class Functions:
    """Functions of random parameters that check their arguments and count their executions."""

    chance: random.Random
    executed: Counter[str] = field(default_factory=Counter)

    def make(self, name: str) -> Function:
        types = {f"{name}_{n}": self.chance.choice(TYPES) for n in range(self.chance.randrange(1, 4))}
        required = {key: self.chance.random() < 0.7 for key in types}

        def function(**arguments: object) -> str:
            self.executed[name] += 1
            check_arguments(arguments, types, required)
            return name

        async def coroutine(**arguments: object) -> str:
            await asyncio.sleep(0)
            return function(**arguments)

        made: Any = coroutine if self.chance.random() < 0.3 else function
        made.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    key,
                    inspect.Parameter.KEYWORD_ONLY,
                    annotation=types[key],
                    default=inspect.Parameter.empty if required[key] else None,
                )
                for key in types
            ]
        )
        made.__name__, made.__annotations__ = name, types
        made.checks = types, required
        return made  # type: ignore[no-any-return]

    def output_type(self) -> Any:
        """Return an output type with functions at random places."""
        first, second = self.make("first"), self.make("second")
        few = Field(max_length=2)
        return self.chance.choice(
            [
                first,
                Union[first, Plain],
                Union[Plain, first, second],
                Annotated[list[first], few],  # type: ignore[valid-type]
                Annotated[list[Union[first, Plain]], few],  # type: ignore[valid-type]
                tuple[first, second],  # type: ignore[valid-type]
                Annotated[dict[str, first], few],  # type: ignore[valid-type]
                create_model("Made", act=(first, ...), other=(Union[second, None], None)),
                Union[create_model("Inner", act=(first, ...)), second],  # type: ignore[valid-type]
            ]
        )


def check_arguments(arguments: Any, types: dict[str, Any], required: dict[str, bool]) -> None:
    """Check that arguments are values of the types, without conversion."""
    assert arguments.keys() == types.keys()
    for key, value in arguments.items():
        if value is not None or required[key]:
            TypeAdapter(types[key]).validate_python(value, strict=True)


def calls_in(value: object) -> list[sk.Call[object]]:
    """Return the calls in a value."""
    if isinstance(value, sk.Call):
        return [value]
    parts = vars(value) if isinstance(value, BaseModel) else value
    parts = list(parts.values()) if isinstance(parts, dict) else parts
    return [call for part in parts for call in calls_in(part)] if isinstance(parts, (list, tuple)) else []


def check_calls(value: object) -> None:
    """Check the arguments of all calls in a value."""
    for call in calls_in(value):
        checks: Any = call.function
        check_arguments(call.arguments, *checks.checks)


@pytest.mark.long
def test_every_call_is_well_formed_and_executed_once() -> None:
    met: Counter[str] = Counter()
    for number in range(-(-RUNS // RUNS_OF_AN_AGENT)):
        met += some_runs(number)
    assert min(met[kind] for kind in ("tool", "output function", "calls in a value", "limit")) >= RUNS / 50, (
        met
    )


def some_runs(number: int) -> Counter[str]:
    """Check the runs of a random agent; return what occurred."""
    chance = random.Random(number)
    functions = Functions(chance)
    output_type = functions.output_type()
    for value in sk.sample(output_type, n=3, seed=number):
        check_calls(value)
    assert sk.check(output_type, n=5).ok
    assert sk.explain(output_type).cost
    for event in sk.stream(RandomModel(number, brevity=4), "x", output_type, max_tokens=400):
        repr(event)
    check_calls(sk.extract(RandomModel(number, brevity=4), "x", output_type, max_tokens=400))
    assert not functions.executed

    met: Counter[str] = Counter()
    tools = [functions.make(name) for name in ("tool_1", "tool_2")[: chance.randrange(1, 3)]]
    agent: sk.Agent[Any] = sk.Agent(
        RandomModel(),
        tools,
        output_type=output_type,
        max_steps=4,
        max_parallel_calls=2,
        max_tokens=900,
        on_limit=chance.choice(["raise", "answer"]),
    )
    for run in range(RUNS_OF_AN_AGENT):
        functions.executed.clear()
        try:
            (result,) = random_runs(agent, 1, 100 * number + run, chance.choice(WAYS))
        except sk.UsageLimitExceeded as error:
            calls, value = error.calls, None
            met["limit"] += 1
        else:
            calls, value = result.calls, result.value
        assert {call.error for call in calls} <= {None, "the call was not executed"}
        made = Counter(call.name for call in calls if call.error is None)
        met["tool"] += made.total()
        if isinstance(value, str):  # what an output function returned
            made[value] += 1
            met["output function"] += 1
        assert functions.executed == made
        check_calls(value)
        met["calls in a value"] += len(calls_in(value))
    return met
