"""Fields of requests: each has an effect, or is refused with its name and a remedy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.bias import Bias, read_bias
from structkit.serve.read.fields import Fields
from structkit.serve.read.tools import ToolSpec
from structkit.serve.write.calls import _required
from structkit.targets.targets import JsonSchema
from structkit.testing import ScriptedModel, byte_vocabulary
from tests.serve.field_cases import CALLED, CLOCK, OUTPUT, REPLY, WEATHER, answers, openai
from tests.serve.running import ANA, PERSON, Served, client_of, serving, tool


def test_top_p_0_is_the_most_likely_token(real: Served) -> None:
    regex = {"structured_outputs": {"regex": "[a-z]{12}"}}
    [greedy] = answers(real, extra_body=regex, temperature=0)
    assert {*answers(real, extra_body=regex, temperature=1, top_p=0, n=4, seed=1)} == {greedy}
    assert len({*answers(real, extra_body=regex, temperature=1, n=4, seed=1)}) == 4


def test_logit_bias_moves_logits_and_the_mask_still_decides(real: Served) -> None:
    [letter], [other] = (real.model.encode_text(text) for text in ("q", "7"))
    regex = {"structured_outputs": {"regex": "[a-z]{6}"}}
    assert answers(real, extra_body=regex, logit_bias={letter: 100}) == ["qqqqqq"]
    assert answers(real, extra_body=regex, logit_bias={other: 100})[0].isalpha()
    # One letter: a longer token that begins with "q" has a bias of its own.
    one = {"structured_outputs": {"regex": "[q-z]"}}
    assert answers(real, extra_body=one, logit_bias={letter: 100}) == ["q"]
    assert "q" not in answers(real, extra_body=one, logit_bias={letter: -100}, temperature=1, n=16, seed=1)
    assert answers(real, extra_body=regex, logit_bias={letter: 0}) == answers(real, extra_body=regex)


def test_a_bias_of_nothing_is_none_and_one_behind_the_logits_adds_nothing() -> None:
    assert read_bias(Fields({"frequency_penalty": 0, "logit_bias": {"3": 0}})) is None
    step = Bias(((5, 1.0), (4, 2.0))).begin(byte_vocabulary())
    assert step([], np.zeros(5, np.float32)).tolist() == [0, 0, 0, 0, 2]


def test_the_type_of_an_error_says_whose_fault_it_is() -> None:
    types = [ApiError(status, "no").body()["error"]["type"] for status in (499, 500, 503)]
    assert types == ["invalid_request_error", "server_error", "server_error"]


def test_logprobs_are_those_before_the_bias(real: Served) -> None:
    [letter] = real.model.encode_text("d")
    ask = {"logprobs": True, "top_logprobs": 20, "extra_body": {"structured_outputs": {"regex": "[a-d]"}}}
    client = client_of(real)
    plain, biased = (
        client.chat.completions.create(model="demo", messages=ANA, logit_bias=bias, **ask).choices[0]
        for bias in ({}, {letter: 100})
    )
    assert biased.message.content == "d"
    tops = [
        {each.token: each.logprob for each in choice.logprobs.content[0].top_logprobs}
        for choice in (plain, biased)
    ]
    assert tops[0] == tops[1]
    assert sum(map(math.exp, tops[1].values())) == pytest.approx(1.0, abs=1e-5)


def test_penalties_count_the_tokens_of_the_answer(real: Served) -> None:
    letters = [real.model.encode_text(letter)[0] for letter in "abcd"]
    ask = {
        "extra_body": {"structured_outputs": {"regex": "[a-d]{40}"}},
        "logit_bias": dict.fromkeys(letters, 100),
    }
    [plain], [spread] = answers(real, **ask), answers(real, frequency_penalty=2, **ask)
    assert max(map(spread.count, "abcd")) < max(map(plain.count, "abcd"))
    step = Bias(frequency=0.5, presence=0.25).begin(real.model.vocabulary)
    assert not step([1, 5], np.zeros(8, np.float32)).any()  # the prompt is not counted
    assert step([1, 5, 5, 5, 6], np.zeros(8, np.float32)).tolist() == [0, 0, 0, 0, 0, -1.25, -0.75, 0]


def test_penalties_hold_for_calls(real: Served) -> None:
    [letter] = real.model.encode_text("q")
    schema = {
        "type": "object",
        "properties": {"x": {"type": "string", "pattern": "^[a-z]{3}$"}},
        "required": ["x"],
    }
    spec = {"type": "function", "function": {"name": "f", "parameters": schema}}
    completion = client_of(real).chat.completions.create(
        model="demo", messages=ANA, tools=[spec], tool_choice="required", logit_bias={letter: 100}
    )
    [call] = completion.choices[0].message.tool_calls
    assert json.loads(call.function.arguments) == {"x": "qqq"}


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_only_allowed_tools_are_called(mode: str) -> None:
    allowed = {"mode": mode, "tools": [{"type": "function", "function": {"name": "clock"}}]}
    value = '{"zone": 3}' if mode == "required" else '{"name": "clock", "arguments": {"zone": 3}}'
    with serving([value]) as served:
        completion = client_of(served).chat.completions.create(
            model="demo",
            messages=ANA,
            tools=[WEATHER, CLOCK],
            tool_choice={"type": "allowed_tools", "allowed_tools": allowed},
        )
        assert isinstance(served.model, ScriptedModel)
        assert "weather" not in served.model.prompts[0]
    [call] = completion.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("clock", '{"zone": 3}')


def test_calls_are_read_without_the_field_tools() -> None:
    with serving(['{"name": "Ana", "age": 34}', "It is sunny."]) as served:
        assert isinstance(served.model, ScriptedModel)
        messages = [*ANA, CALLED, OUTPUT]
        assert answers(served, messages=messages, response_format=PERSON) == ['{"name": "Ana", "age": 34}']
        assert answers(served, messages=messages) == ["It is sunny."]
        assert all("Porto" in prompt and "sun" in prompt for prompt in served.model.prompts)


def test_instructions_need_no_message_of_the_user(random: Served) -> None:
    system = {"role": "system", "content": "Say what time it is."}
    completion = client_of(random).chat.completions.create(
        model="demo", messages=[system], tools=[CLOCK], tool_choice="required", max_tokens=40
    )
    assert [call.function.name for call in completion.choices[0].message.tool_calls] == ["clock"]


@pytest.mark.parametrize(
    "message",
    [
        {**REPLY, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "Hello."}]},
        {"role": "assistant", "content": None, "refusal": "Hello."},
        {**REPLY, "refusal": None, "annotations": [], "audio": None, "function_call": None},
    ],
)
def test_messages_of_an_assistant_are_sent_back(message: dict[str, object]) -> None:
    with serving(["ok"]) as served:
        assert answers(served, messages=[*ANA, message, *ANA]) == ["ok"]
        assert isinstance(served.model, ScriptedModel)
        assert "Hello." in served.model.prompts[0]


@pytest.mark.parametrize("parameters", [None, {}, {"properties": {}}])
def test_arguments_are_an_object(random: Served, parameters: object) -> None:
    spec = {"type": "function", "function": {"name": "now", "parameters": parameters}}
    completion = client_of(random).chat.completions.create(
        model="demo", messages=ANA, tools=[spec], tool_choice="required"
    )
    [call] = completion.choices[0].message.tool_calls
    assert json.loads(call.function.arguments) == {}


@pytest.mark.parametrize("name", ["3d-view", "-", "_"])
def test_a_tool_has_any_name_of_the_api(name: str) -> None:
    reply = json.dumps({"name": name, "arguments": {"zone": 3}})
    with serving([reply, '{"zone": 3}']) as served:
        for choice in ("auto", "required"):
            completion = client_of(served).chat.completions.create(
                model="demo", messages=ANA, tools=[tool(name, zone="integer")], tool_choice=choice
            )
            [call] = completion.choices[0].message.tool_calls
            assert (call.function.name, call.function.arguments) == (name, '{"zone": 3}')


@pytest.mark.parametrize("prompt", [["a", None], [None], ["a", 1]])
def test_a_prompt_is_a_text_or_tokens(random: Served, prompt: object) -> None:
    with pytest.raises(openai.BadRequestError, match="must have texts or arrays of tokens as its items"):
        client_of(random).completions.create(model="demo", prompt=prompt)


@pytest.mark.parametrize("text", [False, True])
def test_each_chunk_before_the_usage_has_none(random: Served, text: bool) -> None:
    options = {"model": "demo", "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 5}
    client = client_of(random)
    stream = (
        client.completions.create(prompt="Ana", **options)
        if text
        else client.chat.completions.create(messages=ANA, **options)
    )
    *chunks, last = stream
    assert chunks
    assert all(chunk.to_dict()["usage"] is None for chunk in chunks)
    assert last.usage.total_tokens > 0


def test_fields_that_ask_for_what_is_so_anyway_are_accepted(random: Served) -> None:
    fields = {"verbosity": "medium", "reasoning_effort": "none", "prompt_cache_retention": "24h"}
    assert answers(random, **fields, extra_body={"structured_outputs": {"choice": ["a"]}}) == ["a"]
    response = client_of(random).responses.create(
        model="demo", input="Hi", reasoning={"effort": "none"}, max_output_tokens=16
    )
    assert response.status in ("completed", "incomplete")


@pytest.mark.parametrize("own", [{}, {"description": "Of a nurse."}])
def test_the_model_reads_the_description_of_a_format(own: dict[str, str]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], **own}
    named = {"name": "x", "description": "Years since birth.", "schema": schema}
    with serving(['{"a": 3}'] * 2) as served:
        answers(served, response_format={"type": "json_schema", "json_schema": named})
        client_of(served).responses.create(
            model="demo", input="Ana", text={"format": {"type": "json_schema", **named}}
        )
        assert isinstance(served.model, ScriptedModel)
        for prompt in served.model.prompts:
            assert "Years since birth." in prompt
            assert all(text in prompt for text in own.values())


@pytest.mark.long(every=2)
@pytest.mark.parametrize("stream", [False, True])
def test_min_tokens_forbids_the_end_of_free_text(real: Served, stream: bool) -> None:
    client = client_of(real)

    def count(**fields: object) -> int:
        options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        made = client.chat.completions.create(
            model="demo", messages=ANA, max_tokens=40, extra_body=fields, **options
        )
        usage: int = ([*made][-1] if stream else made).usage.completion_tokens
        return usage

    assert count() < 30 <= count(min_tokens=30) <= 40
    assert count(min_tokens=40) == 40
    completion = client.completions.create(
        model="demo",
        prompt="Ana is 34.",
        max_tokens=40,
        n=2,
        temperature=1,
        seed=1,
        extra_body={"min_tokens": 30},
    )
    assert 60 <= completion.usage.completion_tokens <= 80


def test_a_final_message_of_the_assistant_is_continued(real: Served) -> None:
    model, turns = real.model, [{"role": "user", "content": "Ana is 34."}]
    fields = {"model": "demo", "max_tokens": 20, "temperature": 0}
    both = {"continue_final_message": True, "add_generation_prompt": False}
    ids = [*model.encode(turns), *model.encode_text("She is")]
    expected = client_of(real).completions.create(prompt=ids, **fields)
    for extra in (both, {"continue_final_message": True}):
        made = client_of(real).chat.completions.create(
            messages=[*turns, {"role": "assistant", "content": "She is"}], extra_body=extra, **fields
        )
        assert made.choices[0].message.content == expected.choices[0].text
        assert made.usage.prompt_tokens == len(ids)
    with serving(["She is 34.", "No."]) as served:
        messages = [*turns, {"role": "assistant", "content": "She is"}]
        assert answers(served, messages=messages, extra_body=both) == [" 34."]
        assert served.model.prompts == ["user: Ana is 34."]


@pytest.mark.parametrize("stream", [False, True])
def test_what_follows_a_final_message_matches_the_constraint(real: Served, stream: bool) -> None:
    start, regex = "She is ", {"structured_outputs": {"regex": "[0-9]{2} years"}}
    [answer] = answers(
        real,
        messages=[*ANA, {"role": "assistant", "content": start}],
        extra_body={**regex, "continue_final_message": True, "include_schema": False},
    )
    ids = [*real.model.encode(ANA), *real.model.encode_text(start)]
    expected = client_of(real).completions.create(
        model="demo", prompt=ids, temperature=0, extra_body=regex, stream=stream
    )
    choices = [each for part in expected for each in part.choices] if stream else expected.choices
    assert answer == "".join(choice.text for choice in choices) == "34 years"


@pytest.mark.parametrize("stream", [False, True])
def test_echo_puts_the_prompt_before_the_text(real: Served, stream: bool) -> None:
    client = client_of(real)
    fields = {"model": "demo", "max_tokens": 8, "temperature": 0, "n": 2}
    for prompt in ("Ana is é", real.model.encode_text("Ana is é")):
        texts: dict[int, str] = {}
        made = client.completions.create(prompt=prompt, echo=True, stream=stream, **fields)
        for choice in (each for part in made for each in part.choices) if stream else made.choices:
            texts[choice.index] = texts.get(choice.index, "") + choice.text
        plain = client.completions.create(prompt=prompt, **fields)
        assert texts == {choice.index: f"Ana is é{choice.text}" for choice in plain.choices}
    with pytest.raises(openai.BadRequestError, match="echo is not supported; put the prompt before"):
        answers(real, extra_body={"echo": True})


def test_fields_of_other_servers_are_accepted_where_nothing_changes(random: Served) -> None:
    plain = {
        "min_tokens": 0,
        "ignore_eos": False,
        "stop_token_ids": [],
        "bad_words": [],
        "skip_special_tokens": True,
        "spaces_between_special_tokens": True,
        "use_beam_search": False,
        "return_token_ids": False,
        "return_tokens_as_token_ids": False,
        "length_penalty": 1.0,
        "request_id": "a",
        "priority": 3,
        "guided_json": None,
        "functions": None,
    }
    chat = {
        "add_generation_prompt": True,
        "continue_final_message": False,
        "chat_template_kwargs": {"enable_thinking": False},
        "prediction": {"type": "content", "content": "a"},
    }
    constraint = {"structured_outputs": {"choice": ["a"]}}
    assert answers(random, extra_body={**plain, **chat, **constraint}) == ["a"]
    client = client_of(random)
    completion = client.completions.create(
        model="demo", prompt="x", n=2, best_of=2, extra_body={**plain, **constraint}
    )
    assert [choice.text for choice in completion.choices] == ["a", "a"]
    response = client.responses.create(
        model="demo", input="x", max_tool_calls=3, extra_body={**plain, **constraint}
    )
    assert response.output_text == "a"
    with pytest.raises(openai.BadRequestError, match="best_of must equal n; write n, and choose"):
        client.completions.create(model="demo", prompt="x", best_of=2)


def test_replies_name_their_kind_and_nothing_is_stored(random: Served) -> None:
    client = client_of(random)
    structured = {"structured_outputs": {"regex": "[ab]"}}
    assert (
        client.completions.create(model="demo", prompt="a", extra_body=structured).object == "text_completion"
    )
    assert client.chat.completions.create(model="demo", messages=ANA, extra_body=structured).object == (
        "chat.completion"
    )
    assert client.responses.create(model="demo", input="a", max_output_tokens=50).store is False


def test_the_target_of_a_required_call_has_the_descriptions_of_the_tools() -> None:
    specs = [
        ToolSpec(name, said, JsonSchema({"type": "object"}), "tools")
        for name, said in (("a", "A."), ("b", ""))
    ]
    members = _required((specs[0], specs[1])).schema["anyOf"]
    assert [member.get("description") for member in members] == ["A.", None]
    assert _required((specs[0],)).schema["description"] == "A."
