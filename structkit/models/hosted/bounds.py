"""A bound on the events that a hosted service can send, where its client has none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from structkit.models.servers.faults import Fault

__all__ = ["MAX_EVENT", "bound_events"]

MAX_EVENT = 1 << 22
"""Maximum bytes of an event; those of an answer have less than a thousand."""

_ENDS = b"\n\n", b"\n\r\n"
"""What ends an event."""


def bound_events(stream: object) -> None:
    """Bound the events of a stream, which its client collects whole; those of a compressed reply, too.

    The stream of a client that does not show its response has no bound.
    """
    response: Any = getattr(stream, "response", None)
    if hasattr(response, "iter_bytes"):
        response.iter_bytes = _bounded(response.iter_bytes)
    if hasattr(response, "aiter_bytes"):
        response.aiter_bytes = _bounded_async(response.aiter_bytes)


class _Event:
    """Counts the bytes since the end of the last event."""

    def __init__(self) -> None:
        self._length = 0
        self._last = b""

    def add(self, part: bytes) -> bytes:
        """Count a part, and return it.

        Raises:
            Fault: The event is too long.
        """
        seen = self._last + part  # an end may be cut
        ends = [place + len(end) for end in _ENDS if (place := seen.rfind(end)) >= 0]
        self._length = len(seen) - max(ends) if ends else self._length + len(part)
        self._last = seen[-2:]
        if self._length > MAX_EVENT:
            what = (
                f"the service sent an event of more than {MAX_EVENT:,} bytes; is the client's address right?"
            )
            raise Fault(what, is_transient=False)
        return part


def _bounded(parts: Callable[[], Iterator[bytes]]) -> Callable[[], Iterator[bytes]]:
    return lambda: map(_Event().add, parts())


def _bounded_async(parts: Callable[[], AsyncIterator[bytes]]) -> Callable[[], AsyncIterator[bytes]]:
    async def bounded() -> AsyncIterator[bytes]:
        event = _Event()
        async for part in parts():
            yield event.add(part)

    return bounded
