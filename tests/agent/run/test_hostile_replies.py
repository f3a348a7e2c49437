"""Agents of functions that reply in every wrong way: each run ends in a valid result or a typed error."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

import structkit as sk
from tests.generate.correct.test_hostile_replies import REPLIES
from tests.shared import cases

FORMATS: list[Any] = ["json", "hermes", "pythonic", "llama", "mistral"]
ANSWERS = [
    '{"name": "weather", "arguments": {"city": "Porto", "days": 2}}',
    '{"name": "find", "arguments": {"color": "red", "limit": 2}}',
    '[{"name": "weather", "arguments": {"city": "Porto"}}, {"name": "find", "arguments": {"color": "red"}}]',
    '{"text": "It is sunny.", "score": 3}',
    "It is sunny.",
]


class Report(BaseModel):
    text: str
    score: int


def weather(city: str, days: int = 1) -> str:
    """Return the weather."""
    return f"{days} days of sun in {city}"


async def find(color: Literal["red", "green"], limit: Annotated[int, Field(ge=1, le=5)] = 1) -> list[str]:
    """Find things of a color."""
    return [color] * limit


def run(seed: int) -> str:
    """Run an agent with a hostile function; return how it ended."""
    rng = random.Random(seed)
    names, raises = rng.sample([*REPLIES], rng.randrange(1, 5)), rng.random() < 0.1
    calls = 0

    def reply(given: Any) -> str:
        nonlocal calls
        calls += 1
        if raises and rng.random() < 0.3:
            raise OSError("the line is down")
        text = given if isinstance(given, str) else " ".join(each["content"] for each in given[-2:])
        return REPLIES[rng.choice(names)](rng, rng.choice(ANSWERS), text)

    async def pieces(given: Any) -> AsyncIterator[str]:
        text = reply(given)
        for start in range(0, len(text), 5):
            yield text[start : start + 5]

    output: Any = rng.choice([Report, str, int, list[int]])
    agent: Any = sk.Agent(
        sk.from_function(
            rng.choice([reply, pieces]), chat=rng.random() < 0.6, continues=rng.random() < 0.5, max_calls=12
        ),
        tools=[weather, find],
        output_type=output,
        format=rng.choice(FORMATS),
        max_steps=(steps := rng.choice([1, 3, 6])),
        max_parallel_calls=rng.choice([1, 3]),
    )
    try:
        result = rng.choice([agent.run, lambda prompt: asyncio.run(agent.arun(prompt)), _streamed(agent)])(
            "Go."
        )
    except (sk.CorrectionsExhausted, sk.UsageLimitExceeded, sk.OutputValidationError) as error:
        return type(error).__name__
    except sk.ModelError as error:
        assert raises
        return type(error).__name__
    finally:
        assert calls <= 12 * steps, names
    assert result.usage.calls == calls
    TypeAdapter(output).validate_python(result.value)
    for call in result.calls:
        if call.error is None and call.name == "weather":
            assert call.tool_result == weather(**call.arguments)
    return "value"


def _streamed(agent: Any) -> Any:
    def stream(prompt: str) -> Any:
        *_, end = agent.stream(prompt)
        return end.result

    return stream


@pytest.mark.long
def test_every_run_ends_in_a_valid_result_or_a_typed_error() -> None:
    ends = Counter(run(seed) for seed in range(cases(60, of=400)))
    assert {"value", "CorrectionsExhausted"} <= {*ends}
