"""How a reply is continued, constrained and corrected."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.errors import ModelError
from structkit.models.capabilities import Capabilities
from structkit.models.servers import dialects
from structkit.models.servers.http import _lines
from structkit.models.servers.remote import KnownCapabilities
from tests.models.servers.fake import Say, error, serve


class Person(BaseModel):
    name: str
    age: int


class Quoted(BaseModel):
    name: Annotated[str, sk.Quote()]


class Adult(BaseModel):
    name: str
    age: Annotated[int, Field(ge=18)]


Colors = Annotated[set[Literal["red", "blue", "white"]], Field(min_length=2, max_length=2)]


class Node(BaseModel):
    child: Node | None


ANA = Person(name="Ana", age=34)
START = '{"name": "'
WHOLE = '{"name": "Ana", "age": 34}'
REST = 'Ana", "age": 34}'


def last_message(request: dict[str, Any]) -> tuple[str, str]:
    message = request["messages"][-1]
    return message["role"], message["content"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("vLLM", {"continue_final_message": True, "add_generation_prompt": False}),
        ("SGLang", {"continue_final_message": True}),
        ("llama.cpp", {}),
    ],
)
def test_a_server_that_continues_gets_the_start(kind: str, fields: dict[str, object]) -> None:
    with serve('Ana", "years": 3}', "34}", kind=kind) as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert [last_message(request) for request in server.requests] == [
            ("assistant", START),
            ("assistant", '{"name": "Ana", "age":'),
        ]
        for request in server.requests:
            assert {key: value for key, value in request.items() if key in fields} == fields


@pytest.mark.parametrize("kind", ["LM Studio", "transformers serve", "an OpenAI-compatible server"])
def test_other_servers_get_a_second_message(kind: str) -> None:
    with serve('Sure!\n{"name": "Ana", "years": 3}', "34}", kind=kind) as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        first, second = server.requests
        assert [message["role"] for message in first["messages"]] == ["user"]  # type: ignore[attr-defined]
        assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["vLLM", "llama.cpp", "Ollama", "LM Studio"])
def test_the_start_of_an_answer_ends_a_message_of_the_assistant(kind: str) -> None:
    """Servers refuse two messages of the assistant at the end, or templates two in a row."""

    def reply(body: dict[str, Any]) -> str | Say:
        roles = [message["role"] for message in body["messages"]]
        if any(one == other for one, other in pairwise(roles)):
            return error(400, "Cannot have 2 or more assistant messages at the end of the list.")
        return "34}" if str(body["messages"]).count("age") > 1 else '{"name": "Ana", "years": 3}'

    prompt = [{"role": "user", "content": "Ana, 34"}, {"role": "assistant", "content": "Let me see. "}]
    with serve(reply, kind=kind) as server:
        model = sk.connect(server.url, constrain=False)
        assert sk.extract(model, prompt, Person) == ANA
        assert model.refused == frozenset()
        shown = server.requests[-1]["messages"][1]  # type: ignore[index]
        assert shown == {"role": "assistant", "content": 'Let me see.\n\n{"name": "Ana", "age":'}


def test_an_answer_that_starts_over() -> None:
    with serve('{"name": "Ana", "years": 3}', WHOLE) as server:
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA


@pytest.mark.parametrize("kind", ["vLLM", "llama.cpp"])
def test_a_constraint_that_is_obeyed(kind: str) -> None:
    with serve(REST, kind=kind) as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "constrained")
        request = server.requests[0]
        sent = request if kind == "llama.cpp" else request["structured_outputs"]
        assert sent["grammar"].startswith("root ::= text")  # type: ignore[index]


def test_choices_are_a_constraint_first_and_said_only_where_it_is_ignored() -> None:
    """A prompt that stays as it was is in the prefix cache of the server."""
    replies = ['red", "red"', 'red"', 'red"', 'white"', "]"]
    with serve(*replies, kind="llama.cpp") as server:
        result = sk.generate(sk.connect(server.url), "colors?", Colors)
        assert result.value == {"red", "white"}
        assert result.trace is not None
        offered = [bool(draft.choices) for draft in result.trace.drafts]
        said = ["only one of these" in str(request["messages"]) for request in server.requests]
        assert offered[:4] == [False, True, True, True]
        assert said[:4] == [False, False, True, True]
        assert str(server.requests[1]["grammar"]).count('"white') == 1


def test_a_constraint_that_is_ignored_is_corrected() -> None:
    with serve('Ana", "years": 3}', "34}", kind="llama.cpp") as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert str(server.requests[1]["grammar"]).startswith("root ::= " + r'" " integer "}"')


def test_no_constraint_where_it_is_not_wanted_or_no_grammar_says_it() -> None:
    with serve(REST, kind="llama.cpp") as server:
        assert (
            sk.generate(sk.connect(server.url, constrain=False), "Ana, 34", Person).guarantee == "corrected"
        )
        assert "grammar" not in server.requests[0]
    with serve('Ana"}', kind="llama.cpp") as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Quoted)
        assert (result.text, result.guarantee) == ('{"name": "Ana"}', "corrected")
        assert "grammar" not in server.requests[0]


def test_a_server_that_enforces_schemas_gets_the_part_that_it_enforces() -> None:
    with serve(WHOLE, kind="Ollama") as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Adult)
        assert (result.value, result.guarantee) == (Adult(name="Ana", age=34), "constrained")
        (request,) = server.requests
        assert (
            last_message(request)[0] == "user"
        )  # the schema describes the whole answer, so nothing precedes it
        sent = request["response_format"]["json_schema"]["schema"]["properties"]["age"]  # type: ignore[index]
        assert sent == {"title": "Age", "type": "integer"}


def test_a_schema_that_is_ignored_is_corrected_without_it() -> None:
    with serve('{"name": "Ana", "years": 3}', "34}", kind="Ollama") as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        first, second = server.requests
        assert "response_format" in first
        assert "response_format" not in second
        assert last_message(second) == ("assistant", '{"name": "Ana", "age":')
        assert [draft.constraint for draft in result.trace.drafts] == ["json_schema", None]


def test_white_space_of_the_server_is_no_correction() -> None:
    with serve('{\n  "name": "Ana",\n  "age": 34\n}', kind="LM Studio") as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.text, result.guarantee) == (WHOLE, "constrained")


def test_a_server_that_enforces_regexes() -> None:
    with serve(REST, kind="SGLang") as server:
        assert sk.generate(sk.connect(server.url), "Ana, 34", Person).guarantee == "constrained"
        assert re.fullmatch(str(server.requests[0]["regex"]), REST)
    with serve('{"child": null}', kind="SGLang") as server:  # no regex says a recursive target
        result = sk.generate(sk.connect(server.url), "nobody", Node)
        assert (result.value, result.guarantee) == (Node(child=None), "corrected")
        assert "regex" not in server.requests[0]


@pytest.mark.parametrize(
    ("kind", "field"), [("grammar", "grammar"), ("regex", "regex"), ("json_schema", "response_format")]
)
def test_the_notation_can_be_chosen(kind: Any, field: str) -> None:
    with serve(WHOLE) as server:
        model = sk.connect(server.url, constrain=kind)
        assert sk.generate(model, "Ana, 34", Person).guarantee == "constrained"
        assert field in server.requests[0]


def test_a_constraint_that_is_refused_is_left_out() -> None:
    def reply(body: dict[str, object]) -> str | Say:
        return error(400, "failed to parse grammar") if "grammar" in body else REST

    with serve(reply, kind="llama.cpp") as server:
        model = sk.connect(server.url)
        result = sk.generate(model, "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert (model.capabilities.constraints, model.refused) == (frozenset(), {"constraint"})
        assert last_message(server.requests[1]) == ("assistant", START)


def test_a_constraint_is_kept_if_the_server_refuses_the_request_without_it_too() -> None:
    with serve(error(400, "the prompt is longer than the context"), REST, kind="llama.cpp") as server:
        model = sk.connect(server.url, continues=False)
        server.replies[:] = [error(400, "the prompt is longer than the context")]
        with pytest.raises(ModelError, match="longer than the context"):
            sk.extract(model, "Ana, 34", Person)
        assert model.capabilities.constraints == {"grammar"}
        server.replies[:] = [WHOLE]
        assert sk.generate(model, "Ana, 34", Person).guarantee == "constrained"


def test_a_start_that_is_refused_becomes_a_second_message() -> None:
    def reply(body: dict[str, Any]) -> str | Say:
        if body["messages"][-1]["role"] == "assistant":
            return error(400, "Assistant response prefill is incompatible with enable_thinking.")
        return WHOLE

    with serve(reply, kind="Ollama") as server:
        model = sk.connect(server.url, constrain=False)
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert (model.capabilities.continues_prefix, model.refused) == (False, {"prefix"})
        assert sk.connect(server.url).refused == frozenset()


def test_what_two_threads_learn_of_a_server_adds_up() -> None:
    """Each reply knows of the refusal of its own request only."""
    stated = Capabilities(constraints=frozenset({"grammar"}), takes_messages=True)
    known = KnownCapabilities(stated)
    known.reduce(replace(stated, constraints=frozenset()))
    known.reduce(replace(stated, continues_prefix=False))
    assert known.refused == {"constraint", "prefix"}
    assert known.current == Capabilities(takes_messages=True, continues_prefix=False)


def test_a_refusal_that_has_no_remedy() -> None:
    with serve(error(400, "This model's maximum context length is 10 tokens")) as server:
        with pytest.raises(
            ModelError, match=r"refuses the request \(status 400\): This model's maximum context"
        ):
            sk.extract(sk.connect(server.url), "Ana, 34", Person)
        assert len(server.requests) == 1


def test_a_reply_that_is_no_stream() -> None:
    body = '{"choices": [{"message": {"role": "assistant", "content": "{\\"name\\": \\"Ana\\", \\"age\\": 34}"}}]}'
    with serve(Say(body=body, streams=False), Say(body=f"\ufeff{body}", streams=False)) as server:
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA


def test_reasoning_and_other_fields_are_no_part_of_the_answer() -> None:
    delta = b'{"reasoning_content": "34? 35?", "content": null}'
    thinking = b': ping\n\nevent: x\ndata: {"choices": [{"delta": %s}]}\r\n\r\n' % delta
    usage = b'data: {"choices": [], "usage": {}}\n\n'
    with serve(Say([thinking, WHOLE[:9], WHOLE[9:], usage])) as server:
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA


def test_the_stream_is_closed_at_the_first_byte_that_cannot_follow() -> None:
    with serve(Say(['{"name": "Ana", "years": 3', "4}"], hangs=True), "34}") as server:
        assert sk.extract(sk.connect(server.url, timeout=5), "Ana, 34", Person) == ANA


def events(*choices: dict[str, object], end: bytes = b"\n") -> Say:
    """A reply of the chunks with these choices."""
    return Say([b"data: " + json.dumps({"choices": [choice]}).encode() + end * 2 for choice in choices])


@pytest.mark.parametrize(
    "choices",
    [
        [{"delta": {"refusal": "I cannot "}}, {"delta": {"refusal": "help."}, "finish_reason": "stop"}],
        [{"delta": {}, "finish_reason": "content_filter"}],
    ],
    ids=["refusal", "filter"],
)
def test_a_refusal_to_answer_is_an_error_with_its_words(choices: list[dict[str, object]]) -> None:
    with serve(events(*choices)) as server:
        with pytest.raises(
            ModelError, match=r"refuses to answer: (I cannot help|a content filter).*\n  change the prompt"
        ):
            sk.extract(sk.connect(server.url), "Ana, 34", Person)
        assert len(server.requests) == 1


def test_a_content_can_be_a_list_of_parts() -> None:
    """As reasoning models of Mistral send it."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": '{"name": "Tom'}]}
    parts = [{"delta": {"content": [thinking]}}, {"delta": {"content": [{"type": "text", "text": WHOLE}]}}]
    with serve(events(*parts)) as server:
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA


