"""Token ids and likely tokens of a reply: a correction goes on from tokens, or takes a likely one that can follow."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.models.servers.dialects import Dialect
from structkit.models.servers.ranked import scored_tokens
from structkit.models.servers.token_prompts import ReadTokens
from structkit.models.text.scored import ScoredText, ScoredToken
from tests.models.servers.fake import Say, error, serve


class Person(BaseModel):
    name: str
    age: int


class Age(BaseModel):
    age: int


class Name(BaseModel):
    name: str


class Light(BaseModel):
    level: Literal["low", "high"]
    count: int


ANA = Person(name="Ana", age=34)


def event(text: str, ids: Sequence[int] = (), prompt: Sequence[int] = (), **delta: str) -> bytes:
    """An event of a chat of vLLM."""
    choice: dict[str, object] = {"index": 0, "delta": {"content": text, **delta}, "token_ids": list(ids)}
    found: dict[str, object] = {"choices": [choice]}
    if prompt:
        found["prompt_token_ids"] = list(prompt)
    return f"data: {json.dumps(found)}\n\n".encode()


def completion(text: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'text': text}]})}\n\n".encode()


def ranked(*tokens: tuple[str, dict[str, float]], shown: str | None = None) -> bytes:
    """An event of a chat whose tokens have likely others."""
    content = [
        {"token": text, "top_logprobs": [{"token": other, "logprob": score} for other, score in top.items()]}
        for text, top in tokens
    ]
    said = "".join(text for text, _ in tokens) if shown is None else shown
    choice = {"index": 0, "delta": {"content": said}, "logprobs": {"content": content}}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


WRONG = [
    event("", prompt=[1, 2, 3]),
    event("Ana", [45]),
    event('",', [46]),
    event(' "years', [47]),
    event('": 3}', [48]),
]


def vllm(
    first: Sequence[bytes], tokenize: Callable[[dict[str, Any]], Say] | None = None
) -> Callable[[dict[str, Any]], Say]:
    """A server that writes the first reply, tokenizes, and completes token ids as it completes messages."""

    def reply(body: dict[str, Any]) -> Say:
        if body["path"] == "/tokenize":
            known = Say(streams=False, body=json.dumps({"tokens": [42, 41]}))
            return tokenize(body) if tokenize else known
        if body["path"] == "/v1/completions":
            return Say([completion(" 34}")])
        is_first = not body["messages"][-1]["content"].endswith('"age":')
        return Say(first) if is_first else Say([event(" 34}")])

    return reply


def test_a_correction_goes_on_from_the_tokens_of_the_reply() -> None:
    with serve(vllm(WRONG), kind="vLLM") as server:
        result = sk.generate(sk.connect(server.url), "Ana, 34", Person)
        assert (result.value, result.guarantee, result.usage.calls) == (ANA, "corrected", 2)
        chat, tokenized, completed = server.requests
        assert (chat["path"], chat["return_token_ids"]) == ("/v1/chat/completions", True)
        assert (tokenized["prompt"], tokenized["add_special_tokens"]) == (' "age":', False)
        # the prompt, `Ana` and `",` as they were evaluated, and the rest as the server tokenizes it
        assert completed["prompt"] == [1, 2, 3, 45, 46, 42, 41]
        assert completed["max_tokens"] == 256
        assert str(completed["structured_outputs"]["grammar"]).startswith("root ::= ")  # type: ignore[index]


@pytest.mark.parametrize("status", [400, 404])
def test_a_server_without_tokens_gets_the_text(status: int) -> None:
    with serve(vllm(WRONG, lambda body: error(status, "no such path")), kind="vLLM") as server:
        model = sk.connect(server.url)
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert (model.refused, model.capabilities.token_ids) == ({"token_ids"}, False)
        assert server.requests[-1]["path"] == "/v1/chat/completions"
        assert "return_token_ids" not in server.requests[-1]


def test_ids_that_the_server_refuses() -> None:
    def reply(body: dict[str, Any]) -> Say:
        refuses = body["path"] == "/v1/completions"
        return error(400, "prompt must be a string") if refuses else vllm(WRONG)(body)

    with serve(reply, kind="vLLM") as server:
        model = sk.connect(server.url)
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert model.refused == {"token_ids"}


@pytest.mark.parametrize(
    "first",
    [
        [event("", prompt=[1, 2, 3]), event("", [7], reasoning="Who?"), *WRONG[1:]],
        [event("Ana"), event('", "years": 3}')],
        [event("", prompt=[-1]), *WRONG[1:]],
    ],
    ids=["reasoning", "no ids", "ids that are none"],
)
def test_tokens_that_are_not_known(first: list[bytes]) -> None:
    with serve(vllm(first), kind="vLLM") as server:
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA
        assert [request["path"] for request in server.requests] == ["/v1/chat/completions"] * 2


def test_a_base_model_of_vllm_writes_more_than_sixteen_tokens() -> None:
    with serve(Say([completion('Ana", "age": 34}')]), kind="vLLM") as server:
        assert sk.extract(sk.connect(server.url, chat=False), "Ana, 34", Person) == ANA
        assert server.requests[0]["max_tokens"] == 256


START = '{"level": "'


def test_the_most_likely_token_that_can_follow_is_taken() -> None:
    top = {"light": -0.1, "low": -2.0, "medium": -0.5, "high": -1.5}
    replies = [
        Say([ranked(("light", top), ('"', {'"': 0.0}))]),
        Say([ranked(('", ', {}), ('"count', {}), ('": 3', {}), ("}", {}))]),
    ]
    with serve(*replies, kind="llama.cpp") as server:
        model = sk.connect(server.url, constrain=False)
        assert model.capabilities.logits == "some"
        result = sk.generate(model, "It is dim.", Light)
        assert result.value == Light(level="high", count=3)
        first, second = server.requests
        assert (first["logprobs"], first["top_logprobs"]) == (True, 20)
        # "high" can go on only with a quote and the next key, which are forced
        assert second["messages"][-1]["content"].endswith('{"level": "high", "count":')  # type: ignore[index]
        assert result.trace is not None
        assert (result.trace.drafts[0].chosen, result.trace.corrections) == ("high", 1)
        assert ("chosen", "high") in [(span.kind, span.text) for span in result.trace.spans]
        assert "  chosen     |high|" in str(result.trace)


def test_a_part_of_a_token_that_could_follow_is_taken_back() -> None:
    """`12` is a part of the token `12x`, which cannot follow; its place is taken by `34`."""
    replies = [Say([ranked(("12x", {"12x": -0.1, "34": -1.0}))]), Say([ranked(("}", {}))])]
    with serve(*replies, kind="llama.cpp") as server:
        result = sk.generate(sk.connect(server.url, constrain=False), "age?", Age)
        assert result.value == Age(age=34)


@pytest.mark.parametrize("other", ["<|end|>", "\ufffd", "", "</s>"])
def test_control_tokens_and_parts_of_characters_are_not_taken(other: str) -> None:
    replies = [Say([ranked(("", {"x": -9.0, other: -0.1}), shown="")]), Say(['y"}'])]
    with serve(*replies, kind="llama.cpp") as server:
        result = sk.generate(sk.connect(server.url, constrain=False), "who?", Name)
        assert result.value == Name(name="xy")


def test_nothing_likely_can_follow() -> None:
    replies = [Say([ranked(("light", {"light": -0.1, "dim": -1.0}))]), Say(["low"]), Say(["3}"])]
    with serve(*replies, kind="llama.cpp") as server:
        result = sk.generate(sk.connect(server.url, constrain=False), "It is dim.", Light)
        assert result.value == Light(level="low", count=3)
        assert 'only one of these: `high"`, `low"`' in str(server.requests[1]["messages"])


def test_a_constrained_request_asks_for_no_likely_tokens() -> None:
    with serve('Ana", "age": 34}', kind="llama.cpp") as server:
        assert sk.extract(sk.connect(server.url), "Ana, 34", Person) == ANA
        assert "logprobs" not in server.requests[0]


def test_log_probabilities_that_are_refused_are_left_out() -> None:
    def reply(body: dict[str, object]) -> str | Say:
        return error(400, "Logprobs are not supported") if "logprobs" in body else 'Ana", "age": 34}'

    with serve(reply, kind="llama.cpp") as server:
        model = sk.connect(server.url, constrain=False)
        assert sk.extract(model, "Ana, 34", Person) == ANA
        assert (model.refused, model.capabilities.logits) == ({"logprobs"}, "none")


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        {},
        {"content": [None, 3, {}]},
        {"content": [{"token": None, "bytes": [300], "top_logprobs": [{"logprob": "x"}, {"logprob": None}]}]},
        {"tokens": ["a", 3], "top_logprobs": [None, ["b"]]},
        {"tokens": "ab", "top_logprobs": [{}]},
    ],
)
def test_log_probabilities_of_any_form(logprobs: object) -> None:
    found = scored_tokens({"choices": [{"logprobs": logprobs}]})
    assert all(isinstance(token, ScoredToken) and not token.others() for token in found)
    piece = f"data: {json.dumps({'choices': [{'delta': {'content': '3'}, 'logprobs': logprobs}]})}\n\n"
    with serve(Say([piece.encode()]), kind="llama.cpp") as server:
        assert sk.extract(sk.connect(server.url, constrain=False), "three", int) == 3


def test_a_model_that_ranks_its_tokens_goes_through_a_function() -> None:
    """`ScoredText` is a string, so any model can yield it."""
    replies = iter([ScoredText("maybe", (ScoredToken(b"maybe", (b"maybe", b"no", b"yes")),)), ""])
    assert (
        sk.extract(sk.from_function(lambda text: next(replies)), "Is it?", sk.Choice(["yes", "no"])) == "no"
    )


def test_a_prompt_without_a_start_is_continued_after_a_piece_and_not_before() -> None:
    read = ReadTokens("", (5, 6), [("age", (7,)), ('": x', (8, 9))])
    assert read.up_to('age": 3') == ([5, 6, 7], '": 3')
    assert read.up_to("name") is None


def test_a_notation_that_is_no_schema_has_no_profile() -> None:
    dialect = Dialect(name="a server")
    assert dialect.forced_to("regex").schema_profile is None
    assert dialect.forced_to("json_schema").schema_profile is not None
