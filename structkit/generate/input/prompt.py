"""Prompts: the user's messages with the description of the target, and their tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from structkit.arguments.names import closest_name
from structkit.errors import GenerationError
from structkit.generate.input.arguments import check_prompt
from structkit.models.protocols import Conversation, LogitsModel, Message, SupportsMessages, SupportsThinking
from structkit.schema.ir.json_values import shorten_repr

__all__ = [
    "Prompt",
    "build_prompt",
    "check_prompt_ids",
    "continues_text",
    "encode_prompt",
    "prompt_text",
    "transcript",
    "user_text",
]

Prompt: TypeAlias = "str | Sequence[Message]"

_ROLES = ("system", "developer", "user", "assistant", "tool", "ipython", "function", "model")
"""The roles of common chat templates; a template can have others."""


@runtime_checkable
class _SupportsDecode(Protocol):
    """A model that decodes control tokens to text."""

    def decode(self, token_ids: Sequence[int]) -> str: ...


def build_prompt(
    prompt: Prompt,
    description: str | None = None,
    system: str | None = None,
    examples: Sequence[tuple[str, str]] = (),
    *,
    as_messages: bool = True,
) -> Prompt:
    r"""Add the description of the target to the last user message, and prepend a system message.

    With examples, the description is added to the first example, and the prompt follows them unchanged.

    Args:
        prompt: A string or messages; not modified.
        description: Description of the target, or `None` to add none.
        system: A system message, or `None`.
        examples: Texts and their answers.
        as_messages: Whether the examples of a string prompt become messages; otherwise they become part of the string.

    Returns:
        A string if `prompt` is a string and nothing requires messages (models without a chat template read only
        strings), otherwise messages.

    Raises:
        TypeError: The prompt is neither a string nor messages.
        ValueError: A role is no word, there is no user message to add the description to, or there are two system
            messages.

    >>> build_prompt("Ana is 34.", "JSON of this type:\nPerson {name: string}")
    'Ana is 34.\n\nAnswer with JSON of this type:\nPerson {name: string}'
    >>> build_prompt("3 + 4", examples=[("1 + 1", "2")], as_messages=False)
    '1 + 1\n\n2\n\n3 + 4\n\n'
    >>> build_prompt("Hi", system="Be brief.")
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(prompt, Conversation):
        return prompt  # a conversation is complete
    if isinstance(prompt, str):
        if examples and not as_messages and system is None:
            return _examples_as_text(examples, prompt, description)
        if examples:
            system_messages = [] if system is None else [_system(system)]
            return [
                *system_messages,
                *_examples_as_messages(examples, description),
                Message(role="user", content=prompt),
            ]
        text = _with_description(prompt, description)
        return text if system is None else [_system(system), Message(role="user", content=text)]
    messages = [_read_message(message, position) for position, message in enumerate(check_prompt(prompt))]
    if examples:
        start = next(
            (position for position, each in enumerate(messages) if each["role"] != "system"), len(messages)
        )
        messages[start:start] = _examples_as_messages(examples, description)
    elif description is not None:
        user_positions = [position for position, message in enumerate(messages) if message["role"] == "user"]
        if not user_positions:
            roles = ", ".join(sorted({repr(message["role"]) for message in messages}))
            raise ValueError(
                f"the description of the target needs a message with the role 'user', and the roles are {roles}; "
                "add one, or pass include_schema=False"
            )
        last = messages[user_positions[-1]]
        last["content"] = _with_description(last["content"], description)
    if system is None:
        return messages
    if any(message["role"] == "system" for message in messages):
        raise ValueError("the messages already contain a system message; omit system=...")
    return [_system(system), *messages]


def user_text(prompt: Prompt) -> str:
    """Return the user's text: the prompt, or the contents of the user messages, joined by blank lines.

    >>> user_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    'Hi'
    """
    if isinstance(prompt, str):
        return prompt
    messages = [_read_message(message, position) for position, message in enumerate(check_prompt(prompt))]
    return "\n\n".join(message["content"] for message in messages if message["role"] == "user")


def transcript(prompt: Prompt) -> str:
    r"""Return the prompt, or its messages after their roles.

    >>> transcript([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    'system: Be brief.\nuser: Hi'
    """
    if isinstance(prompt, str):
        return prompt
    return "\n".join(f"{message['role']}: {message['content']}" for message in prompt)


