"""What a server gets, and what its answers become: SGLang, Ollama and LM Studio as they behave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.models.servers.model import ServerModel
from tests.models.servers.engines import LmStudio, Ollama, SgLang
from tests.models.servers.fake import FakeServer, serve


class Guest(BaseModel):
    title: str | None = None
    name: str
    age: Annotated[int, Field(ge=18)] = 18


ANA = Guest(title=None, name="Ana", age=34)
RIGHT = '{"title": null, "name": "Ana", "age": 34}'
WRONG = '{"title": null, "name": "Ana", "years": 34}'
BARE = '{"name": "Ana"}'
"""An answer without the fields that have a default."""

ENGINES = {"SGLang": SgLang, "Ollama": Ollama, "LM Studio": LmStudio}


@contextmanager
def connected(
    kind: str, *answers: str, ignores: bool = False, **options: Any
) -> Iterator[tuple[ServerModel, FakeServer]]:
    with serve(ENGINES[kind](*answers, ignores=ignores), kind=kind) as server:
        model = sk.connect(server.url, **options)
        yield model, server
        model.close()


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("first", [WRONG, BARE], ids=["wrong", "bare"])
def test_an_enforced_target_needs_one_request(kind: str, first: str) -> None:
    with connected(kind, first, RIGHT) as (model, server):
        result = sk.generate(model, "Ana, 34", Guest)
        assert (result.value, result.guarantee, len(server.requests)) == (ANA, "constrained", 1)


@pytest.mark.parametrize("kind", ENGINES)
def test_an_ignored_target_is_corrected(kind: str) -> None:
    with connected(kind, WRONG, RIGHT, ignores=True) as (model, server):
        result = sk.generate(model, "Ana, 34", Guest, max_corrections=8)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert len(server.requests) > 1
        assert model.refused == frozenset()


@pytest.mark.parametrize("kind", ["SGLang", "Ollama"])
def test_a_likely_token_replaces_one_that_cannot_follow(kind: str) -> None:
    with connected(kind, WRONG, RIGHT, constrain=False) as (model, server):
        result = sk.generate(model, "Ana, 34", Guest)
        assert result.value == ANA
        assert (server.requests[0]["logprobs"], server.requests[0]["top_logprobs"]) == (True, 20)


def test_sglang_continues_a_text_with_likely_tokens() -> None:
    with connected("SGLang", RIGHT, chat=False, constrain=False) as (model, server):
        assert sk.extract(model, "Ana, 34", Guest) == ANA
        (request,) = server.requests
        assert (request["path"], request["logprobs"]) == ("/v1/completions", 20)
        assert str(request["prompt"]).endswith('\n\n{"title":')


def test_sglang_gets_a_regex_of_the_rest() -> None:
    with connected("SGLang", RIGHT) as (model, server):
        assert sk.extract(model, "Ana, 34", Guest) == ANA
        (request,) = server.requests
        assert request["messages"][-1] == {"role": "assistant", "content": '{"title":'}  # type: ignore[index]
        assert request["continue_final_message"] is True
        assert str(request["regex"]).startswith(' (?:"')


def test_sglang_refuses_a_schema_that_it_would_weaken() -> None:
    class Odd(BaseModel):
        count: Annotated[int, Field(multiple_of=3)]

    with connected("SGLang", '{"count": 9}', constrain="json_schema") as (model, server):
        result = sk.generate(model, "nine", Odd)
        assert (result.value, result.guarantee) == (Odd(count=9), "corrected")
        assert (model.refused, len(server.requests)) == ({"constraint"}, 2)


@pytest.mark.parametrize("kind", ["Ollama", "LM Studio"])
def test_fields_that_are_always_written_are_required_of_a_server(kind: str) -> None:
    with connected(kind, RIGHT) as (model, server):
        sk.extract(model, "Ana, 34", Guest)
        schema = server.requests[0]["response_format"]["json_schema"]["schema"]  # type: ignore[index]
        assert schema["required"] == ["title", "name", "age"]


@sk.json_style(order=("name", "age"))
class Ordered(Guest):
    pass


class Last(BaseModel):
    name: str
    title: str | None = None


@pytest.mark.parametrize(
    ("target", "style", "text", "required"),
    [
        (Ordered, {}, '{"name": "Ana", "age": 34, "title": null}', ["name", "age", "title"]),
        (Last, {"null": "omit"}, '{"name": "Ana"}', ["name"]),
        (Last, {"defaults": "may_omit"}, '{"name": "Ana"}', ["name"]),
        (Last, {}, '{"name": "Ana", "title": null}', ["name", "title"]),
    ],
)
def test_the_schema_of_a_server_has_the_style_of_the_call(
    target: type[BaseModel], style: dict[str, Any], text: str, required: list[str]
) -> None:
    with connected("Ollama", text) as (model, server):
        result: sk.Result[Any] = sk.generate(model, "Ana, 34", target, **style)
        assert (result.text, result.guarantee) == (text, "constrained")
        schema = server.requests[0]["response_format"]["json_schema"]["schema"]  # type: ignore[index]
        assert schema["required"] == required
        assert len(sk.explain(target, model, **style).rows) > 1


def test_an_optional_property_before_a_required_one_is_not_lost() -> None:
    """The server would write the title last, where it cannot follow."""
    text = '{"title": "Dr", "name": "Ana"}'
    with connected("Ollama", text) as (model, server):
        result = sk.generate(model, "Dr Ana", Guest, defaults="may_omit")
        assert (result.text, result.guarantee) == (text, "constrained")
        schema = server.requests[0]["response_format"]["json_schema"]["schema"]  # type: ignore[index]
        assert schema == {"title": "Guest", "type": "object"}
        rows = {row.keyword: row for row in sk.explain(Guest, model, defaults="may_omit").rows}
        assert (
            rows["required"].reason == "llama.cpp writes required properties before title, which is optional"
        )


def test_a_text_for_ollama_is_a_message_to_the_model() -> None:
    with connected("Ollama", RIGHT, chat=False) as (model, server):
        assert (model.capabilities.continues_prefix, model.capabilities.constraints) == (False, frozenset())
        assert sk.extract(model, "Ana, 34", Guest) == ANA
        (request,) = server.requests
        assert request["path"] == "/v1/completions"
        assert "response_format" not in request


@pytest.mark.parametrize("kind", ["Ollama", "LM Studio"])
def test_a_notation_that_a_server_ignores_costs_corrections_only(kind: str) -> None:
    with connected(kind, WRONG, RIGHT, constrain="grammar") as (model, server):
        result = sk.generate(model, "Ana, 34", Guest, max_corrections=8)
        assert (result.value, result.guarantee) == (ANA, "corrected")
        assert "grammar" in server.requests[0]


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("LM Studio", {"response_format": {"type": "json_object"}}, "must be 'json_schema' or 'text'"),
        ("Ollama", {"top_logprobs": 30}, "top_logprobs must be between 0 and 20"),
    ],
)
def test_a_refused_option_is_shown(kind: str, options: dict[str, Any], said: str) -> None:
    with (
        connected(kind, RIGHT, options=options) as (model, _),
        pytest.raises(sk.ModelError, match=f"(?s){said}.*check options="),
    ):
        sk.extract(model, "Ana, 34", Guest)
