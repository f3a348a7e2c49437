"""What the models of servers and of hosted services share: their bounds, and what they have refused."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from structkit.arguments.shared import Uncopied
from structkit.models.capabilities import Capabilities

__all__ = ["FIELD_HINTS", "KnownCapabilities", "RemoteModel", "check_fields"]

_FIELDS = (
    "extra_body",
    "extra_headers",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "reasoning_effort",
    "seed",
    "stop",
    "temperature",
    "top_k",
    "top_p",
)
FIELD_HINTS: Mapping[str, str] = MappingProxyType(
    {name: f"write options={{{name!r}: ...}}" for name in _FIELDS}
)
"""Fields of a request that are not arguments of the functions that make models, and what to write."""

_WRITTEN = frozenset({"contents", "input", "messages", "model", "prompt", "stream"})
"""Fields that structkit writes into each request."""

Refusable: TypeAlias = Literal["constraint", "prefix", "logprobs", "token_ids"]
"""What a server can refuse, and take the request without."""


def check_fields(options: object) -> None:
    """Check the fields that a user adds to each request.

    Raises:
        TypeError: They are not a mapping.
        ValueError: One of them is a field that structkit writes.
    """
    if not isinstance(options, Mapping):
        raise TypeError(f"options must map fields to values, as in {{'temperature': 0}}, not {options!r:.60}")
    if written := sorted(_WRITTEN & options.keys()):
        raise ValueError(f"options[{written[0]!r}] is what structkit writes into each request; leave it out")


class KnownCapabilities:
    """The capabilities of a server, which shrink when it refuses one: the only state of its model that changes.

    All threads that use the model share it. A refused request costs a round trip, so it is sent once, and not once for
    each value.

    Args:
        stated: What the server is known to do before the first request.

    >>> known = KnownCapabilities(Capabilities(continues_prefix=True, constraints=frozenset({"regex"})))
    >>> known.reduce(Capabilities(continues_prefix=True))
    >>> known.current.constraints, sorted(known.refused)
    (frozenset(), ['constraint'])
    """

    def __init__(self, stated: Capabilities) -> None:
        self._stated = stated
        self._current = stated
        self._lock = threading.Lock()

    @property
    def current(self) -> Capabilities:
        """What the server can do."""
        return self._current

    @property
    def refused(self) -> frozenset[Refusable]:
        """What it has refused."""
        stated, current = self._stated, self._current
        found: dict[Refusable, bool] = {
            "constraint": current.constraints != stated.constraints,
            "prefix": current.continues_prefix != stated.continues_prefix,
            "logprobs": current.logits != stated.logits,
            "token_ids": current.token_ids != stated.token_ids,
        }
        return frozenset(name for name, is_refused in found.items() if is_refused)

    def reduce(self, taken: Capabilities) -> None:
        """Keep what a request had that the server took after it had refused one with more."""
        with self._lock:
            self._current = replace(
                self._current,
                constraints=self._current.constraints & taken.constraints,
                continues_prefix=self._current.continues_prefix and taken.continues_prefix,
                logits="none" if taken.logits == "none" else self._current.logits,
                token_ids=self._current.token_ids and taken.token_ids,
            )


class RemoteModel(Uncopied):
    """What is common to the models of servers and of hosted services; see `TextModel`.

    Args:
        name: The name in messages.
        capabilities: What the server is known to do.
        timeout: Maximum number of seconds of one reply.
        max_calls: Maximum number of replies for one value.
    """

    pickle_remedy = "connect in the other process"

    def __init__(self, name: str, capabilities: Capabilities, *, timeout: float, max_calls: int) -> None:
        self.name = name
        self.timeout = timeout
        self.max_calls = max_calls
        self.lock: threading.Lock | None = None  # replies can be made side by side
        self._known = KnownCapabilities(capabilities)

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do, without what the server has refused."""
        return self._known.current

    @property
    def refused(self) -> frozenset[Refusable]:
        """What the server has refused, and requests are without.

        A `"constraint"`, the `"prefix"` of an answer, `"logprobs"`, or a prompt of `"token_ids"`.
        """
        return self._known.refused

    @property
    def takes_messages(self) -> bool:
        """Whether the model takes messages; see `SupportsMessages`."""
        return self.capabilities.takes_messages
