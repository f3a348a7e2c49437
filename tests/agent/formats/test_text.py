"""Plain text as the output of an agent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import structkit as sk
from structkit.agent.formats.text import TextOutput
from structkit.errors import AgentError
from structkit.messages import Answer, CallPart, Calls
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.agent.formats.test_preamble import FORMATS
from tests.reading import reads

BYTES = byte_vocabulary()
LONG = 'Dear reader,\n\n\n- é 東京 "quoted"\n\t{"a": [1]}\n\n' + "word " * 200 + "\n"
MARKED = ("hermes", "mistral")


class Order(BaseModel):
    title: str
    copies: int


def count(title: str) -> int:
    """Count the copies."""
    return 3


def call(name: str, title: str = "Salt", text: str = "") -> str:
    part = CallPart(id="", name="count", arguments=json.dumps({"title": title}))
    return FORMATS[name].step_text(Calls(calls=(part,), text=text))


def accepts(agent: sk.Agent[Any], text: str) -> bool:
    config = agent._config
    offers = [offer for tool in config.tools if (offer := config.available_tool(tool, 0))]
    cursor = sk.compile(config.step_target(offers), BYTES).cursor()
    return reads(cursor, text.encode(errors="surrogateescape")) and cursor.is_accepting


@pytest.mark.parametrize("name", FORMATS)
def test_text_is_stored_as_it_is_written(name: Any) -> None:
    model = ScriptedModel([call(name), LONG])
    result = sk.Agent(model, tools=[count], format=name).run("How many?")
    assert result.value == LONG
    assert result.messages[-1] == Answer(content=LONG)
    again = ScriptedModel(["OK."])
    sk.Agent(again, tools=[count], format=name).run("Thanks.", messages=result.messages)
    assert f"assistant: {LONG}" in again.prompts[0]
    assert "plain text" in again.prompts[0] and "JSON of this type" not in again.prompts[0]


@pytest.mark.parametrize("name", MARKED)
def test_calls_follow_text_in_formats_with_a_start_delimiter(name: Any) -> None:
    said = "One moment.\n\nI count."
    model = ScriptedModel([call(name, text=said), "Three."])
    result = sk.Agent(model, tools=[count], format=name).run("How many?")
    assert (result.value, [each.tool_result for each in result.calls]) == ("Three.", [3])
    assert isinstance(result.messages[1], Calls) and result.messages[1].text == said
    assert f"assistant: {call(name, text=said)}" in model.prompts[1]


@pytest.mark.parametrize("name", sorted(set(FORMATS) - set(MARKED)))
def test_text_never_starts_like_a_call_in_formats_without_a_start_delimiter(name: Any) -> None:
    agent = sk.Agent(RandomModel(), tools=[count], format=name, max_parallel_calls=2)
    assert accepts(agent, call(name)) and accepts(agent, f"Text: {call(name)}")
    assert not accepts(agent, call(name)[:1]) and not accepts(agent, call(name)[:-1])
    with pytest.raises(AgentError, match='format="hermes"'):
        sk.Agent(RandomModel(), tools=[count], format=name, allow_text=True)


def test_str_in_a_union_with_objects_is_plain_text() -> None:
    for text, value in (
        ("Which title?", "Which title?"),
        ('{"title": "Salt", "copies": 2}', Order(title="Salt", copies=2)),
        ("[1, 2]", [1, 2]),
    ):
        for tools in ([], [count]):
            agent: sk.Agent[Any] = sk.Agent(ScriptedModel([text]), tools, output_type=str | Order | list[int])
            assert agent.run("x").value == value
    assert not accepts(agent, "{Which") and not accepts(agent, "[1, 2")
    model = ScriptedModel(["a"])
    agent.with_model(model).run("x")
    assert "plain text, or JSON of this type" in model.prompts[0]


@pytest.mark.parametrize("output_type", [str | int, str | None, str | Order | bool])
def test_str_in_a_union_with_other_types_is_json(output_type: Any) -> None:
    agent = sk.Agent(ScriptedModel(['"12"']), [count], output_type=output_type)
    assert agent.run("x").value == "12"


class Rendered(BaseModel):
    note: str


@pytest.mark.long(every=4)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("end", ["", "\n", " <tool_call", "\n<tool_", "\n\n[TOOL_", "<"])
def test_the_deltas_of_a_stream_add_up_to_the_text(name: Any, end: str) -> None:
    said = "Let me look.\nÉ:" if name in MARKED else ""
    answer = f"It is é.\n\nThree.{end}"
    model = ScriptedModel([call(name, text=said), answer], BYTES)
    agent = sk.Agent(model, tools=[count], output_type=str | Rendered, format=name)
    texts = [""]
    for event in agent.stream("How many?"):
        match event:
            case sk.TextDelta("$", text):
                texts[-1] += text
            case sk.ToolResult():
                texts.append("")
            case sk.PartialOutput() | sk.PreambleDelta():
                raise AssertionError(event)
    assert texts == [said, answer]
    assert isinstance(event, sk.RunEnd) and event.result.value == answer


def test_a_json_output_of_a_union_streams_partial_values() -> None:
    model = ScriptedModel(['{"note": "abc"}'], BYTES)
    events = list(sk.Agent(model, [count], output_type=str | Rendered).stream("x"))
    assert [event.partial for event in events if isinstance(event, sk.PartialOutput)][-1] == Rendered(
        note="abc"
    )
    assert not any(isinstance(event, sk.TextDelta) for event in events)


AGENTS = {
    name: sk.Agent(RandomModel(), tools=[count], format=name, output_type=str | dict[str, int])  # type: ignore[call-overload]
    for name in FORMATS
}
PIECES = st.sampled_from(
    ["<", "<tool_call>", "\n", " ", "{", "[", "[TOOL_CALLS]", "[ARGS]", "é", "a", "\x07", "\r", '"', "1"]
)


@pytest.mark.parametrize("name", FORMATS)
@given(text=st.lists(PIECES, max_size=6).map("".join))
def test_the_language_of_text_is_exact(name: Any, text: str) -> None:
    marker = FORMATS[name].markers[0] if FORMATS[name].markers else None
    is_text = (
        bool(text)
        and re.match(r"[^\s{\[\x00-\x1f]", text) is not None
        and not re.search(r"[\x00-\x08\x0b-\x1f]", text)
        and (marker is None or marker not in text)
    )
    assert accepts(AGENTS[name], text) == is_text
    if is_text:
        target = AGENTS[name]._config.final_target
        assert target.parse(text) == text


@pytest.mark.parametrize("name", FORMATS)
def test_random_text_is_never_a_call(name: Any) -> None:
    values = []
    for seed in range(6):
        agent = sk.Agent(
            RandomModel(seed, brevity=2),
            tools=[count],
            format=name,
            max_steps=3,
            max_tokens=120,
            on_limit="answer",
            temperature=1.0,
            seed=seed,
        )
        result = agent.run("x")
        assert isinstance(agent._config.output, TextOutput)
        value = result.value
        values.append(value)
        assert value and not value[0].isspace()
        assert "<tool_call>" not in value if name == "hermes" else True
    assert len(set(values)) > 1


def test_text_ends_within_its_tokens() -> None:
    model = ScriptedModel(["é" * 100], BYTES, strict=False)
    result = sk.Agent(model, max_tokens=20, on_limit="answer").run("x")
    assert result.value == "é" * 10 and result.finish_reason == "budget"


@pytest.mark.parametrize("name", MARKED)
def test_the_characters_of_text(name: Any) -> None:
    """The tab and the line feed are the only control characters."""
    agent = sk.Agent(RandomModel(1), tools=[count], format=name)
    for code in (*range(0x24), *range(0x7C, 0xA3), 0x7FF, 0xD7FF, 0xE000, 0x10FFFF):
        expected = code in (0x09, 0x0A) or 0x20 <= code < 0x7F or code >= 0xA0
        assert accepts(agent, f"a{chr(code)}b") == expected, hex(code)
