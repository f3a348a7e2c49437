"""Clients of the package openai as text models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from typing_extensions import Unpack

from structkit.arguments.names import names_arguments
from structkit.errors import MissingExtra, ModelError
from structkit.models.capabilities import Capabilities
from structkit.models.hosted.faults import Service
from structkit.models.hosted.model import (
    MAX_REPLY_TOKENS,
    HostedClient,
    HostedModel,
    HostedOptions,
    HostedSettings,
    merged,
    wrong_client,
)
from structkit.models.hosted.parts import CALLS_TOOL, ReplyPart
from structkit.models.hosted.responses import is_response_event, read_response_event, response_fields
from structkit.models.native.profiles import OPENAI_STRICT
from structkit.models.servers.chunks import joined_text
from structkit.models.servers.dialects import Dialect, recognize
from structkit.models.servers.faults import message_of
from structkit.models.servers.ranked import scored_tokens
from structkit.models.text.protocol import TextRequest
from structkit.models.text.render import render_messages

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

__all__ = ["from_openai", "openai_from_environment"]

_KEY = "OPENAI_API_KEY"

_ONLY_RESPONSES = r"v1/responses|chatCompletion operation does not work"
"""Words of OpenAI, and of Azure, about a model that has no chat completions."""


@names_arguments
def from_openai(
    client: OpenAI | AsyncOpenAI,
    model: str,
    **options: Unpack[HostedOptions],
) -> HostedModel:
    """Make a model of a client of the package `openai`.

    Its replies are corrected as those of `from_function`. OpenAI also gets the part of the target that it enforces, as
    a strict JSON Schema (`structkit.explain(target, model)` shows it). Another server, to which the client has a
    `base_url`, gets the prompt alone; use `connect`, which asks the server what it can do.

    The client tries requests again, up to its `max_retries`. A reply that breaks off is continued from the text that
    was accepted.

    Args:
        client: `openai.OpenAI()`, `AsyncOpenAI()`, `AzureOpenAI()` or `AsyncAzureOpenAI()`.
        model: The name of the model, or of the deployment on Azure.
        options: See `HostedOptions`; `options` are arguments of each `client.chat.completions.create`, such as
            `{"reasoning_effort": "low"}`; a model that answers only at `/v1/responses` gets them in the spelling of
            that API. With `{"logprobs": True, "top_logprobs": 20}` a correction takes the most
            likely token that can follow; models that reason refuse them.

    Raises:
        MissingExtra: The extra `openai` is not installed.
        TypeError: The client is not one of the package, or an argument is unknown.
        ValueError: An argument is not valid.

    >>> from openai import OpenAI  # doctest: +SKIP
    >>> model = from_openai(OpenAI(), "gpt-5-mini")  # doctest: +SKIP
    >>> sorted(model.capabilities.constraints)  # doctest: +SKIP
    ['json_schema']
    """
    openai = _package()
    if not isinstance(client, (openai.OpenAI, openai.AsyncOpenAI)):
        raise wrong_client("from_openai", "openai.OpenAI()", client)
    is_azure = isinstance(client, (openai.AzureOpenAI, openai.AsyncAzureOpenAI))
    dialect = _dialect(str(client.base_url), is_azure=is_azure)
    settings = HostedSettings.read("from_openai", options)
    is_async = isinstance(client, openai.AsyncOpenAI)
    capabilities = settings.capabilities(
        dialect.schema_profile, continues=dialect.continues, fallback=OPENAI_STRICT
    )
    return HostedModel(
        _OpenAIClient(client, dialect, model, settings, is_async=is_async),
        replace(capabilities, logits="some" if settings.options.get("logprobs") else "none"),
    )


def openai_from_environment(model: str) -> HostedModel:
    """Return a model of OpenAI with the key of the environment.

    Raises:
        ModelError: There is no key.
        MissingExtra: The extra `openai` is not installed.
    """
    openai = _package()
    try:
        client = openai.OpenAI()
    except openai.OpenAIError:
        raise ModelError(
            f"OpenAI needs a key; set the environment variable {_KEY} to one of "
            "https://platform.openai.com/api-keys",
            place=f"openai:{model}",
        ) from None
    return from_openai(client, model)


def _package() -> Any:
    """Return the package."""
    try:
        import openai
    except ImportError as error:
        raise MissingExtra("openai", "models of OpenAI need", "openai") from error
    return openai


def _dialect(base_url: str, *, is_azure: bool) -> Dialect:
    """Return what a server is known to do, without asking the server.

    >>> _dialect("https://eu.api.openai.com/v1", is_azure=False).name
    'OpenAI'
    >>> _dialect("http://localhost:8000/v1", is_azure=False).name
    'an OpenAI-compatible server'
    """
    is_azure = is_azure or (urlsplit(base_url).hostname or "").endswith(".openai.azure.com")
    return recognize("https://api.openai.com" if is_azure else base_url, lambda path: None, set())


class _OpenAIClient(HostedClient):
    """Chat completions of a client; see `HostedClient`."""

    def __init__(
        self,
        client: OpenAI | AsyncOpenAI,
        dialect: Dialect,
        model: str,
        settings: HostedSettings,
        *,
        is_async: bool,
    ) -> None:
        parts = urlsplit(str(client.base_url))
        name = "OpenAI" if dialect.name == "OpenAI" else parts.netloc.rpartition("@")[2]
        service = Service(name, f"the environment variable {_KEY}", "max_retries")
        super().__init__(service, model, settings, is_async=is_async)
        self._client: Any = client
        self._dialect = dialect
        self._sends_responses = False

    def secrets(self) -> Iterable[str]:
        """Return the key."""
        key = self._client.api_key
        return (key,) if isinstance(key, str) else ()

    def send(self, request: TextRequest, capabilities: Capabilities) -> object:
        """Send a request; see `HostedClient.send`."""
        dialect, continues = self._dialect, capabilities.continues_prefix
        messages: list[dict[str, object]] = [
            dict(each) for each in render_messages(request, continues=continues)
        ]
        fields: dict[str, object] = {"model": self.model, "messages": messages, "stream": True}
        if continues and request.prefix and dialect.prefix_field:
            messages[-1][dialect.prefix_field] = True
        # The reasoning of a model of OpenAI counts, too: a limit for the answer would end it before the answer.
        if request.max_tokens is not None and dialect.length_field == "max_tokens":
            fields["max_tokens"] = min(request.max_tokens, MAX_REPLY_TOKENS)
        constraint = request.constraint
        if constraint is not None and constraint.kind in capabilities.constraints:
            fields |= dialect.forced_to("json_schema").constraint(constraint)
        timeout = self.timeout(request, self._client.timeout)
        if timeout is not None:
            fields["timeout"] = timeout
        fields = merged(fields, self.settings.options)
        if self._sends_responses:
            return self._client.responses.create(**response_fields(fields))
        return self._client.chat.completions.create(**fields)

    def adapts(self, error: Exception) -> bool:
        """Return whether the model answers only at `/v1/responses`, as OpenAI's largest; see `HostedClient.adapts`."""
        if not re.search(_ONLY_RESPONSES, message_of(getattr(error, "body", None))):
            return False
        self._sends_responses = True
        return True

    def read(self, event: Any) -> ReplyPart:
        """Return what a chunk has; see `HostedClient.read`."""
        if is_response_event(event):
            return read_response_event(event)
        # Other servers leave out fields that are never missing at OpenAI.
        choices = getattr(event, "choices", None)
        # Of several answers the first is read.
        if not isinstance(choices, Sequence) or not choices or getattr(choices[0], "index", None):
            return ReplyPart()
        delta, end = getattr(choices[0], "delta", None), getattr(choices[0], "finish_reason", None)
        refusal = getattr(delta, "refusal", None)
        if refusal is None and end == "content_filter":
            refusal = "a content filter ended the reply"
        ranks_tokens = getattr(choices[0], "logprobs", None) is not None
        return ReplyPart(
            joined_text(getattr(delta, "content", None)),
            refusal or None,
            tokens=scored_tokens(event.to_dict()) if ranks_tokens else (),
            fault=CALLS_TOOL if end in ("tool_calls", "function_call") else "",
            is_full=end == "length",
        )
