"""Servers that speak the API of OpenAI, as text models."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args
from urllib.parse import urlsplit

from structkit.arguments.checks import check_count
from structkit.arguments.names import hints_arguments
from structkit.errors import ModelError
from structkit.models.capabilities import Capabilities, Constraint
from structkit.models.servers.chunks import api_of, end_of, refusal_of, text_of
from structkit.models.servers.dialects import Dialect, recognize
from structkit.models.servers.faults import (
    Fault,
    Refused,
    check_length,
    quotable,
    texts_of,
    without_refused,
)
from structkit.models.servers.http import HttpClient, Json
from structkit.models.servers.lines import Interrupt
from structkit.models.servers.ranked import scored_tokens
from structkit.models.servers.remote import FIELD_HINTS, RemoteModel, check_fields
from structkit.models.servers.token_prompts import TokenPrompts, token_ids
from structkit.models.text.protocol import CancellablePieces, TextRequest, check_reply_bounds
from structkit.models.text.render import render_messages, render_text
from structkit.models.text.scored import ScoredText

__all__ = ["ServerModel", "connect"]

_MAX_REPLY_TOKENS = 4_096
"""Maximum number of tokens of a reply, since hosts refuse large numbers. A longer answer takes more replies."""

_SHORT_REPLY_TOKENS = 256
"""Maximum number of tokens of a reply, where a length that does not fit into the context is refused."""

_MAX_RANKED = 20
"""Likely tokens at each place of a reply; servers refuse more."""

_MAX_LISTED = 20
"""Models that an error lists."""


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
            any server can name likely tokens, of which a correction takes one that can follow.
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
    if not isinstance(constrain, bool) and constrain not in get_args(Constraint):
        kinds = ", ".join(map(repr, get_args(Constraint)))
        raise ValueError(f"constrain must be True, False, or one of {kinds}, not {constrain!r}")
    _check_options(options)
    client = HttpClient(base, _headers(headers, api_key), timeout, max_tries)
    try:
        listed = _list_models(client)
        root = _root(client.base)
        dialect = recognize(root, lambda path: client.get(root + path), _owners(listed))
        names = [name for name in (entry.get("id") for entry in listed) if isinstance(name, str)]
        name = _choose(model, names, dialect, base)
    except BaseException as error:  # also an interruption
        client.close()
        if isinstance(error, Fault):
            raise error.error(base) from error.__cause__
        raise
    dialect = dialect if chat else dialect.for_texts()
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
        max_length=_max_length(listed),
        options=options or {},
        timeout=timeout,
        max_calls=max_calls,
    )


class ServerModel(RemoteModel):
    """A server as a `TextModel`; returned by `structkit.connect`.

    Attributes:
        name: The name of the model and the server in messages.
        dialect: The name of the kind of server, such as `"llama.cpp"`.
        timeout: Maximum number of seconds of one reply.
        max_calls: Maximum number of replies for one value.
        lock: `None`: replies can be made side by side.
    """

    def __init__(
        self,
        client: HttpClient,
        dialect: Dialect,
        *,
        model: str,
        capabilities: Capabilities,
        options: Mapping[str, object],
        timeout: float,
        max_calls: int,
        max_length: int | None = None,
    ) -> None:
        super().__init__(f"{model} of {client.base}", capabilities, timeout=timeout, max_calls=max_calls)
        self.dialect = dialect.name
        self._client = client
        self._dialect = dialect
        self._model = model
        self._options = dict(options)
        self._max_length = max_length
        self._prompts = TokenPrompts()

    def close(self) -> None:
        """Close the connections. They also close when the model is not referenced any more."""
        self._client.close()

    def request(self, request: TextRequest) -> CancellablePieces:
        """Ask for a reply, and return its pieces as they arrive; see `TextModel.request`.

        Raises:
            ModelError: The server failed, in each of the tries.
        """
        interrupt = Interrupt()
        return CancellablePieces(self._texts(request, interrupt), interrupt.set)

    def _texts(self, request: TextRequest, interrupt: Interrupt) -> Generator[str, None, None]:
        try:
            first, rest = self._client.retry(
                lambda: self._start(request, interrupt), request.seconds, interrupt
            )
            yield from first
            yield from rest
        except Fault as fault:
            raise self._error(fault) from fault.__cause__

    def token_ids(self, request: TextRequest) -> list[int] | None:
        """Return the token ids with which a request continues from earlier replies; see `SupportsTokenIds`.

        Raises:
            ModelError: The server failed, or refuses to tokenize a text.
        """
        try:
            return self._token_ids(request, self.capabilities)
        except Fault as fault:
            raise self._error(fault) from fault.__cause__

    def _start(self, request: TextRequest, interrupt: Interrupt) -> tuple[list[str], Iterator[str]]:
        """Send a request, and read its reply up to the first text; return that text, and the rest.

        What the server refuses is left out of the next try: the constraint first, then the token ids, then the start of
        the answer. A try that succeeds shows that the server refused what was left out, and nothing else.

        Raises:
            Fault: The server failed.
        """
        reduced: Capabilities | None = None
        while True:
            capabilities = reduced or self.capabilities
            try:
                ids = self._token_ids(request, capabilities, interrupt)
            except Refused:
                reduced = replace(capabilities, token_ids=False)
                continue
            pieces = self._pieces(request, capabilities, ids, interrupt)
            try:
                first = next(pieces, None)
            except Refused as refused:
                reduced = without_refused(capabilities, request, refused, is_tokens=ids is not None)
                if reduced is None:
                    raise
                continue
            if reduced is not None:
                self._known.reduce(reduced)
            return ([] if first is None else [first]), pieces

    def _pieces(
        self, request: TextRequest, capabilities: Capabilities, ids: list[int] | None, interrupt: Interrupt
    ) -> Iterator[str]:
        is_chat = capabilities.takes_messages and ids is None
        body = self._body(request, capabilities, ids)
        read = self._prompts.begin(request) if capabilities.token_ids else None
        path = "chat/completions" if is_chat else "completions"
        has_text, end, other, refused = False, "", "", ""
        with self._client.post(path, body, texts_of(request), request.seconds, interrupt) as replies:
            for reply in replies:
                text, other = text_of(reply), other or api_of(reply)
                has_text, end = has_text or bool(text), end or end_of(reply)
                refused += refusal_of(reply)
                if read is not None:
                    read.add(reply, text)
                tokens = scored_tokens(reply)
                if tokens:
                    yield ScoredText(text, tokens)
                elif text:
                    yield text
        if other and not has_text:
            what = f"the reply is not one of the API of OpenAI, but one of {other}"
            raise Fault(f"{what}; is the address right?", is_transient=False)
        if refused or end == "content_filter":
            quoted = quotable(refused or "a content filter ended the reply", texts_of(request))
            said = f": {quoted}" if quoted else ""
            raise Fault(f"the model refuses to answer{said}; change the prompt", is_transient=False)
        if end in ("tool_calls", "function_call"):
            raise Fault(
                "the model calls a tool and does not answer; leave tools out of options=...",
                is_transient=False,
            )
        if end == "length" and not has_text:
            check_length(request)

    def _token_ids(
        self, request: TextRequest, capabilities: Capabilities, interrupt: Interrupt | None = None
    ) -> list[int] | None:
        """Return the prompt and the start of the answer as the tokens that the server has read and written.

        What follows them, such as forced text, is tokenized by the server. `None` if the tokens are not known.

        Raises:
            Fault: The server failed.
        """
        known = self._prompts.find(request) if capabilities.token_ids else None
        if known is None:
            return None
        ids, rest = known
        if rest:
            body = {"model": self._model, "prompt": rest, "add_special_tokens": False}
            url = f"{_root(self._client.base)}/tokenize"
            answer = self._client.ask(url, body, texts_of(request), interrupt)
            found = token_ids(answer.get("tokens")) if isinstance(answer, Mapping) else ()
            if not found:
                return None
            ids += found
        return ids if self._max_length is None or len(ids) < self._max_length else None

    def _body(self, request: TextRequest, capabilities: Capabilities, ids: list[int] | None = None) -> Json:
        dialect, continues = self._dialect, capabilities.continues_prefix
        is_chat = capabilities.takes_messages and ids is None
        body: dict[str, object] = {"model": self._model, "stream": True}
        if request.max_tokens is not None:
            most = min(request.max_tokens, _MAX_REPLY_TOKENS)
            if dialect.length_field:
                body[dialect.length_field] = most
            elif not is_chat:  # without it, these servers write 16 tokens
                room = _SHORT_REPLY_TOKENS
                if ids is not None and self._max_length is not None:
                    room = self._max_length - len(ids)
                body["max_tokens"] = min(most, room)
        if capabilities.token_ids:
            body["return_token_ids"] = True
        if ids is not None:
            body["prompt"] = ids
        elif not capabilities.takes_messages:
            body["prompt"] = render_text(request, continues=continues)
        else:
            messages: list[dict[str, object]] = [
                dict(each) for each in render_messages(request, continues=continues)
            ]
            if continues and request.prefix:
                body |= dict(dialect.continue_fields)
                if dialect.prefix_field:
                    messages[-1][dialect.prefix_field] = True
            body |= {"messages": messages, **dict(dialect.chat_fields)}
        constraint = request.constraint
        if constraint and constraint.kind in capabilities.constraints and (continues or not request.prefix):
            body |= dialect.constraint(constraint)
        elif capabilities.logits == "some":  # a constrained reply cannot leave the target
            body |= {"logprobs": True, "top_logprobs": _MAX_RANKED} if is_chat else {"logprobs": _MAX_RANKED}
        return body | self._options

    def _error(self, fault: Fault) -> ModelError:
        """Return the error of a fault; that of an unknown model lists the known ones."""
        if isinstance(fault, Refused) and fault.status == 404:
            try:
                names = [str(entry.get("id")) for entry in _list_models(self._client)]
            except Fault:
                names = []
            if self._model not in names:
                return ModelError(_no_model(self._model, names), place=self._client.base)
        return fault.error(self.name)


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


def _root(base: str) -> str:
    return base.removesuffix("/v1")


def _list_models(client: HttpClient) -> Sequence[Json]:
    """Return the models of a server; none if it does not list them.

    Raises:
        Fault: The server cannot be reached, refuses the key, or is no such server.
    """
    try:
        for base in dict.fromkeys((client.base, f"{_root(client.base)}/v1")):
            listed = client.get(f"{base}/models")
            data = listed.get("data") if isinstance(listed, Mapping) else None
            if isinstance(data, list):
                client.base = base
                return [entry for entry in data if isinstance(entry, Mapping)]
    except Refused as refused:
        raise Fault(refused.what, is_transient=False) from refused.__cause__
    return ()


def _max_length(listed: Sequence[Json]) -> int | None:
    """Return the length of the context in tokens, if the server reports one."""
    found = {length for length in (entry.get("max_model_len") for entry in listed) if type(length) is int}
    return found.pop() if len(found) == 1 else None


def _owners(listed: Sequence[Json]) -> set[str]:
    return {owner for owner in (entry.get("owned_by") for entry in listed) if isinstance(owner, str)}


def _choose(model: str | None, names: Sequence[str], dialect: Dialect, base: str) -> str:
    """Return the name of the model that is used.

    Raises:
        ModelError: The server does not have the model, or which model is meant is not clear.
    """
    if model is None:
        if len(names) == 1:
            return names[0]
        if not names:
            what = "the server does not list its models; pass model=..., or the address of the API, such as "
            raise ModelError(f"{what}http://localhost:8000/v1", place=base)
        raise ModelError(
            f"the server has several models; pass model=... with one of {_shown(names)}", place=base
        )
    if dialect.is_local and names and not {model, f"{model}:latest"} & set(names):
        raise ModelError(_no_model(model, names), place=base)
    return model


def _no_model(model: str, names: Sequence[str]) -> str:
    known = f"; it has {_shown(names)}" if names else "; is the address that of the API, and the name right?"
    return f"the server does not have the model {model!r}{known}"


def _shown(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name[:80]) for name in names[:_MAX_LISTED])
    return listed if len(names) <= _MAX_LISTED else f"{listed} and {len(names) - _MAX_LISTED} more"
