"""The messages of a chat completion."""

from __future__ import annotations

from structkit.serve.read.conversation import Conversation, text_of
from structkit.serve.read.fields import Fields

__all__ = ["read_messages"]

_NAMES = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": (
        "role",
        "content",
        "name",
        "tool_calls",
        "refusal",
        "annotations",
        "audio",
        "function_call",
    ),
    "tool": ("role", "content", "tool_call_id", "name"),
}
"""The fields of a message, by its role."""

_CONTINUE = "write continue_final_message: true beside messages"
_REMEDIES = {"prefix": _CONTINUE, "partial": _CONTINUE}
"""What hosts call a message that is continued, and what to write."""

_MAX_MESSAGES = 2_000
_MAX_CALLS = 128


def read_messages(body: Fields) -> Conversation:
    """Return the conversation of the field `messages`.

    Raises:
        ApiError: A message is malformed, or answers no call.
    """
    if not body.has("messages"):
        raise body.error("messages", "is required")
    messages = list(body.objects("messages", _MAX_MESSAGES))
    if not messages:
        raise body.error("messages", "must not be empty")
    conversation = Conversation("messages")
    for message in messages:
        _read(message, conversation)
    return conversation


def _read(message: Fields, conversation: Conversation) -> None:
    role = message.text("role")
    if role not in _NAMES:
        raise message.error("role", f"must be one of {', '.join(_NAMES)}")
    message.check_names(_NAMES[role], _REMEDIES)
    if message.has("function_call"):
        raise message.error("function_call", "is not a part of the API; write tool_calls")
    if message.has("audio"):
        raise message.error("audio", "is not supported: the model reads only text")
    if role == "tool":
        conversation.add_output(message, "tool_call_id", "content", ("text",))
    elif calls := list(message.objects("tool_calls", _MAX_CALLS)):
        for call in calls:
            function = call.nested("function")
            if function is None:
                raise call.error("function", "is required")
            conversation.add_call(function, call, "id")
        conversation.end_calls(_content(message, role) if message.has("content") else "")
    else:
        conversation.add(role, _content(message, role))


def _content(message: Fields, role: str) -> str:
    """Return the text of a message; that of an assistant may be a refusal."""
    if role == "assistant" and not message.has("content") and message.has("refusal"):
        return message.text("refusal") or ""
    return text_of(message, "content", ("text", "refusal") if role == "assistant" else ("text",))
