"""Models of OpenAI that answer only at `/v1/responses`."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.errors import ModelError
from structkit.models.hosted.parts import ReplyPart
from structkit.models.hosted.responses import read_response_event
from tests.models.hosted.services import KINDS, Kind
from tests.models.servers.fake import Say, Wire, error, serve

ONLY = "This model is only supported in v1/responses and not in v1/chat/completions."
AZURE = "The chatCompletion operation does not work with the specified model, gpt-5-pro. Please choose different model."
WHOLE = '{"name": "Ana", "age": 34}'


class Person(BaseModel):
    name: str
    age: int


ANA = Person(name="Ana", age=34)


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': 1, **fields})}\n\n".encode()


RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5-pro", "output": []}
WIRE = Wire(
    piece=lambda text: event(
        "response.output_text.delta", delta=text, item_id="m", output_index=0, content_index=0, logprobs=[]
    ),
    start=event("response.created", response={**RESPONSE, "status": "in_progress"})
    + event(
        "response.output_item.added", output_index=0, item={"type": "reasoning", "id": "r", "summary": []}
    ),
    end=event("response.completed", response={**RESPONSE, "status": "completed"}),
)
each_client = pytest.mark.parametrize(
    "kind", [replace(kind, wire=WIRE) for kind in KINDS[:2]], ids=lambda kind: kind.name
)


def only_responses(*replies: str | Say, refusal: Say = error(404, ONLY)) -> Any:  # noqa: B008
    """A reply that refuses chat completions, and gives the others in order."""
    rest = list(replies)

    def reply(body: dict[str, object]) -> str | Say:
        if body["path"] != "/v1/responses":
            return refusal
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return reply


@each_client
def test_requests_are_sent_to_responses_from_then_on(kind: Kind) -> None:
    options = {"reasoning_effort": "low", "verbosity": "low", "max_completion_tokens": 99}
    with kind.serving(only_responses(WHOLE), options=options) as (model, server):
        for _ in range(2):
            result = sk.generate(model, "Ana, 34", Person, system="Be brief.")
            assert (result.value, result.guarantee) == (ANA, "constrained")
    paths = [request["path"] for request in server.requests]
    assert paths == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]
    sent: Any = server.requests[1]
    assert [each["role"] for each in sent["input"]] == ["system", "user"]
    assert sent["text"]["format"]["type"] == "json_schema"
    assert sent["text"]["format"]["strict"]
    assert sent["text"]["format"]["schema"]["required"] == ["name", "age"]
    assert (sent["text"]["verbosity"], sent["reasoning"]) == ("low", {"effort": "low"})
    assert (sent["max_output_tokens"], sent["store"], sent["stream"]) == (99, False, True)


@each_client
def test_azure_says_it_otherwise(kind: Kind) -> None:
    with kind.serving(only_responses(WHOLE, refusal=error(400, AZURE))) as (model, _):
        assert sk.generate(model, "Ana, 34", Person).guarantee == "constrained"


@each_client
def test_replies_are_corrected(kind: Kind) -> None:
    with kind.serving(only_responses('{"name": "Ana", "years": 3}', "34}")) as (model, server):
        result = sk.generate(model, "Ana, 34", Person)
        assert (result.value, result.guarantee) == (ANA, "corrected")
    assert "text" not in server.requests[-1]


@each_client
@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (
            event("response.incomplete", response={**RESPONSE, "incomplete_details": {"reason": "content_filter"}}),
            "refuses to answer: a content filter",
        ),
        (
            event(
                "response.incomplete", response={**RESPONSE, "incomplete_details": {"reason": "max_output_tokens"}}
            ),
            "maximum number of tokens before its first text",
        ),
        (
            event("response.failed", response={**RESPONSE, "error": {"code": "server_error", "message": "Oops"}}),
            "failed while it replied: Oops\n  try again later",
        ),
        (event("error", code="server_error", message="Oops", param=None), "failed while it replied: Oops"),
        (
            event("response.refusal.delta", delta="I cannot.", item_id="m", output_index=0, content_index=0),
            r"refuses to answer: I cannot\.",
        ),
        (
            event(
                "response.output_item.added",
                output_index=0,
                item={"type": "function_call", "call_id": "c", "name": "f", "arguments": ""},
            ),
            "calls a tool and does not answer",
        ),
    ],
)  # fmt: skip
def test_a_reply_without_an_answer(kind: Kind, said: bytes, fault: str) -> None:
    with (
        kind.serving(only_responses(Say([said]))) as (model, server),
        pytest.raises(ModelError, match=fault),
    ):
        sk.extract(model, "Ana, 34", Person)
    assert len(server.requests) == 2


@each_client
def test_a_reply_that_fails_in_the_middle_is_continued(kind: Kind) -> None:
    failed = event("response.failed", response={**RESPONSE, "error": {"code": "e", "message": "Oops"}})
    with kind.serving(only_responses(Say(['{"name": "Ana", ', failed]), '"age": 34}')) as (model, _):
        assert sk.extract(model, "Ana, 34", Person) == ANA


@each_client
def test_a_server_that_always_says_so_is_asked_twice(kind: Kind) -> None:
    with kind.serving(error(404, ONLY)) as (model, server):
        with pytest.raises(ModelError, match="only supported in v1/responses"):
            sk.extract(model, "Ana, 34", Person)
        assert len(server.requests) == 2


def test_connect_names_the_remedy() -> None:
    pytest.importorskip("httpx2", reason="needs the extra servers")
    with serve(error(404, ONLY)) as server:
        model = sk.connect(server.url, model="demo")
        with pytest.raises(ModelError, match=r"pass an openai\.OpenAI\(\) to structkit\.from_openai"):
            sk.extract(model, "Ana, 34", Person)


def test_only_the_maximum_of_tokens_ends_a_reply_as_full() -> None:
    def read(kind: str, **more: object) -> ReplyPart:
        return read_response_event(SimpleNamespace(type=kind, **more))

    for reason in ("max_output_tokens", "content_filter", None):
        details = SimpleNamespace(reason=reason)
        part = read("response.incomplete", response=SimpleNamespace(incomplete_details=details))
        assert part.is_full == (reason == "max_output_tokens")
    item = SimpleNamespace(type="function_call")
    for part in (
        read("response.output_text.delta", delta="a"),
        read("response.refusal.delta", delta="a"),
        read("response.output_item.added", item=item),
        read("response.created"),
    ):
        assert not part.is_full and part.tokens == ()
