"""Connections to servers that speak the API of OpenAI."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import get_args
from urllib.parse import urlsplit

from structkit.arguments.checks import check_count
from structkit.arguments.names import hints_arguments
from structkit.models.capabilities import Capabilities, Constraint
from structkit.models.servers.dialects import Dialect, recognize
from structkit.models.servers.faults import Fault
from structkit.models.servers.http import HttpClient
from structkit.models.servers.listing import choose_model, list_models, max_length_of, owners_of, root_of
from structkit.models.servers.model import ServerModel
from structkit.models.servers.remote import FIELD_HINTS, check_fields
from structkit.models.text.protocol import check_reply_bounds

__all__ = ["connect"]

_HINTS: Mapping[str, str] = {
    **FIELD_HINTS,
    "base_url": "write url=...",
    "default_headers": "write headers=...",
    "key": "write api_key=...",
    "max_retries": "write max_tries=...",
    "model_name": "write model=...",
}
"""What clients of other libraries call an argument, and what to write here."""


@hints_arguments(_HINTS)
def connect(
    url: str,
    model: str | None = None,
    api_key: str | None = None,
    *,
    chat: bool = True,
    continues: bool | None = None,
    constrain: bool | Constraint = True,
    options: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 120.0,
    max_calls: int = 128,
    max_tries: int = 5,
) -> ServerModel:
    """Connect to a server that speaks the API of OpenAI: vLLM, SGLang, llama.cpp, Ollama, LM Studio, a host.

    The server is asked which one it is and which models it has. Its replies are corrected as those of `from_function`.
    Servers that enforce a notation of the target get the target in it: a grammar, a regex, or the part of its JSON
    Schema that they enforce (`structkit.explain(target, model)` shows it). What they write is checked in any case.

    Connection errors, status 429 and those from 500, and replies that break off before their first text are tried
    again with growing waits, or after the seconds that the server asks for. A reply that breaks off later is continued
    from the text that was accepted.

    Args:
        url: The address, such as `http://localhost:8000/v1`; `/v1` can be left out.
        model: The name of the model; can be left out if the server has one.
        api_key: The key, which no error shows.
        chat: Whether the model takes messages. Otherwise it continues texts, as base models do.
        continues: Whether the server continues a last message of the assistant, or without `chat` a text; by default
            what is known of it.
        constrain: Whether the server gets the target in a notation that it is known to enforce; or the notation that it
            gets in any case: `"grammar"`, `"regex"` or `"json_schema"`.
        options: Fields of each request, such as `{"temperature": 0}`. With `{"logprobs": True, "top_logprobs": 20}`
            any server can name likely tokens, and a correction takes one that can follow.
        headers: Headers of each request; their values are as secret as the key.
        timeout: Maximum number of seconds of one reply, with all tries.
        max_calls: Maximum number of replies for one value.
        max_tries: Maximum number of tries of one reply.

    Raises:
        ModelError: The server cannot be reached, is no such server, refuses the key, or does not have the model.
        MissingExtra: The extra `servers` is not installed.
        TypeError: An argument has the wrong type.
        ValueError: The address, a key, an option or a number is not valid.

    >>> model = connect("http://localhost:8000")  # doctest: +SKIP
    >>> model.dialect, model.capabilities.constraints  # doctest: +SKIP
    ('vLLM', frozenset({'grammar'}))
    """
    base = _base(url)
    check_reply_bounds(timeout, max_calls)
    check_count("max_tries", max_tries, 1)
    _check_constrain(constrain)
    _check_options(options)
    client = HttpClient(base, _headers(headers, api_key), timeout, max_tries)
    name, dialect, max_length = _identify(client, model, base)
    if not chat:
        dialect = dialect.for_texts()
    if not isinstance(constrain, bool):
        dialect = dialect.forced_to(constrain)
    return ServerModel(
        client,
        dialect,
        model=name,
        capabilities=Capabilities(
            continues_prefix=dialect.continues if continues is None else continues,
            takes_messages=chat,
            constraints=frozenset(kind for kind, _ in dialect.constraint_fields if constrain),
            schema_profile=dialect.schema_profile,
            logits="some" if dialect.ranks_tokens or (options or {}).get("logprobs") else "none",
            token_ids=dialect.token_ids,
        ),
        max_length=max_length,
        options=options or {},
        timeout=timeout,
        max_calls=max_calls,
    )


def _identify(client: HttpClient, model: str | None, base: str) -> tuple[str, Dialect, int | None]:
    """Ask a server for its models; return the name of the model, the kind of server, and the length of its context.

    Raises:
        ModelError: The server cannot be reached, or does not have the model; the client is then closed.
    """
    try:
        listed = list_models(client)
        root = root_of(client.base)
        dialect = recognize(root, lambda path: client.get(root + path), owners_of(listed))
        names = [name for name in (entry.get("id") for entry in listed) if isinstance(name, str)]
        return choose_model(model, names, dialect, base), dialect, max_length_of(listed)
    except BaseException as error:  # also an interruption
        client.close()
        if isinstance(error, Fault):
            raise error.error(base) from error.__cause__
        raise


def _base(url: str) -> str:
    """Return the address of an API.

    >>> _base("http://localhost:8000"), _base("https://api.groq.com/openai/v1/chat/completions")
    ('http://localhost:8000/v1', 'https://api.groq.com/openai/v1')
    """
    given: object = url
    if not isinstance(given, str):
        raise TypeError(f"url must be a string such as 'http://localhost:8000', not {given!r:.60}")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(
            f"the url of a server is not valid ({error}); write an address such as http://localhost:8000/v1"
        ) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        is_plain = re.fullmatch(r"[\w.-]+(:\d+)?(/[\w./-]*)?", url)
        meant = f"http://{url}" if is_plain else "an address such as http://localhost:8000/v1"
        raise ValueError(f"the url of a server begins with http:// or https://; write {meant}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(
            "url must be an address without user, query and fragment; pass a key with api_key=..."
        )
    path = re.sub(r"/(chat/completions|completions|models|responses)$", "", parts.path.rstrip("/")).rstrip(
        "/"
    )
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


def _headers(headers: Mapping[str, str] | None, api_key: str | None) -> dict[str, str]:
    r"""Return the headers of each request.

    Raises:
        TypeError: They are not texts.
        ValueError: One cannot be sent; the error does not show it.

    >>> _headers(None, "a key of a file\n")
    Traceback (most recent call last):
    ValueError: api_key has spaces or line ends around it; pass it with .strip()
    """
    given: object = headers
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(
            f"headers must map names to texts, as in {{'X-Tenant': 'a'}}, not {type(given).__name__}"
        )
    sent = dict(headers or {})
    keys = {} if api_key is None else {"api_key": api_key}
    for name, value in (keys | {f"headers[{name!r}]": text for name, text in sent.items()}).items():
        is_text: object = value
        if not isinstance(is_text, str):
            raise TypeError(f"{name} must be a string, not {type(value).__name__}")
        if value != value.strip():
            raise ValueError(f"{name} has spaces or line ends around it; pass it with .strip()")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{name} must have printable ASCII characters only; is it the right text?")
    if api_key is not None:
        sent["Authorization"] = f"Bearer {api_key}"
    return sent


def _check_constrain(constrain: object) -> None:
    """Raise `ValueError` for what is neither a truth value nor the name of a notation."""
    kinds = get_args(Constraint)
    if not isinstance(constrain, bool) and constrain not in kinds:
        listed = ", ".join(map(repr, kinds))
        raise ValueError(f"constrain must be True, False, or one of {listed}, not {constrain!r}")


def _check_options(options: Mapping[str, object] | None) -> None:
    """Check that the fields of each request are JSON.

    Raises:
        TypeError: They are not.
        ValueError: A number is NaN or infinite, or one is a field that structkit writes.
    """
    check_fields({} if options is None else options)
    for name, value in (options or {}).items():
        try:
            json.dumps({name: value}, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"options[{name!r}] cannot be sent as JSON: {error}; pass values of JSON"
            ) from None
