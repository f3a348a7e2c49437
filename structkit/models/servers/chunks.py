"""The contents of the objects of a reply; each object has a part of the reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

__all__ = ["api_of", "end_of", "joined_text", "refusal_of", "text_of"]

Chunk: TypeAlias = "Mapping[str, object]"


def text_of(chunk: Chunk) -> str:
    """Return the text of one object of a reply; reasoning is no part of it.

    >>> text_of({"choices": [{"delta": {"content": "34"}}]}), text_of({"choices": [{"text": "34"}]}), text_of({})
    ('34', '34', '')
    """
    message = _message(chunk)
    return joined_text(message.get("content", message.get("text")))


def joined_text(content: object) -> str:
    """Return the text of a content, which can be a list of parts, as reasoning models of Mistral send it.

    >>> joined_text([{"type": "thinking", "thinking": [{"text": "Who?"}]}, {"type": "text", "text": "34"}])
    '34'
    """
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (each.get("text") for each in content if isinstance(each, Mapping) and each.get("type") == "text")
    return "".join(part for part in parts if isinstance(part, str))


def refusal_of(chunk: Chunk) -> str:
    """Return the part of the words in which the model refuses to answer; empty if it does not.

    >>> refusal_of({"choices": [{"delta": {"refusal": "I cannot", "content": None}}]})
    'I cannot'
    """
    found = _message(chunk).get("refusal")
    return found if isinstance(found, str) else ""


def end_of(chunk: Chunk) -> str:
    """Return the reason for the end of a reply; empty if the object does not end it."""
    found = _choice(chunk).get("finish_reason")
    return found if isinstance(found, str) else ""


def api_of(chunk: Chunk) -> str:
    """Return the API to which an object of a reply belongs; empty for that of OpenAI.

    >>> api_of({"choices": []}), api_of({"type": "message_start"}), api_of({"ok": True})
    ('', 'Anthropic, for which there is structkit.from_anthropic', 'another API')
    """
    if "choices" in chunk:
        return ""
    if "candidates" in chunk:
        return "Gemini, for which there is structkit.from_gemini"
    is_anthropic = str(chunk.get("type")).startswith(("message", "content_block"))
    return "Anthropic, for which there is structkit.from_anthropic" if is_anthropic else "another API"


def _message(chunk: Chunk) -> Chunk:
    """Return the message, or a part of it; of a completion its choice, which has the text."""
    choice = _choice(chunk)
    found = (choice.get(key) for key in ("delta", "message"))
    return next((cast("Chunk", each) for each in found if isinstance(each, Mapping)), choice)


def _choice(chunk: Chunk) -> Chunk:
    """Return the part of an object that belongs to the first answer; `options` can ask for several."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and not choice.get("index"):
            return cast("Chunk", choice)
    return {}
