"""Models of hosted services, reached by the official clients."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol, TypedDict, cast

from structkit.arguments.names import check_names
from structkit.models.capabilities import Capabilities, Constraint
from structkit.models.hosted.bounds import bound_events
from structkit.models.hosted.faults import Service, fault_of
from structkit.models.hosted.parts import ReplyPart
from structkit.models.native.profiles import SchemaProfile
from structkit.models.protocols import Message
from structkit.models.servers.faults import (
    Fault,
    Refused,
    check_length,
    quotable,
    texts_of,
    without_refused,
)
from structkit.models.servers.lines import shut_down
from structkit.models.servers.remote import FIELD_HINTS, RemoteModel, check_fields
from structkit.models.text.protocol import CancellablePieces, TextRequest, check_reply_bounds
from structkit.models.text.scored import ScoredText

__all__ = [
    "MAX_REPLY_TOKENS",
    "HostedClient",
    "HostedModel",
    "HostedOptions",
    "HostedSettings",
    "merged",
    "split_system",
    "wrong_client",
]

MAX_REPLY_TOKENS = 4_096
"""Maximum number of tokens of a reply, where a service asks for one. A longer answer takes more replies."""

_TIMEOUT = 120.0
_MAX_CALLS = 128


_HINTS: Mapping[str, str] = {
    **FIELD_HINTS,
    **dict.fromkeys(("api_key", "base_url", "max_retries"), "give it to the client"),
}
"""What is not an argument here, and where it goes."""

_FUNCTIONS = {"anthropic": "from_anthropic", "google": "from_gemini", "openai": "from_openai"}
"""The functions that take the clients of packages."""


class ReplyStream(Protocol):
    """The events of a reply: iterable, sync or async."""

    def close(self) -> object:
        """Close the connection; a coroutine if the stream is async."""
        ...


class HostedOptions(TypedDict, total=False):
    """Keyword arguments of `from_openai`, `from_anthropic` and `from_gemini`."""

    continues: bool | None
    """Whether the model continues a last message of the assistant. By default what is known of the service and of the
    version of the model."""

    constrain: bool | Constraint
    """Whether the part of the target that the service enforces is sent, the default. `"json_schema"` sends it to a
    server of which nothing is known, too."""

    options: Mapping[str, object] | None
    """Arguments of each request of the client, such as `{"temperature": 0}`."""

    timeout: float
    """Maximum number of seconds of one reply, with all tries. Default: 120."""

    max_calls: int
    """Maximum number of replies for one value. Default: 128."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedSettings:
    """The settings of a hosted model; see `HostedOptions`."""

    continues: bool | None = None
    constrain: bool | Constraint = True
    options: Mapping[str, object] = field(default_factory=dict)
    timeout: float = _TIMEOUT
    max_calls: int = _MAX_CALLS

    @classmethod
    def read(cls, function: str, given: HostedOptions) -> HostedSettings:
        """Return the settings of the arguments of a function.

        Raises:
            TypeError: An argument is unknown.
            ValueError: An argument is not valid.

        >>> HostedSettings.read("from_openai", {"timeout": 20}).timeout
        20
        """
        check_names(function, given, HostedOptions.__annotations__, hints=_HINTS)
        check_fields(given.get("options") or {})
        settings = cls(
            continues=given.get("continues"),
            constrain=given.get("constrain", True),
            options=dict(given.get("options") or {}),
            timeout=given.get("timeout", _TIMEOUT),
            max_calls=given.get("max_calls", _MAX_CALLS),
        )
        check_reply_bounds(settings.timeout, settings.max_calls)
        if not isinstance(settings.constrain, bool) and settings.constrain != "json_schema":
            raise ValueError(
                f"constrain must be True, False or 'json_schema', not {settings.constrain!r}: the API takes no other "
                "notation"
            )
        return settings

    def capabilities(
        self, profile: SchemaProfile | None, *, continues: bool, fallback: SchemaProfile
    ) -> Capabilities:
        """Return the capabilities of a model.

        Args:
            profile: What the service is known to enforce of a JSON Schema; `None` if nothing is known.
            continues: Whether the model is known to continue a last message of the assistant.
            fallback: What is assumed if the user asks for a JSON Schema, and nothing is known.

        >>> from structkit.models.native.profiles import GEMINI
        >>> sorted(HostedSettings().capabilities(GEMINI, continues=True, fallback=GEMINI).constraints)
        ['json_schema']
        """
        if self.constrain == "json_schema":
            profile = profile or fallback
        return Capabilities(
            continues_prefix=continues if self.continues is None else self.continues,
            takes_messages=True,
            constraints=frozenset({"json_schema"} if profile and self.constrain else ()),
            schema_profile=profile,
        )


