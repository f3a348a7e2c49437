"""Stop sequences end free text, texts of regexes, and the text beside calls, as OpenAI and vLLM define them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from structkit.testing import ScriptedModel
from tests.serve.running import ANA, PERSON, Served, client_of, serving, tool

pytest.importorskip("openai")

WEATHER = tool("weather", city="string")
CALL = '{"name": "weather", "arguments": {"city": "Porto"}}'
ASK: dict[str, Any] = {"model": "demo", "messages": ANA}


def choices_of(served: Served, stop: str | Sequence[str], *, stream: bool, **fields: Any) -> tuple[str, Any]:
    """Ask for an answer, and return its content and its last choice."""
    answer = client_of(served).chat.completions.create(**{**ASK, **fields}, stop=stop, stream=stream)
    if not stream:
        return answer.choices[0].message.content, answer.choices[0]
    parts = [part.choices[0] for part in answer]
    return "".join(part.delta.content or "" for part in parts), parts[-1]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("stop", "text", "shown", "reason"),
    [
        (["END"], "one END two", "one ", "END"),
        (["x", "yz"], "a y yz x", "a y ", "yz"),
        (["abcdef", "cd"], "abcdef", "ab", "cd"),
        (["END"], "one EN", "one EN", None),
        ([*(letter * 64 for letter in "abcdefghijklmno"), "日é\n."], "one 日é\n.", "one ", "日é\n."),
    ],
)
def test_the_first_that_is_complete_ends_the_text(
    stop: list[str], text: str, shown: str, reason: str | None, stream: bool
) -> None:
    with serving([text]) as served:
        found, choice = choices_of(served, stop, stream=stream)
        assert (found, choice.finish_reason, choice.stop_reason) == (shown, "stop", reason)
    with serving([text]) as served:
        answer = client_of(served).completions.create(
            model="demo", prompt="Hi", stop=stop, max_tokens=30, stream=stream
        )
        parts = [part.choices[0] for part in answer] if stream else [answer.choices[0]]
    assert "".join(part.text for part in parts) == shown
    assert (parts[-1].finish_reason, parts[-1].stop_reason) == ("stop", reason)


PAIR = {"structured_outputs": {"regex": r"name: \w+, age: \d+\."}}


@pytest.mark.long(every=3)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shows", [False, True])
@pytest.mark.parametrize("tools", [[], [WEATHER]])
def test_one_ends_a_text_of_a_regex_where_it_occurs(stream: bool, shows: bool, tools: list[object]) -> None:
    text = "name: Ana, age: 34."
    for stop, cut in (("Ana", "name: "), (", ", "name: Ana"), ([".", "\n"], text[:-1]), ("no", text)):
        with serving([text]) as served:
            more = {"include_stop_str_in_output": shows, **PAIR, **({"tools": tools} if tools else {})}
            found, choice = choices_of(served, stop, stream=stream, extra_body=more)
        assert found == cut + (choice.stop_reason or "" if shows else "")
        assert choice.stop_reason == (None if cut == text else stop[0] if isinstance(stop, list) else stop)
        assert choice.finish_reason == "stop"


@pytest.mark.parametrize("tools", [[], [WEATHER]])
@pytest.mark.parametrize("kind", [PERSON, {"type": "json_object"}])
def test_json_is_never_cut(kind: dict[str, Any], tools: list[object]) -> None:
    from openai import BadRequestError

    more: dict[str, Any] = {"response_format": kind, **({"tools": tools} if tools else {})}
    with serving(["{}"]) as served, pytest.raises(BadRequestError, match="must be complete; leave it out"):
        choices_of(served, ["\n"], stream=False, **more)
    with serving(['{"a": 1}']) as served:
        assert choices_of(served, [], stream=False, response_format={"type": "json_object"})[0] == '{"a": 1}'


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tools", [[], [WEATHER]])
def test_one_can_be_shown(stream: bool, tools: list[object]) -> None:
    with serving(["one END two"]) as served:
        more = {"include_stop_str_in_output": True, **({"tools": tools} if tools else {})}
        assert choices_of(served, "END", stream=stream, extra_body=more)[0] == "one END"


def test_tokens_after_one_are_not_counted_and_its_own_are_no_content() -> None:
    with ScriptedModel(["one END and many others"]) as model, serving(model) as served:
        client = client_of(served)
        answer = client.chat.completions.create(**ASK, stop="END", logprobs=True)
        count = sum(len(model.vocabulary.tokens[each]) for each in model.encode_text("one END"))
    assert count == len("one END")
    assert answer.usage.completion_tokens == len(model.encode_text("one END"))
    assert b"".join(bytes(each.bytes) for each in answer.choices[0].logprobs.content) == b"one "


@pytest.mark.long
def test_an_answer_is_the_start_of_the_one_without(real: Served) -> None:
    ask: dict[str, Any] = {**ASK, "extra_body": PAIR, "temperature": 1, "seed": 5}
    whole = client_of(real).chat.completions.create(**ask)
    text = whole.choices[0].message.content
    for stop in {*text}:
        cut = client_of(real).chat.completions.create(**ask, stop=stop)
        assert cut.choices[0].message.content == text.partition(stop)[0]
        assert cut.usage.completion_tokens <= whole.usage.completion_tokens
        assert cut.usage.prompt_tokens == whole.usage.prompt_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_one_ends_the_text_beside_tools(stream: bool) -> None:
    for reply, shown in [("one END", "one "), ("one EN", "one EN"), ("it is no", "it is no")]:
        with serving([reply]) as served:
            found, choice = choices_of(served, ["END", "no one"], stream=stream, tools=[WEATHER])
        assert (found, choice.finish_reason) == (shown, "stop")


def test_calls_are_never_cut() -> None:
    for choice, reply in [("auto", CALL), ("required", '{"city": "Porto"}')]:
        with ScriptedModel([reply]) as model, serving(model) as served:
            completion = client_of(served).chat.completions.create(
                **ASK, tools=[WEATHER], tool_choice=choice, stop="Porto"
            )
        [call] = completion.choices[0].message.tool_calls
        assert json.loads(call.function.arguments) == {"city": "Porto"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("stop", "text", "least", "shown"),
    [
        ("END", "END one END two", 2, ""),
        ("END", "END one END two", 3, "END one "),
        ("END", "one END two", 7, "one END two"),
        ("aa", "aaaa", 2, "a"),
        ("é.", "é. é. é.", 4, "é. "),
    ],
)
def test_none_ends_in_the_first_tokens(stop: str, text: str, least: int, shown: str, stream: bool) -> None:
    with serving([text]) as served:
        found, choice = choices_of(served, stop, stream=stream, extra_body={"min_tokens": least})
        assert found == shown
        assert choice.stop_reason == (None if shown == text else stop)
