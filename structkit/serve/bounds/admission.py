"""The queue of a server: how many answers are generated at once, and how many wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress

from structkit.serve.bounds.api_error import ApiError

__all__ = ["Admission", "Lease", "OpenRequests"]

_RETRY_SECONDS = 1


class OpenRequests:
    """Counts the requests that are received, answered or sent. Belongs to one event loop.

    The queue has only requests that are complete: clients that send slowly, or read slowly, are bounded here.

    Args:
        maximum: Maximum number of requests.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._count = 0

    @contextmanager
    def enter(self) -> Generator[None, None, None]:
        """Count a request.

        Raises:
            ApiError: There are too many.
        """
        if self._count >= self._maximum:
            fault = f"{self._count} requests are open, as many as the server takes; try again later"
            headers = {"Retry-After": str(_RETRY_SECONDS)}
            raise ApiError(503, fault, code="overloaded", headers=headers)
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1


class Lease:
    """The places of a request. Belongs to the event loop.

    Work in a thread that was cancelled can continue for a moment, as while a schema is compiled; so each thread holds
    the lease until it has ended, and requests that are given up do not pile up.
    """

    def __init__(self, admission: Admission, count: int) -> None:
        self._admission = admission
        self._count = count
        self._holders = 1

    def hold(self) -> None:
        """Add a holder."""
        self._holders += 1

    def drop(self) -> None:
        """Remove a holder; the last one frees the places."""
        self._holders -= 1
        if self._holders == 0:
            self._admission.free(self._count)


class Admission:
    """Admits requests in the order in which they come. Belongs to one event loop.

    Args:
        max_running: Maximum number of answers at once.
        max_waiting: Maximum number of answers that wait.
    """

    def __init__(self, max_running: int, max_waiting: int) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.running = 0

    @property
    def waiting(self) -> int:
        """Number of answers that wait."""
        return sum(count for count, _ in self._waiting)

    async def enter(self, count: int) -> Lease:
        """Wait for places, and return them.

        Args:
            count: Number of places, at most `max_running`.

        Raises:
            ApiError: Too many answers wait.
        """
        if not self._waiting and self.running + count <= self._max_running:
            self.running += count
            return Lease(self, count)
        if self.waiting + count > self._max_waiting:
            raise ApiError(
                429,
                f"{self.waiting} answers wait, and the queue has {self._max_waiting} places; try again later",
                code="queue_full",
                headers={"Retry-After": str(_RETRY_SECONDS)},
            )
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((count, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.free(count)
            else:
                with suppress(ValueError):  # `_admit` drops it too
                    self._waiting.remove((count, place))
                self._admit()
            raise
        return Lease(self, count)

    def free(self, count: int) -> None:
        """Give places back."""
        self.running -= count
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.running + self._waiting[0][0] <= self._max_running:
            count, place = self._waiting.popleft()
            if place.cancelled():
                continue
            self.running += count
            place.set_result(None)