@pytest.mark.parametrize("end", [b"\r", b"\r\n"])
def test_lines_can_end_otherwise_and_media_types_be_upper_case(end: bytes) -> None:
    said = events({"delta": {"content": WHOLE}}, end=end)
    with serve(replace(said, headers=(("content-type", "Text/Event-Stream"),))) as server:
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain"])
def test_an_event_can_have_several_lines_and_a_stream_a_byte_order_mark(kind: str, end: str) -> None:
    said = "\ufeff"
    for text in (WHOLE[:9], WHOLE[9:]):
        event = json.dumps({"choices": [{"delta": {"content": text}}]}, indent=1)
        said += "".join(f"data: {line}\n" for line in event.splitlines()) + "\n"
    body = (said + "data: [DONE]").replace("\n", end)
    with serve(Say(body=body, streams=False, headers=(("Content-Type", kind),))) as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.value, result.usage.calls, len(server.requests)) == (ANA, 1, 1)


def test_the_line_end_of_an_event_can_arrive_in_two_parts() -> None:
    lines = list(_lines([b"a\r", b"\nb\r", b"c\r", b"", b"\n\n"]))
    assert lines == [b"a", b"b", b"c", b"", b""]


def test_openai_gets_no_maximum_number_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reasoning counts, too; the answer is cut at the maximum where it is read."""
    monkeypatch.setitem(dialects._HOSTS, "127.0.0.1", dialects._HOSTS["api.openai.com"])
    with serve('{"name": "Ana", "age": 34}') as server:
        model = sk.connect(server.url, model="demo")
        assert sk.extract(model, "Ana, 34", Person, max_tokens=60) == Person(name="Ana", age=34)
        assert not {"max_tokens", "max_completion_tokens"} & server.requests[0].keys()
