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
    notes = _notes(request, continues=continues)
    if not continues:
        return "\n\n".join([prompt.rstrip(), notes]) if notes else prompt
    return "\n\n".join([prompt.rstrip(), notes, request.prefix]) if notes else prompt + request.prefix


def render_messages(request: TextRequest, *, continues: bool) -> list[Message]:
    """Return the messages that a model reads.

    Args:
        request: The request; a text as its prompt becomes a user message.
        continues: Whether the model continues a last message of the assistant.

    >>> render_messages(TextRequest(prompt="Is it?", prefix="tr"), continues=True)
    [{'role': 'user', 'content': 'Is it?'}, {'role': 'assistant', 'content': 'tr'}]
    """
    prompt = request.prompt
    given = (Message(role="user", content=prompt),) if isinstance(prompt, str) else prompt
    messages = [Message(role=each["role"], content=each["content"]) for each in given]
    notes = _notes(request, continues=continues)
    if notes and messages and messages[-1]["role"] == "user":
        messages[-1]["content"] += f"\n\n{notes}"
    elif notes:
        messages.append(Message(role="user", content=notes))
    if continues and request.prefix:
        messages.append(Message(role="assistant", content=request.prefix))
    return messages


def _notes(request: TextRequest, *, continues: bool) -> str:
    """Return what the model reads about the place at which its reply starts; empty if it needs no notes."""
    lines = []
    if request.prefix and not continues:
        lines = ["The answer starts with this text, which is final:", request.prefix]
        lines.append("Write only what follows this text.")
    where = f"After {request.prefix[-40:]!r}" if request.prefix else "At the start"
    if request.choices:
        lines.append(f"{where}, only one of these can follow: {', '.join(request.choices)}")
    elif request.hint:
        lines.append(f"{where}, only this can follow: {request.hint}")
    return "\n".join(lines)
