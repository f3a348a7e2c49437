"""How the official clients ask, and what becomes of their replies."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.errors import ModelError
from structkit.models.capabilities import Capabilities
from structkit.models.hosted.model import _Reply
from structkit.models.servers.faults import Fault
from structkit.models.text.protocol import TextRequest
from tests.models.hosted.services import KEY, KINDS, Kind, each_kind, prefixing
from tests.models.servers.fake import Say, error


class Person(BaseModel):
    name: str
    age: int


class Adult(BaseModel):
    name: str
    age: Annotated[int, Field(ge=18, multiple_of=2)]


ANA = Person(name="Ana", age=34)
WHOLE = '{"name": "Ana", "age": 34}'


@each_kind
def test_a_constraint_that_is_obeyed(kind: Kind) -> None:
    with kind.serving(WHOLE) as (model, server):
        result = sk.generate(model, "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "constrained")
        assert kind.schema(server.requests[0])["required"] == ["name", "age"]
        assert kind.last(server.requests[0])[0] == "user"


@each_kind
def test_a_constraint_that_is_ignored_is_corrected(kind: Kind) -> None:
    with kind.serving('{"name": "Ana", "years": 3}', "34}") as (model, server):
        result = sk.generate(model, "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert kind.schema(server.requests[1]) is None
        assert kind.last(server.requests[1])[0] == "user"


@each_kind
@pytest.mark.parametrize(
    "reply",
    [
        f"Sure! Here is the JSON:\n```json\n{WHOLE}\n```\nAnything else?",
        '{\n  "name": "\\u0041na",\n  "age": 34\n}',
        Say([WHOLE[:5], WHOLE[5:], "\n", "I hope this helps."]),
    ],
    ids=["prose", "escapes", "pieces"],
)
def test_forms_of_a_reply(kind: Kind, reply: Any) -> None:
    with kind.serving(reply) as (model, server):
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert len(server.requests) == 1


@prefixing
def test_models_that_continue_get_the_start(kind: Kind) -> None:
    with kind.serving('{"name": "Ana", "years": 3}', "34}", model=kind.prefixed) as (model, server):
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert kind.last(server.requests[1]) == ("assistant", '{"name": "Ana", "age":')


@prefixing
def test_a_start_that_is_refused_becomes_a_second_message(kind: Kind) -> None:
    def reply(body: dict[str, Any]) -> str | Say:
        if kind.last(body)[0] == "assistant":
            return error(400, "This model does not support assistant message prefill.")
        return WHOLE

    with kind.serving(reply, model=kind.prefixed, constrain=False) as (model, server):
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert not model.capabilities.continues_prefix
        assert [kind.last(request)[0] for request in server.requests] == ["assistant", "user"]


@each_kind
def test_a_reply_that_starts_over(kind: Kind) -> None:
    with kind.serving('{"name": "Ana", "years": 3}', WHOLE, continues=True) as (model, server):
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert kind.last(server.requests[1])[0] == "assistant"


@each_kind
def test_a_constraint_that_is_refused_is_left_out(kind: Kind) -> None:
    def reply(body: dict[str, Any]) -> str | Say:
        return error(400, "The schema has too many states") if kind.schema(body) else WHOLE

    with kind.serving(reply) as (model, server):
        result = sk.generate(model, "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert (model.capabilities.constraints, model.refused) == (frozenset(), {"constraint"})
        assert len(server.requests) == 2


@each_kind
def test_arguments_are_checked(kind: Kind) -> None:
    with (
        pytest.raises(TypeError, match=r"from_\w+\(\) has no argument 'max_call'; write max_calls=\.\.\.$"),
        kind.serving(WHOLE, max_call=3),
    ):
        pass
    with (
        pytest.raises(TypeError, match=r"from_\w+\(\) has no argument 'n'; it takes continues, constrain"),
        kind.serving(WHOLE, n=3),
    ):
        pass
    with pytest.raises(ValueError, match="max_calls must be at least 1"), kind.serving(WHOLE, max_calls=0):
        pass


@each_kind
def test_no_constraint_where_it_is_not_wanted(kind: Kind) -> None:
    with kind.serving(WHOLE, constrain=False) as (model, server):
        assert sk.generate(model, "Ana, 34", Person).guarantee == "corrected"
        assert kind.schema(server.requests[0]) is None
    with kind.serving(WHOLE) as (model, server), pytest.raises(ValueError, match="takes no other notation"):
        kind.wrap(kind.make(server.url), "m", constrain="grammar")


@each_kind
def test_only_the_enforced_part_is_sent_and_the_rest_is_checked(kind: Kind) -> None:
    with kind.serving('{"name": "Ana", "age": 35}', "34}") as (model, server):
        assert sk.extract(model, "Ana, 34", Adult) == Adult(name="Ana", age=34)
        sent = kind.schema(server.requests[0])["properties"]["age"]
        assert ("multipleOf" in sent) == (kind.package == "openai")
        rows = {row.keyword: row.server for row in sk.explain(Adult, model).rows}
        assert rows["multipleOf"] == ("enforced" if kind.package == "openai" else "checked")


@each_kind
def test_all_ways_to_call(kind: Kind) -> None:
    with kind.serving(WHOLE) as (model, _):
        assert sk.extract_many(model, ["Ana"] * 4, Person) == [ANA] * 4
        *_, last = sk.stream(model, "Ana", Person)
        assert isinstance(last, sk.StreamEnd)
        assert last.result.value == ANA

    async def calls() -> list[Person]:
        with kind.serving(WHOLE) as (model, _):
            values = await asyncio.gather(*(sk.aextract(model, "Ana", Person) for _ in range(3)))
            values += await sk.aextract_many(model, ["Ana"] * 2, Person)
            async for event in sk.astream(model, "Ana", Person):
                if isinstance(event, sk.StreamEnd):
                    values.append(event.result.value)
            return values

    assert asyncio.run(calls()) == [ANA] * 6


@each_kind
def test_agents(kind: Kind) -> None:
    def age(name: str) -> int:
        """Return the age of a person."""
        return 34

    call = '{"name": "age", "arguments": {"name": "Ana"}}'
    with kind.serving(call, WHOLE) as (model, server):
        result = sk.Agent(model, tools=[age], output_type=Person).run("How old is Ana?")
        assert result.value == ANA
        assert "34" in json.dumps(server.requests[1])


@each_kind
def test_system_messages_and_options(kind: Kind) -> None:
    option = ("service_tier", "auto") if kind.package == "anthropic" else ("temperature", 0.5)
    with kind.serving(WHOLE, options=dict([option])) as (model, server):
        sk.extract(model, "Ana, 34", Person, system="Be brief.")
        (request,) = server.requests
        assert json.dumps(request).count("Be brief.") == 1
        assert request.get("generationConfig", request)[option[0]] == option[1]
        if kind.package == "anthropic":
            assert request["system"].startswith("Be brief.")
            assert request["max_tokens"] == 4_096
        if kind.package == "google.genai":
            assert request["systemInstruction"]["parts"][0]["text"].startswith("Be brief.")


def test_objects_of_options_are_joined() -> None:
    kind = next(kind for kind in KINDS if kind.name == "anthropic")
    options = {"output_config": {"effort": "low"}, "max_tokens": 99}
    with kind.serving(WHOLE, options=options) as (model, server):
        sk.extract(model, "Ana, 34", Person)
        assert set(server.requests[0]["output_config"]) == {"effort", "format"}  # type: ignore[call-overload]
        assert server.requests[0]["max_tokens"] == 99


@each_kind
def test_the_stream_is_closed_at_the_first_byte_that_cannot_follow(kind: Kind) -> None:
    with kind.serving(Say(['{"name": "Ana", "years": 3', "4}"], hangs=True), "34}", timeout=5) as (model, _):
        assert sk.extract(model, "Ana, 34", Person) == ANA


@each_kind
def test_a_reply_that_breaks_off_is_continued(kind: Kind) -> None:
    with kind.serving(Say(['{"name": "A', "n"], is_cut=True), 'Ana", "age": 34}') as (model, _):
        result = sk.generate(model, "Ana, 34", Person)
        assert result.value == ANA
        assert [draft.end for draft in result.trace.drafts] == ["failed", "complete"]  # type: ignore[union-attr]


@each_kind
def test_a_reply_of_nothing_or_of_another_object(kind: Kind) -> None:
    with (
        kind.serving("", "I cannot help.", "\n" * 1_000, WHOLE, max_calls=3) as (model, server),
        pytest.raises(sk.CorrectionsExhausted, match="max_calls=3"),
    ):
        sk.extract(model, "Ana, 34", Person)
    assert len(server.requests) == 3


REFUSALS: dict[str, list[str]] = {
    "openai": [
        '{"choices": [{"index": 0, "delta": {"refusal": "I cannot "}}]}',
        '{"choices": [{"index": 0, "delta": {"refusal": "do that."}, "finish_reason": "stop"}]}',
    ],
    "anthropic": [
        '{"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": {"type": "refusal", '
        '"explanation": "I cannot do that."}}, "usage": {"output_tokens": 1}}'
    ],
    "google.genai": ['{"promptFeedback": {"blockReason": "SAFETY"}}'],
}
FILTERS: dict[str, list[str]] = {
    "openai": ['{"choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]}'],
    "anthropic": [
        '{"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {"output_tokens": 1}}'
    ],
    "google.genai": ['{"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]}'],
}
WORDS = {"openai": "I cannot do that.", "anthropic": "I cannot do that.", "google.genai": r"\(SAFETY\)"}


def events(kind: Kind, data: list[str]) -> Say:
    named = [
        f"event: {json.loads(each).get('type')}\n" if kind.package == "anthropic" else "" for each in data
    ]
    return Say([f"{name}data: {each}\n\n".encode() for name, each in zip(named, data, strict=True)])


@each_kind
def test_a_refusal_ends_with_its_words(kind: Kind) -> None:
    with kind.serving(events(kind, REFUSALS[kind.package])) as (model, server):
        with pytest.raises(
            ModelError, match=f"refuses to answer: .*{WORDS[kind.package]}.*\n  change the prompt"
        ):
            sk.extract(model, "Ana, 34", Person)
        assert len(server.requests) == 1
    with (
        kind.serving(events(kind, FILTERS[kind.package])) as (model, _),
        pytest.raises(ModelError, match="the model refuses to answer"),
    ):
        sk.extract(model, "Ana, 34", Person)


LENGTH: dict[str, str] = {
    "openai": '{"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}',
    "anthropic": '{"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 1}}',
    "google.genai": '{"candidates": [{"finishReason": "MAX_TOKENS"}]}',
}
THOUGHT: dict[str, str] = {
    "openai": '{"choices": []}',
    "anthropic": '{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "35?"}}',
    "google.genai": '{"candidates": [{"content": {"parts": [{"text": "35?", "thought": true}]}}]}',
}


@each_kind
def test_a_reply_of_the_maximum_length_is_continued(kind: Kind) -> None:
    end = events(kind, [LENGTH[kind.package]])
    with kind.serving(Say(['{"name": "An', *end.pieces]), 'a", "age": 34}') as (model, _):
        result = sk.generate(model, "Ana, 34", Person)
        assert result.value == ANA
        assert result.trace.drafts[0].end == "ended"  # type: ignore[union-attr]


@each_kind
def test_reasoning_that_uses_all_tokens_up_has_a_remedy(kind: Kind) -> None:
    """The next reply would do the same, and each costs as many tokens."""
    said = events(kind, [THOUGHT[kind.package]]).pieces, events(kind, [LENGTH[kind.package]]).pieces
    with kind.serving(Say([*said[0], *said[1]])) as (model, server):
        with pytest.raises(
            ModelError,
            match=r"maximum number of tokens before its first text.*\n  raise the maximum in options",
        ):
            sk.extract(model, "Ana, 34", Person)
        assert len(server.requests) == 1


CALLS: dict[str, list[str]] = {
    "openai": [
        '{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", '
        '"function": {"name": "age", "arguments": "{}"}}]}}]}',
        '{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}',
    ],
    "anthropic": [
        '{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "toolu_1", '
        '"name": "age", "input": {}}}',
        '{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}}',
        '{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}',
    ],
    "google.genai": ['{"candidates": [{"finishReason": "UNEXPECTED_TOOL_CALL"}]}'],
}


@each_kind
def test_a_call_of_a_tool_is_no_answer(kind: Kind) -> None:
    with kind.serving(events(kind, CALLS[kind.package])) as (model, server):
        with pytest.raises(
            ModelError, match=r"calls a tool and does not answer\n  leave tools out of options"
        ):
            sk.extract(model, "Ana, 34", Person)
        assert len(server.requests) == 1


def test_a_call_of_gemini_has_no_reason_of_its_own() -> None:
    kind = KINDS[-1]
    call = (
        '{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}]}'
    )
    with kind.serving(events(kind, [call])) as (model, server):
        with pytest.raises(ModelError, match="calls a tool and does not answer"):
            sk.extract(model, "Ana, 34", Person)
        assert len(server.requests) == 1


def test_a_paused_turn_of_anthropic_is_not_asked_for_again() -> None:
    kind = next(kind for kind in KINDS if kind.name == "anthropic")
    end = '{"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 1}}'
    with kind.serving(events(kind, [end])) as (model, server):
        with pytest.raises(ModelError, match=r"uses its own tools\n  leave tools out of options"):
            sk.extract(model, "Ana, 34", Person)
        assert len(server.requests) == 1


def test_a_full_context_of_anthropic() -> None:
    kind = next(kind for kind in KINDS if kind.name == "anthropic")
    end = '{"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}, "usage": {}}'
    with (
        kind.serving(Say(['{"name": "An', *events(kind, [end]).pieces]), events(kind, [end])) as (model, _),
        pytest.raises(ModelError, match="longer than the context of the model") as raised,
    ):
        sk.extract(model, "Ana, 34", Person)
    assert raised.value.prefix == '{"name": "'  # a word that broke off is not kept


def test_all_events_of_a_reply_of_anthropic_with_thinking() -> None:
    """As the API sends them: two blocks, with signature and citations, of which one has text at its start."""
    kind = next(kind for kind in KINDS if kind.name == "anthropic")
    sent = [
        (
            "content_block_start",
            {"index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        ),
        ("content_block_delta", {"index": 0, "delta": {"type": "thinking_delta", "thinking": "{35?"}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        ("content_block_stop", {"index": 0}),
        ("ping", {}),
        ("content_block_start", {"index": 1, "content_block": {"type": "text", "text": '{"name"'}}),
        ("content_block_delta", {"index": 1, "delta": {"type": "text_delta", "text": ': "Ana", "age": 34}'}}),
        ("content_block_stop", {"index": 1}),
    ]
    pieces = [
        f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode() for name, data in sent
    ]
    with kind.serving(Say(pieces)) as (model, _):
        result = sk.generate(model, "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "constrained")


@pytest.mark.parametrize("kind", KINDS[:2], ids=lambda kind: kind.name)
def test_likely_tokens_of_openai_are_taken(kind: Kind) -> None:
    top = [{"token": text, "logprob": -score} for score, text in enumerate(("old", " 35", " 34"))]
    tokens = [{"token": "old", "logprob": 0.0, "top_logprobs": top}]
    choice = {"index": 0, "delta": {"content": "old"}, "logprobs": {"content": tokens}}
    wrong = events(kind, [json.dumps({"choices": [choice]})]).pieces
    options = {"logprobs": True, "top_logprobs": 20}
    with kind.serving(Say(['{"name": "Ana", "age": ', *wrong]), "}", options=options) as (model, server):
        assert model.capabilities.logits == "some"
        result = sk.generate(model, "Ana", Person)
        assert result.value == Person(name="Ana", age=35)
        assert result.trace.drafts[0].chosen == "35"  # type: ignore[union-attr]
        assert server.requests[1]["top_logprobs"] == 20


@pytest.mark.parametrize("kind", [*KINDS[:2], KINDS[-1]], ids=lambda kind: kind.name)
def test_only_the_first_of_several_answers_is_read(kind: Kind) -> None:
    def piece(index: int, text: str) -> str:
        if kind.package == "openai":
            return json.dumps({"choices": [{"index": index, "delta": {"content": text}}]})
        return json.dumps({"candidates": [{"index": index, "content": {"parts": [{"text": text}]}}]})

    both = [piece(index, text) for text in (WHOLE[:9], WHOLE[9:]) for index in (1, 0)]
    options = {"n": 2} if kind.package == "openai" else {"candidate_count": 2}
    with kind.serving(events(kind, both), options=options) as (model, _):
        assert sk.generate(model, "Ana, 34", Person).guarantee == "constrained"


@each_kind
def test_reasoning_is_no_part_of_the_answer(kind: Kind) -> None:
    thought = events(kind, [THOUGHT[kind.package]])
    with kind.serving(Say([*thought.pieces, WHOLE])) as (model, _):
        assert sk.generate(model, "Ana, 34", Person).guarantee == "constrained"


@pytest.mark.parametrize("kind", KINDS[::2], ids=lambda kind: kind.name)
def test_other_objects_are_no_clients(kind: Kind) -> None:
    pytest.importorskip(kind.package, reason=f"the package {kind.package} is not installed")
    with pytest.raises(TypeError, match=r"takes a .*\(\), not str"):
        kind.wrap(KEY, "m")
    for settings in ({"timeout": 0}, {"timeout": float("nan")}, {"max_calls": 0}):
        with pytest.raises(ValueError, match="must be"):
            kind.wrap(kind.make("http://localhost:1"), "m", **settings)


def test_what_is_known_of_a_server_of_an_openai_client() -> None:
    openai = pytest.importorskip("openai", reason="the package openai is not installed")
    known = {
        "https://api.openai.com/v1": {"json_schema"},
        "https://eu.api.openai.com/v1": {"json_schema"},
        "http://localhost:8000/v1": set(),
        "https://api.mistral.ai/v1": set(),
    }
    for url, constraints in known.items():
        model = sk.from_openai(openai.OpenAI(base_url=url, api_key=KEY), "m")
        assert model.capabilities.constraints == constraints
        assert model.capabilities.continues_prefix == ("mistral" in url)
    azure = openai.AzureOpenAI(azure_endpoint="https://a.example", api_version="2026-01-01", api_key=KEY)
    assert sk.from_openai(azure, "deployment").capabilities.constraints == {"json_schema"}
    assert sk.from_openai(azure, "deployment").name == "deployment of OpenAI"
    other = openai.OpenAI(base_url="http://me:pass@host.example/v1", api_key="k")
    assert sk.from_openai(other, "m").name == "m of host.example"


def test_what_a_reply_lacks_is_a_fault_that_is_not_tried_again() -> None:
    request = TextRequest(prompt="x", max_tokens=100)
    for fields, said in (
        ({"refusals": ["I will", " not"]}, "the model refuses to answer: I will not; change the prompt"),
        ({"refusals": [""]}, "the model refuses to answer; change the prompt"),
        ({"fault": "the model is down"}, "the model is down"),
        ({"has_events": False}, "the reply has no event of a stream; is the client's address right?"),
    ):
        reply = _Reply(Capabilities())
        for name, value in {"has_events": True, **fields}.items():
            setattr(reply, name, value)
        with pytest.raises(Fault) as fault:
            reply.check(request, [])
        assert fault.value.what.startswith(said) and not fault.value.is_transient
    whole = _Reply(Capabilities())
    whole.has_events = True
    whole.check(request, [])
