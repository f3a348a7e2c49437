"""Streams of agents of pydantic-ai with a model of structkit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from structkit.testing import RandomModel, ScriptedModel

pytest.importorskip("pydantic_ai", reason="pip install 'structkit-llm[pydantic-ai]'")

from pydantic_ai import (
    Agent,
    UsageLimits,
)
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models.instrumented import InstrumentationSettings

from structkit.integrations.pydantic_ai import StructkitModel
from tests.calls import call
from tests.integrations.pydantic_ai_agents import PORTO, City, Person, add, agent_of, deltas, run
from tests.shared import cases


class Order(BaseModel):
    customer: Person
    sizes: Annotated[list[Literal["S", "M", "L"]], Field(min_length=1, max_length=3)]
    code: Annotated[str, Field(pattern="^[A-Z]{3}-[0-9]{2}$")]


def test_parts_are_streamed() -> None:
    calls = f"[{call('add', a=1, b=2)}, {call('add', a=30, b=40)}]"
    agent, _ = agent_of([calls, "It is 70."], tools=[add])
    texts, response = asyncio.run(deltas(agent))
    assert texts == ["It is 70."]
    assert response.parts == [TextPart("It is 70.")]
    assert response.finish_reason == "stop"
    assert response.usage.output_tokens > 3
    agent, _ = agent_of([PORTO], City)
    texts, response = asyncio.run(deltas(agent))
    assert texts == [PORTO] == [part.args for part in response.tool_calls]
    agent, _ = agent_of([call("final_result_City", name="Porto", people=1)], [City, Person])
    texts, response = asyncio.run(deltas(agent))
    assert texts == ['{"name": "Porto", "people": 1}'] == [part.args for part in response.tool_calls]


def test_calls_are_streamed_with_their_arguments() -> None:
    calls = f"[{call('add', a=1, b=2)}, {call('add', a=30, b=40)}]"

    async def events() -> AsyncIterator[object]:
        agent, _ = agent_of([calls, "done"], tools=[add])
        async with agent.run_stream_events("Go.") as stream:
            async for event in stream:
                yield event

    async def collect() -> dict[int, str]:
        found: dict[int, str] = {}
        async for event in events():
            if isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart):
                found[event.index] = f"{event.part.args}"
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, ToolCallPartDelta):
                found[event.index] += f"{event.delta.args_delta}"
        return found

    assert asyncio.run(collect()) == {0: '{"a": 1, "b": 2}', 1: '{"a": 30, "b": 40}'}


def test_text_before_calls_is_a_part_of_the_response() -> None:
    """In a format that marks the start of calls."""
    script = [f"Let me see.\n<tool_call>\n{call('add', a=1, b=2)}\n</tool_call>", "It is 3."]
    model = ScriptedModel(script * 2)
    agent: Agent[None, str] = Agent(StructkitModel(model, format="hermes"), tools=[add])

    async def parts() -> list[object]:
        async with agent.run_stream_events("Go.") as events:
            return [
                event.part for event in [each async for each in events] if isinstance(event, PartEndEvent)
            ]

    result = run(agent)
    responses = [message for message in result.all_messages() if isinstance(message, ModelResponse)]
    found = [part for response in responses for part in response.parts]
    streamed = asyncio.run(parts())
    for each in (found, streamed):
        assert [part.content for part in each if isinstance(part, TextPart)] == ["Let me see.", "It is 3."]
        assert [part.args for part in each if isinstance(part, ToolCallPart)] == ['{"a": 1, "b": 2}']
    assert "assistant: Let me see.\n<tool_call>" in model.prompts[1]


def test_spans_are_inside_those_of_pydantic_ai(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="pip install opentelemetry-sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    agent, _ = agent_of([call("add", a=2, b=3), PORTO], City, tools=[add])
    agent.instrument = InstrumentationSettings(tracer_provider=provider)
    run(agent)
    spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
    ours = [span for span in spans.values() if span.instrumentation_scope.name == "structkit"]
    assert [span.name for span in ours] == ["chat scripted"] * 2
    assert [spans[span.parent.span_id].name for span in ours] == ["chat scripted"] * 2


def test_outputs_are_streamed_with_partial_validation() -> None:
    async def partials() -> tuple[list[object], Any]:
        agent, _ = agent_of(['{"response": [1, 22, 333]}'], list[int])
        async with agent.run_stream("Go.") as stream:
            return [each async for each in stream.stream_output(debounce_by=None)], stream.usage

    found, usage = asyncio.run(partials())
    assert found[-1] == [1, 22, 333]
    assert len(found) > 2
    assert usage.output_tokens > 3


def test_text_is_streamed() -> None:
    async def pieces() -> list[str]:
        agent, _ = agent_of(["One, two."])
        async with agent.run_stream("Go.") as stream:
            return [each async for each in stream.stream_text(delta=True, debounce_by=None)]

    found = asyncio.run(pieces())
    assert "".join(found) == "One, two."
    assert len(found) > 2


def test_a_stream_can_be_left() -> None:
    async def first() -> object:
        agent, _ = agent_of(["A long text that nobody reads to its end."])
        async with agent.run_stream("Go.") as stream:
            async for each in stream.stream_text(delta=True, debounce_by=None):
                await stream.cancel()
                return each
        return None

    assert asyncio.run(first())


@pytest.mark.long(every=2)
@pytest.mark.parametrize("seed", range(cases(4, of=20)))
def test_random_models_make_no_invalid_call(seed: int) -> None:
    """pydantic-ai never asks for a retry: each call and each output is valid."""

    def book(order: Order, days: Annotated[int, Field(ge=1, le=9)] = 1) -> str:
        return f"{order.code} {days}"

    def note(text: Annotated[str, Field(max_length=20)]) -> None:
        return None

    def scale(factor: float, times: int) -> str:
        return str(factor * times)

    model = StructkitModel(RandomModel(seed), temperature=1.0, seed=seed, max_tokens=400)
    output: Any = [City, Order, int] if seed % 2 else Order
    agent: Agent[None, Any] = Agent(model, output_type=output, tools=[book, note, scale], retries=0)
    try:
        result = run(agent, usage_limits=UsageLimits(request_limit=8))
    except UsageLimitExceeded:  # a random model may call tools forever
        return
    assert isinstance(result.output, (City, Order, int))
    with agent.override(tools=[]):
        texts, response = asyncio.run(deltas(agent))
    assert texts == [part.args for part in response.tool_calls]
