"""`/v1/responses`: the API that newer clients of OpenAI use."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, TypeAdapter

from structkit.testing import RandomModel, ScriptedModel
from tests.serve.running import SCHEMA, Served, client_of, serving, tool

openai = pytest.importorskip("openai")

VALUE = '{"name": "Ana", "age": 34}'
FORMAT = {"format": {"type": "json_schema", "name": "person", "schema": SCHEMA, "strict": True}}


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def flat(name: str, **parameters: str) -> dict[str, object]:
    """Return a tool as this API spells it."""
    function = tool(name, **parameters)["function"]
    assert isinstance(function, dict)
    return {"type": "function", **function, "strict": True}


WEATHER, CLOCK = flat("weather", city="string"), flat("clock", zone="string")
CALL = {"type": "function_call", "call_id": "a", "name": "weather", "arguments": '{"city": "Porto"}'}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "sun"}
USER = {"role": "user", "content": "How is it in Porto?"}


def test_a_type_is_parsed(real: Served) -> None:
    response = client_of(real).responses.parse(model="demo", input="Ana is 34.", text_format=Person)
    assert response.output_parsed == Person(name="Ana", age=34)
    assert (response.status, response.error, response.incomplete_details) == ("completed", None, None)
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    openai.types.responses.Response.model_validate(response.model_dump(by_alias=True, warnings=False))


def test_both_apis_give_the_model_the_same_prompt() -> None:
    with ScriptedModel([VALUE] * 2) as model, serving(model) as served:
        client = client_of(served)
        client.responses.create(
            model="demo",
            instructions="Be short.",
            input=[
                {"role": "developer", "content": "Copy."},
                {"role": "user", "content": [{"type": "input_text", "text": "Ana is 33."}]},
                {
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Yes.", "annotations": []}],
                },
                {"role": "user", "content": "Ana is 34."},
            ],
            text=FORMAT,
        )
        client.chat.completions.create(
            model="demo",
            messages=[
                {"role": "system", "content": "Be short."},
                {"role": "developer", "content": "Copy."},
                {"role": "user", "content": "Ana is 33."},
                {"role": "assistant", "content": "Yes."},
                {"role": "user", "content": "Ana is 34."},
            ],
            response_format={"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}},
        )
        assert model.prompts[0] == model.prompts[1]


def test_a_stream_has_the_events_of_the_client(real: Served) -> None:
    with client_of(real).responses.stream(model="demo", input="Ana is 34.", text_format=Person) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert final.output_parsed == Person(name="Ana", age=34)
    kinds = [event.type for event in events]
    before = ["created", "in_progress", "output_item.added", "content_part.added"]
    after = ["output_text.done", "content_part.done", "output_item.done", "completed"]
    assert kinds[:4] == [f"response.{kind}" for kind in before]
    assert kinds[-4:] == [f"response.{kind}" for kind in after]
    assert {*kinds[4:-4]} == {"response.output_text.delta"}
    assert [event.sequence_number for event in events] == [*range(len(events))]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert json.loads(text) == {"name": "Ana", "age": 34}


def test_calls_and_their_outputs() -> None:
    replies = ['{"name": "weather", "arguments": {"city": "Porto"}}', "Sunny."]
    with ScriptedModel(replies) as model, serving(model) as served:
        client = client_of(served)
        first = client.responses.create(model="demo", input=[USER], tools=[WEATHER, CLOCK])
        [call] = first.output
        assert (call.type, call.name) == ("function_call", "weather")
        assert json.loads(call.arguments) == {"city": "Porto"}
        items = [USER, call.model_dump(exclude_none=True), {**OUTPUT, "call_id": call.call_id}]
        second = client.responses.create(model="demo", input=items, tools=[WEATHER, CLOCK])
        assert second.output_text == "Sunny."
        assert "sun" in model.prompts[1]


def test_a_stream_of_calls() -> None:
    with ScriptedModel(['{"city": "Porto"}']) as model, serving(model) as served:
        choice = {"type": "function", "name": "weather"}
        stream = client_of(served).responses.create(
            model="demo", input="How is it?", tools=[WEATHER, CLOCK], tool_choice=choice, stream=True
        )
        events = list(stream)
    adapter = TypeAdapter(openai.types.responses.ResponseStreamEvent)
    for event in events:
        adapter.validate_python(event.model_dump())
    [added] = [event.item for event in events if event.type == "response.output_item.added"]
    [done] = [event.item for event in events if event.type == "response.output_item.done"]
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert (added.id, added.arguments, "".join(deltas)) == (done.id, "", done.arguments)
    assert json.loads(done.arguments) == {"city": "Porto"}
    assert events[-1].type == "response.completed"
    assert events[-1].response.output == [done]


def test_text_before_a_call_is_one_message_with_it() -> None:
    said = {"role": "assistant", "content": "I look."}
    with ScriptedModel(["Sunny."]) as model, serving(model) as served:
        items = [USER, said, CALL, {**CALL, "call_id": "b"}, {**OUTPUT, "call_id": "b"}, OUTPUT]
        response = client_of(served).responses.create(model="demo", input=items)
        assert response.output_text == "Sunny."
        assert model.prompts[0].count("I look.") == 1


def test_a_limit_makes_a_response_incomplete(real: Served) -> None:
    options = {"model": "demo", "input": "Hello, how are you?", "max_output_tokens": 2}
    response = client_of(real).responses.create(**options)
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (response.max_output_tokens, response.output[0].status) == (2, "incomplete")
    *_, last = client_of(real).responses.create(**options, stream=True)
    assert (last.type, last.response.output_text) == ("response.incomplete", response.output_text)


def test_log_probabilities(real: Served) -> None:
    response = client_of(real).responses.create(
        model="demo",
        input="Ana is 34.",
        text=FORMAT,
        include=["message.output_text.logprobs"],
        top_logprobs=2,
    )
    [content] = response.output[0].content
    assert "".join(each.token for each in content.logprobs) == content.text
    assert all(each.logprob <= 0 and len(each.top_logprobs) <= 2 for each in content.logprobs)


def test_an_error_in_a_stream_is_an_event_of_this_api() -> None:
    long = {"structured_outputs": {"regex": "[a-z]{100000}"}}
    with serving(RandomModel(seed=3), timeout=0.3, max_tokens=500_000) as served:
        found: tuple[object, object]
        try:
            *_, last = client_of(served).responses.create(
                model="demo", input="x", max_output_tokens=200_000, stream=True, extra_body=long
            )
            found = last.type, last.code
        except openai.APIStatusError as error:  # the first token came too late, on a slow machine
            found = "error", error.code
    assert found == ("error", "timeout")


@pytest.mark.parametrize(
    ("fields", "param", "remedy"),
    [
        ({"input": None}, "input", "is required"),
        ({"input": []}, "input", "must not be empty"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "send the whole conversation"),
        ({"conversation": "conv_1"}, "conversation", "send the whole conversation"),
        ({"store": True}, "store", "give false"),
        ({"messages": []}, "messages", "write input"),
        ({"max_tokens": 9}, "max_tokens", "write max_output_tokens"),
        ({"response_format": {"type": "text"}}, "response_format", "write text"),
        ({"reasoning": {"effort": "low"}}, "reasoning.effort", "leave it out"),
        ({"text": {"verbosity": "low"}}, "text.verbosity", "leave it out"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema", "is required"),
        (
            {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "strng"}}}},
            "text.format.schema",
            "write 'string'",
        ),
        ({"text": FORMAT, "max_output_tokens": 1}, "max_output_tokens", "send max_output_tokens: 8 or more"),
        ({"include": ["file_search_call.results"]}, "include", "can have only"),
        ({"top_logprobs": 2}, "top_logprobs", "needs include"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "must be 'function'"),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "no"}},
            "tool_choice",
            "none of the",
        ),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "file_search"}},
            "tool_choice",
            "{type: 'function', name}",
        ),
        ({"input": [{"type": "reasoning", "summary": []}]}, "input[0].type", "must be 'message'"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role", "must be one of"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}]},
            "input[0].content[0].type",
            "the model reads nothing else",
        ),
        ({"input": [USER, CALL, USER]}, "input", "has no output; send it before the next"),
        ({"input": [USER, OUTPUT]}, "input[1].call_id", "is the id of no call"),
        ({"input": [USER, {**CALL, "arguments": "[]"}]}, "input[1].arguments", "JSON object"),
    ],
)
def test_a_mistake_has_its_place_and_a_remedy(
    real: Served, fields: dict[str, object], param: str, remedy: str
) -> None:
    body = {"model": "demo", "input": "Ana is 34.", **fields}
    with pytest.raises(openai.BadRequestError) as caught:
        client_of(real).post("/responses", body=body, cast_to=object)
    assert caught.value.body["param"] == param
    assert remedy in caught.value.body["message"]
