"""The official client of OpenAI and the server."""

from __future__ import annotations

import json
import math
import re

import pytest
from pydantic import BaseModel

from structkit.testing import RandomModel, ScriptedModel
from tests.serve.running import ANA, PERSON, Served, client_of, serving, tool

openai = pytest.importorskip("openai")


class Person(BaseModel):
    name: str
    age: int


def test_the_model_is_listed(random: Served) -> None:
    client = client_of(random)
    assert [model.id for model in client.models.list()] == ["demo"]
    assert client.models.retrieve("demo").owned_by == "structkit"
    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt'"):
        client.models.retrieve("gpt")


def test_a_type_is_parsed() -> None:
    with serving(['{"name": "Ana", "age": 34}']) as served:
        completion = client_of(served).chat.completions.parse(
            model="demo", messages=ANA, response_format=Person
        )
        assert isinstance(served.model, ScriptedModel)
        [prompt] = served.model.prompts
    assert completion.choices[0].message.parsed == Person(name="Ana", age=34)
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage is not None
    assert (
        completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    )
    assert "Ana is 34." in prompt
    assert "name" in prompt  # the model reads the schema


@pytest.mark.parametrize("include_schema", [True, False])
def test_the_schema_can_be_left_out_of_the_prompt(include_schema: bool) -> None:
    with serving(["5"]) as served:
        client_of(served).chat.completions.create(
            model="demo",
            messages=[{"role": "system", "content": "Count."}, *ANA],
            extra_body={
                "structured_outputs": {"json": {"type": "integer"}},
                "include_schema": include_schema,
            },
        )
        assert isinstance(served.model, ScriptedModel)
        assert ("Answer with" in served.model.prompts[0]) == include_schema


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_answer_matches_its_schema(random: Served, temperature: float) -> None:
    completion = client_of(random).chat.completions.create(
        model="demo",
        messages=ANA,
        response_format=PERSON,
        temperature=temperature,
        n=3,
        max_tokens=60,
        seed=1,
    )
    assert [choice.index for choice in completion.choices] == [0, 1, 2]
    texts = [choice.message.content for choice in completion.choices]
    for text in texts:
        Person.model_validate_json(text)
    assert temperature == 0.0 or len({*texts}) == 3


def test_a_seed_repeats_an_answer() -> None:
    texts = []
    for _ in range(2):
        with serving(RandomModel(seed=3)) as served:
            completion = client_of(served).chat.completions.create(
                model="demo", messages=ANA, temperature=1, seed=-5, max_tokens=9
            )
            texts.append(completion.choices[0].message.content)
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("constraint", "pattern"),
    [
        ({"regex": "[A-Z]{3}-[0-9]{2}"}, "[A-Z]{3}-[0-9]{2}"),
        ({"choice": ["yes", "no", "no idea"]}, "yes|no|no idea"),
        ({"grammar": 'start: "a" start "b" | "c"'}, "a*cb*"),
        ({"grammar": 'root ::= "x" [0-9] root | "y"\n'}, "(x[0-9])*y"),
        ({"json": {"type": "boolean"}}, "true|false"),
        ({"json": '{"type": "boolean"}'}, "true|false"),
        ({"json_object": True}, r"\{[\s\S]*\}"),
    ],
)
def test_constraints_as_vllm_spells_them(random: Served, constraint: dict[str, object], pattern: str) -> None:
    client, more = client_of(random), {"structured_outputs": constraint}
    chat = client.chat.completions.create(model="demo", messages=ANA, max_tokens=40, extra_body=more)
    text = client.completions.create(model="demo", prompt="Ana", max_tokens=40, extra_body=more)
    for answer in (chat.choices[0].message.content, text.choices[0].text):
        assert re.fullmatch(pattern, answer)


def test_a_stream_has_the_answer_in_parts(random: Served) -> None:
    with client_of(random).chat.completions.stream(
        model="demo",
        messages=ANA,
        response_format=Person,
        max_tokens=60,
        stream_options={"include_usage": True},
    ) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        completion = stream.get_final_completion()
    assert len(deltas) > 2
    assert completion.choices[0].message.parsed == Person.model_validate_json("".join(deltas))
    assert completion.usage is not None
    assert completion.usage.completion_tokens > 3


