"""Messages of LangChain as structkit reads them, and what structkit generates as messages of LangChain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from structkit.agent.prompt.history import order_outputs
from structkit.agent.run.state import AgentStep
from structkit.errors import GenerationError
from structkit.generate.output.result import Usage
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.protocols import Message as PromptMessage

__all__ = ["prompt_of", "read_messages", "reply_of", "usage_of"]


def reply_of(step: AgentStep[object], stop: Sequence[str] | None, forced_id: str | None) -> AIMessage:
    """Return the message of a step; a result that is a call has an id that no call before it has."""
    message = step.message
    calls: list[dict[str, Any]] = []
    content = message.text
    if isinstance(message, Calls):
        calls = [
            {"name": call.name, "args": json.loads(call.arguments), "id": call.id, "type": "tool_call"}
            for call in message.calls
        ]
    elif forced_id is not None:
        value = cast("Mapping[str, Any]", step.value)
        calls = [{"name": value["name"], "args": value["arguments"], "id": forced_id, "type": "tool_call"}]
    else:
        content = _cut(message.content, stop)
    return AIMessage(
        content=content,
        tool_calls=cast("Any", calls),
        usage_metadata=usage_of(step.usage),
        response_metadata={"finish_reason": step.finish_reason},
    )


def _cut(text: str, stop: Sequence[str] | None) -> str:
    stops = [stop] if isinstance(stop, str) else stop or ()
    ends = [text.index(each) for each in stops if each in text]
    return text[: min(ends)] if ends else text


def usage_of(usage: Usage) -> UsageMetadata:
    """Return the numbers of tokens as LangChain counts them."""
    written = usage.written_tokens
    found = {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": written,
        "total_tokens": usage.prompt_tokens + written,
    }
    return cast("UsageMetadata", found)


def prompt_of(messages: Sequence[BaseMessage]) -> list[PromptMessage]:
    """Return messages as `structkit.extract` takes them; calls and outputs are written as JSON."""
    instructions, conversation = read_messages(messages)
    found: list[PromptMessage] = [{"role": "system", "content": instructions}] if instructions else []
    for message in conversation:
        match message:
            case User(content=content):
                found.append({"role": "user", "content": content})
            case Answer(content=content):
                found.append({"role": "assistant", "content": content})
            case Calls():
                calls = [
                    {"name": call.name, "arguments": json.loads(call.arguments)} for call in message.calls
                ]
                found.append({"role": "assistant", "content": json.dumps(calls, ensure_ascii=False)})
            case Output():
                found.append({"role": "user", "content": f"{message.name}: {message.content}"})
    return found


def read_messages(messages: Sequence[BaseMessage]) -> tuple[str, tuple[Message, ...]]:
    """Return the system messages as one text, and the other messages.

    Raises:
        GenerationError: A message has an image or another part that is not text, or an unknown role.
    """
    system: list[str] = []
    found: list[Message] = []
    names: dict[str, tuple[str, str]] = {}
    for message in messages:
        text = _text(message)
        match message:
            case SystemMessage():
                system.append(text)
            case HumanMessage():
                if found and isinstance(last := found[-1], User):
                    found[-1] = User(content=f"{last.content}\n\n{text}")
                else:
                    found.append(User(content=text))
            case AIMessage(tool_calls=calls) if calls:
                parts = []
                for call in calls:
                    new = f"call_{len(names) + 1}"  # equal conversations have equal prompts
                    names[call["id"] or new] = (new, call["name"])
                    arguments = json.dumps(call["args"], ensure_ascii=False)
                    parts.append(CallPart(id=new, name=call["name"], arguments=arguments))
                found.append(Calls(calls=tuple(parts), text=text))
            case AIMessage():
                found.append(Answer(content=text))
            case ToolMessage():
                new, name = names.get(message.tool_call_id, ("", ""))
                if not new:
                    raise GenerationError(
                        f"no call has the id {message.tool_call_id!r}; pass the AIMessage of the call before its output"
                    )
                found.append(Output(id=new, name=name, content=text, failed=message.status == "error"))
            case _:
                raise GenerationError(
                    f"a {type(message).__name__} cannot be read; pass messages of the system, human, AI and tools"
                )
    return "\n\n".join(system), order_outputs(found) or (User(content=""),)


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    texts = []
    for part in message.content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") == "text":
            texts.append(str(part["text"]))
        elif part.get("type") not in ("tool_use", "tool_call", "reasoning"):
            raise GenerationError(
                f"a structkit model reads text only, and a message has {part.get('type')!r}; leave it out"
            )
    return "\n\n".join(texts)
