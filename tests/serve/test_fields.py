"""Fields of requests: each has an effect, or is refused with its name and a remedy."""

from __future__ import annotations

import json
import math

import httpx2
import numpy as np
import pytest

from structkit.serve.read.bias import Bias
from structkit.testing import ScriptedModel
from tests.serve.running import ANA, PERSON, Served, client_of, serving, tool

openai = pytest.importorskip("openai")


WEATHER, CLOCK = tool("weather", city="string"), tool("clock", zone="integer")
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Porto"}'}}
    ],
}


def _called(**function: object) -> dict[str, object]:
    """Return a message with a call whose function has other fields."""
    call = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}", **function}}
    return {"role": "assistant", "tool_calls": [call]}


OUTPUT = {"role": "tool", "tool_call_id": "a", "content": "sun"}
REPLY = {"role": "assistant", "content": "Hello."}


def answers(served: Served, **fields: object) -> list[str]:
    """Return the answers to a request."""
    completion = client_of(served).chat.completions.create(**{"model": "demo", "messages": ANA, **fields})
    return [choice.message.content for choice in completion.choices]


def test_top_p_0_is_the_most_likely_token(real: Served) -> None:
    regex = {"structured_outputs": {"regex": "[a-z]{12}"}}
    [greedy] = answers(real, extra_body=regex, temperature=0)
    assert {*answers(real, extra_body=regex, temperature=1, top_p=0, n=4)} == {greedy}
    assert len({*answers(real, extra_body=regex, temperature=1, n=4)}) == 4


def test_logit_bias_moves_logits_and_the_mask_still_decides(real: Served) -> None:
    [letter], [other] = (real.model.encode_text(text) for text in ("q", "7"))
    regex = {"structured_outputs": {"regex": "[a-z]{6}"}}
    assert answers(real, extra_body=regex, logit_bias={letter: 100}) == ["qqqqqq"]
    assert answers(real, extra_body=regex, logit_bias={other: 100})[0].isalpha()
    assert "q" not in answers(real, extra_body=regex, logit_bias={letter: -100}, temperature=1)[0]
    assert answers(real, extra_body=regex, logit_bias={letter: 0}) == answers(real, extra_body=regex)


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


def _named(schema: object) -> dict[str, object]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


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
        model="demo", prompt="Ana is 34.", max_tokens=40, n=2, temperature=1, extra_body={"min_tokens": 30}
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
    with pytest.raises(openai.BadRequestError, match="echo is not supported with logprobs"):
        client.completions.create(prompt="a", echo=True, logprobs=1, **fields)
    with pytest.raises(openai.BadRequestError, match="echo is not supported; put the prompt before"):
        answers(real, extra_body={"echo": True})