def test_streams_of_several_answers_have_an_index(random: Served) -> None:
    texts = ["", ""]
    reasons = {}
    for chunk in client_of(random).completions.create(
        model="demo",
        prompt=["one", "two"],
        max_tokens=30,
        stream=True,
        extra_body={"structured_outputs": {"regex": "é{5}[a-z]{9}"}},
    ):
        choice = chunk.choices[0]
        texts[choice.index] += choice.text
        reasons[choice.index] = choice.finish_reason
    assert all(re.fullmatch("é{5}[a-z]{9}", text) for text in texts)
    assert reasons == {0: "stop", 1: "stop"}


def test_log_probabilities_are_those_among_the_allowed_tokens(random: Served) -> None:
    chat = client_of(random).chat.completions.create(
        model="demo",
        messages=ANA,
        logprobs=True,
        top_logprobs=20,
        temperature=0.7,
        seed=1,
        extra_body={"structured_outputs": {"regex": "[a-d]x"}, "repetition_penalty": 1.3},
    )
    first, second = chat.choices[0].logprobs.content
    assert (second.token, second.bytes, second.logprob) == ("x", [120], 0.0)
    assert {each.token for each in first.top_logprobs} >= {*"abcd"}
    assert sum(math.exp(each.logprob) for each in first.top_logprobs) == pytest.approx(1.0, abs=1e-5)
    same = [each.logprob for each in first.top_logprobs if each.token == first.token]
    assert same == [pytest.approx(first.logprob, abs=1e-4)]
    text = client_of(random).completions.create(
        model="demo", prompt="Ana", logprobs=2, extra_body={"structured_outputs": {"regex": "éa|éb"}}
    )
    assert text.choices[0].logprobs.text_offset[0] == 0
    assert len(text.choices[0].logprobs.top_logprobs) == len(text.choices[0].logprobs.tokens)


def test_a_prompt_can_be_tokens(random: Served) -> None:
    ids, client = random.model.encode_text("Hello, Ana"), client_of(random)
    completion = client.completions.create(model="demo", prompt=[ids, ids[:2]], max_tokens=5)
    assert [choice.index for choice in completion.choices] == [0, 1]
    assert completion.usage.prompt_tokens == len(ids) + 2
    with pytest.raises(openai.BadRequestError, match="has the token 999999") as raised:
        client.completions.create(model="demo", prompt=[999_999])
    assert raised.value.param == "prompt"


def test_length_is_the_reason_if_the_budget_shortens_the_answer() -> None:
    with serving(ScriptedModel(["abcdefgh" * 9], strict=False)) as served:
        completion = client_of(served).chat.completions.create(
            model="demo",
            messages=ANA,
            max_completion_tokens=6,
            extra_body={"structured_outputs": {"regex": "[a-z]{3,500}"}},
        )
    assert completion.choices[0].finish_reason == "length"
    assert re.fullmatch("[a-z]{3,500}", completion.choices[0].message.content)


WEATHER, CLOCK = tool("weather", city="string"), tool("clock", zone="integer")
CALL = '{"name": "weather", "arguments": {"city": "Porto"}}'


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("choice", "reply"),
    [
        ("auto", CALL),
        ("required", CALL),
        ({"type": "function", "function": {"name": "weather"}}, '{"city": "Porto"}'),
    ],
)
def test_a_tool_is_called(choice: object, reply: str, stream: bool) -> None:
    ask = {"model": "demo", "messages": ANA, "tools": [WEATHER, CLOCK], "tool_choice": choice}
    with serving([reply]) as served:
        if stream:
            with client_of(served).chat.completions.stream(**ask) as events:
                completion = events.get_final_completion()
        else:
            completion = client_of(served).chat.completions.create(**ask)
    [call] = completion.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Porto"})
    assert completion.choices[0].finish_reason == "tool_calls"
    assert not completion.choices[0].message.content