class HostedClient(ABC):
    """An official client: how a request is sent, and what the events of its reply say.

    Args:
        service: The service, as errors name it.
        model: The name of the model.
        settings: The settings of the user.
        is_async: Whether the client is async.
    """

    def __init__(
        self, service: Service, model: str, settings: HostedSettings, *, is_async: bool = False
    ) -> None:
        self.service = service
        self.model = model
        self.settings = settings
        self.is_async = is_async

    def timeout(self, request: TextRequest, own: object) -> float | None:
        """Return the timeout that a request gets; see `_client_timeout`.

        Args:
            request: The request.
            own: The timeout of the client.
        """
        waited = self.settings.timeout if request.seconds is None else request.seconds
        return _client_timeout(own, min(waited, self.settings.timeout))

    @abstractmethod
    def secrets(self) -> Iterable[str]:
        """Return the keys, which no error may show."""

    @abstractmethod
    def send(self, request: TextRequest, capabilities: Capabilities) -> object:
        """Send a request; return the `ReplyStream`, or an awaitable of it if the client is async."""

    @abstractmethod
    def read(self, event: object) -> ReplyPart:
        """Return what an event of the reply has.

        Raises:
            Exception: The reply failed; an attribute `body` has the error of the service.
        """

    def adapts(self, error: Exception) -> bool:
        """Return whether the service asks for requests of another kind, which are sent from now on."""
        return False


def split_system(messages: Iterable[Message]) -> tuple[str, list[Message]]:
    r"""Return the texts of system messages, and the other messages: some services take the former by themselves.

    >>> split_system([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    ('Be brief.', [{'role': 'user', 'content': 'Hi'}])
    """
    system, others = [], []
    for each in messages:
        if each["role"] == "system":
            system.append(each["content"])
        else:
            others.append(each)
    return "\n\n".join(system), others


def _client_timeout(own: object, timeout: float) -> float | None:
    """Return the timeout that a request gets; `None` if that of the client is as short.

    It ends a request whose caller has stopped waiting.

    Args:
        own: The timeout of the client: seconds, or an object with a `read` timeout.
        timeout: Maximum number of seconds of a reply.

    >>> _client_timeout(600, 120.0), _client_timeout(20, 120.0), _client_timeout(None, 120.0)
    (120.0, None, 120.0)
    """
    read = getattr(own, "read", own)
    return None if isinstance(read, (int, float)) and read <= timeout else timeout


class HostedModel(RemoteModel):
    """A hosted model as a `TextModel`; returned by `from_openai`, `from_anthropic` and `from_gemini`.

    Args:
        client: The client.
        capabilities: What the model is known to do.
    """

    def __init__(self, client: HostedClient, capabilities: Capabilities) -> None:
        name, settings = f"{client.model} of {client.service.name}", client.settings
        super().__init__(name, capabilities, timeout=settings.timeout, max_calls=settings.max_calls)
        self._client = client

    def request(self, request: TextRequest) -> Iterator[str] | AsyncIterator[str]:
        """Ask for a reply, and return its pieces as they arrive; see `TextModel.request`.

        The client tries again what it tries again by itself. What the service refuses is left out of the next request:
        the constraint first, then the start of the answer.

        Raises:
            ModelError: The service failed, or refuses to answer.
        """
        if self._client.is_async:
            return self._async_pieces(request)
        opened: list[object] = []
        cancelled = threading.Event()

        def cancel() -> bool:
            cancelled.set()
            return _shut_down(opened)

        return CancellablePieces(self._pieces(request, opened, cancelled), cancel)

    def _pieces(
        self, request: TextRequest, opened: list[object], cancelled: threading.Event
    ) -> Generator[str, None, None]:
        """Yield the pieces; `opened` receives the streams, each of which ends when `cancelled` is set."""
        reply = _Reply(self.capabilities)
        while True:
            try:
                sent = cast("Iterator[object]", self._client.send(request, reply.capabilities))
                opened.append(sent)
                bound_events(sent)
                with closing(cast("ReplyStream", sent)):
                    for event in sent:
                        if cancelled.is_set():
                            return
                        text = self._text(event, reply)
                        if text:
                            yield text
                reply.check(request, self._secrets(request))
                return
            except Exception as error:  # the exceptions depend on the client and its HTTP library
                reply = self._without_refused(error, request, reply)

    async def _async_pieces(self, request: TextRequest) -> AsyncIterator[str]:
        reply = _Reply(self.capabilities)
        while True:
            try:
                sent = await cast(
                    "Awaitable[AsyncIterator[object]]", self._client.send(request, reply.capabilities)
                )
                bound_events(sent)
                try:
                    async for event in sent:
                        text = self._text(event, reply)
                        if text:
                            yield text
                finally:
                    await cast("Awaitable[object]", cast("ReplyStream", sent).close())
                reply.check(request, self._secrets(request))
                return
            except Exception as error:  # as above
                reply = self._without_refused(error, request, reply)

    def _text(self, event: object, reply: _Reply) -> str:
        """Return the text of an event."""
        if reply.is_reduced:
            # The reply shows that the service refused what was left out, and nothing else.
            self._known.reduce(reply.capabilities)
        return reply.text(self._client.read(event))

    def _without_refused(self, error: Exception, request: TextRequest, reply: _Reply) -> _Reply:
        """Return the next try of a reply, without what the service refused.

        Raises:
            ModelError: The request cannot do without it, or the service failed.
        """
        if not reply.is_adapted and self._client.adapts(error):
            return _Reply(reply.capabilities, is_reduced=reply.is_reduced, is_adapted=True)
        fault = fault_of(error, self._client.service, self._client.model, self._secrets(request))
        remaining = None
        if isinstance(fault, Refused) and not reply.has_text:
            remaining = without_refused(reply.capabilities, request, fault)
        if remaining is None:
            # The exception of the client quotes the prompt, so it is no cause.
            raise fault.error(self.name) from None
        return _Reply(remaining, is_reduced=True, is_adapted=reply.is_adapted)

    def _secrets(self, request: TextRequest) -> tuple[str, ...]:
        return (*self._client.secrets(), *texts_of(request))


