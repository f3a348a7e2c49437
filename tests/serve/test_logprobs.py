"""Log-probabilities of tokens, in replies and in streams, and stop sequences beside tools."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from structkit.models.single_row import log_probability
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


class OneSession:
    """A model without batches, which gives the logits of one token at a time."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name in ("batch", "is_random"):
            raise AttributeError(name)
        return getattr(self._model, name)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("has_batches", [True, False])
def test_a_prompt_that_is_shown_has_those_of_the_model(demo: Any, has_batches: bool) -> None:
    ids = demo.encode_text("Ana Souza, 34, works as a nürse in Porto €. " * 4)
    session, expected = demo.session(), []
    for token, following in itertools.pairwise(ids):
        row = session.logits([token])[: demo.vocabulary.size].copy()
        expected.append((log_probability(row, following), log_probability(row, int(row.argmax()))))
    ask: dict[str, Any] = {"model": "demo", "prompt": ids, "echo": True, "logprobs": 2}
    with serving(demo if has_batches else OneSession(demo)) as served:
        for tokens in (0, 3):
            made = client_of(served).completions.create(**ask, max_tokens=tokens)
            [choice], found = made.choices, made.choices[0].logprobs
            assert made.usage.completion_tokens == len(found.tokens) - len(ids) <= tokens
            assert found.text_offset[0] == 0 and found.text_offset[-1] < len(choice.text)
            assert found.token_logprobs[0] is None and found.top_logprobs[0] is None
            scores = found.token_logprobs[1 : len(ids)]
            best = [max(top.values()) for top in found.top_logprobs[1 : len(ids)]]
            assert scores == pytest.approx([each for each, _ in expected], abs=1e-3)
            assert best == pytest.approx([each for _, each in expected], abs=1e-3)
        streamed = client_of(served).completions.create(**ask, max_tokens=3, stream=True)
        parts = [part.choices[0].logprobs for part in streamed]
    assert parts[0].tokens == found.tokens[: len(ids)]
    assert [offset for part in parts if part for offset in part.text_offset] == found.text_offset


def test_a_prompt_alone_has_no_answer(random: Served) -> None:
    ask: dict[str, Any] = {"model": "demo", "max_tokens": 0}
    client = client_of(random)
    for prompt, echo in (("x", False), ("x", True), ("Ana is é", True)):
        [choice] = client.completions.create(**ask, prompt=prompt, echo=echo).choices
        assert (choice.text, choice.finish_reason) == (prompt if echo else "", "length")
    [choice] = client.completions.create(**ask, prompt="x", echo=True, logprobs=1).choices
    assert (choice.logprobs.tokens, choice.logprobs.token_logprobs) == (["x"], [None])
    regex = {"structured_outputs": {"regex": "日"}}
    with pytest.raises(openai.BadRequestError, match="only 0 are allowed; send max_tokens"):
        client.completions.create(**ask, prompt="x", extra_body=regex)
    with pytest.raises(openai.BadRequestError, match="max_tokens must be"):
        client.chat.completions.create(**ask, messages=ANA)
