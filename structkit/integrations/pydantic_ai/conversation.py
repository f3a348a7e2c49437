"""The messages of pydantic-ai as messages of an agent."""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from structkit.messages import Answer, CallPart, Calls, Message, Output, User

__all__ = ["instructions_of", "read_conversation"]


def instructions_of(
    messages: Sequence[ModelMessage], instruction_parts: Sequence[InstructionPart] | None
) -> str:
    """Return the system prompts and the instructions of a request as one text."""
    texts = [
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, SystemPromptPart)
    ]
    if instruction_parts is not None:
        texts += [part.content for part in instruction_parts]
    else:
        requests = [message for message in messages if isinstance(message, ModelRequest)]
        texts += [request.instructions for request in requests[-1:] if request.instructions]
    return "\n\n".join(text for text in texts if text)


def read_conversation(messages: Sequence[ModelMessage], result_names: Set[str]) -> tuple[Message, ...]:
    """Convert messages.

    The ids of calls are numbered in order, so that equal conversations have equal prompts.

    Args:
        messages: The messages, as `Model.prepare_messages` returns them.
        result_names: The names of the output tools whose calls are written as the result of a step.

    Raises:
        UserError: A message has an image or another part that is not text.
    """
    reader = _Reader(result_names)
    for message in messages:
        if isinstance(message, ModelResponse):
            reader.read_response(message)
        else:
            reader.read_request(message)
    if not reader.messages:  # a run with instructions only
        reader.add_user("")
    return tuple(reader.messages)


@dataclass
class _Reader:
    """Reads messages in order.

    Attributes:
        result_names: See `read_conversation`.
        messages: The messages so far.
    """

    result_names: Set[str]
    messages: list[Message] = field(default_factory=list)
    _ids: dict[str, str] = field(default_factory=dict)
    _calls: int = 0

    def read_request(self, request: ModelRequest) -> None:
        for part in request.parts:
            match part:
                case SystemPromptPart():
                    pass  # part of the instructions
                case UserPromptPart():
                    self.add_user(_text_of(part))
                case ToolReturnPart():
                    self._read_return(part)
                case _:
                    raise UserError(f"a structkit model cannot read a {type(part).__name__} in a request")

    def add_user(self, text: str) -> None:
        """Add a message of the user; successive ones become one, because many chat templates require it."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, User):
            self.messages[-1] = User(content=f"{last.content}\n\n{text}")
        else:
            self.messages.append(User(content=text))

    def _read_return(self, part: ToolReturnPart) -> None:
        if part.files:
            raise UserError(f"{part.tool_name} returned a file, and a structkit model reads text only")
        failed = part.outcome in ("failed", "retried")
        content = part.model_response_str(wrap_if_error=False)
        id = self._ids.pop(part.tool_call_id, None)
        if id is not None:
            self.messages.append(Output(id=id, name=part.tool_name, content=content, failed=failed))
        elif part.outcome != "success":
            self.add_user(content)
        # The return of an output tool only marks the end of the run.

    def read_response(self, response: ModelResponse) -> None:
        texts, calls = [], []
        for part in response.parts:
            match part:
                case TextPart():
                    texts.append(part.content)
                case ToolCallPart():
                    calls.append(part)
                case ThinkingPart():
                    pass  # the thoughts of earlier steps are not part of a prompt
                case _:
                    raise UserError(f"a structkit model cannot read a {type(part).__name__} in a response")
        text = "\n\n".join(texts)
        if [call.tool_name in self.result_names for call in calls] == [True]:
            self.messages.append(Answer(content=_arguments(calls[0]), text=text))
        elif calls:
            self.messages.append(Calls(calls=tuple(map(self._call, calls)), text=text))
        elif text:
            self.messages.append(Answer(content=text))

    def _call(self, part: ToolCallPart) -> CallPart:
        self._calls += 1
        id = self._ids[part.tool_call_id] = f"call_{self._calls}"
        return CallPart(id=id, name=part.tool_name, arguments=_arguments(part))


def _arguments(part: ToolCallPart) -> str:
    """Return the arguments of a call as a JSON object; other models can have written something else."""
    if isinstance(part.args, str):
        try:
            if isinstance(json.loads(part.args), dict):
                return part.args
        except ValueError:
            pass
    return json.dumps(part.args_as_dict(), ensure_ascii=False)


def _text_of(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts = []
    for item in part.content:
        match item:
            case str():
                texts.append(item)
            case TextContent():
                texts.append(item.content)
            case CachePoint():
                pass
            case _:
                raise UserError(
                    f"a structkit model reads text only, and the prompt has a {type(item).__name__}"
                )
    return "\n\n".join(texts)
