"""Agents of models that return text: functions and servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel

import structkit as sk
from structkit.agent.tools.approval import Approve
from structkit.errors import CorrectionsExhausted, OutputValidationError
from structkit.messages import Answer as AnswerMessage
from structkit.messages import Output, User
from structkit.models.protocols import Message
from structkit.models.text.function import FunctionModel
from tests.models.servers.fake import serve

CALL = '{"name": "weather", "arguments": {"city": "Porto"}}'
ANSWER = '{"text": "It is sunny."}'


class Report(BaseModel):
    text: str


def weather(city: str) -> str:
    """Return the weather in a city."""
    return f"sunny in {city}"


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("the number is odd")
    return number


def half(number: Annotated[int, AfterValidator(_even)]) -> int:
    """Return half of an even number."""
    return number // 2


class Replies:
    """A function that gives its replies one after the other, and keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self._replies = iter(replies)
        self.asked: list[Any] = []

    def __call__(self, asked: Any) -> str:
        self.asked.append(asked)
        return next(self._replies)

    def model(self, *, chat: bool = True) -> FunctionModel:
        return sk.from_function(self, chat=chat)


def test_calls_and_their_outputs() -> None:
    replies = Replies(f"Sure!\n```json\n{CALL}\n```", ANSWER)
    result = sk.Agent(replies.model(), tools=[weather], output_type=Report).run("How is it in Porto?")
    assert result.value == Report(text="It is sunny.")
    assert [(call.name, call.tool_result) for call in result.calls] == [("weather", "sunny in Porto")]
    first, second = replies.asked
    assert "weather" in first[0]["content"]
    assert second[-2] == {"role": "user", "content": "weather returned: sunny in Porto"}
    assert second[-1] == {"role": "assistant", "content": '{"'}  # the start of a call, and of the result
    assert result.usage.calls == 2


def test_a_function_of_a_text_reads_the_conversation_as_one_text() -> None:
    replies = Replies(CALL, ANSWER)
    result = sk.Agent(
        replies.model(chat=False), tools=[weather], output_type=Report, instructions="Be short."
    ).run("How is it?")
    assert result.value.text == "It is sunny."
    first, second = replies.asked
    assert first.startswith("Be short.\n\nUser: How is it?")
    assert "Assistant:" in first.rpartition("\n\n")[2]
    assert f"Assistant: {CALL}\n\nUser: weather returned: sunny in Porto\n\nAssistant:" in second


def test_text_output() -> None:
    result = sk.Agent(Replies(CALL, "It is sunny in Porto.").model(), tools=[weather]).run("How is it?")
    assert (result.value, len(result.calls)) == ("It is sunny in Porto.", 1)


@pytest.mark.parametrize("format", ["json", "hermes", "pythonic", "llama", "mistral"])
def test_formats(format: Any) -> None:
    written = {
        "hermes": f"<tool_call>\n{CALL}\n</tool_call>",
        "pythonic": '[weather(city="Porto")]',
        "llama": CALL.replace("arguments", "parameters"),
        "mistral": '[TOOL_CALLS]weather[ARGS]{"city": "Porto"}',
    }
    replies = Replies(written.get(format, CALL), ANSWER)
    agent = sk.Agent(replies.model(), tools=[weather], output_type=Report, format=format)
    assert [call.tool_result for call in agent.run("How is it?").calls] == ["sunny in Porto"]


def test_a_tool_that_does_not_exist_is_corrected() -> None:
    replies = Replies('{"name": "wether", "arguments": {"town": "Porto"}}', 'Porto"}}', ANSWER)
    agent = sk.Agent(replies.model(), tools=[weather], output_type=Report)
    assert [call.tool_result for call in agent.run("How is it?").calls] == ["sunny in Porto"]


def test_several_calls_in_a_step() -> None:
    both = f"[{CALL}, {CALL.replace('Porto', 'Lisbon')}]"
    agent = sk.Agent(Replies(both, ANSWER).model(), tools=[weather], output_type=Report, max_parallel_calls=2)
    assert [call.tool_result for call in agent.run("?").calls] == ["sunny in Porto", "sunny in Lisbon"]


def test_arguments_that_a_type_rejects() -> None:
    replies = Replies(
        '{"name": "half", "arguments": {"number": 3}}',
        '{"name": "half", "arguments": {"number": 4}}',
        '{"text": "2"}',
    )
    result = sk.Agent(replies.model(), tools=[half], output_type=Report, retries=0).run("?")
    assert [call.tool_result for call in result.calls if call.error is None] == [2]
    assert any("the number is odd" in str(message) for message in replies.asked[1])


def test_a_validator_of_the_result() -> None:
    def is_long(value: Report) -> None:
        if len(value.text) < 5:
            raise sk.Retry("say more")

    replies = Replies('{"text": "Sun"}', ANSWER)
    agent = sk.Agent(replies.model(), output_type=Report, validate=is_long)
    assert agent.run("?").value.text == "It is sunny."
    assert "say more" in str(replies.asked[1])
    with pytest.raises(OutputValidationError, match="say more"):
        sk.Agent(Replies('{"text": "a"}').model(), output_type=Report, validate=is_long, retries=0).run("?")


