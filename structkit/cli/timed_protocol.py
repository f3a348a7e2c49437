"""The HTTP of `structkit serve`: uvicorn's, which waits for the headers of a request for a bounded time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["TimedProtocol"]

_HEADER_SECONDS = 20.0
"""Seconds within which the headers of a request arrive. uvicorn's own bound ends with the first byte of a request."""


class TimedProtocol(H11Protocol):
    """A connection, which is closed if the headers of a request do not arrive in time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the headers of the first request."""
        super().connection_made(transport)
        self._update()

    def data_received(self, data: bytes) -> None:
        """Stop the timer once the headers are complete; start it with those of a later request."""
        super().data_received(data)
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        self._stop()

    def _update(self) -> None:
        if self._is_answering():
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(_HEADER_SECONDS, self._close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        self._deadline = None
        if not self._is_answering():
            self.transport.close()

    def _is_answering(self) -> bool:
        # There is no cycle before the first request.
        return not getattr(self.cycle, "response_complete", True)
