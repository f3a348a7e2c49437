"""Faults of the official clients: the exception of a client becomes a fault with its remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from structkit.models.servers.faults import ABOUT_LENGTH, Fault, Refused, message_of, quotable

__all__ = ["Service", "fault_of"]

_ABOUT_KEY = r"api.?key"
_ABOUT_NETWORK = r"Connect|Network|Protocol|Proxy|Read|Transport|Write"
_ABOUT_MONEY = r"credit|billing|quota"


@dataclass(frozen=True, slots=True)
class Service:
    """The service behind a client, as errors name it.

    Attributes:
        name: The name of the service.
        key: How the client gets a key.
        tries: How the client tries a request again.
    """

    name: str
    key: str
    tries: str


def fault_of(error: Exception, service: Service, model: str, secrets: Iterable[str]) -> Fault:
    """Return the fault of an exception that a client raised.

    Clients differ in their classes, which wrap those of an HTTP library or not; names, statuses and bodies agree.

    Args:
        error: The exception.
        service: The service behind the client.
        model: The name of the model.
        secrets: The key, the prompt and other texts that no error may show.

    >>> error = TimeoutError("read timed out")
    >>> fault_of(error, Service("OpenAI", "OPENAI_API_KEY", "max_retries=..."), "gpt-5-mini", ()).what
    'OpenAI did not answer within the timeout of the client (TimeoutError); allow more seconds, or try again later'
    """
    if isinstance(error, Fault):
        return error
    kind, name = type(error).__name__, service.name
    status = getattr(error, "status_code", getattr(error, "code", None))
    body = getattr(error, "body", getattr(error, "details", None))
    reply = message_of(body) or (body if isinstance(body, str) else "")
    if isinstance(status, int) and status >= 400:
        return _fault_of_status(status, reply, service, model, secrets)
    if body is not None:
        return Fault(
            f"{name} failed while it replied{_said(reply, secrets)}; try again later", is_transient=True
        )
    if "Timeout" in kind:
        return Fault(
            f"{name} did not answer within the timeout of the client ({kind}); allow more seconds, or try again later",
            is_transient=True,
        )
    if kind in ("TypeError", "ValidationError", "ValueError"):
        return Fault(
            f"the client cannot send the request ({kind}){_said(str(error), secrets)}; check options=... and the "
            "client's key and version",
            is_transient=False,
        )
    if isinstance(error, ValueError):
        return Fault(
            f"the reply is not one of the API of {name} ({kind}); is the client's address right?",
            is_transient=True,
        )
    if not isinstance(error, OSError) and not re.search(_ABOUT_NETWORK, kind):
        what = f"the client of {name} failed ({kind}){_said(str(error), secrets)}; check its settings and version"
        return Fault(what, is_transient=False)
    cause = type(error.__cause__).__name__ if error.__cause__ is not None else kind
    return Fault(
        f"the connection to {name} failed ({cause}); is the network up, and the client's address right?",
        is_transient=True,
    )


def _fault_of_status(status: int, reply: str, service: Service, model: str, secrets: Iterable[str]) -> Fault:
    """Return the fault of a reply with the status of an error."""
    name, said = service.name, _said(reply, secrets)
    if status == 401 or (status == 400 and re.search(_ABOUT_KEY, reply, re.IGNORECASE)):
        # The message may quote a part of the key.
        what = f"{name} refuses the key (status {status}); give the client a valid one, as by {service.key}"
    elif status == 403:
        what = f"{name} does not allow the request (status 403){said}; has the key access to {model!r}?"
    elif status == 404:
        what = f"{name} does not have the model {model!r} (status 404){said}; check its name and the client's address"
    elif status in (402, 429) or (status == 400 and re.search(_ABOUT_MONEY, reply, re.IGNORECASE)):
        what = (
            f"{name} allows no more requests at present (status {status}){said}; wait, send fewer at once, raise "
            f"{service.tries} of the client, or check the quota"
        )
    elif status == 413 or (status == 400 and re.search(ABOUT_LENGTH, reply, re.IGNORECASE)):
        what = f"the prompt is too long for {model!r} (status {status}){said}; shorten it"
    elif status < 500 and status not in (408, 409):
        what = f"{name} refuses the request (status {status}){said}; check options=... and the model"
        return Refused(what, status=status, reply=reply)
    else:
        what = (
            f"{name} failed (status {status}){said}; try again later, or raise {service.tries} of the client"
        )
        return Fault(what, is_transient=True, status=status)
    return Fault(what, is_transient=status == 429, status=status)


def _said(message: str, secrets: Iterable[str]) -> str:
    """Return the message of a service as a part of an error; empty if it quotes a secret."""
    quoted = quotable(message, secrets)
    return f": {quoted}" if quoted else ""
