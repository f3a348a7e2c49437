"""Streams of agent runs."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel
from tests.agent.answers import ANSWER, Answer, is_even
from tests.calls import call


def weather(city: str) -> int:
    if city == "nowhere":
        raise sk.ToolError("there is no such city")
    return 18


REPLIES = [call("weather", city="nowhere"), call("weather", city="Évora"), ANSWER]


def story(events: list[sk.AgentEvent[Answer]]) -> list[object]:
    """Merge consecutive deltas of arguments."""
    told: list[object] = []
    for event in events:
        if isinstance(event, sk.ToolCallDelta):
            if isinstance(told[-1], str):
                told[-1] += event.text
            else:
                told.append(event.text)
        elif isinstance(event, sk.ToolResult):
            told.append((event.call.tool_result, event.call.error))
        elif not isinstance(event, sk.PartialOutput):
            told.append(event if isinstance(event, sk.ToolCallStart) else type(event).__name__)
    return told


WANTED = [
    sk.ToolCallStart("call_1", "weather"),
    '{"city": "nowhere"}',
    (None, "there is no such city"),
    sk.ToolCallStart("call_2", "weather"),
    '{"city": "Évora"}',
    (18, None),
    "RunEnd",
]


def test_a_run_is_streamed() -> None:
    agent = sk.Agent(ScriptedModel(REPLIES), tools=[weather], output_type=Answer)
    with agent.stream("Warm?") as stream:
        events = list(stream)
        assert story(events) == WANTED
        assert stream.result.value == Answer(city="Porto", celsius=18)
    partials = [event.partial for event in events if isinstance(event, sk.PartialOutput)]
    assert all(isinstance(partial, Answer) for partial in partials)
    assert not hasattr(partials[0], "celsius")
    assert partials[-1] == stream.result.value
    # Only what has changed is an event: pydantic compares which fields are set, too.
    assert all(one != other for one, other in pairwise(partials))
    assert events.index(partials and next(e for e in events if isinstance(e, sk.ToolCallStart))) == 0


def test_async_streams_are_equal() -> None:
    async def main() -> list[sk.AgentEvent[Answer]]:
        agent = sk.Agent(ScriptedModel(REPLIES), tools=[weather], output_type=Answer)
        async with agent.astream("Warm?") as stream:
            events = [event async for event in stream]
            assert (await stream.result()).value.celsius == 18
        return events

    assert story(asyncio.run(main())) == WANTED


def test_several_calls_and_texts_that_are_not_json() -> None:
    both = f"[{call('weather', city='A')}, {call('weather', city='B')}]"
    agent = sk.Agent(
        ScriptedModel([both, "yes"]),
        tools=[weather],
        output_type=sk.Choice(["yes", "no"]),
        max_parallel_calls=2,
    )
    events = list(agent.stream("x"))
    assert [event.id for event in events if isinstance(event, sk.ToolCallStart)] == ["call_1", "call_2"]
    assert [event.call.tool_result for event in events if isinstance(event, sk.ToolResult)] == [18, 18]
    last = events[-1]
    assert isinstance(last, sk.RunEnd)
    assert last.result.value == "yes"


def test_rejected_steps_are_retracted() -> None:
    hot = '{"city": "Porto", "celsius": 99}'
    events = list(sk.Agent(ScriptedModel([hot, ANSWER]), tools=[weather], output_type=Answer).stream("x"))
    assert [type(event).__name__ for event in events if not isinstance(event, sk.PartialOutput)] == [
        "StepRetracted",
        "RunEnd",
    ]


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (Answer, ANSWER),
        (str, "It is warm."),
        (Answer, '{"name": "weather", "arguments": {"city": "Porto"}}'),
    ],
)
def test_thoughts_are_streamed_once_before_their_step(output: Any, answer: str) -> None:
    model = ScriptedModel([f"It is sunny.</think>{answer}", f"Now.</think>{ANSWER}"])
    agent = sk.Agent(model, tools=[weather], output_type=output, thinking=20)
    events = list(agent.stream("x"))
    assert events[0] == sk.ThinkingEvent("It is sunny.")
    thoughts = [event.text for event in events if isinstance(event, sk.ThinkingEvent)]
    assert thoughts == ["It is sunny.", "Now."][: events[-1].result.steps]  # type: ignore[union-attr]


def test_a_failed_stream_raises_its_error_again() -> None:
    stream = sk.Agent(ScriptedModel([]), tools=[weather], output_type=Answer).stream("x")
    for _ in range(2):
        with pytest.raises(sk.ModelError, match="0 replies"):
            _ = stream.result
    closed = sk.Agent(ScriptedModel(REPLIES), tools=[weather], output_type=Answer).stream("x")
    next(closed)
    closed.close()
    with pytest.raises(sk.GenerationError, match="closed before its end"):
        _ = closed.result


def test_a_stream_suspends_as_a_run_does() -> None:
    asks = sk.tool(weather, requires_approval=True)
    stream = sk.Agent(ScriptedModel(REPLIES), tools=[asks], output_type=Answer).stream("x")
    with pytest.raises(sk.RunSuspended):
        list(stream)


@pytest.mark.parametrize("seed", range(6))
def test_a_stream_gives_the_result_of_a_run(seed: int) -> None:
    agent = sk.Agent(RandomModel(), tools=[weather], output_type=int, max_tokens=150, max_parallel_calls=2)
    run = agent.with_model(RandomModel(seed, brevity=2)).run("x")
    stream = agent.with_model(RandomModel(seed, brevity=2)).stream("x")
    told = "".join(event.text for event in stream if isinstance(event, sk.ToolCallDelta))
    assert stream.result.messages == run.messages
    written = [part.arguments for message in run.messages for part in getattr(message, "calls", ())]
    assert told == "".join(written)


def test_a_cancelled_stream_frees_the_model() -> None:
    started, release = threading.Event(), threading.Event()

    def slow(prompt: str) -> str:
        started.set()
        release.wait(60)
        return "late"

    async def main() -> None:
        stream = sk.Agent(ScriptedModel([slow]), tools=[weather]).astream("x")

        async def read() -> None:
            async for _ in stream:
                pass

        task = asyncio.create_task(read())
        while not started.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        asyncio.get_running_loop().call_later(0.05, release.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        await stream.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("retries", [0, 1])
def test_a_call_with_finally_rejected_arguments_is_finished(retries: int) -> None:
    def half(number: Annotated[int, AfterValidator(is_even)]) -> int:
        return number // 2

    odd = [call("half", number=n) for n in (1, 3, 5)][: 2 * retries + 1]
    model = ScriptedModel([*odd, "end"])
    agent = sk.Agent(model, tools=[half], retries=retries)
    stream = agent.stream("x")
    done = [event.call for event in stream if isinstance(event, sk.ToolResult)]
    assert tuple(done) == stream.result.calls
    assert "invalid arguments" in (done[0].error or "")


def test_calls_before_a_suspension_are_streamed() -> None:
    both = f"[{call('weather', city='A')}, {call('pay')}]"

    def pay() -> None: ...

    tools = [weather, sk.tool(pay, requires_approval=True)]

    def agent() -> sk.Agent[str]:
        return sk.Agent(ScriptedModel([both]), tools, max_parallel_calls=2)

    events: list[sk.AgentEvent[str]] = []
    with pytest.raises(sk.RunSuspended) as caught, agent().stream("x") as stream:
        events.extend(stream)

    async def main() -> None:
        async for event in agent().astream("x"):
            events.append(event)

    with pytest.raises(sk.RunSuspended):
        asyncio.run(main())
    assert [event.call.tool_result for event in events if isinstance(event, sk.ToolResult)] == [18, 18]
    assert [each.id for each in caught.value.state.tool_results] == ["call_1"]


def test_an_abandoned_stream_frees_the_model() -> None:
    model = RandomModel(3, brevity=2)
    agent = sk.Agent(model, tools=[weather], output_type=int, max_tokens=200)
    for events in range(1, 8):
        with agent.stream("Warm?") as stream:
            for _, event in zip(range(events), stream, strict=False):
                assert event
        others = [threading.Thread(target=agent.run, args=("Warm?",), daemon=True) for _ in range(2)]
        for other in others:
            other.start()
        for other in others:
            other.join(60)
            assert not other.is_alive()


def test_a_cancelled_async_run_frees_the_model() -> None:
    agent = sk.Agent(RandomModel(3, brevity=0), tools=[weather], output_type=int, max_tokens=4_000)

    async def main(seconds: float) -> object:
        task = asyncio.create_task(agent.arun("Warm?"))
        await asyncio.sleep(seconds)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return await asyncio.wait_for(agent.with_model(agent._config.model).arun("Warm?"), 60)

    for seconds in (0.0, 0.01, 0.1):
        assert isinstance(asyncio.run(main(seconds)), sk.AgentResult)


def echo(a: str) -> str:
    return a


@pytest.mark.parametrize("allow_text", [True, False])
def test_no_event_adds_an_empty_text(allow_text: bool) -> None:
    said = "I look." + "\n\n" if allow_text else ""
    model = ScriptedModel([said + call("echo", a="é"), call("echo", a=""), "[1, 22]"])
    agent = sk.Agent(model, tools=[echo], output_type=list[int], allow_text=allow_text)
    events = [*agent.stream("x")]
    added = [event.text for event in events if hasattr(event, "text")]
    assert len(added) > 9 and all(added)
    assert any(isinstance(event, sk.PreambleDelta) for event in events) == allow_text
