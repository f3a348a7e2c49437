"""Single steps: what a run would generate, without its loop."""

from __future__ import annotations

import asyncio

import pytest

import structkit as sk
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.testing import RandomModel, ScriptedModel
from tests.calls import call
from tests.shared import cases


def add(a: int, b: int = 1) -> int:
    return a + b


def untouchable(text: str) -> str:
    raise AssertionError("a step executes nothing")


ASK = (User(content="What is 2 + 3?"),)


def test_a_step_has_typed_calls_and_executes_none() -> None:
    model = ScriptedModel([call("untouchable", text="x")])
    step = sk.Agent(model, tools=[untouchable], output_type=int).step(ASK)
    assert step.message == Calls(
        calls=(CallPart(id="call_1", name="untouchable", arguments='{"text": "x"}'),)
    )
    assert [(each.name, each.arguments) for each in step.calls] == [("untouchable", {"text": "x"})]
    assert (step.value, step.finish_reason) == (None, "calls")
    assert step.usage.generated_tokens > 0


def test_a_step_can_be_the_result() -> None:
    step = sk.Agent(ScriptedModel(["7"]), tools=[add], output_type=int).step(ASK)
    assert (step.message, step.calls, step.value, step.finish_reason) == (Answer(content="7"), (), 7, "stop")


@pytest.mark.parametrize("seed", range(cases(8, of=30)))
def test_a_loop_of_steps_is_a_run(seed: int) -> None:
    """A random model generates the same messages in the loop of the agent and in a loop of the caller."""
    counted: list[int] = []

    def count(step: int) -> int:
        counted.append(step)
        return step

    agent = sk.Agent(
        RandomModel(seed),
        [sk.tool(count, max_calls=2), add],
        output_type=bool,
        max_steps=5,
        max_parallel_calls=3,
        temperature=1.0,
        seed=seed,
        on_limit="answer",
    )
    result = agent.run("x")
    by_run, counted = counted, []
    agent = agent.with_model(RandomModel(seed))
    outputs = {each.id: each for each in result.messages if isinstance(each, Output)}
    messages: list[Message] = [User(content="x")]
    while (step := agent.step(messages)).calls:
        assert isinstance(step.message, Calls)
        messages.append(step.message)
        for part, each in zip(step.message.calls, step.calls, strict=True):
            assert str(each.call()) == outputs[part.id].content
            messages.append(outputs[part.id])  # with the notes that the loop of the agent adds
    assert (*messages, step.message) == result.messages
    assert (step.value, step.finish_reason, counted) == (result.value, result.finish_reason, by_run)


def test_limits_count_the_messages_since_the_user_spoke() -> None:
    agent = sk.Agent(
        ScriptedModel(["1", "2"]),
        tools=[sk.tool(add, max_calls=1)],
        output_type=int,
        max_steps=2,
        on_limit="answer",
    )
    made = CallPart(id="call_1", name="add", arguments='{"a": 1}')
    used = (*ASK, Calls(calls=(made,)), Output(id="call_1", name="add", content="2"))
    assert agent.step(used).finish_reason == "steps"
    again = (*used, Answer(content="2"), User(content="And 1 + 1?"))
    assert agent.step(again).finish_reason == "stop"


def test_a_step_that_exceeds_a_limit_raises() -> None:
    agent = sk.Agent(ScriptedModel([call("add", a=1)] * 3), tools=[add], output_type=int)
    made = CallPart(id="call_1", name="add", arguments='{"a": 1}')
    used = (*ASK, Calls(calls=(made,)), Output(id="call_1", name="add", content="2"))
    for limits in (sk.UsageLimits(max_steps=2), sk.UsageLimits(max_tool_calls=1)):
        with pytest.raises(sk.UsageLimitExceeded) as caught:
            agent.step(used, usage_limits=limits)
        assert [each.tool_result for each in caught.value.calls] == ["2", None]
    assert agent.step(used, usage_limits=sk.UsageLimits(max_steps=3, max_tool_calls=2)).calls


def test_ids_continue_those_of_the_messages() -> None:
    agent = sk.Agent(ScriptedModel([call("add", a=1)]), tools=[add], output_type=int)
    made = CallPart(id="call_7", name="add", arguments='{"a": 1}')
    step = agent.step((*ASK, Calls(calls=(made,)), Output(id="call_7", name="add", content="2")))
    assert isinstance(step.message, Calls)
    assert [part.id for part in step.message.calls] == ["call_8"]


def test_async_and_streamed_steps_are_equal() -> None:
    def agent() -> sk.Agent[int]:
        return sk.Agent(ScriptedModel([call("add", a=2, b=3)]), tools=[add], output_type=int)

    async def streamed() -> tuple[list[object], sk.AgentStep[int]]:
        stream = agent().astream_step(ASK)
        events: list[object] = [event async for event in stream]
        step = await stream.result()
        assert stream.tokens() == step.trace.tokens
        assert stream.prompt_tokens == step.usage.prompt_tokens > 0
        return events, step

    expected = agent().step(ASK)
    later = asyncio.run(agent().astep(ASK))
    events, last = asyncio.run(streamed())
    with agent().stream_step(ASK) as stream:
        shown = list(stream)
        assert stream.tokens(2) == stream.result.trace.tokens[2:]
        assert stream.prompt_tokens == stream.result.usage.prompt_tokens
    assert expected.message == later.message == last.message == stream.result.message
    assert expected.calls == later.calls == last.calls == stream.result.calls
    assert [type(each) for each in shown] == [type(each) for each in events]
    assert isinstance(shown[0], sk.ToolCallStart)
    assert isinstance(shown[-1], sk.StepEnd)
    assert "".join(each.text for each in shown if isinstance(each, sk.ToolCallDelta)) == '{"a": 2, "b": 3}'


def test_a_step_follows_the_user_or_an_output() -> None:
    agent = sk.Agent(RandomModel(), tools=[add], output_type=int)
    open_call = Calls(calls=(CallPart(id="call_1", name="add", arguments="{}"),))
    for messages, said in [
        ((), "there are no messages"),
        ((*ASK, Answer(content="5")), "the last message is a result"),
        ((*ASK, open_call), "the call call_1 in the messages has no output"),
    ]:
        with pytest.raises(sk.AgentError, match=said):
            agent.step(messages)
    with pytest.raises(TypeError, match="messages"):
        agent.step("What is 2 + 3?")  # type: ignore[arg-type]
