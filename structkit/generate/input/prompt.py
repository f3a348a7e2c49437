"""Prompts: what the user said, with the description of the target, as the model will read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from structkit.errors import GenerationError
from structkit.models.protocols import Conversation, LogitsModel, Message, SupportsMessages, SupportsThinking

__all__ = ["Prompt", "build_prompt", "continues_text", "encode_prompt", "prompt_text", "user_text"]

Prompt: TypeAlias = "str | Sequence[Message]"


@runtime_checkable
class _SupportsDecode(Protocol):
    """A model that can print tokens with its control tokens."""

    def decode(self, token_ids: Sequence[int]) -> str: ...


def build_prompt(
    prompt: Prompt,
    description: str | None = None,
    system: str | None = None,
    examples: Sequence[tuple[str, str]] = (),
    *,
    as_messages: bool = True,
) -> Prompt:
    r"""Add the description of the target to the last message of the user, and a system message before all.

    With examples the description is added to the first of them, and the prompt follows them as it is.

    Args:
        prompt: A text or messages; never changed.
        description: What to answer with, or `None` to leave the prompt as it is.
        system: A system message, or `None`.
        examples: Texts, and what is answered to them.
        as_messages: Whether examples become messages, where the prompt is a text; else they become a text.

    Returns:
        A text where a text was given and there is no system message (models without a chat template read only
        texts), else messages.

    Raises:
        TypeError: The prompt is neither a text nor messages.
        ValueError: There is no message of the user to add to, or there would be two system messages.

    >>> build_prompt("Ana is 34.", "JSON of this type:\nPerson {name: string}")
    'Ana is 34.\n\nAnswer with JSON of this type:\nPerson {name: string}'
    >>> build_prompt("3 + 4", examples=[("1 + 1", "2")], as_messages=False)
    '1 + 1\n\n2\n\n3 + 4\n\n'
    >>> build_prompt("Hi", system="Be brief.")
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(prompt, Conversation):
        return prompt  # it says all
    if isinstance(prompt, str):
        if examples and not as_messages and system is None:
            return _examples_as_text(examples, prompt, description)
        if examples:
            said = [] if system is None else [_system(system)]
            return [
                *said,
                *_examples_as_messages(examples, description),
                Message(role="user", content=prompt),
            ]
        text = _with_description(prompt, description)
        return text if system is None else [_system(system), Message(role="user", content=text)]
    messages = [_read_message(message, position) for position, message in enumerate(_check_messages(prompt))]
    if examples:
        begin = next((at for at, each in enumerate(messages) if each["role"] != "system"), len(messages))
        messages[begin:begin] = _examples_as_messages(examples, description)
    elif description is not None:
        asked = [position for position, message in enumerate(messages) if message["role"] == "user"]
        if not asked:
            raise ValueError(
                "no message has the role 'user' to add the description to; pass include_schema=False"
            )
        last = messages[asked[-1]]
        last["content"] = _with_description(last["content"], description)
    if system is None:
        return messages
    if any(message["role"] == "system" for message in messages):
        raise ValueError("there is a system message among the messages already; leave out system=...")
    return [_system(system), *messages]


def user_text(prompt: Prompt) -> str:
    """What the user said: the prompt, or the contents of the messages of the user, joined by blank lines.

    >>> user_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    'Hi'
    """
    if isinstance(prompt, str):
        return prompt
    messages = [_read_message(message, position) for position, message in enumerate(_check_messages(prompt))]
    return "\n\n".join(message["content"] for message in messages if message["role"] == "user")


def prompt_text(model: LogitsModel, prompt: Prompt) -> str:
    """The text that the model reads: the prompt after its chat template.

    Control tokens appear as the model's tokenizer writes them; where the model cannot tell, as `<id>`.

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
    """The tokens of a prompt, ready for the answer, or for thoughts before it.

    Raises:
        GenerationError: The prompt leaves no room in the model's context, or is empty, or the model cannot think.
    """
    if thinking and not isinstance(model, SupportsThinking):
        raise GenerationError(f"{model.name} does not know how thoughts end; leave out thinking=...")
    token_ids = _encoded(model, prompt, thinking=thinking)
    if not token_ids:
        raise GenerationError("the prompt has no tokens, so the model has nothing to go on; say something")
    context = model.context_length
    if context is not None and len(token_ids) >= context:
        over = len(token_ids) - context + 1
        raise GenerationError(
            f"the prompt is {len(token_ids)} tokens and the context of {model.name} is {context}: it is "
            f"{over} token{'s' * (over > 1)} too long to leave room for an answer; shorten it, "
            "or pass include_schema=False to leave out the description of the target",
            place="prompt",
        )
    return token_ids


def _encoded(model: LogitsModel, prompt: Prompt, *, thinking: bool = False) -> list[int]:
    try:
        if thinking and isinstance(model, SupportsThinking):
            return model.encode_thinking(prompt)
        return model.encode(prompt)
    except UnicodeEncodeError as error:
        raise GenerationError(f"the prompt is not Unicode: {error}", place="prompt") from error


def continues_text(model: LogitsModel, prompt: Prompt) -> bool:
    """Whether the answer goes on in the text of the prompt: no chat template puts the end of a turn in between."""
    return isinstance(prompt, str) and not (isinstance(model, SupportsMessages) and model.takes_messages)


def _with_description(text: str, description: str | None) -> str:
    return text if description is None else f"{text}\n\nAnswer with {description}"


def _examples_as_messages(examples: Sequence[tuple[str, str]], description: str | None) -> list[Message]:
    turns: list[Message] = []
    for number, (text, answer) in enumerate(examples):
        asked = text if number else _with_description(text, description)
        turns += [Message(role="user", content=asked), Message(role="assistant", content=answer)]
    return turns


def _examples_as_text(examples: Sequence[tuple[str, str]], prompt: str, description: str | None) -> str:
    """Texts and answers by turns, and the prompt, after which the next answer is due."""
    turns = [message["content"] for message in _examples_as_messages(examples, description)]
    return "\n\n".join([*turns, prompt, ""])


def _system(text: str) -> Message:
    return Message(role="system", content=text)


def _check_messages(prompt: object) -> Sequence[object]:
    if isinstance(prompt, Sequence) and not isinstance(prompt, (bytes, bytearray)) and prompt:
        return prompt
    raise TypeError(
        f"a prompt is a text or a list of messages {{'role': 'user', 'content': '...'}}, not {prompt!r:.60}"
    )


def _read_message(message: object, position: int) -> Message:
    if isinstance(message, Mapping):
        role, content = message.get("role"), message.get("content")
        if isinstance(role, str) and isinstance(content, str):
            return Message(role=role, content=content)
    raise TypeError(
        f"message {position} is no {{'role': '...', 'content': '...'}} with two texts, but {message!r:.60}"
    )