def test_fields_of_other_servers_are_accepted_where_nothing_changes(random: Served) -> None:
    plain = {
        "min_tokens": 0,
        "ignore_eos": False,
        "stop_token_ids": [],
        "skip_special_tokens": True,
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


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tools", [[], [WEATHER]])
def test_a_stop_sequence_can_be_shown(stream: bool, tools: list[object]) -> None:
    with serving(["one END"]) as served:
        answer = client_of(served).chat.completions.create(
            model="demo",
            messages=ANA,
            stop=["END"],
            stream=stream,
            extra_body={"include_stop_str_in_output": True, "tools": tools},
        )
        texts = (
            [each.choices[0].delta.content or "" for each in answer]
            if stream
            else [answer.choices[0].message.content]
        )
    assert "".join(texts) == "one END"


BAD = {
    "type": "function",
    "function": {"name": "bad", "parameters": tool("x", a="strng")["function"]["parameters"]},
}
TEXT = {"type": "function", "function": {"name": "bad", "parameters": {"type": "string"}}}


@pytest.mark.parametrize(
    ("param", "fault", "fields"),
    [
        ("logit_bias", "has the token 999999999, and the model has", {"logit_bias": {"999999999": 1}}),
        ("logit_bias", "keys are ids of tokens", {"logit_bias": {"Porto": 1}}),
        ("logit_bias.5", "must be from -100 to 100", {"logit_bias": {"5": 101}}),
        ("frequency_penalty", "must be from -2 to 2", {"frequency_penalty": 2.5}),
        ("parallel_tool_calls", "must be a boolean", {"parallel_tool_calls": "yes"}),
        (
            "tool_choice",
            "names 'nope', which",
            {"tool_choice": {"type": "function", "function": {"name": "nope"}}},
        ),
        ("tool_choice", "allowed_tools: {mode, tools}", {"tool_choice": "any"}),
        ("tools[1].function.parameters", "write 'string'", {"tools": [WEATHER, BAD]}),
        (
            "tools[1].function.parameters",
            "write 'string'",
            {"tools": [WEATHER, BAD], "tool_choice": "required"},
        ),
        ("tools[0].function.parameters", "write 'string'", {"tools": [BAD], "tool_choice": "required"}),
        (
            "tools[0].function.parameters.type",
            "must be 'object'",
            {"tools": [TEXT], "tool_choice": "required"},
        ),
        ("messages[0]", "messages[0] must be an object", {"messages": ["hi"]}),
        (
            "messages[0].content",
            "must be a text, or an array",
            {"messages": [{"role": "user", "content": 5}]},
        ),
        ("messages[0].content", "must not be empty", {"messages": [{"role": "user", "content": []}]}),
        (
            "messages[0].content[0].text",
            "is required",
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        ),
        (
            "messages[1].function_call",
            "write tool_calls",
            {"messages": [*ANA, {**REPLY, "function_call": {"name": "f", "arguments": "{}"}}, *ANA]},
        ),
        ("messages[1].audio", "reads only text", {"messages": [*ANA, {**REPLY, "audio": {"id": "x"}}, *ANA]}),
        ("guided_json", "write structured_outputs: {json: ...}", {"guided_json": {}}),
        ("ebnf", "write structured_outputs: {grammar: ...}", {"ebnf": 'root ::= "a"'}),
        ("extra_body", "write its fields into the request", {"extra_body": {"top_k": 1}}),
        ("response_format.type", "has the others", {"response_format": {"type": "regex", "pattern": "a"}}),
        (
            "messages[1].prefix",
            "continue_final_message",
            {"messages": [*ANA, {**REPLY, "prefix": True}]},
        ),
        ("messages", "add one, such as 'Go on.'", {"messages": [*ANA, REPLY], "tools": [WEATHER]}),
        ("functions", "write tools: [", {"functions": []}),
        ("ignore_eos", "is not supported; write structured_outputs", {"ignore_eos": True}),
        ("stop_token_ids", "write stop", {"stop_token_ids": [2]}),
        ("continue_final_message", "needs a last message of the assistant", {"continue_final_message": True}),
        (
            "continue_final_message",
            "and one before it; add them",
            {"continue_final_message": True, "messages": [REPLY]},
        ),
        *(
            (
                "continue_final_message",
                "not supported with tools and calls; send the prompt and the start",
                {"continue_final_message": True, **fields},
            )
            for fields in (
                {"messages": [*ANA, REPLY], "tools": [WEATHER]},
                {"messages": [*ANA, CALLED, OUTPUT, REPLY]},
            )
        ),
        (
            "add_generation_prompt",
            "must be false here; leave it out",
            {"continue_final_message": True, "add_generation_prompt": True, "messages": [*ANA, REPLY]},
        ),
        ("add_generation_prompt", "must be true here; leave it out, or", {"add_generation_prompt": False}),
        ("chat_template_kwargs", "without thinking", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("prompt_logprobs", "only the tokens of the answer", {"prompt_logprobs": 1}),
        ("priority", "must be an integer", {"priority": "high"}),
        ("prediction", "must be an object", {"prediction": "a"}),
        ("web_search_options", "searches nothing", {"web_search_options": {}}),
        ("max_token", "write max_tokens", {"max_token": 5}),
        ("min_tokens", "with stop; give the schema a minLength", {"min_tokens": 5, "stop": "a"}),
        ("min_tokens", "with tools; give", {"min_tokens": 5, "tools": [WEATHER]}),
        ("min_tokens", "with response_format", {"min_tokens": 5, "response_format": PERSON}),
        ("min_tokens", "at most the maximum number of tokens, 4", {"min_tokens": 5, "max_tokens": 4}),
        ("reasoning_effort", "leave it out", {"reasoning_effort": "low"}),
        ("verbosity", 'give "medium"', {"verbosity": "low"}),
        ("structured_outputs", "must have one of json,", {"structured_outputs": {"json": None}}),
        (
            "structured_outputs.structural_tag",
            "write tools: [...]",
            {"structured_outputs": {"structural_tag": "{}"}},
        ),
        (
            "response_format.json_schema.strict",
            "must be a boolean",
            {"response_format": _named({}) | {"json_schema": {"name": "x", "schema": {}, "strict": "yes"}}},
        ),
        (
            "response_format.json_schema.name",
            "must be a string",
            {"response_format": {"type": "json_schema", "json_schema": {"name": 5, "schema": {}}}},
        ),
        (
            "tools[0].function.strict",
            "must be a boolean",
            {"tools": [{"type": "function", "function": {"name": "f", "strict": 1}}]},
        ),
        (
            "response_format.schema",
            "json_schema: {name, schema}",
            {"response_format": {"type": "json_object", "schema": {}}},
        ),
        ("user", "must be a string", {"user": 5}),
        ("metadata", "must be an object", {"metadata": "a"}),
        ("metadata.a", "must be a string", {"metadata": {"a": 1}}),
        ("store", "is not supported", {"store": 0}),
        (
            "max_completion_tokens",
            "send max_completion_tokens: 7 or more",
            {"max_tokens": None, "max_completion_tokens": 1, "response_format": PERSON},
        ),
        (
            "messages[1].tool_calls[0].function.name",
            "must be 1 to 64",
            {"messages": [*ANA, _called(name="a b")]},
        ),
        (
            "messages[1].tool_calls[0].function.name",
            "must be 1 to 64",
            {"messages": [*ANA, _called(name=None)]},
        ),
        (
            "messages[1].tool_calls[0].function.arguments",
            "a JSON object",
            {"messages": [*ANA, _called(arguments='{"x": NaN}')]},
        ),
        (
            "messages",
            "send include_schema: false",
            {"messages": [{"role": "user", "content": "long " * 2_000}]},
        ),
    ],
)
def test_a_bad_field_is_named_with_a_remedy(
    random: Served, param: str, fault: str, fields: dict[str, object]
) -> None:
    fields = {"tools": [WEATHER], **fields} if "tool_choice" in fields else fields
    with pytest.raises(openai.BadRequestError) as raised:
        client_of(random).chat.completions.create(
            **{"model": "demo", "messages": ANA}, extra_body={"max_tokens": 60, **fields}
        )
    assert raised.value.param == param
    assert fault in raised.value.body["message"]
    assert raised.value.body["code"]


@pytest.mark.parametrize(
    ("param", "fields"),
    [
        ("metadata", {"metadata": {"\ud800": "a"}}),
        ("user", {"user": "\ud800"}),
        ("response_format.json_schema.schema", {"response_format": _named({"description": "\ud800"})}),
        ("response_format.json_schema.schema", {"response_format": _named({"properties": {"\ud800": {}}})}),
        (
            "tools[0].function.parameters",
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"title": "\ud800"}}}]},
        ),
        ("structured_outputs.choice", {"structured_outputs": {"choice": ["a", "\ud800"]}}),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_in_its_field(
    random: Served, param: str, fields: dict[str, object]
) -> None:
    body = json.dumps({"model": "demo", "messages": ANA, **fields})
    headers = {"content-type": "application/json"}
    response = httpx2.post(f"{random.url}/v1/chat/completions", content=body, headers=headers)
    error = response.json()["error"]
    assert (response.status_code, error["param"], error["code"]) == (400, param, "invalid_value")
    assert "\ud800" not in error["message"]


def test_errors_have_no_remedy_of_python(random: Served) -> None:
    for schema in ({"$ref": "https://example.org/x.json"}, {"type": "string", "pattern": "(a|b)*a(a|b){40}"}):
        named = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        with pytest.raises(openai.BadRequestError) as raised:
            answers(random, response_format=named)
        assert not any(text in raised.value.body["message"] for text in ("Limits(", "JsonSchema(", "strict="))


def test_a_wrong_path_says_where_the_api_is(random: Served) -> None:
    client = client_of(random, path="")
    with pytest.raises(openai.NotFoundError, match=r"ends in /v1, with /chat/completions"):
        client.chat.completions.create(model="demo", messages=ANA)
