"""Faults of servers: what went wrong, whether another try can help, and the error of the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from structkit.errors import ModelError
from structkit.models.capabilities import Capabilities
from structkit.models.text.protocol import TextRequest

__all__ = [
    "ABOUT_LENGTH",
    "Fault",
    "Refused",
    "check_length",
    "message_of",
    "quotable",
    "texts_of",
    "without_refused",
]

ABOUT_LENGTH = r"context.?(length|limit|size|window)|too (long|large)|token count|max_model_len"
"""Words of messages about a prompt that is longer than the context."""

_MAX_QUOTE = 300
"""Maximum length of a quoted message of a server."""

_FEW_TOKENS = 64
"""Number of tokens from which a reply without text did not end inside of a character."""

_MIN_SECRET = 12
"""Length from which a part of a request in the message of a server counts as a quote of the request."""


class Fault(Exception):
    """A request failed.

    Attributes:
        what: What went wrong, and the remedy.
        is_transient: Whether the same request can succeed later.
        status: The status of the reply; `None` if there is no complete reply.
        retry_after: The seconds after which the server asks to try again; `None` if it names none.
    """

    def __init__(
        self,
        what: str,
        *,
        is_transient: bool,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.is_transient = is_transient
        self.status = status
        self.retry_after = retry_after

    def error(self, place: str) -> ModelError:
        """Return the error of the user."""
        return ModelError(self.what, place=place)


class Refused(Fault):
    """The server refused a request: a status from 400 to 499 that no later try changes.

    Attributes:
        reply: The message of the server; it may quote the request.
    """

    def __init__(self, what: str, *, status: int, reply: str) -> None:
        super().__init__(what, is_transient=False, status=status)
        self.reply = reply


def check_length(request: TextRequest) -> None:
    """Raise the fault of a reply without text that reached its maximum number of tokens.

    A reply of a few tokens can be a part of a character, and is no fault.

    Raises:
        Fault: The request asked for more than a few tokens.
    """
    if request.max_tokens is None or request.max_tokens >= _FEW_TOKENS:
        remedy = "raise the maximum in options=..., switch reasoning off, or lower its effort"
        what = "the reply reached its maximum number of tokens before its first text, as long reasoning does"
        raise Fault(f"{what}; {remedy}", is_transient=False)


def quotable(message: str, secrets: Iterable[str]) -> str:
    """Return the message of a server for an error; empty if it quotes a part of the request.

    Args:
        message: The message.
        secrets: The prompt, the key and other texts that no error may show.

    >>> quotable("the model is loading", ["a long question about Ana"])
    'the model is loading'
    >>> quotable("cannot read: a long question", ["a long question about Ana"])
    ''
    """
    message = " ".join(message.split())[:_MAX_QUOTE]
    parts = {message[start : start + _MIN_SECRET] for start in range(max(1, len(message) - _MIN_SECRET + 1))}
    for secret in secrets:
        flat = " ".join(secret.split())
        if flat and (flat in message or any(len(part) == _MIN_SECRET and part in flat for part in parts)):
            return ""
    return message


def message_of(reply: object) -> str:
    """Return the message of an error of a server; empty if it has none.

    >>> message_of({"error": {"message": "no such model"}}), message_of({"detail": "no"}), message_of([])
    ('no such model', 'no', '')
    >>> message_of({"detail": [{"loc": ["body", "n"], "msg": "must be positive"}]})
    'body.n: must be positive'
    """
    if not isinstance(reply, Mapping):
        return ""
    for key in ("error", "message", "detail"):
        found = reply.get(key)
        if isinstance(found, Mapping):
            return message_of(found)
        if isinstance(found, str) and found:
            return found
        # FastAPI lists the fields at fault.
        listed = [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
        places = (each.get("loc") for each in listed)
        names = [".".join(map(str, place)) if isinstance(place, list) else "" for place in places]
        parts = [
            f"{name}: {each.get('msg')}" for name, each in zip(names, listed, strict=True) if each.get("msg")
        ]
        if parts:
            return "; ".join(parts)
    return ""


def texts_of(request: TextRequest) -> list[str]:
    """Return the texts of a request, which no error shows."""
    prompt = request.prompt
    contents = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
    return [*contents, request.prefix]


def without_refused(
    capabilities: Capabilities, request: TextRequest, refused: Refused, *, is_tokens: bool = False
) -> Capabilities | None:
    """Return the capabilities without the one that the server refused; `None` if the request used none.

    Args:
        capabilities: The capabilities that the request used.
        request: The request.
        refused: The refusal.
        is_tokens: Whether the prompt was sent as token ids.
    """
    if is_tokens and refused.status in (404, 405):  # the server has no such path
        return replace(capabilities, token_ids=False)
    if refused.status not in (400, 422, 501):
        return None
    if capabilities.logits == "some" and re.search("log.?prob", refused.reply, re.IGNORECASE):
        return replace(capabilities, logits="none")
    has_prefix = capabilities.takes_messages and capabilities.continues_prefix and bool(request.prefix)
    has_constraint = request.constraint is not None and request.constraint.kind in capabilities.constraints
    is_about_constraint = re.search(
        r"gramm|gbnf|structured|guided|schema|regex|response_format", refused.reply, re.IGNORECASE
    )
    if has_constraint and (is_about_constraint or not (has_prefix or is_tokens)):
        return replace(capabilities, constraints=frozenset())
    if is_tokens:
        return replace(capabilities, token_ids=False)
    return replace(capabilities, continues_prefix=False) if has_prefix else None
