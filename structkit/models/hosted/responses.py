"""Models of OpenAI that answer only at `/v1/responses`: the fields of a request, and what the events of a reply say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from structkit.models.hosted.parts import CALLS_TOOL, ReplyPart

__all__ = ["ResponseFailed", "is_response_event", "read_response_event", "response_fields"]

_OTHER_NAMES = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
}
"""Fields of a chat completion that have another name."""

_CALLS = ("function_call", "custom_tool_call")


class ResponseFailed(Exception):
    """OpenAI failed while it replied.

    Attributes:
        body: The error, with its message.
    """

    def __init__(self, message: object) -> None:
        super().__init__("the response failed")
        self.body = {"message": str(message or "")}


def response_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a request for a response, from those of a chat completion.

    OpenAI does not store it, as it does not store a chat completion.

    >>> response_fields({"messages": [], "max_completion_tokens": 9, "reasoning_effort": "low"})
    {'store': False, 'input': [], 'max_output_tokens': 9, 'reasoning': {'effort': 'low'}}
    """
    found: dict[str, object] = {"store": False}
    text: dict[str, object] = {}
    for name, value in fields.items():
        if name == "reasoning_effort":
            found["reasoning"] = {"effort": value}
        elif name == "verbosity":
            text["verbosity"] = value
        elif name == "response_format":
            form = cast("Mapping[str, object]", value)
            schema = cast("Mapping[str, object]", form.get("json_schema") or {})
            text["format"] = {"type": form["type"], **schema}
        else:
            found[_OTHER_NAMES.get(name, name)] = value
    return {**found, "text": text} if text else found


def is_response_event(event: object) -> bool:
    """Return whether an event belongs to a response, and not to a chat completion."""
    kind = getattr(event, "type", None)
    return isinstance(kind, str) and (kind == "error" or kind.startswith("response."))


def read_response_event(event: Any) -> ReplyPart:
    """Return what an event has.

    Raises:
        ResponseFailed: OpenAI failed.
    """
    match event.type:
        case "response.output_text.delta":
            return ReplyPart(event.delta)
        case "response.refusal.delta":
            return ReplyPart(refusal=event.delta)
        case "response.output_item.added" if event.item.type in _CALLS:
            return ReplyPart(fault=CALLS_TOOL)
        case "response.incomplete":
            reason = getattr(event.response.incomplete_details, "reason", None)
            refusal = "a content filter ended the reply" if reason == "content_filter" else None
            return ReplyPart(refusal=refusal, is_full=reason == "max_output_tokens")
        case "response.failed":
            raise ResponseFailed(getattr(event.response.error, "message", None))
        case "error":
            raise ResponseFailed(getattr(event, "message", None))
        case _:
            return ReplyPart()
