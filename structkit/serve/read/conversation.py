"""The messages of a chat as a prompt, or as the conversation of an agent if they have tools."""

from __future__ import annotations

import json
from itertools import count

from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.protocols import Message as Turn
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.fields import Fields

__all__ = ["has_calls", "read_conversation", "read_turns"]

_ROLES = ("system", "developer", "user", "assistant", "tool")
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
_MAX_MESSAGES = 2_000
_MAX_PARTS = 1_000
_MAX_CALLS = 128
_CODE = "invalid_value"


def has_calls(body: Fields) -> bool:
    """Whether the messages of a chat have calls, or the outputs of calls.

    Raises:
        ApiError: A message is malformed.
    """
    return any(message.text("role") == "tool" or message.raw("tool_calls") for message in _messages(body))


def read_turns(body: Fields) -> list[Turn]:
    """Return the messages of a chat without calls.

    Raises:
        ApiError: A message is malformed.
    """
    return [
        Turn(role="system" if role == "developer" else role, content=_content(message))
        for message in _messages(body)
        if (role := message.text("role"))
    ]


def read_conversation(body: Fields) -> tuple[str, list[Message]]:
    """Return the instructions and the messages of a chat with tools or calls.

    The ids of calls are numbered in order, so that equal conversations have equal prompts.

    Raises:
        ApiError: A message is malformed, or answers no call.
    """
    instructions: list[str] = []
    messages: list[Message] = []
    calls = _OpenCalls()
    for message in _messages(body):
        role = message.text("role")
        if role == "tool":
            messages += calls.read_output(message)
            continue
        calls.check_closed()
        if role in ("system", "developer"):
            instructions.append(_content(message))
        elif role == "user":
            text, last = _content(message), messages[-1] if messages else None
            if isinstance(last, User):
                messages[-1] = User(content=f"{last.content}\n\n{text}")
            else:
                messages.append(User(content=text))
        else:
            parts = [calls.read_call(each) for each in message.objects("tool_calls", _MAX_CALLS)]
            text = "" if parts and not message.has("content") else _content(message)
            messages.append(Calls(calls=tuple(parts), text=text) if parts else Answer(content=text))
    calls.check_closed()
    if not messages:  # instructions only; a step of an agent follows a message of the user
        messages.append(User(content=""))
    if isinstance(messages[-1], Answer):
        raise ApiError(
            400, "the last message must be one of the user or of a tool", param="messages", code=_CODE
        )
    return "\n\n".join(instructions), messages


class _OpenCalls:
    """The calls of the last message with calls, until all have an output."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._open: dict[str, CallPart] = {}
        self._outputs: dict[str, Output] = {}

    def read_call(self, call: Fields) -> CallPart:
        """Read a call.

        Raises:
            ApiError: It is malformed.
        """
        function, id = call.nested("function"), call.text("id") or ""
        if function is None:
            raise call.error("function", "is required")
        name, arguments = function.text("name") or "", function.text("arguments") or "{}"
        try:
            is_object = isinstance(json.loads(arguments), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            raise function.error("arguments", "must be the text of a JSON object")
        if not id or id in self._open:
            raise call.error("id", "must be a string that no other open call has")
        part = self._open[id] = CallPart(id=f"call_{next(self._numbers)}", name=name, arguments=arguments)
        return part

    def read_output(self, message: Fields) -> list[Output]:
        """Read an output; return those of all calls, in the order of the calls, when it is the last.

        Raises:
            ApiError: It belongs to no open call.
        """
        id = message.text("tool_call_id") or ""
        part = self._open.get(id)
        if part is None or id in self._outputs:
            raise message.error("tool_call_id", "is the id of no call before it, or of one with an output")
        self._outputs[id] = Output(id=part.id, name=part.name, content=_content(message))
        if len(self._outputs) < len(self._open):
            return []
        outputs = [self._outputs[id] for id in self._open]
        self._open, self._outputs = {}, {}
        return outputs

    def check_closed(self) -> None:
        """Check that all calls have an output.

        Raises:
            ApiError: One has none.
        """
        missing = [id for id in self._open if id not in self._outputs]
        if missing:
            fault = f"the call {missing[0][:80]!r} has no message with its output"
            raise ApiError(400, fault, param="messages", code=_CODE)


def _messages(body: Fields) -> list[Fields]:
    if not body.has("messages"):
        raise body.error("messages", "is required")
    messages = list(body.objects("messages", _MAX_MESSAGES))
    if not messages:
        raise body.error("messages", "must not be empty")
    for message in messages:
        role = message.text("role")
        if role not in _ROLES:
            raise message.error("role", f"must be one of {', '.join(_ROLES)}")
        message.check_names(_NAMES[role])
        if message.has("function_call"):
            raise message.error("function_call", "is no longer a part of the API; write tool_calls")
        if message.has("audio"):
            raise message.error("audio", "is not supported: the model reads only text")
    return messages


def _content(message: Fields) -> str:
    """Return the text of a message: a string, parts with text, or the refusal of an assistant."""
    value = message.raw("content")
    if value is None and message.has("refusal"):
        return message.text("refusal") or ""
    if isinstance(value, str):
        return message.text("content") or ""
    if value is None:
        raise message.error("content", "is required")
    parts = list(message.objects("content", _MAX_PARTS))
    if not parts:
        raise message.error("content", "must not be empty; give a text, or a part with one")
    return "\n\n".join(_text_of(part, message) for part in parts)


def _text_of(part: Fields, message: Fields) -> str:
    kind = part.text("type")
    if kind != "text" and not (kind == "refusal" and message.text("role") == "assistant"):
        raise part.error("type", "must be 'text': the model reads nothing else")
    text = part.text(kind)
    if text is None:
        raise part.error(kind, "is required")
    return text
