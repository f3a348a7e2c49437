"""Settings of a server: who may use it, and how much."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from structkit.limits import Limits

__all__ = ["ServerConfig"]


def _limits() -> Limits:
    """Return limits for targets of untrusted clients, so that one compiles in a part of a second."""
    return Limits(
        schema_nodes=20_000,
        grammar_length=16_000,
        work=5_000_000,
        regex_nodes=200_000,
        nfa_states=60_000,
        transitions=5_200_000,
        states=40_000,
        product_states=20_000,
        row_bytes=16 * 2**20,
        prefix_cache_tokens=2_048,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Settings of a server.

    Raises:
        ValueError: A number is out of range, or a key is empty.

    >>> ServerConfig(max_waiting=10).max_waiting
    10
    """

    name: str | None = None
    """Name of the model in requests; by default the name of the model itself."""

    api_keys: tuple[str, ...] = ()
    """Keys, one of which each request must have as `Authorization: Bearer ...`; without keys, none is needed."""

    allowed_hosts: tuple[str, ...] = ()
    """Names in the header `Host` that are accepted; if empty, all are. A server on a loopback address accepts its own
    names only, so that a page of the web whose name resolves to this machine (DNS rebinding) cannot use it."""

    max_body: int = 1 << 20
    """Maximum bytes of a request."""

    max_running: int = 32
    """Maximum number of answers that are generated at once; a request with `n` has n of them."""

    max_waiting: int = 256
    """Maximum number of answers that wait; a further request receives 429."""

    max_answers: int = 16
    """Maximum number of answers of a request, its prompts times its `n`; at most `max_running`."""

    max_tokens: int = 4_096
    """Maximum `max_tokens` of a request."""

    timeout: float = 120.0
    """Seconds of a request, with those in the queue; a request that takes longer receives 408."""

    body_timeout: float = 20.0
    """Seconds in which a client must send its request."""

    shutdown_timeout: float = 10.0
    """Seconds that the answers in progress have when the server is stopped."""

    default_temperature: float = 1.0
    """Temperature of a request without one; 1 as OpenAI defines it."""

    playground: bool = True
    """Whether there is a page at `/` to try targets in a browser. It needs no key, but what it sends does."""

    limits: Limits = field(default_factory=_limits)
    """Bounds on the targets of requests. `max_running` replaces `batch_rows`."""

    def __post_init__(self) -> None:
        for name in ("max_body", "max_running", "max_answers", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("timeout", "body_timeout"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        for name in ("max_waiting", "shutdown_timeout", "default_temperature"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name)}")
        if any(not key.strip() for key in self.api_keys):
            raise ValueError("an API key must not be empty")

    @property
    def max_requests(self) -> int:
        """Maximum number of requests at once, with those that are received and those of which the reply is sent."""
        return 2 * (self.max_running + self.max_waiting)

    @property
    def answers_of_request(self) -> int:
        """Maximum number of answers of a request."""
        return min(self.max_answers, self.max_running)

    @property
    def target_limits(self) -> Limits:
        """The limits of a generation, whose rows are those of the server."""
        return replace(self.limits, batch_rows=self.max_running)
