"""The official clients against the server of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import structkit as sk
from structkit.models.hosted.model import HostedModel
from tests.models.servers.fake import ANTHROPIC, GEMINI, OPENAI, FakeServer, Reply, Wire, serve

KEY = "a-very-secret-key-of-mine"


@dataclass(frozen=True)
class Kind:
    """A client, and where its requests have their parts.

    Attributes:
        name: The name in test reports.
        package: The package that must be installed.
        wire: The events of its replies.
        make: Makes a client of an address.
        wrap: The function of structkit.
        model: A model that is of no use for a prefix.
        prefixed: A model that continues a prefix; empty if there is none.
        last: Returns the role and the text of the last message of a request.
        schema: Returns the JSON Schema of a request; `None` if it has none.
    """

    name: str
    package: str
    wire: Wire
    make: Callable[[str], Any]
    wrap: Callable[..., HostedModel]
    model: str
    prefixed: str
    last: Callable[[dict[str, Any]], tuple[str, str]]
    schema: Callable[[dict[str, Any]], Any]

    @contextmanager
    def serving(self, *replies: Reply, **settings: Any) -> Iterator[tuple[HostedModel, FakeServer]]:
        """Start a server; give a model of it."""
        pytest.importorskip(self.package, reason=f"the package {self.package} is not installed")
        model = settings.pop("model", self.model)
        served = {name: settings.pop(name) for name in ("key",) if name in settings}
        with serve(*replies, wire=self.wire, **served) as server:
            yield self.wrap(self.make(server.url), model, **settings), server


def _openai(url: str) -> Any:
    import openai

    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def _async_openai(url: str) -> Any:
    import openai

    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def _anthropic(url: str) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)


def _async_anthropic(url: str) -> Any:
    import anthropic

    return anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0)


def _gemini(url: str) -> Any:
    from google import genai

    return genai.Client(api_key=KEY, http_options={"base_url": url})


def _openai_message(request: dict[str, Any]) -> tuple[str, str]:
    return request["messages"][-1]["role"], request["messages"][-1]["content"]


def _gemini_message(request: dict[str, Any]) -> tuple[str, str]:
    last = request["contents"][-1]
    return last["role"].replace("model", "assistant"), last["parts"][0]["text"]


def _wrap_openai(*args: Any, **settings: Any) -> HostedModel:
    # The address is not that of OpenAI, so nothing is known of the server.
    return sk.from_openai(*args, **{"constrain": "json_schema", **settings})


def _openai_schema(request: dict[str, Any]) -> Any:
    return request.get("response_format", {}).get("json_schema", {}).get("schema")


def _anthropic_schema(request: dict[str, Any]) -> Any:
    return request.get("output_config", {}).get("format", {}).get("schema")


def _gemini_schema(request: dict[str, Any]) -> Any:
    return request.get("generationConfig", {}).get("responseJsonSchema")


_OPENAI = (_wrap_openai, "gpt-5-mini", "", _openai_message, _openai_schema)
_ANTHROPIC = (sk.from_anthropic, "claude-opus-5", "claude-haiku-4-5", _openai_message, _anthropic_schema)
KINDS = [
    Kind("openai", "openai", OPENAI, _openai, *_OPENAI),
    Kind("async openai", "openai", OPENAI, _async_openai, *_OPENAI),
    Kind("anthropic", "anthropic", ANTHROPIC, _anthropic, *_ANTHROPIC),
    Kind("async anthropic", "anthropic", ANTHROPIC, _async_anthropic, *_ANTHROPIC),
    Kind(
        "gemini",
        "google.genai",
        GEMINI,
        _gemini,
        sk.from_gemini,
        "gemini-4-flash",
        "gemini-3.5-flash",
        _gemini_message,
        _gemini_schema,
    ),
]

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
prefixing = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.prefixed], ids=lambda kind: kind.name
)
