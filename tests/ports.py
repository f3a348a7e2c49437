"""A port for a server in another process."""

from __future__ import annotations

import secrets
import socket


def free_port() -> int:
    """Return a port that is free until the server listens.

    The system gives other ports to connections, and to servers that ask for any, such as those of other tests.
    """
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
