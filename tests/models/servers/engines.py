"""What SGLang, Ollama and LM Studio make of a request, with a model that knows two answers.

Replies for `fake.serve`. Each engine reads the fields that the server reads, and no others: its native constraint, the
last message of the assistant, and log-probabilities.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema

from tests.models.servers.fake import Say

__all__ = ["LmStudio", "Ollama", "SgLang"]

_PIECE = 4
"""Characters of a token."""

_DROPPED = {
    "contains", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "maxProperties", "maximum", "minProperties",
    "minimum", "multipleOf", "not", "patternProperties", "propertyNames", "uniqueItems",
}  # fmt: skip
"""Keywords that the schema converter of llama.cpp drops without a word."""


@dataclass(frozen=True)
class _Engine:
    """A server as a reply of `fake.serve`.

    Attributes:
        wants: The answer that the model writes.
        instead: The answer that it writes if a constraint forbids that one.
        ignores: Whether the server ignores constraints, with status 200.
    """

    wants: str
    instead: str = ""
    ignores: bool = False

    def __call__(self, body: dict[str, Any]) -> Say:
        raise NotImplementedError

    def rests(self, start: str) -> list[str]:
        """What the model writes after the start of an answer, the likely text first; all if it knows no such answer."""
        answers = [answer for answer in (self.wants, self.instead) if answer]
        return [answer[len(start) :] for answer in answers if answer.startswith(start)] or answers

    def say(self, rests: list[str], body: Mapping[str, Any], *, is_chat: bool = True, ranks: bool) -> Say:
        """A reply in pieces; each names the likely tokens if the request asks for them and the server knows them."""
        text, other = rests[0], rests[-1]
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        likely = [other[at : at + _PIECE] for at in range(0, max(len(text), len(other)), _PIECE)]
        events = []
        for piece, second in zip(pieces, likely, strict=False):
            choice: dict[str, Any] = {"index": 0, "finish_reason": None, "logprobs": None}
            choice |= {"delta": {"content": piece}} if is_chat else {"text": piece}
            if ranks and body.get("logprobs"):
                choice["logprobs"] = _logprobs(piece, second, is_chat=is_chat)
            events.append(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        return Say(events)


def _logprobs(piece: str, second: str, *, is_chat: bool) -> dict[str, Any]:
    ranked = {piece: -0.1, second: -2.0}
    if not is_chat:
        return {"tokens": [piece], "token_logprobs": [-0.1], "text_offset": [0], "top_logprobs": [ranked]}
    top = [{"token": token, "logprob": score, "bytes": [*token.encode()]} for token, score in ranked.items()]
    return {"content": [{**top[0], "top_logprobs": top}]}


def _start(body: Mapping[str, Any]) -> str:
    """The last message, if the assistant says it."""
    last = body["messages"][-1]
    return str(last["content"]) if last["role"] == "assistant" else ""


def _refusal(message: str, **fields: object) -> Say:
    return Say(status=400, body=json.dumps({"error": {"message": message, **fields}}))


class SgLang(_Engine):
    """Continues a last message with `continue_final_message` only, and enforces `regex` from the first new token.

    A schema that its backend would weaken is refused, with the place.
    """

    def __call__(self, body: dict[str, Any]) -> Say:
        is_chat = body["path"] == "/v1/chat/completions"
        if is_chat:
            start = _start(body) if body.get("continue_final_message") else ""
        else:
            lengths = range(len(self.wants), -1, -1)
            start = next(self.wants[:n] for n in lengths if body["prompt"].endswith(self.wants[:n]))
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        for name, each in (schema or {}).get("properties", {}).items():
            for keyword in {"multipleOf", "not"} & {*each}:
                # The message is not inside of `error`.
                said = {"object": "error", "message": f"{keyword} at /properties/{name} is not supported"}
                return Say(status=400, body=json.dumps(said | {"type": "BadRequestError", "code": 400}))
        rests = self.rests(start)
        regex = body.get("regex")
        if regex and not self.ignores:
            rests = [rest for rest in rests if re.fullmatch(regex, rest)]
        return self.say(rests, body, is_chat=is_chat, ranks=True)


class _BySchema(_Engine):
    def obeying(self, schema: Mapping[str, Any], rests: list[str]) -> list[str]:
        """The answers that belong to the part of a schema that llama.cpp enforces, in its order of keys."""
        enforced = jsonschema.Draft202012Validator(_weakened(schema))
        values = [json.loads(rest) for rest in rests]
        return [json.dumps(_in_order(value, schema)) for value in values if enforced.is_valid(value)]


class Ollama(_BySchema):
    """Continues a last message, and enforces a schema from the first new token; no grammar and no regex.

    `completions` puts the prompt into the template of the model, and has no `response_format`.
    """

    def __call__(self, body: dict[str, Any]) -> Say:
        if int(body.get("top_logprobs") or 0) > 20:
            return _refusal("top_logprobs must be between 0 and 20", type="invalid_request_error")
        if body["path"] == "/v1/completions":
            return self.say(self.rests(""), body, is_chat=False, ranks=True)
        found = body.get("response_format") or {}
        if found.get("type") == "json_schema" and not self.ignores:
            return self.say(self.obeying(found["json_schema"]["schema"], self.rests("")), body, ranks=True)
        return self.say(self.rests(_start(body)), body, ranks=True)


class LmStudio(_BySchema):
    """Answers anew after a message of the assistant, names no likely tokens, and refuses other kinds of formats."""

    def __call__(self, body: dict[str, Any]) -> Say:
        found = body.get("response_format") or {"type": "text"}
        if found["type"] not in ("json_schema", "text"):
            message = "'response_format.type' must be 'json_schema' or 'text'"
            return Say(status=400, body=json.dumps({"error": message}))
        # The model reads the start of the answer as a message, and answers anew.
        shown = [each["content"] for each in body.get("messages", ()) if each["role"] == "assistant"]
        rests = [rest for rest in self.rests("") if rest.startswith("".join(shown))] or self.rests("")
        if found["type"] == "json_schema" and not self.ignores:
            rests = self.obeying(found["json_schema"]["schema"], rests)
        return self.say(rests, body, is_chat="messages" in body, ranks=False)


def _weakened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_weakened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {keyword: _weakened(value) for keyword, value in schema.items() if keyword not in _DROPPED}


def _in_order(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value with the required keys of its object first."""
    if not isinstance(value, dict):
        return value
    names = [*schema.get("properties", {})]
    required = [name for name in names if name in schema.get("required", ())]
    return {name: value[name] for name in [*required, *names, *value] if name in value}
