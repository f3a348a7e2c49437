"""The conversation of a request, as a prompt or, if it has tools, as the messages of an agent."""

from __future__ import annotations

import re
from itertools import count

from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.protocols import Message as Turn
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.fields import Fields, read_json

__all__ = ["FUNCTION_NAME", "FUNCTION_NAME_FAULT", "Conversation", "text_of"]

FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
FUNCTION_NAME_FAULT = "must be 1 to 64 letters, digits, underscores and hyphens"

_MAX_PARTS = 1_000
_CODE = "invalid_value"


class Conversation:
    """Collects messages and calls.

    The ids of calls are numbered in order, so that equal conversations have equal prompts.

    Args:
        param: The field of the conversation.

    Attributes:
        turns: The messages, in the form of the model.
        has_calls: Whether there are calls.
    """

    def __init__(self, param: str) -> None:
        self.turns: list[Turn] = []
        self.has_calls = False
        self._param = param
        self._instructions: list[str] = []
        self._messages: list[Message] = []
        self._numbers = count(1)
        self._called: dict[str, CallPart] = {}
        self._open: dict[str, CallPart] = {}
        self._outputs: dict[str, Output] = {}

    def add(self, role: str, text: str) -> None:
        """Add a message of a role: `system`, `developer`, `user` or `assistant`.

        Raises:
            ApiError: A call before has no output.
        """
        self._check_outputs()
        is_system = role in ("system", "developer")
        self.turns.append(Turn(role="system" if is_system else role, content=text))
        last = self._messages[-1] if self._messages else None
        if is_system:
            self._instructions.append(text)
        elif role == "assistant":
            self._messages.append(Answer(content=text))
        elif isinstance(last, User):
            self._messages[-1] = User(content=f"{last.content}\n\n{text}")
        else:
            self._messages.append(User(content=text))

    def add_call(self, function: Fields, item: Fields, id_name: str) -> None:
        """Add a call of the message that `end_calls` adds.

        Args:
            function: The fields with name and arguments.
            item: The fields with the id.
            id_name: The field with the id.

        Raises:
            ApiError: It is malformed, or a call of an earlier message has no output.
        """
        self._check_outputs()
        id, name = item.text(id_name) or "", function.text("name") or ""
        if not FUNCTION_NAME.fullmatch(name):
            raise function.error("name", FUNCTION_NAME_FAULT)
        arguments = function.text("arguments") or "{}"
        try:
            read_json(arguments.encode())
        except ApiError:
            raise function.error("arguments", "must be the text of a JSON object") from None
        if not id or id in self._called:
            raise item.error(id_name, "must be a string that no other open call has")
        self._called[id] = CallPart(id=f"call_{next(self._numbers)}", name=name, arguments=arguments)

    def end_calls(self, text: str) -> None:
        """Add the message of the calls, with the text before them."""
        self.has_calls = True
        self._messages.append(Calls(calls=tuple(self._called.values()), text=text))
        self._open, self._called = self._called, {}

    def add_output(self, item: Fields, id_name: str, content_name: str, kinds: tuple[str, ...]) -> None:
        """Add the output of a call. The outputs of one message are in the order of its calls.

        Args:
            item: The message or item.
            id_name: The field with the id of the call.
            content_name: The field with the output.
            kinds: See `text_of`.

        Raises:
            ApiError: It belongs to no open call.
        """
        self.has_calls = True
        id = item.text(id_name) or ""
        part = self._open.get(id)
        if part is None or id in self._outputs:
            raise item.error(id_name, "is the id of no call before it, or of one with an output")
        self._outputs[id] = Output(id=part.id, name=part.name, content=text_of(item, content_name, kinds))
        if len(self._outputs) == len(self._open):
            self._messages += [self._outputs[id] for id in self._open]
            self._open, self._outputs = {}, {}

    def finish(self) -> tuple[str, tuple[Message, ...]]:
        """Return the instructions and the messages for a step of an agent.

        Raises:
            ApiError: The step cannot follow.
        """
        self._check_outputs()
        messages = self._messages or [User(content="")]  # a step of an agent follows a message of the user
        if isinstance(messages[-1], Answer):
            fault = (
                "with tools the last message must be one of the user or of a tool; add one, such as 'Go on.'"
            )
            raise ApiError(400, fault, param=self._param, code=_CODE)
        return "\n\n".join(self._instructions), tuple(messages)

    def _check_outputs(self) -> None:
        missing = [id for id in self._open if id not in self._outputs]
        if missing:
            fault = f"the call {missing[0][:80]!r} has no output; send it before the next message"
            raise ApiError(400, fault, param=self._param, code=_CODE)


def text_of(item: Fields, name: str, kinds: tuple[str, ...]) -> str:
    """Return the text of a field: a string, or an array of parts with texts.

    Args:
        item: The message or item.
        name: The field.
        kinds: The types of parts; the text of a part is in `text`, that of a `refusal` in `refusal`.

    Raises:
        ApiError: There is no text, or a part without text.
    """
    value = item.raw(name)
    if isinstance(value, str):
        return item.text(name) or ""
    if value is None:
        raise item.error(name, "is required")
    if not isinstance(value, list):
        raise item.error(name, "must be a text, or an array of parts with texts")
    parts = list(item.objects(name, _MAX_PARTS))
    if not parts:
        raise item.error(name, "must not be empty; give a text, or a part with one")
    return "\n\n".join(_part_text(part, kinds) for part in parts)


def _part_text(part: Fields, kinds: tuple[str, ...]) -> str:
    kind = part.text("type")
    if kind not in kinds:
        raise part.error("type", f"must be {' or '.join(map(repr, kinds))}: the model reads nothing else")
    field = "refusal" if kind == "refusal" else "text"
    text = part.text(field)
    if text is None:
        raise part.error(field, "is required")
    return text
