"""Errors of fields of requests: each names the field and a remedy."""

from __future__ import annotations

import json

import httpx2
import pytest

from tests.serve.field_cases import CALLED, OUTPUT, REPLY, WEATHER, answers, openai
from tests.serve.running import ANA, PERSON, Served, client_of, tool


def _called(**function: object) -> dict[str, object]:
    """Return a message with a call whose function has other fields."""
    call = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}", **function}}
    return {"role": "assistant", "tool_calls": [call]}


def _named(schema: object) -> dict[str, object]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


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
        ("prompt_logprobs", "to /v1/completions with echo: true", {"prompt_logprobs": 1}),
        ("priority", "must be an integer", {"priority": "high"}),
        ("prediction", "must be an object", {"prediction": "a"}),
        ("web_search_options", "searches nothing", {"web_search_options": {}}),
        ("max_token", "write max_tokens", {"max_token": 5}),
        ("min_tokens", "with tools; give the schema a minLength", {"min_tokens": 5, "tools": [WEATHER]}),
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
