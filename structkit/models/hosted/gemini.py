"""Clients of the package google-genai as text models."""

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
    HostedClient,
    HostedModel,
    HostedOptions,
    HostedSettings,
    merged,
    split_system,
    wrong_client,
)
from structkit.models.hosted.parts import CALLS_TOOL, ReplyPart
from structkit.models.native.profiles import GEMINI
from structkit.models.text.protocol import TextRequest
from structkit.models.text.render import render_messages

if TYPE_CHECKING:
    from google.genai import Client

__all__ = ["from_gemini", "gemini_from_environment"]

_ENDS = {
    "CONTINUATION",
    "FINISH_REASON_UNSPECIFIED",
    "LANGUAGE",
    "MALFORMED_RESPONSE",
    "MAX_TOKENS",
    "OTHER",
    "STOP",
}
"""Reasons for the end of a reply that do not refuse to answer."""

_TOOL_ENDS = {"MALFORMED_FUNCTION_CALL", "TOO_MANY_TOOL_CALLS", "UNEXPECTED_TOOL_CALL"}
"""Reasons for the end of a reply in the call of a tool."""


@names_arguments
def from_gemini(
    client: Client,
    model: str,
    **options: Unpack[HostedOptions],
) -> HostedModel:
    """Make a model of a client of the package `google-genai`.

    Its replies are corrected as those of `from_function`. The first request has the part of the target that Gemini
    enforces, in `response_json_schema` (`structkit.explain(target, model)` shows it). After a correction, models up to
    Gemini 3.5 Flash continue the accepted text, and later ones get it in a second message.

    The client tries requests again as its `http_options` say; by default it does not. A reply that breaks off is
    continued from the text that was accepted.

    Args:
        client: `google.genai.Client()`. Async functions use it, too, in a thread.
        model: The name of the model.
        options: See `HostedOptions`; `options` are fields of the `config` of each request, such as
            `{"temperature": 0}`.

    Raises:
        MissingExtra: The extra `gemini` is not installed.
        TypeError: The client is not one of the package, or an argument is unknown.
        ValueError: An argument is not valid.

    >>> from google import genai  # doctest: +SKIP
    >>> model = from_gemini(genai.Client(), "gemini-3.5-flash")  # doctest: +SKIP
    >>> model.capabilities.continues_prefix  # doctest: +SKIP
    True
    """
    if not isinstance(client, _package().Client):
        raise wrong_client("from_gemini", "google.genai.Client()", client)
    settings = HostedSettings.read("from_gemini", options)
    return HostedModel(
        _GeminiClient(client, model, settings),
        settings.capabilities(GEMINI, continues=_takes_prefix(model), fallback=GEMINI),
    )


def gemini_from_environment(model: str) -> HostedModel:
    """Return a model of Gemini with the key of the environment.

    Raises:
        ModelError: There is no key.
        MissingExtra: The extra `gemini` is not installed.
    """
    genai = _package()
    try:
        client = genai.Client(http_options={"retry_options": {"attempts": 3}})
    except ValueError:
        raise ModelError(
            "Gemini needs a key; set the environment variable GEMINI_API_KEY to one of "
            "https://aistudio.google.com/apikey",
            place=f"google:{model}",
        ) from None
    return from_gemini(client, model)


def _package() -> Any:
    """Return the package."""
    try:
        from google import genai
    except ImportError as error:
        raise MissingExtra("gemini", "models of Gemini need", "google-genai") from error
    return genai


def _takes_prefix(model: str) -> bool:
    """Return whether a model continues a last message of its own: Gemini does up to 3.5 Flash, but not 3.5 Flash-Lite.

    >>> _takes_prefix("gemini-2.5-flash-lite"), _takes_prefix("models/gemini-3.5-flash")
    (True, True)
    >>> _takes_prefix("gemini-3.5-flash-lite"), _takes_prefix("gemini-3.6-flash"), _takes_prefix("gemini-4-pro")
    (False, False, False)
    """
    found = re.search(r"gemini-(\d{1,2})(?:\.(\d{1,2}))?", model)
    version = (0, 0) if found is None else (int(found[1]), int(found[2] or 0))
    return version < (3, 5) or (version == (3, 5) and "lite" not in model)


class _GeminiClient(HostedClient):
    """Streams of contents of a client; see `HostedClient`."""

    def __init__(self, client: Client, model: str, settings: HostedSettings) -> None:
        service = Service("Gemini", "the environment variable GEMINI_API_KEY", "retry_options")
        super().__init__(service, model, settings)
        self._client: Any = client

    def secrets(self) -> Iterable[str]:
        """Return the key."""
        key = getattr(getattr(self._client, "_api_client", None), "api_key", None)
        return (key,) if isinstance(key, str) else ()

    def send(self, request: TextRequest, capabilities: Capabilities) -> object:
        """Send a request; see `HostedClient.send`."""
        system, messages = split_system(render_messages(request, continues=capabilities.continues_prefix))
        config: dict[str, object] = {}
        if system:
            config["system_instruction"] = system
        constraint = request.constraint
        if constraint is not None and constraint.kind in capabilities.constraints:
            config["response_mime_type"] = "application/json"
            config["response_json_schema"] = constraint.schema
        own = getattr(getattr(self._client, "_api_client", None), "_http_options", None)
        milliseconds = getattr(own, "timeout", None)
        timeout = self.timeout(request, milliseconds / 1_000 if milliseconds else None)
        if timeout is not None:
            config["http_options"] = {"timeout": round(1_000 * timeout)}
        contents = [
            {
                "role": "model" if each["role"] == "assistant" else each["role"],
                "parts": [{"text": each["content"]}],
            }
            for each in messages
        ]
        return self._client.models.generate_content_stream(
            model=self.model, contents=contents, config=merged(config, self.settings.options)
        )

    def read(self, event: Any) -> ReplyPart:
        """Return what a chunk has; see `HostedClient.read`."""
        feedback = event.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            return ReplyPart(refusal=f"Gemini blocks the prompt ({_name(feedback.block_reason)})")
        # `candidate_count` can ask for several answers; only the first is read.
        candidate = next((each for each in event.candidates or () if not each.index), None)
        if candidate is None:
            return ReplyPart()
        parts = (candidate.content and candidate.content.parts) or ()
        text = "".join(part.text for part in parts if part.text and not part.thought)
        reason = candidate.finish_reason and _name(candidate.finish_reason)
        if reason in _TOOL_ENDS or any(part.function_call for part in parts):
            return ReplyPart(text, fault=CALLS_TOOL)
        is_refused = bool(reason) and reason not in _ENDS
        refusal = f"Gemini ended the reply ({reason})" if is_refused else None
        return ReplyPart(text, refusal, is_full=reason == "MAX_TOKENS")


def _name(reason: Any) -> str:
    return str(getattr(reason, "value", reason))