@pytest.mark.parametrize("output", [Report, list[int], str | list[int]])
@pytest.mark.parametrize(
    ("format", "written"),
    [
        ("json", CALL),
        ("hermes", f"<tool_call>\n{CALL}\n</tool_call>"),
        ("pythonic", '[weather(city="Porto")]'),
        ("mistral", '[TOOL_CALLS]weather[ARGS]{"city": "Porto"}'),
    ],
)
def test_a_call_takes_the_place_of_an_output_that_has_begun(output: Any, format: Any, written: str) -> None:
    begun, answer = ('{"text": "It', ANSWER) if output is Report else ("[1, x", "[1, 2]")
    model = Replies(begun, written, answer, answer, answer).model()
    step, results = "", []
    agent = sk.Agent(model, tools=[weather], output_type=output, format=format)
    for event in agent.stream("How is it?"):
        match event:
            case sk.StepRetracted():
                step = ""
            case sk.ToolResult(call):
                step = ""
                results.append(call.tool_result)
            case sk.PartialOutput(_, text):
                step += text
            case sk.RunEnd(result):
                assert step == result.messages[-1].content == answer
    assert results in ([], ["sunny in Porto"])


def test_streams() -> None:
    agent = sk.Agent(Replies(CALL, ANSWER).model(), tools=[weather], output_type=Report)
    kinds = [type(event).__name__ for event in agent.stream("How is it?")]
    assert [*dict.fromkeys(kinds)] == [
        "ToolCallStart",
        "ToolCallDelta",
        "ToolResult",
        "PartialOutput",
        "RunEnd",
    ]


def test_async() -> None:
    async def reply(messages: list[Message]) -> str:
        await asyncio.sleep(0)
        return ANSWER if any("returned" in each["content"] for each in messages) else CALL

    async def pieces(messages: list[Message]) -> Any:
        for character in await reply(messages):
            yield character

    async def main(function: Callable[..., Any]) -> None:
        agent = sk.Agent(sk.from_function(function, chat=True), tools=[weather], output_type=Report)
        results = await asyncio.gather(*(agent.arun("How is it?") for _ in range(3)))
        assert [result.value.text for result in results] == ["It is sunny."] * 3
        events = [event async for event in agent.astream("How is it?")]
        assert isinstance(events[-1], sk.RunEnd)

    for function in (reply, pieces):
        asyncio.run(main(function))


def test_single_steps() -> None:
    agent = sk.Agent(Replies(CALL, ANSWER).model(), tools=[weather], output_type=Report)
    messages: list[Any] = [User(content="How is it?")]
    step = agent.step(messages)
    assert [call.arguments for call in step.calls] == [{"city": "Porto"}]
    messages += [step.message, Output(id=step.message.calls[0].id, name="weather", content="sunny")]  # type: ignore[union-attr]
    last = agent.step(messages)
    assert isinstance(last.message, AnswerMessage)


def test_a_run_that_waits_for_approval() -> None:
    agent = sk.Agent(
        Replies(CALL, ANSWER).model(), tools=[sk.tool(weather, requires_approval=True)], output_type=Report
    )
    with pytest.raises(sk.RunSuspended) as suspended:
        agent.run("How is it?")
    state = sk.RunState.loads(suspended.value.state.dumps())
    result = agent.resume(state, approvals={state.pending[0].id: Approve()})
    assert result.value.text == "It is sunny."


def test_a_limit_leaves_the_result() -> None:
    agent = sk.Agent(
        Replies(CALL, ANSWER).model(), tools=[weather], output_type=Report, max_steps=2, on_limit="answer"
    )
    result = agent.run("How is it?")
    assert (result.value.text, result.finish_reason) == ("It is sunny.", "steps")
    small = sk.Agent(
        Replies(CALL, ANSWER).model(), tools=[weather], output_type=Report, max_tokens=90, on_limit="answer"
    )
    assert small.run("How is it?").finish_reason in ("stop", "budget")


def test_a_model_that_never_answers() -> None:
    def reply(messages: list[Message]) -> Iterator[str]:
        yield "I cannot do that."

    agent = sk.Agent(sk.from_function(reply, chat=True), tools=[weather], output_type=Report)
    with pytest.raises(CorrectionsExhausted) as raised:
        agent.run("How is it?")
    assert raised.value.drafts[0] == "I cannot do that."
    assert sk.run_record(raised.value).messages


def test_a_server_gets_the_step_as_a_grammar() -> None:
    with serve(CALL, ANSWER, kind="llama.cpp") as server:
        agent = sk.Agent(sk.connect(server.url), tools=[weather], output_type=Report)
        assert agent.run("How is it?").value.text == "It is sunny."
        assert all("weather" in str(request["grammar"]) for request in server.requests)


def test_an_override() -> None:
    agent = sk.Agent(sk.load(), tools=[weather], output_type=Report)
    with agent.override(model=Replies(CALL, ANSWER).model()):
        assert agent.run("How is it?").value.text == "It is sunny."