def prompt_text(model: LogitsModel, prompt: Prompt) -> str:
    """Return the text that the model reads: the prompt after its chat template.

    Control tokens appear as the model's tokenizer decodes them, or as `<id>` if the model has no `decode`.

    Raises:
        GenerationError: The prompt is not Unicode.
    """
    token_ids = _encoded(model, prompt)
    if isinstance(model, _SupportsDecode):
        return model.decode(token_ids)
    tokens = model.vocabulary.tokens
    pieces = [tokens[i] if i < len(tokens) and tokens[i] else f"<{i}>".encode() for i in token_ids]
    return b"".join(pieces).decode("utf-8", errors="replace")


def encode_prompt(model: LogitsModel, prompt: Prompt, *, thinking: bool = False) -> list[int]:
    """Return the tokens of a prompt, up to where the answer, or the thinking before it, starts.

    Raises:
        GenerationError: The prompt fills the model's context, is empty or not Unicode, or the model has no thinking
            mode.
    """
    if thinking and not isinstance(model, SupportsThinking):
        raise GenerationError(f"{model.name} has no thinking mode; omit thinking=...")
    token_ids = _encoded(model, prompt, thinking=thinking)
    check_prompt_ids(model, token_ids)
    return token_ids


def check_prompt_ids(model: LogitsModel, token_ids: Sequence[int]) -> None:
    """Check that an answer can follow the tokens of a prompt.

    Raises:
        GenerationError: There are none, or they fill the model's context.
    """
    if not token_ids:
        raise GenerationError("the prompt has no tokens; pass a prompt that is not empty")
    context, length = model.context_length, len(token_ids)
    if context is not None and length >= context:
        excess = length - context + 1
        raise GenerationError(
            f"the prompt has {length} tokens and {model.name} has a context of {context}: the prompt is "
            f"{excess} token{'s' * (excess > 1)} too long for an answer to follow; shorten it, "
            "or pass include_schema=False to omit the description of the target",
            place="prompt",
        )


def _encoded(model: LogitsModel, prompt: Prompt, *, thinking: bool = False) -> list[int]:
    try:
        if thinking and isinstance(model, SupportsThinking):
            return model.encode_thinking(prompt)
        return model.encode(prompt)
    except UnicodeEncodeError as error:
        raise GenerationError(
            f"the prompt is not Unicode: {error}; write prompt.encode('utf-8', 'replace').decode()",
            place="prompt",
        ) from error


def continues_text(model: LogitsModel, prompt: Prompt) -> bool:
    """Return whether the answer continues the text of the prompt: no chat template ends a message between them."""
    return isinstance(prompt, str) and not (isinstance(model, SupportsMessages) and model.takes_messages)


def _with_description(text: str, description: str | None) -> str:
    return text if description is None else f"{text}\n\nAnswer with {description}"


def _examples_as_messages(examples: Sequence[tuple[str, str]], description: str | None) -> list[Message]:
    messages: list[Message] = []
    for number, (text, answer) in enumerate(examples):
        question = text if number else _with_description(text, description)
        messages += [Message(role="user", content=question), Message(role="assistant", content=answer)]
    return messages


def _examples_as_text(examples: Sequence[tuple[str, str]], prompt: str, description: str | None) -> str:
    """Return alternating texts and answers, then the prompt, separated by blank lines."""
    contents = [message["content"] for message in _examples_as_messages(examples, description)]
    return "\n\n".join([*contents, prompt, ""])


def _system(text: str) -> Message:
    return Message(role="system", content=text)


def _read_message(message: object, position: int) -> Message:
    if isinstance(message, Mapping):
        role, content = message.get("role"), message.get("content")
        if isinstance(role, str) and isinstance(content, str):
            _check_role(role, position)
            return Message(role=role, content=content)
    raise TypeError(
        f"message {position} of the prompt is {shorten_repr(repr(message))}; "
        "write {'role': 'user', 'content': '...'}, with two strings"
    )


def _check_role(role: str, position: int) -> None:
    """Refuse a role that is no word, since a template can make special tokens of it, or that has a typing mistake.

    Raises:
        ValueError: The role is not valid.
    """
    meant = None if role in _ROLES else closest_name(role, _ROLES)
    if meant is not None or not re.fullmatch(r"[A-Za-z][\w-]*", role, re.ASCII):
        remedy = meant or "user"
        raise ValueError(
            f"message {position} of the prompt has the role {shorten_repr(repr(role))}; write {remedy!r}"
        )
