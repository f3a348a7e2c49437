"""A request for a reply as the text or the messages that a model reads."""

from __future__ import annotations

from structkit.models.protocols import Message
from structkit.models.text.protocol import TextRequest

__all__ = ["render_messages", "render_text"]


def render_text(request: TextRequest, *, continues: bool) -> str:
    r"""Return the text that a model reads.

    Args:
        request: The request; its prompt is a text.
        continues: Whether the model continues the text.

    >>> render_text(TextRequest(prompt="Who?\n", prefix='{"name": "'), continues=True)
    'Who?\n{"name": "'
    >>> print(render_text(TextRequest(prompt="Who?", prefix='{"name": "'), continues=False))
    Who?
    <BLANKLINE>
    The answer starts with this text, which is final:
    {"name": "
    Write only what follows this text.
    """
    prompt = request.prompt if isinstance(request.prompt, str) else ""
    where = _where(request)
    if continues:
        return "\n\n".join([prompt.rstrip(), *where, request.prefix]) if where else prompt + request.prefix
    lines = where
    if request.prefix:
        start = "The answer starts with this text, which is final:"
        lines = [start, request.prefix, "Write only what follows this text.", *where]
    return "\n\n".join([prompt.rstrip(), "\n".join(lines)]) if lines else prompt


def render_messages(request: TextRequest, *, continues: bool) -> list[Message]:
    """Return the messages that a model reads.

    Args:
        request: The request; a text as its prompt becomes a user message.
        continues: Whether the model continues a last message of the assistant.

    >>> render_messages(TextRequest(prompt="Is it?", prefix="tr"), continues=True)
    [{'role': 'user', 'content': 'Is it?'}, {'role': 'assistant', 'content': 'tr'}]
    >>> render_messages(TextRequest(prompt="Is it?", prefix="tr"), continues=False)[1:]
    [{'role': 'assistant', 'content': 'tr'}, {'role': 'user', 'content': 'Your message is the start of ...'}]
    """
    prompt = request.prompt
    given = (Message(role="user", content=prompt),) if isinstance(prompt, str) else prompt
    messages = [Message(role=each["role"], content=each["content"]) for each in given]
    where = _where(request)
    if request.prefix and not continues:
        asked = "Your message is the start of the answer, and is final. Write only what follows your message."
        return [*_said(messages, request.prefix), Message(role="user", content="\n".join([asked, *where]))]
    if where and messages[-1]["role"] == "user":
        messages[-1]["content"] = "\n\n".join([messages[-1]["content"], *where])
    elif where:
        messages.append(Message(role="user", content=where[0]))
    return _said(messages, request.prefix) if request.prefix else messages


def _said(messages: list[Message], prefix: str) -> list[Message]:
    r"""Return messages after which the assistant has written a text, at the end of its message if that is the last one.

    Servers refuse two messages of the assistant at the end.

    >>> _said([{"role": "assistant", "content": "Let me see."}], "tr")
    [{'role': 'assistant', 'content': 'Let me see.\n\ntr'}]
    """
    last = messages[-1]
    if last["role"] != "assistant":
        return [*messages, Message(role="assistant", content=prefix)]
    content = f"{last['content'].rstrip()}\n\n{prefix}"
    return [*messages[:-1], Message(role="assistant", content=content)]


def _where(request: TextRequest) -> list[str]:
    """Return a sentence about what can follow the prefix; none if the request has no constraint.

    >>> _where(TextRequest(prompt="", choices=("a", "b"))), _where(TextRequest(prompt="", says_choices=False))
    (['At the start, only one of these: `a`, `b`'], [])
    """
    if not request.says_choices or not (request.choices or request.hint):
        return []
    where = f"After {request.prefix[-40:]!r}" if request.prefix else "At the start"
    refused = f"{request.refused[:40]!r} is wrong; " if request.refused else ""
    choices = ", ".join(f"`{choice}`" for choice in request.choices)
    allowed = f"one of these: {choices}" if choices else request.hint
    return [f"{where}, {refused}only {allowed}"]
