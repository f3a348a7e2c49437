"""Clients of the package anthropic as text models."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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
    split_system,
    wrong_client,
)
from structkit.models.hosted.parts import CALLS_TOOL, ReplyPart
from structkit.models.native.profiles import ANTHROPIC
from structkit.models.text.protocol import TextRequest
from structkit.models.text.render import render_messages

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

__all__ = ["anthropic_from_environment", "from_anthropic"]

_KEY = "ANTHROPIC_API_KEY"

_FAULTS = {
    "tool_use": CALLS_TOOL,
    "pause_turn": (
        "Anthropic paused the reply while it uses its own tools; leave tools out of options=..., or limit their uses "
        "with max_uses"
    ),
    "model_context_window_exceeded": "the prompt and the answer are longer than the context of the model; shorten them",
}
"""Reasons for the end of a reply without the rest of the answer."""


@names_arguments
def from_anthropic(
    client: Anthropic | AsyncAnthropic,
    model: str,
    **options: Unpack[HostedOptions],
) -> HostedModel:
    """Make a model of a client of the package `anthropic`.

    Its replies are corrected as those of `from_function`. The first request has the part of the target that Anthropic
    enforces, in `output_config.format` (`structkit.explain(target, model)` shows it). After a correction, models up to
    Claude 4.5 continue the accepted text, and later ones get it in a second message.

    The client tries requests again, up to its `max_retries`. A reply that breaks off is continued from the text that
    was accepted.

    Args:
        client: `anthropic.Anthropic()` or `AsyncAnthropic()`, or a client of the package for another cloud.
        model: The name of the model.
        options: See `HostedOptions`; `options` are arguments of each `client.messages.create`, such as
            `{"output_config": {"effort": "low"}}`. `max_tokens`, which the API requires, is at most 4,096 without it.

    Raises:
        MissingExtra: The extra `anthropic` is not installed.
        TypeError: The client is not one of the package, or an argument is unknown.
        ValueError: An argument is not valid.

    >>> from anthropic import Anthropic  # doctest: +SKIP
    >>> model = from_anthropic(Anthropic(), "claude-opus-5")  # doctest: +SKIP
    >>> model.capabilities.continues_prefix  # doctest: +SKIP
    False
    """
    resources = _package().resources
    messages = getattr(client, "messages", None)
    # The clients for other clouds do not derive from `Anthropic`, but have the same messages.
    if not isinstance(messages, (resources.Messages, resources.AsyncMessages)):
        raise wrong_client("from_anthropic", "anthropic.Anthropic()", client)
    settings = HostedSettings.read("from_anthropic", options)
    is_async = isinstance(messages, resources.AsyncMessages)
    return HostedModel(
        _AnthropicClient(client, model, settings, is_async=is_async),
        settings.capabilities(ANTHROPIC, continues=_takes_prefix(model), fallback=ANTHROPIC),
    )


def anthropic_from_environment(model: str) -> HostedModel:
    """Return a model of Anthropic with the key of the environment.

    Raises:
        ModelError: There is no key.
        MissingExtra: The extra `anthropic` is not installed.
    """
    client = _package().Anthropic()
    # Without a key the client fails only when it sends a request.
    if not (client.api_key or client.auth_token or getattr(client, "credentials", None)):
        raise ModelError(
            f"Anthropic needs a key; set the environment variable {_KEY} to one of "
            "https://platform.claude.com/settings/keys",
            place=f"anthropic:{model}",
        )
    return from_anthropic(client, model)


def _package() -> Any:
    """Return the package."""
    try:
        import anthropic
    except ImportError as error:
        raise MissingExtra("anthropic", "models of Anthropic need", "anthropic") from error
    return anthropic


def _takes_prefix(model: str) -> bool:
    """Return whether a model continues a last message of the assistant: Claude does up to version 4.5.

    >>> _takes_prefix("claude-sonnet-4-5-20250929"), _takes_prefix("claude-3-haiku-20240307")
    (True, True)
    >>> _takes_prefix("claude-opus-4-6"), _takes_prefix("claude-sonnet-5")
    (False, False)
    """
    found = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model)
    return found is None or (int(found[1]), int(found[2] or 0)) <= (4, 5)


class _AnthropicClient(HostedClient):
    """Messages of a client; see `HostedClient`."""

    def __init__(
        self, client: Anthropic | AsyncAnthropic, model: str, settings: HostedSettings, *, is_async: bool
    ) -> None:
        service = Service("Anthropic", f"the environment variable {_KEY}", "max_retries")
        super().__init__(service, model, settings, is_async=is_async)
        self._client: Any = client

    def secrets(self) -> Iterable[str]:
        """Return the keys."""
        keys = (getattr(self._client, name, None) for name in ("api_key", "auth_token"))
        return tuple(key for key in keys if isinstance(key, str))

    def send(self, request: TextRequest, capabilities: Capabilities) -> object:
        """Send a request; see `HostedClient.send`."""
        system, messages = split_system(render_messages(request, continues=capabilities.continues_prefix))
        fields: dict[str, object] = {
            "model": self.model,
            "messages": messages,
            "max_tokens": min(request.max_tokens or MAX_REPLY_TOKENS, MAX_REPLY_TOKENS),
            "stream": True,
        }
        if system:
            fields["system"] = system
        constraint = request.constraint
        if constraint is not None and constraint.kind in capabilities.constraints:
            fields["output_config"] = {"format": {"type": "json_schema", "schema": constraint.schema}}
        timeout = self.timeout(request, self._client.timeout)
        if timeout is not None:
            fields["timeout"] = timeout
        return self._client.messages.create(**merged(fields, self.settings.options))

    def read(self, event: Any) -> ReplyPart:
        """Return what an event has; see `HostedClient.read`."""
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            return ReplyPart(event.delta.text)
        if event.type == "content_block_start" and event.content_block.type == "text":
            return ReplyPart(event.content_block.text)
        if event.type != "message_delta":
            return ReplyPart()
        end = event.delta.stop_reason
        if end == "refusal":
            details = getattr(event.delta, "stop_details", None)
            return ReplyPart(
                refusal=getattr(details, "explanation", None) or getattr(details, "category", None) or ""
            )
        return ReplyPart(fault=_FAULTS.get(end, ""), is_full=end == "max_tokens")
