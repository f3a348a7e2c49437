"""Options of requests: their bounds, what is left out because it has no effect, and the faults of fields that meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from structkit.serve.bounds.api_error import ApiError, Params
from structkit.serve.bounds.config import ServerConfig
from structkit.serve.read.bias import Bias, MinTokens, check_bias, read_bias
from structkit.serve.read.constraints import FREE_TEXT
from structkit.serve.read.fields import HALF_PAIR, Fields
from structkit.serve.read.requests import Ask, read_chat, read_completion, read_options
from structkit.serve.read.responses import read_response
from structkit.testing import byte_vocabulary

CONFIG = ServerConfig(max_tokens=40, max_answers=6)
USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "well"}
CHAT: dict[str, Any] = {"model": "m", "messages": [USER]}
TEXT: dict[str, Any] = {"model": "m", "prompt": "hi"}
RESPONSE: dict[str, Any] = {"model": "m", "input": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}
REGEX = {"structured_outputs": {"regex": "a"}}


def chat(**fields: object) -> Ask:
    return read_chat(Fields({**CHAT, **fields}), CONFIG)


def text(**fields: object) -> Ask:
    return read_completion(Fields({**TEXT, **fields}), CONFIG)


def response(**fields: object) -> Ask:
    return read_response(Fields({**RESPONSE, **fields}), CONFIG)


READERS = {"chat": chat, "text": text, "response": response}


def test_a_request_with_the_least_fields() -> None:
    for kind, read in READERS.items():
        found = read()
        assert (found.kind, found.model, found.count, found.answers) == (kind, "m", 1, 1)
        assert found.constraint is FREE_TEXT and found.stops == () and found.min_tokens == 0
        assert found.sends_usage == (kind == "response")
        assert not (found.is_streamed or found.shows_stop or found.shows_prompt or found.start)
        assert found.top_logprobs is found.tools is None
        assert found.options["max_tokens"] == (16 if kind == "text" else 40)
        assert found.options["temperature"] == 1.0 and found.options["limits"] == CONFIG.target_limits
        assert not found.options["include_schema"] and not found.options["confidence"]
        assert not found.options["trace_content"] and found.options["prompt_lookup"]
        assert not {"top_k", "top_p", "min_p", "repetition_penalty", "seed", "processors"} & {*found.options}
        with pytest.raises(ApiError, match=r"^model is required; GET /v1/models lists the models$"):
            read(model="")
    assert read_options(Fields({}), ServerConfig(), None)["max_tokens"] == 1_024
    assert [read().params for read in READERS.values()] == [
        Params("messages", "max_tokens"),
        Params("prompt", "max_tokens"),
        Params("input", "max_output_tokens"),
    ]


@pytest.mark.parametrize(
    ("name", "least", "most", "neutral"),
    [
        ("top_k", -1, 10**9, (-1, 0)),
        ("top_p", 0, 1, (1,)),
        ("min_p", 0, 1, (0,)),
        ("repetition_penalty", 0.01, 100, (1,)),
        ("temperature", 0, 2, ()),
        ("max_tokens", 1, 40, ()),
    ],
)
def test_numbers_have_bounds_and_those_without_effect_are_left_out(
    name: str, least: float, most: float, neutral: tuple[float, ...]
) -> None:
    for value in (least, (least + most) / 2 if name[-1] == "p" else most, most):
        options = read_options(Fields({name: value}), CONFIG, None)
        if name == "top_p" and value == 0:
            assert options["top_k"] == 1 and name not in options
        else:
            assert options.get(name) == (None if value in neutral else value)
    for value in (least - 1, most + 1):
        with pytest.raises(ApiError, match=f"^{name} must be from "):
            read_options(Fields({name: value}), CONFIG, None)


@pytest.mark.parametrize("seed", [-(2**63), -1, 0, 2**63 - 1])
def test_seeds_of_64_bits_are_read(seed: int) -> None:
    assert read_options(Fields({"seed": seed}), CONFIG, None)["seed"] == seed % 2**63
    with pytest.raises(ApiError, match=r"^seed must be from -9,223,372,036,854,775,808 to "):
        read_options(Fields({"seed": 2**63}), CONFIG, None)


def test_the_maximum_number_of_tokens_has_two_names() -> None:
    for both in ((7, None), (None, 7), (7, 7)):
        found = chat(max_tokens=both[0], max_completion_tokens=both[1])
        assert found.options["max_tokens"] == 7
        assert found.limit == ("max_tokens" if both[1] is None else "max_completion_tokens")
    with pytest.raises(ApiError, match=r"^max_tokens and max_completion_tokens differ; give one of them$"):
        chat(max_tokens=7, max_completion_tokens=8)
    assert text(max_tokens=0).options["max_tokens"] == 0 and text(**REGEX).options["max_tokens"] == 40


@pytest.mark.parametrize(
    ("given", "stops"),
    [
        (None, ()),
        ([], ()),
        ("a", ("a",)),
        (["a", "b" * 64], ("a", "b" * 64)),
        ("", None),
        ("b" * 65, None),
        ([1], None),
        ([""], None),
        (["a", "\ud800"], HALF_PAIR),
        (["a"] * 16, ("a",) * 16),
        (["a"] * 17, "must have at most 16 items"),
        (5, "must be an array"),
    ],
)
def test_stops_are_short_texts(given: object, stops: tuple[str, ...] | str | None) -> None:
    for read in (chat, text):
        if isinstance(stops, tuple):
            assert read(stop=given).stops == stops and read(stop=given, **REGEX).stops == stops
        else:
            with pytest.raises(ApiError) as error:
                read(stop=given)
            fault = stops or "must be strings of 1 to 64 characters"
            assert (error.value.message, error.value.param) == (f"stop {fault}", "stop")


def test_a_stop_would_cut_json() -> None:
    form = {"response_format": {"type": "json_object"}}
    assert chat(stop=[], **form).stops == ()
    with pytest.raises(ApiError, match=r"^stop would cut the JSON of the answer, which must be complete; "):
        chat(stop="a", **form)


def test_the_least_number_of_tokens_needs_free_text() -> None:
    for least in (0, 1, 5, 40):
        found = chat(min_tokens=least)
        assert found.min_tokens == least
        assert found.options.get("processors", ()) == ((MinTokens(least),) if least else ())
    both = text(min_tokens=2, presence_penalty=1)
    assert both.options["processors"] == (Bias(presence=1.0), MinTokens(2))
    assert chat(min_tokens=3, max_tokens=3).min_tokens == 3
    for fields, fault in (
        ({"max_tokens": 2}, "must be at most the maximum number of tokens, 2"),
        (REGEX, "is not supported with structured_outputs.regex; give the schema a minLength, or the "),
        ({"tools": [TOOL]}, "is not supported with tools; give the schema a minLength, or the regex a"),
    ):
        assert chat(min_tokens=0, **fields).min_tokens == 0
        with pytest.raises(ApiError, match=f"^min_tokens {fault}"):
            chat(min_tokens=3, **fields)


def test_log_probabilities_are_asked_for() -> None:
    assert [chat(logprobs=each).top_logprobs for each in (True, False)] == [0, None]
    assert [chat(logprobs=True, top_logprobs=each).top_logprobs for each in (0, 20)] == [0, 20]
    assert [text(logprobs=each).top_logprobs for each in (0, 20)] == [0, 20]
    include = ["message.output_text.logprobs"]
    assert response(include=include).top_logprobs == 0
    assert response(include=[*include, "reasoning.encrypted_content"], top_logprobs=20).top_logprobs == 20
    assert response(include=["reasoning.encrypted_content"]).top_logprobs is None
    assert response(top_logprobs=0).top_logprobs is None
    for read, fields, fault in (
        (chat, {"top_logprobs": 0}, "top_logprobs needs logprobs: true"),
        (chat, {"top_logprobs": 21, "logprobs": True}, "top_logprobs must be from 0 to 20"),
        (text, {"logprobs": 21}, "logprobs must be from 0 to 20"),
        (response, {"top_logprobs": 1}, r"top_logprobs needs include: \['message.output_text.logprobs'\]"),
        (
            response,
            {"include": ["x"]},
            "include can have only 'message.output_text.logprobs' and 'reasoning.encrypted_content'",
        ),
        (response, {"include": include * 3}, "include must have at most 2 items"),
    ):
        with pytest.raises(ApiError, match=f"^{fault}$"):
            read(**fields)


def test_the_usage_ends_a_stream_that_asks_for_it() -> None:
    for read in (chat, text):
        assert read(stream=True).is_streamed and not read(stream=True).sends_usage
        for flag in (True, False):
            assert read(stream=True, stream_options={"include_usage": flag}).sends_usage is flag
        with pytest.raises(ApiError, match=r"^stream_options needs stream: true$"):
            read(stream_options={})
        with pytest.raises(ApiError, match=r"^unknown field 'usage'; "):
            read(stream=True, stream_options={"usage": True})
    assert response(stream=True, stream_options={"include_obfuscation": False}).is_streamed
    with pytest.raises(ApiError, match=r"^unknown field 'include_usage'; "):
        response(stream=True, stream_options={"include_usage": True})


def test_a_prompt_describes_a_constraint_or_tools() -> None:
    system = [{"role": "system", "content": "x"}]
    assert chat(**REGEX).options["include_schema"] and response(**REGEX).options["include_schema"]
    assert not chat(include_schema=False, **REGEX).options["include_schema"]
    assert not chat(messages=system, **REGEX).options["include_schema"]
    assert chat(tools=[TOOL]).options["include_schema"] and not text(**REGEX).options["include_schema"]


def test_an_answer_continues_the_last_message() -> None:
    found = chat(messages=[USER, REPLY], continue_final_message=True)
    assert found.start == "well" and found.prompts == ([USER],)
    assert chat(messages=[USER, REPLY], continue_final_message=True, add_generation_prompt=False).start
    assert chat(messages=[USER, REPLY], add_generation_prompt=True).start == ""
    missing = (
        "needs a last message of the assistant with a text, and one before it; add them, or leave it out"
    )
    for messages in ([USER], [REPLY], [USER, {**REPLY, "content": ""}], [REPLY, USER]):
        with pytest.raises(ApiError, match=f"^continue_final_message {missing}$"):
            chat(messages=messages, continue_final_message=True)
    with pytest.raises(
        ApiError, match=r"^continue_final_message is not supported with tools and calls; send "
    ):
        chat(messages=[USER, REPLY], continue_final_message=True, tools=[TOOL])
    for continued, remedy in (
        (True, "must be false here; leave it out"),
        (False, "must be true here; leave it out, or give continue_final_message: true"),
    ):
        with pytest.raises(ApiError, match=f"^add_generation_prompt {remedy}$"):
            chat(
                messages=[USER, REPLY],
                continue_final_message=continued,
                add_generation_prompt=continued,
            )


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("", ("",)),
        (["a", "b"], ("a", "b")),
        ([0, 5], ((0, 5),)),
        ([[1], "a", []], ((1,), "a", ())),
        ([""] * 6, ("",) * 6),
        ([""] * 7, "and n give more than 6 answers"),
        ([""] * 64, "and n give more than 6 answers"),
        ([""] * 65, "must have at most 64 prompts"),
        (None, "is required: a text, an array of tokens, or an array of either"),
        ([], "is required: a text, an array of tokens, or an array of either"),
        ([1, -1], "must have only integers from 0 as tokens"),
        ([1, True], "must have only integers from 0 as tokens"),
        ([True], "must have only integers from 0 as tokens"),
        ([["a"]], "must have only integers from 0 as tokens"),
        (["a", 1], "must have texts or arrays of tokens as its items"),
        (["a", "\ud800"], HALF_PAIR),
    ],
)
def test_prompts_are_texts_or_tokens(prompt: object, prompts: object) -> None:
    if isinstance(prompts, tuple):
        found = text(prompt=prompt)
        assert found.prompts == prompts and found.answers == len(prompts)
    else:
        with pytest.raises(ApiError) as error:
            text(prompt=prompt)
        assert (error.value.message, error.value.param) == (f"prompt {prompts}", "prompt")


def test_the_answers_of_a_request_are_bounded() -> None:
    assert chat(n=6).count == 6 and text(prompt=["a", "b"], n=3).answers == 6
    assert text(n=2, best_of=2).count == 2 and text(echo=True).shows_prompt
    assert (
        chat(include_stop_str_in_output=True).shows_stop and text(include_stop_str_in_output=True).shows_stop
    )
    for fields, fault in (
        ({"n": 7}, "n must be from 1 to 6"),
        ({"prompt": ["a"] * 4, "n": 2}, "prompt and n give more than 6 answers"),
        (
            {"n": 2, "best_of": 3},
            "best_of must equal n; write n, and choose the answer with the best logprobs",
        ),
        ({"best_of": 1_001}, "best_of must be from 1 to 1,000"),
    ):
        with pytest.raises(ApiError, match=f"^{fault}$"):
            text(**fields)


def test_a_response_repeats_its_fields() -> None:
    plain = response().echo
    assert response(tools=None, temperature=0.5, metadata={"a": "b"}).echo == {
        **plain,
        "temperature": 0.5,
        "metadata": {"a": "b"},
    }
    assert plain["tools"] == [] and plain["parallel_tool_calls"] is True and plain["top_p"] is None
    assert response(max_tool_calls=2**31).kind == "response"
    for fields, fault in (
        ({"max_tool_calls": 0}, "max_tool_calls must be from 1 to 2,147,483,648"),
        ({"max_tool_calls": 2**31 + 1}, "max_tool_calls must be from 1 to 2,147,483,648"),
        (
            {"reasoning": {"effort": "low"}},
            "reasoning.effort is not supported: the model does not reason; leave it out",
        ),
        ({"reasoning": {"summary": "none"}}, "reasoning.summary is not supported: the model does not "),
    ):
        with pytest.raises(ApiError, match=f"^{fault}"):
            response(**fields)
    assert response(reasoning={"effort": "none", "summary": None}).echo == plain


def test_fields_with_one_value_refuse_the_others() -> None:
    for name, value in (("store", False), ("length_penalty", 1), ("length_penalty", 1.0), ("bad_words", [])):
        assert all(read(**{name: value}).model == "m" for read in READERS.values())
    assert chat(echo=False, add_special_tokens=False, chat_template_kwargs={"thinking": False}).model == "m"
    assert chat(chat_template_kwargs={"enable_thinking": False}).model == "m"
    assert text(add_special_tokens=True, suffix="").model == response(background=False, min_tokens=0).model
    for name, value, remedy in (
        ("store", 0, "leave it out, or give false"),
        ("skip_special_tokens", False, "leave it out: an answer has no special tokens"),
        ("length_penalty", True, "leave it out, or give 1"),
        ("return_token_ids", True, "leave it out, or give false"),
    ):
        for read in READERS.values():
            with pytest.raises(ApiError, match=f"^{name} is not supported; {remedy}$"):
                read(**{name: value})


def test_fields_without_effect_have_types() -> None:
    for priority in (-(2**63) + 1, 2**63 - 1):
        assert chat(priority=priority, user="x", metadata={"a": "b"}, prediction={}).model == "m"
    for fields, fault in (
        ({"priority": 2**63}, "priority must be from "),
        ({"metadata": {"a": 1}}, r"metadata\.a must be a string"),
        ({"metadata": {"a": None}}, "metadata must have texts as its names and values"),
        ({"metadata": {"\ud800": "a"}}, "metadata must have texts as its names and values"),
        ({"prompt_cache_options": 1}, "prompt_cache_options must be an object"),
        ({"service_tier": 1}, "service_tier must be a string"),
    ):
        with pytest.raises(ApiError, match=f"^{fault}"):
            chat(**fields)


def test_changes_of_logits_are_bounded() -> None:
    given = {"logit_bias": {"3": 100, "7": -100, "8": 0}, "frequency_penalty": -2, "presence_penalty": 2}
    found = read_bias(Fields(given))
    assert found == Bias(((3, 100.0), (7, -100.0)), -2.0, 2.0)
    size = byte_vocabulary().size
    for token, is_known in ((size - 1, True), (size, False)):
        options = chat(logit_bias={str(token): 1}, min_tokens=1).options
        if is_known:
            check_bias(options, byte_vocabulary())
        else:
            with pytest.raises(
                ApiError, match=rf"^logit_bias has the token {size}, and the model has {size:,} "
            ):
                check_bias(options, byte_vocabulary())
    assert read_bias(Fields({"logit_bias": {"9" * 9: 1}})) == Bias(((999_999_999, 1.0),))
    for name in ("", "-1", "1" * 10, "٣", "x"):
        with pytest.raises(ApiError, match=r"^logit_bias has the key '.*'; its keys are ids of tokens$"):
            read_bias(Fields({"logit_bias": {name: 1}}))


def test_the_end_is_forbidden_in_the_first_tokens() -> None:
    vocabulary = byte_vocabulary()
    for count in (1, 2):
        step = MinTokens(count).begin(vocabulary)
        for written in range(4):
            row = step([1, 2, *range(written)], np.zeros(vocabulary.size, np.float32))
            ends = [*vocabulary.eos_token_ids] if written < count else []
            assert np.flatnonzero(np.isneginf(row)).tolist() == ends
        assert not MinTokens(count).begin(vocabulary)([1], np.zeros(5, np.float32)).any()


@pytest.mark.parametrize("kind", READERS)
def test_each_endpoint_refuses_unknown_fields_and_other_types(kind: str) -> None:
    read = READERS[kind]
    for name, remedy in (
        ("temprature", "write temperature"),
        ("bad", "leave it out: the fields are model, "),
    ):
        with pytest.raises(ApiError, match=f"^unknown field '{name}'; {remedy}"):
            read(**{name: 1})
    for fields, fault in (
        ({"user": 1}, "user must be a string"),
        ({"stream": 1}, "stream must be a boolean"),
    ):
        with pytest.raises(ApiError, match=f"^{fault}$"):
            read(**fields)
    limit = {"chat": "max_completion_tokens", "text": "logprobs", "response": "max_output_tokens"}[kind]
    assert read(**{limit: 1}).kind == kind
    with pytest.raises(ApiError, match=f"^{limit} must be from {0 if kind == 'text' else 1} to "):
        read(**{limit: -1 if kind == "text" else 0})


def test_the_least_of_a_number_and_the_most_of_a_prompt() -> None:
    for read in (chat, text):
        with pytest.raises(ApiError, match=r"^n must be from 1 to 6$"):
            read(n=0)
        with pytest.raises(ApiError, match=r"^min_tokens is not supported with structured_outputs\.regex; "):
            read(min_tokens=1, **REGEX)
    with pytest.raises(ApiError, match=r"^prediction must be an object$"):
        chat(prediction=1)
    with pytest.raises(ApiError, match=r"^prompt must have at most 1,048,576 items$"):
        text(prompt=[0] * (2**20 + 1))


def test_the_smallest_numbers_with_an_effect() -> None:
    for name, value in (("top_k", 1), ("repetition_penalty", 2), ("min_p", 1), ("top_p", 0.5)):
        assert read_options(Fields({name: value}), CONFIG, None)[name] == value
    assert not chat(stream=True, stream_options={}).sends_usage


def test_a_prompt_of_one_text_is_read() -> None:
    assert text(prompt="hi").prompts == ("hi",)
    assert response(input="hi").prompts == chat().prompts == ([USER],)
    tool = response(tools=[{"type": "function", "name": "f"}]).tools
    assert tool is not None and [each.name for each in tool.tools] == ["f"]
