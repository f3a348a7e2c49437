"""Log-probabilities of tokens, in replies and in streams, and stop sequences beside tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from structkit.testing import ScriptedModel
from tests.serve.running import ANA, PERSON, SCHEMA, Served, client_of, serving, tool

openai = pytest.importorskip("openai")

WEATHER = tool("weather", city="string")
CALL = '{"name": "weather", "arguments": {"city": "Porto"}}'
ASK: dict[str, Any] = {"model": "demo", "messages": ANA, "logprobs": True, "top_logprobs": 3}


def bytes_of(tokens: list[Any]) -> bytes:
    return b"".join(bytes(each.bytes) for each in tokens)


@pytest.mark.parametrize(
    "more",
    [
        {"response_format": PERSON},
        {"extra_body": {"structured_outputs": {"regex": "(é|ü|€){5}"}}, "temperature": 1, "seed": 4},
        {"max_tokens": 12},
    ],
)
def test_a_part_of_a_stream_has_the_log_probabilities_of_its_tokens(
    real: Served, more: dict[str, Any]
) -> None:
    client = client_of(real)
    whole = client.chat.completions.create(**ASK, **more).choices[0]
    parts = [chunk.choices[0] for chunk in client.chat.completions.create(**ASK, **more, stream=True)]
    texts = [part for part in parts if part.delta.content]
    assert len(texts) > 2
    assert all(bytes_of(part.logprobs.content).decode() == part.delta.content for part in texts)
    assert all(part.logprobs is None for part in parts if part not in texts)
    tokens = [token for part in texts for token in part.logprobs.content]
    assert [token.bytes for token in tokens] == [token.bytes for token in whole.logprobs.content]
    assert [token.logprob for token in tokens] == pytest.approx(
        [token.logprob for token in whole.logprobs.content], abs=1e-4
    )


def test_offsets_of_a_text_are_characters_and_go_on_in_a_stream(real: Served) -> None:
    ask: dict[str, Any] = {
        "model": "demo",
        "prompt": ["one", "two"],
        "logprobs": 1,
        "extra_body": {"structured_outputs": {"regex": "€(é|ü)[a-z]{8}"}},
    }
    client = client_of(real)
    whole = client.completions.create(**ask)
    offsets: list[list[int]] = [[], []]
    for chunk in client.completions.create(**ask, stream=True):
        [choice] = chunk.choices
        offsets[choice.index] += choice.logprobs.text_offset if choice.logprobs else []
    assert offsets == [choice.logprobs.text_offset for choice in whole.choices]
    for choice in whole.choices:
        assert choice.logprobs.text_offset[:4] == [0, 0, 0, 1]  # the sign of the euro is three tokens
        assert choice.logprobs.text_offset[-1] < len(choice.text)


def test_a_delta_of_a_response_has_them(real: Served) -> None:
    options: dict[str, Any] = {
        "model": "demo",
        "input": "Ana is 34.",
        "text": {"format": {"type": "json_schema", "name": "person", "schema": SCHEMA}},
        "include": ["message.output_text.logprobs"],
    }
    events = [*client_of(real).responses.create(**options, stream=True)]
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    assert all("".join(each.token for each in delta.logprobs) == delta.delta for delta in deltas)
    [content] = events[-1].response.output[0].content
    assert len(content.logprobs) == sum(len(delta.logprobs) for delta in deltas)


def test_the_tokens_of_a_stop_sequence_are_no_content() -> None:
    for stream in (False, True):
        with serving(["one END"]) as served:
            answer = client_of(served).chat.completions.create(**ASK, stop="END", stream=stream)
            choices = [each.choices[0] for each in answer] if stream else [answer.choices[0]]
            tokens = [each for choice in choices if choice.logprobs for each in choice.logprobs.content]
        assert bytes_of(tokens) == b"one "


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("reply", "content", "is_called"),
    [("It rains.", "It rains.", False), (CALL, "", True)],
)
def test_with_tools_they_are_those_of_the_content(
    reply: str, content: str, is_called: bool, stream: bool
) -> None:
    with serving([reply]) as served:
        answer = client_of(served).chat.completions.create(**ASK, tools=[WEATHER], stream=stream)
        choices = [each.choices[0] for each in answer] if stream else [answer.choices[0]]
    assert choices[-1].finish_reason == ("tool_calls" if is_called else "stop")
    if stream:
        assert all(
            bytes_of(each.logprobs.content).decode() == each.delta.content
            for each in choices
            if each.logprobs is not None
        )
    tokens = [each for choice in choices if choice.logprobs for each in choice.logprobs.content]
    assert bytes_of(tokens).decode() == content
    assert all(token.logprob <= 0 and len(token.top_logprobs) <= 3 for token in tokens)


def test_log_probabilities_beside_tools_are_those_without(real: Served) -> None:
    client = client_of(real)
    ask = {**ASK, "response_format": PERSON, "tools": [WEATHER], "tool_choice": "none"}
    found = client.chat.completions.create(**ask, temperature=0).choices[0]
    assert bytes_of(found.logprobs.content).decode() == found.message.content
    sampled = [each for each in found.logprobs.content if len(each.top_logprobs) > 1]
    assert sampled
    assert all(each.logprob == pytest.approx(each.top_logprobs[0].logprob, abs=1e-4) for each in sampled)


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_sequence_ends_the_text_beside_tools(stream: bool) -> None:
    ask = {"model": "demo", "messages": ANA, "tools": [WEATHER], "stop": ["END", "no one"]}
    for reply, shown in [("one END", "one "), ("one EN", "one EN"), ("it is no", "it is no")]:
        with serving([reply]) as served:
            answer = client_of(served).chat.completions.create(**ask, stream=stream)
            choices = [each.choices[0] for each in answer] if stream else [answer.choices[0]]
        texts = [choice.delta.content if stream else choice.message.content for choice in choices]
        assert "".join(text or "" for text in texts) == shown
        assert choices[-1].finish_reason == "stop"


def test_calls_are_never_cut_by_a_stop_sequence() -> None:
    for choice, reply in [("auto", CALL), ("required", '{"city": "Porto"}')]:
        with ScriptedModel([reply]) as model, serving(model) as served:
            completion = client_of(served).chat.completions.create(
                model="demo", messages=ANA, tools=[WEATHER], tool_choice=choice, stop="Porto"
            )
        [call] = completion.choices[0].message.tool_calls
        assert json.loads(call.function.arguments) == {"city": "Porto"}


def test_a_stop_sequence_would_cut_a_value(random: Served) -> None:
    with pytest.raises(openai.BadRequestError, match="would cut the answer") as raised:
        client_of(random).chat.completions.create(
            model="demo", messages=ANA, response_format=PERSON, tools=[WEATHER], stop="}"
        )
    assert raised.value.param == "stop"