def _shut_down(opened: list[object]) -> bool:
    """Shut down the connection of the last stream, so that a thread that waits for it ends; whether it is known.

    A client shows its connection once the service has begun to reply.
    """
    response = getattr(opened[-1], "response", None) if opened else None
    return shut_down(getattr(response, "extensions", {}).get("network_stream"))


@dataclass(slots=True)
class _Reply:
    """What is known of a reply while it is read."""

    capabilities: Capabilities
    is_reduced: bool = False
    is_adapted: bool = False
    has_events: bool = False
    has_text: bool = False
    refusals: list[str] = field(default_factory=list)
    fault: str = ""
    is_full: bool = False

    def text(self, part: ReplyPart) -> str:
        """Return the text of a part; keep what refuses to answer."""
        self.has_events = True
        self.has_text |= bool(part.text)
        self.fault = part.fault or self.fault
        self.is_full |= part.is_full
        if part.refusal is not None:
            self.refusals.append(part.refusal)
        return ScoredText(part.text, part.tokens) if part.tokens else part.text

    def check(self, request: TextRequest, secrets: Iterable[str]) -> None:
        """Raise the fault of a refusal to answer, or of an end without the rest of the answer."""
        if self.refusals:
            quoted = quotable("".join(self.refusals), secrets)
            said = f": {quoted}" if quoted else ""
            raise Fault(f"the model refuses to answer{said}; change the prompt", is_transient=False)
        if self.fault:
            raise Fault(self.fault, is_transient=False)
        if not self.has_events:  # the clients skip what is no event, such as a whole object
            what = "the reply has no event of a stream; is the client's address right?"
            remedy = "structkit.connect reads replies of OpenAI's API without a stream, too"
            raise Fault(f"{what} {remedy}", is_transient=False)
        if self.is_full and not self.has_text:
            check_length(request)


def wrong_client(function: str, example: str, given: object) -> TypeError:
    """Return the error of a client of another package, or of what is no client.

    >>> wrong_client("from_openai", "openai.OpenAI()", "gpt-5-mini")
    TypeError('from_openai takes a client such as openai.OpenAI(), not str; write from_openai(openai.OpenAI(), model)')
    """
    other = _FUNCTIONS.get(type(given).__module__.partition(".")[0], function)
    call = f"{function}({example}, model)" if other == function else f"{other}(client, model)"
    return TypeError(f"{function} takes a client such as {example}, not {type(given).__name__}; write {call}")


def merged(fields: Mapping[str, object], options: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a request with the options of the user; objects in both are joined.

    >>> merged({"output_config": {"format": 1}}, {"output_config": {"effort": "low"}, "top_k": 1})
    {'output_config': {'format': 1, 'effort': 'low'}, 'top_k': 1}
    """
    both = {**fields, **options}
    for name, value in fields.items():
        other = options.get(name)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            both[name] = {**value, **other}
    return both
