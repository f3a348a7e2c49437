"""Endpoints of MCP servers for the official client: a subprocess, or a URL."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, cast

from structkit.errors import MissingExtra
from structkit.mcp.bounds import bound_response, bounded_lines

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport
    from mcp.server import MCPServer

__all__ = ["Endpoint", "HttpEndpoint", "ProcessEndpoint", "check_installed", "is_server"]

_MAX_LOG = 4_000
"""Maximum bytes of the standard error of a subprocess that are stored."""


def check_installed() -> None:
    """Import the client.

    Raises:
        MissingExtra: The package `mcp` is not installed, or is older than version 2.
    """
    try:
        from mcp import Client  # noqa: F401
    except ImportError as error:
        raise MissingExtra("mcp", "tools of MCP servers need", "mcp, version 2") from error


def is_server(given: object) -> bool:
    """Return whether the client accepts an object: a server object, parameters of a command, or a transport."""
    from mcp import StdioServerParameters
    from mcp.server import MCPServer, Server

    return isinstance(given, (MCPServer, Server, StdioServerParameters)) or (
        # A transport is an instance with these methods; the class of one has them too.
        not isinstance(given, type) and hasattr(given, "__aenter__") and hasattr(given, "__aexit__")
    )


class Endpoint:
    """A server, and its connection through the official client.

    Attributes:
        name: Name in messages.
        is_persistent: Whether the server exists independently of the connection, so that reconnecting is possible.
    """

    is_persistent = False

    def __init__(self, name: str, server: Transport | MCPServer | None = None) -> None:
        self.name = name
        self._server = server

    async def connect(self, stack: AsyncExitStack) -> Client:
        """Connect to the server."""
        from mcp import Client

        return await stack.enter_async_context(Client(cast("MCPServer", self._server)))

    @property
    def log(self) -> str:
        """Collected output of the server on standard error."""
        return ""

    def log_suffix(self) -> str:
        """Return the last output of the server, as a suffix of a message."""
        return f"; its last output:\n{self.log[-1000:]}" if self.log else ""


class HttpEndpoint(Endpoint):
    """A server behind a URL."""

    is_persistent = True

    def __init__(self, url: str, headers: Mapping[str, str] | None) -> None:
        super().__init__(re.sub(r"//[^/]*@|[?#].*", lambda match: "//" if match[0][0] == "/" else "", url))
        self._url = url
        self._headers = dict(headers or {})

    async def connect(self, stack: AsyncExitStack) -> Client:
        """Connect to the URL."""
        from httpx2 import AsyncClient, Timeout
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        # Callers bound the duration of calls; a stream may send nothing for a long time.
        http = AsyncClient(
            headers={"Accept-Encoding": "identity", **self._headers},
            timeout=Timeout(30, read=None),
            event_hooks={"response": [bound_response]},
        )
        await stack.enter_async_context(http)
        return await stack.enter_async_context(
            Client(streamable_http_client(self._url, http_client=http, terminate_on_close=True))
        )


class ProcessEndpoint(Endpoint):
    """A server subprocess."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None, cwd: str | Path | None) -> None:
        super().__init__(" ".join(command)[:200])
        self._command = list(command)
        self._env = None if env is None else dict(env)
        self._cwd = cwd
        self._log = b""
        self._reader: Thread | None = None

    async def connect(self, stack: AsyncExitStack) -> Client:
        """Start the process and connect."""
        from mcp import Client, StdioServerParameters, stdio_client

        program, *arguments = self._command
        parameters = StdioServerParameters(
            command=program, args=arguments, env=self._env, cwd=self._cwd, encoding=bounded_lines()
        )
        read, write = os.pipe()  # a notebook's standard error has no file descriptor
        self._reader = Thread(target=self._collect_log, args=(read,), daemon=True, name="structkit-mcp-log")
        self._reader.start()
        with os.fdopen(write, "w") as errors:
            return await stack.enter_async_context(Client(stdio_client(parameters, errlog=errors)))

    @property
    def log(self) -> str:
        """Collected output of the subprocess on standard error."""
        return self._log.decode(errors="replace").strip()

    def log_suffix(self) -> str:
        """Return the last output of the subprocess, as a suffix of a message."""
        if self._reader is not None:
            self._reader.join(0.2)  # complete once the subprocess has ended
        return super().log_suffix()

    def _collect_log(self, read: int) -> None:
        with os.fdopen(read, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_MAX_LOG):
                self._log = (self._log + chunk)[-_MAX_LOG:]
