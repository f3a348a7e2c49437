"""How a reply is continued, constrained and corrected."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.errors import ModelError
from tests.models.servers.fake import Say, error, serve


class Person(BaseModel):
    name: str
    age: int


class Quoted(BaseModel):
    name: Annotated[str, sk.Quote()]


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
        ("Ollama", {}),
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


def test_a_constraint_that_is_refused_is_left_out() -> None:
    def reply(body: dict[str, object]) -> str | Say:
        return error(400, "failed to parse grammar") if "grammar" in body else REST

    with serve(reply, kind="llama.cpp") as server:
        model = sk.connect(server.url)
        result = sk.generate(model, "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert model.capabilities.constraints == frozenset()
        assert last_message(server.requests[1]) == ("assistant", START)


def test_a_start_that_is_refused_becomes_a_second_message() -> None:
    def reply(body: dict[str, Any]) -> str | Say:
        if body["messages"][-1]["role"] == "assistant":
            return error(400, "Assistant response prefill is incompatible with enable_thinking.")
        return WHOLE

    with serve(reply, kind="Ollama") as server:
        model = sk.connect(server.url)
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert not model.capabilities.continues_prefix


def test_a_refusal_that_has_no_remedy() -> None:
    with serve(error(400, "This model's maximum context length is 10 tokens")) as server:
        with pytest.raises(
            ModelError, match=r"refuses the request \(status 400\): This model's maximum context"
        ):
            sk.extract(sk.connect(server.url), "Ana, 34", Person)
        assert len(server.requests) == 1


def test_a_reply_that_is_no_stream() -> None:
    body = '{"choices": [{"message": {"role": "assistant", "content": "{\\"name\\": \\"Ana\\", \\"age\\": 34}"}}]}'
    with serve(Say(body=body, streams=False)) as server:
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