def test_the_outputs_of_calls_are_read() -> None:
    ids = ("a", "b")
    calls = [
        {"id": id, "type": "function", "function": {"name": "weather", "arguments": f'{{"city": "{city}"}}'}}
        for id, city in zip(ids, ("Porto", "Braga"), strict=True)
    ]
    messages = [
        {"role": "developer", "content": "Be brief."},
        *ANA,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "rain"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "sun"}]},
    ]
    with serving(['{"name": "Ana", "age": 34}']) as served:
        completion = client_of(served).chat.completions.create(
            model="demo", messages=messages, tools=[WEATHER], response_format=PERSON
        )
        assert isinstance(served.model, ScriptedModel)
        [prompt] = served.model.prompts
    assert Person.model_validate_json(completion.choices[0].message.content).age == 34
    assert all(text in prompt for text in ("Be brief.", "rain", "sun", "Braga"))


@pytest.mark.parametrize("stream", [False, True])
def test_calls_can_be_parallel(stream: bool) -> None:
    ask = {"model": "demo", "messages": ANA, "tools": [WEATHER]}
    both = f"[{CALL}, {CALL.replace('Porto', 'Braga')}]"
    with serving([both, both]) as served:
        if stream:
            with client_of(served).chat.completions.stream(**ask) as events:
                completion = events.get_final_completion()
        else:
            completion = client_of(served).chat.completions.create(**ask)
        calls = completion.choices[0].message.tool_calls
        assert [json.loads(call.function.arguments)["city"] for call in calls] == ["Porto", "Braga"]
        assert len({call.id for call in calls}) == 2
        with pytest.raises(openai.InternalServerError):  # the script does not fit one call
            client_of(served).chat.completions.create(**ask, parallel_tool_calls=False)


def test_no_tool_is_called_with_none(random: Served) -> None:
    completion = client_of(random).chat.completions.create(
        model="demo", messages=ANA, tools=[WEATHER], tool_choice="none", max_tokens=20
    )
    assert completion.choices[0].message.tool_calls is None


@pytest.mark.parametrize(
    ("error", "param", "more"),
    [
        (openai.NotFoundError, "model", {"model": "gpt"}),
        (openai.BadRequestError, "max_tokens", {"max_tokens": 3, "response_format": PERSON}),
        (
            openai.BadRequestError,
            "response_format.json_schema.schema",
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "x", "schema": {"type": "intger"}},
                }
            },
        ),
        (openai.BadRequestError, "messages", {"messages": [{"role": "user", "content": "long " * 2_000}]}),
        (
            openai.BadRequestError,
            "structured_outputs.regex",
            {"extra_body": {"structured_outputs": {"regex": "("}}},
        ),
        (
            openai.BadRequestError,
            "structured_outputs.grammar",
            {"extra_body": {"structured_outputs": {"grammar": "start: x"}}},
        ),
        (
            openai.BadRequestError,
            "structured_outputs.regex",
            {"extra_body": {"structured_outputs": {"regex": "(a|b)*a(a|b){40}"}}},
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_name_the_field(
    random: Served, error: type[openai.APIStatusError], param: str, more: dict[str, object], stream: bool
) -> None:
    with pytest.raises(error) as raised:
        client_of(random).chat.completions.create(
            **{"model": "demo", "messages": ANA, "max_tokens": 60, "stream": stream, **more}
        )
    assert raised.value.param == param
    assert raised.value.body["code"]


def test_the_fault_of_a_model_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def secret(prompt: str) -> str:
        raise OSError("/secret/path")

    with serving(ScriptedModel([secret])) as served, pytest.raises(openai.InternalServerError) as raised:
        client_of(served).chat.completions.create(model="demo", messages=ANA)
    assert "secret" not in str(raised.value)
    assert "/secret/path" in caplog.text


def test_a_key_is_required() -> None:
    with serving(["ok"], api_keys=("one", "two")) as served:
        with pytest.raises(openai.AuthenticationError, match="missing or wrong"):
            client_of(served, "ont").models.list()
        assert [model.id for model in client_of(served, "two").models.list()] == ["demo"]
