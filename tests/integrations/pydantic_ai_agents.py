"""Agents of pydantic-ai with scripted models, for their tests."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from structkit.testing import ScriptedModel

pytest.importorskip("pydantic_ai", reason="pip install 'structkit-llm[pydantic-ai]'")

from pydantic_ai import (
    Agent,
    UsageLimits,
)
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from structkit.integrations.pydantic_ai import StructkitModel


class City(BaseModel):
    """A city."""

    name: str
    people: Annotated[int, Field(ge=0, le=50_000_000)]


class Person(BaseModel):
    name: str
    job: Literal["nurse", "baker"]


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


PORTO = '{"name": "Porto", "people": 231962}'
"""The JSON of a city."""


def agent_of(
    script: list[str], output_type: Any = str, *, strict: bool = True, **options: Any
) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = ScriptedModel(script, strict=strict)
    return Agent(StructkitModel(model), output_type=output_type, **options), model


def run(agent: Agent[Any, Any], prompt: Any = "Go.", **options: Any) -> Any:
    return asyncio.run(agent.run(prompt, **options))


async def deltas(agent: Agent[Any, Any]) -> tuple[list[str], ModelResponse]:
    """Return the last response, and the texts of its parts as put together from the events of the stream."""
    async with agent.iter("Go.", usage_limits=UsageLimits(request_limit=8)) as agent_run:
        async for node in agent_run:
            if not Agent.is_model_request_node(node):
                continue
            texts: list[str] = []
            async with node.stream(agent_run.ctx) as stream:
                async for event in stream:
                    match event:
                        case PartStartEvent(index=at, part=TextPart(content=text) | ToolCallPart(args=text)):
                            assert at == len(texts)
                            texts.append(f"{text}")
                        case PartDeltaEvent(index=at, delta=TextPartDelta(content_delta=text)):
                            texts[at] += text
                        case PartDeltaEvent(index=at, delta=ToolCallPartDelta(args_delta=text)):
                            texts[at] += f"{text}"
            response = stream.response
    return texts, response
