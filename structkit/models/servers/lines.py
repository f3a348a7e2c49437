"""Connections to a server, each used by one thread at a time and ended by any other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from httpx2 import Client

__all__ = ["Interrupt", "Line", "Lines", "shut_down"]

_MAX_IDLE = 20
"""Maximum number of connections that are kept for later requests."""

_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")
"""The ends of the names of events of httpx2 that have a new connection."""


_BOTH_WAYS = 2
"""`socket.SHUT_RDWR`."""


@runtime_checkable
class _Socket(Protocol):
    def shutdown(self, how: int, /) -> None: ...


@runtime_checkable
class _NetworkStream(Protocol):
    def get_extra_info(self, info: str) -> object: ...


class Line:
    """A client with one connection.

    A thread that waits for a silent server can only be woken through the socket, which the client shows when it
    connects. Of a client with several connections it is not known which one a request uses.

    Args:
        client: The client, which has at most one connection.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.is_ended = False
        self._stream: object = None

    def trace(self, event: str, info: Mapping[str, object]) -> None:
        """Notice a new connection; the extension `trace` of a request."""
        if event.endswith(_CONNECTED):
            self._stream = info["return_value"]
            if self.is_ended:
                shut_down(self._stream)

    def end(self) -> bool:
        """End the connection; a thread that waits for it receives an error at once.

        Returns:
            Whether there is a connection: one that is being made is ended when it is complete.
        """
        self.is_ended = True
        return shut_down(self._stream)


class Interrupt:
    """Ends the requests of one reply, from any thread."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._line: Line | None = None
        self._lock = threading.Lock()

    def set(self) -> bool:
        """End the request in progress, and all later ones; return whether they end at once."""
        with self._lock:
            self.event.set()
            return self._line is None or self._line.end()

    @contextmanager
    def ending(self, line: Line) -> Generator[None, None, None]:
        """End this line while it is used, if the interrupt is set."""
        with self._lock:
            self._line = line
            if self.event.is_set():
                line.end()
        try:
            yield
        finally:
            with self._lock:
                self._line = None


class Lines:
    """The connections to a server; as many as there are requests at once. Thread-safe.

    Args:
        connect: Makes a client with at most one connection.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self.is_closed = False
        self._connect = connect
        self._lock = threading.Lock()
        self._used: set[Line] = set()
        self._idle: list[Line] = []

    @contextmanager
    def use(self, interrupt: Interrupt | None = None) -> Generator[Line, None, None]:
        """Give a line to one request."""
        with self._lock:
            line = self._idle.pop() if self._idle else Line(self._connect())
            self._used.add(line)
        try:
            with (interrupt or Interrupt()).ending(line):
                yield line
        finally:
            with self._lock:
                self._used.remove(line)
                is_kept = not (self.is_closed or line.is_ended) and len(self._idle) < _MAX_IDLE
                if is_kept:
                    self._idle.append(line)
            if not is_kept:
                line.client.close()

    def close(self) -> None:
        """Close the idle connections, and end the others."""
        with self._lock:
            self.is_closed = True
            idle, self._idle = self._idle, []
            for line in self._used:
                line.end()
        for line in idle:
            line.client.close()


def shut_down(stream: object) -> bool:
    """Shut down the socket of a network stream of httpx2, which wakes the thread that reads from it.

    Returns:
        Whether there is a socket.
    """
    from ssl import SSLSocket

    connection = stream.get_extra_info("socket") if isinstance(stream, _NetworkStream) else None
    if not isinstance(connection, _Socket):
        return False
    with suppress(OSError):  # the connection is closed
        if isinstance(
            connection, SSLSocket
        ):  # its own method would remove the TLS state that the other thread uses
            super(SSLSocket, connection).shutdown(_BOTH_WAYS)
        else:
            connection.shutdown(_BOTH_WAYS)
    return True
