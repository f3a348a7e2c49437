"""Requests for responses, the API that newer clients of OpenAI use, as the same values as chat completions.

The server keeps no response, so a request has the whole conversation.
"""

from __future__ import annotations

from collections.abc import Mapping

from structkit.serve.bounds.config import ServerConfig
from structkit.serve.read.constraints import FREE_TEXT, read_text_constraint
from structkit.serve.read.conversation import Conversation, text_of
from structkit.serve.read.fields import Fields
from structkit.serve.read.neutral import (
    NEUTRAL,
    REMEDIES,
    WITHOUT_EFFECT,
    check_neutral,
    check_without_effect,
)
from structkit.serve.read.requests import (
    MAX_TOP_LOGPROBS,
    Ask,
    read_model,
    read_options,
    shows_schema,
)
from structkit.serve.read.tools import read_tools

__all__ = ["read_response"]

_ECHO: Mapping[str, object] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}
"""The fields that a response repeats, with what they are if they are absent."""

_NAMES = (
    "model",
    "input",
    *_ECHO,
    "top_k",
    "min_p",
    "repetition_penalty",
    "seed",
    "structured_outputs",
    "include_schema",
    "include",
    "top_logprobs",
    "stream",
    "stream_options",
    "reasoning",
)

_STATELESS = "send the whole conversation as input: the server keeps no response"

_REMEDIES = {
    **REMEDIES,
    "messages": "write input, or send it to /v1/chat/completions",
    "response_format": "write text: {format: {type: 'json_schema', name, schema}}",
    "max_tokens": "write max_output_tokens",
    "max_completion_tokens": "write max_output_tokens",
    "previous_response_id": _STATELESS,
    "conversation": _STATELESS,
    "prompt": "write input: the server has no stored prompts",
}
"""What to write in place of fields of other endpoints, and of what a server keeps."""

_NEUTRAL: Mapping[str, tuple[object, ...]] = {
    **NEUTRAL,
    "background": (False,),
    "echo": (False,),
    "min_tokens": (0,),
    "truncation": ("disabled",),
}

_LOGPROBS = "message.output_text.logprobs"
_INCLUDED = (_LOGPROBS, "reasoning.encrypted_content")
"""What a client may ask for; there is no reasoning, so its contents are empty."""

_MAX_ITEMS = 4_000
_ROLES = ("system", "developer", "user", "assistant")
_MESSAGE = ("type", "role", "content", "id", "status", "phase")
_CALL = ("type", "call_id", "name", "arguments", "id", "status")
_OUTPUT = ("type", "call_id", "output", "id", "status")


def read_response(body: Fields, config: ServerConfig) -> Ask:
    """Read a request for a response.

    Raises:
        ApiError: A field is unknown, has the wrong type, or asks for what the server cannot do.
    """
    body.check_names(_NAMES, _REMEDIES, (*WITHOUT_EFFECT, *_NEUTRAL, "max_tool_calls"))
    body.integer("max_tool_calls", 1, 2**31)  # its type: it counts calls of tools that OpenAI executes
    check_neutral(body, _NEUTRAL)
    check_without_effect(body)
    _check_reasoning(body)
    given = read_text_constraint(body)
    conversation = _conversation(body)
    tools = read_tools(body, conversation, is_flat=True)
    top_logprobs = _top_logprobs(body)
    options = read_options(body, config, body.integer("max_output_tokens", 1, config.max_tokens))
    options["include_schema"] = shows_schema(body, given, conversation, tools)
    if (stream_options := body.nested("stream_options")) is not None:
        stream_options.check_names(("include_obfuscation",))
    values = {name: default if body.raw(name) is None else body.raw(name) for name, default in _ECHO.items()}
    return Ask(
        kind="response",
        model=read_model(body),
        prompts=(conversation.turns,),
        constraint=given or FREE_TEXT,
        options=options,
        count=1,
        stops=(),
        is_streamed=body.flag("stream", False),
        sends_usage=True,
        top_logprobs=top_logprobs,
        limit="max_output_tokens",
        tools=tools,
        echo=values,
    )


def _check_reasoning(body: Fields) -> None:
    reasoning = body.nested("reasoning")
    for name in reasoning.values if reasoning is not None else ():
        if (
            reasoning is not None
            and reasoning.has(name)
            and (name, reasoning.raw(name)) != ("effort", "none")
        ):
            raise reasoning.error(name, "is not supported: the model does not reason; leave it out")


def _top_logprobs(body: Fields) -> int | None:
    """Return the number of alternatives to each token; `None` without log-probabilities."""
    included = body.items("include", len(_INCLUDED)) or []
    for each in included:
        if each not in _INCLUDED:
            raise body.error("include", f"can have only {' and '.join(map(repr, _INCLUDED))}")
    top = body.integer("top_logprobs", 0, MAX_TOP_LOGPROBS)
    if top and _LOGPROBS not in included:
        raise body.error("top_logprobs", f"needs include: ['{_LOGPROBS}']")
    return (top or 0) if _LOGPROBS in included else None


def _conversation(body: Fields) -> Conversation:
    conversation = Conversation("input")
    if (instructions := body.text("instructions")) is not None:
        conversation.add("system", instructions)
    if isinstance(body.raw("input"), str):
        conversation.add("user", body.text("input") or "")
        return conversation
    if not body.has("input"):
        raise body.error("input", "is required: a text, or an array of items")
    items = list(body.objects("input", _MAX_ITEMS))
    if not items:
        raise body.error("input", "must not be empty")
    said: str | None = None  # by the assistant, who may call after it
    is_calling = False
    for item in items:
        kind = item.text("type") or "message"
        if is_calling and kind != "function_call":
            conversation.end_calls(said or "")
            said, is_calling = None, False
        if said is not None and kind != "function_call":
            conversation.add("assistant", said)
            said = None
        match kind:
            case "message":
                role, text = _message(item)
                if role == "assistant":
                    said = text
                else:
                    conversation.add(role, text)
            case "function_call":
                item.check_names(_CALL)
                conversation.add_call(item, item, "call_id")
                is_calling = True
            case "function_call_output":
                item.check_names(_OUTPUT)
                conversation.add_output(item, "call_id", "output", ("input_text",))
            case _:
                raise item.error("type", "must be 'message', 'function_call' or 'function_call_output'")
    if is_calling:
        conversation.end_calls(said or "")
    elif said is not None:
        conversation.add("assistant", said)
    return conversation


def _message(item: Fields) -> tuple[str, str]:
    item.check_names(_MESSAGE)
    role = item.text("role")
    if role not in _ROLES:
        raise item.error("role", f"must be one of {', '.join(_ROLES)}")
    kinds = ("output_text", "refusal", "input_text") if role == "assistant" else ("input_text",)
    return role, text_of(item, "content", kinds)
