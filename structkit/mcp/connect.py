"""Connections to MCP servers, and their tools.

The tools of a server run outside the program: in a subprocess, or behind a URL.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING

from structkit.agent.tools.context import Context
from structkit.agent.tools.tool import Tool
from structkit.agent.tools.toolset import Toolset
from structkit.arguments.checks import check_int, check_number
from structkit.arguments.names import hints_arguments, missing_attribute
from structkit.errors import AgentError, ToolError
from structkit.mcp.endpoint import Endpoint, HttpEndpoint, ProcessEndpoint, check_installed, is_server
from structkit.mcp.output import tool_result, truncate
from structkit.mcp.session import Session, error_message, list_tools
from structkit.messages import User
from structkit.targets.specs import JsonSchema

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.server import MCPServer
    from mcp.types import Tool as ListedTool

__all__ = ["Connection", "connect"]

_RECONNECT_SECONDS = 3.0
"""Maximum seconds of reconnecting to a lost server behind a URL, which a supervisor may restart."""

_RETRY_SECONDS = 0.2
"""Seconds between two attempts to reconnect."""

_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "*": "write connect([command, *args])",
        "allowed_tools": "write server.tools().filter(...)",
        "args": "write connect([command, *args])",
        "cache_tools_list": "leave it out: an agent keeps the tools that it was created with",
        "command": "write connect([command, *args])",
        "tool_filter": "write server.tools().filter(...)",
        "tool_prefix": "write server.tools().prefix(...)",
        "url": "write connect(url)",
    }
)
"""What other libraries call an option of a server, and what to write here."""

_OTHER_METHODS = {
    "call_tool": "the call of one of .tools()",
    "get_tools": ".tools()",
    "list_tools": ".tools()",
}
"""What other libraries call the methods of a connection."""

_RECONNECTED = (
    "the connection to the server was lost during this call, so the call may or may not have been executed; the "
    "connection is open again, in a new session without the state of the old one"
)


@hints_arguments(_HINTS)
def connect(
    server: str | Sequence[str] | Transport | MCPServer,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = 60.0,
    max_characters: int = 50_000,
) -> Connection:
    """Connect to an MCP server for the duration of a `with` block.

    ```text
    with sk.mcp.connect(["python", "server.py"]) as server:
        agent = sk.Agent(model, tools=server.tools())
        agent.run("...")
    ```

    Args:
        server: A command as a list, started as a subprocess with stdio transport; a URL, for streamable HTTP; or a
            transport or in-process server of the package `mcp`.
        env: Environment variables of the command, in addition to the few that the client passes on, such as `PATH` and
            `HOME`.
        cwd: Working directory of the command.
        headers: HTTP headers, such as `{"Authorization": "Bearer ..."}`.
        timeout: Timeout in seconds of the connection and of each call, after which the model reads an error; `None`
            for no limit.
        max_characters: Maximum number of characters of an output and of the description of a tool; longer ones are
            truncated with a note.

    Raises:
        MissingExtra: The package `mcp` is not installed, or is older than version 2.
        TypeError: The server has another type, or an option does not apply to this kind of server.
        ValueError: A number is out of range.
    """
    check_installed()
    if timeout is not None:
        check_number("timeout", timeout, 0, float("inf"), exclusive=True)
    check_int("max_characters", max_characters, 1)
    if isinstance(server, str):
        if not re.match(r"https?://", server):
            raise TypeError(
                f"{server!r:.80} is not a URL; a command is a list, such as ['python', 'server.py']"
            )
        if env is not None or cwd is not None:
            raise TypeError("env and cwd are for a command; a URL has headers")
        endpoint: Endpoint = HttpEndpoint(server, headers)
    elif headers is not None:
        raise TypeError("headers are for a URL; a command has env")
    elif isinstance(server, Sequence):
        if not server or not all(isinstance(part, str) for part in server):
            raise TypeError(f"a command is a list of strings, not {server!r:.80}")
        endpoint = ProcessEndpoint(server, env, cwd)
    elif env is not None or cwd is not None:
        raise TypeError("env and cwd are for a command")
    elif not is_server(server):
        raise TypeError(_not_a_server(server))
    else:
        endpoint = Endpoint(type(server).__name__, server)
    return Connection(endpoint, timeout, max_characters)


def _not_a_server(given: object) -> str:
    remedy = (
        "pass a command such as ['python', 'server.py'], a URL, or a transport or server of the package mcp"
    )
    if isinstance(given, Path):
        remedy = f"write ['python', {str(given)!r:.80}]"
    elif isinstance(given, Mapping) and "mcpServers" in given:
        remedy = "connect to each of its servers: [command, *args], or the URL"
    elif isinstance(given, Mapping) and "command" in given:
        remedy = "write connect([command, *args], env=...)"
    elif isinstance(given, Mapping) and "url" in given:
        remedy = "write connect(url, headers=...)"
    return f"{given!r:.80} is not an MCP server; {remedy}"


class Connection:
    """A session with an MCP server, for the duration of a `with` or `async with` block.

    Created by `connect`. Its tools are thread-safe.

    Attributes:
        name: The command or the URL, for messages.
    """

    def __init__(self, endpoint: Endpoint, timeout: float | None, max_characters: int) -> None:
        self.name = endpoint.name
        self._endpoint = endpoint
        self._timeout = timeout
        self._max_characters = max_characters
        self._session = Session(endpoint)
        self._started = self._closed = False
        self._lock = Lock()

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the method that other libraries call otherwise."""
            raise missing_attribute(self, name, _OTHER_METHODS)

    def tools(self, *, strict: bool = True) -> Toolset:
        """Return the current tools of the server, for `structkit.Agent`.

        An agent keeps the tools that it was created with. When a server changes its list, call `tools` again and
        create another agent.

        Characters that are invalid in tool names, as in `files/read`, are replaced by `_`. A call returns the
        structured content if the server sends it, else text that contains only the type and size of images and other
        blobs. The model reads the error of a failed call.

        Args:
            strict: Whether a schema that cannot be enforced during generation is an error when the agent is created.
                Otherwise arguments are validated before the call, by the package `jsonschema`.

        Raises:
            AgentError: The server does not answer, its list is too long, or two of its tools have the same name.
        """
        if self._state == "gone":
            self._reconnect()
        try:
            listed = self._session.submit(list_tools).result(self._timeout)
        except FutureTimeoutError as error:
            raise self._timeout_error() from error
        except Exception as error:  # depends on the server and the client
            raise self._list_error(error) from error
        return self._make_toolset(listed, strict)

    async def atools(self, *, strict: bool = True) -> Toolset:
        """Async version of `tools`."""
        if self._state == "gone":
            await asyncio.to_thread(self._reconnect)
        try:
            listed = await asyncio.wait_for(
                asyncio.wrap_future(self._session.submit(list_tools)), self._timeout
            )
        except asyncio.TimeoutError as error:
            raise self._timeout_error() from error
        except Exception as error:  # depends on the server and the client
            raise self._list_error(error) from error
        return self._make_toolset(listed, strict)

    @property
    def log(self) -> str:
        """The last output of a server subprocess on standard error."""
        return self._endpoint.log

    def __enter__(self) -> Connection:
        opened = self._start()
        try:
            opened.result(self._timeout)
        except FutureTimeoutError as error:
            self._session.close()
            raise self._timeout_error() from error
        except BaseException:  # including interrupts: leave no subprocess behind
            self._session.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close().close()

    async def __aenter__(self) -> Connection:
        opened = self._start()
        try:
            await asyncio.wait_for(asyncio.wrap_future(opened), self._timeout)
        except asyncio.TimeoutError as error:
            await asyncio.to_thread(self._session.close)
            raise self._timeout_error() from error
        except BaseException:  # including cancellation: leave no subprocess behind
            await asyncio.to_thread(self._session.close)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._close().close)

    def _start(self) -> Future[None]:
        """Open the session.

        Raises:
            AgentError: The connection was opened before.
        """
        with self._lock:
            if self._started:
                raise AgentError("a connection can be opened only once; call connect again", place=self.name)
            self._started = True
            return self._session.open()

    def _close(self) -> Session:
        with self._lock:
            self._closed = True
            return self._session

    def _reconnect(self) -> bool:
        """Schedule reconnecting to a lost server, once for concurrent callers; return whether that is possible.

        The specification (Streamable HTTP, session management) requires a client that gets 404 for its session to start
        a new one, and a long-running service outlives redeployments of the servers behind its URLs.
        """
        deadline = time.monotonic() + _RECONNECT_SECONDS
        while True:
            with self._lock:
                if self._closed or not self._endpoint.is_persistent:
                    return False
                if self._session.state == "gone":
                    self._session = Session(self._endpoint)
                opened = self._session.open()
            with suppress(AgentError, FutureTimeoutError):
                opened.result(max(0.0, deadline - time.monotonic()))
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(_RETRY_SECONDS)

    def __repr__(self) -> str:
        return f"<Connection to {self.name}: {self._state}>"

    @property
    def _state(self) -> str:
        """The state of the session; `"gone"` while a lost session is being reopened."""
        state = self._session.state
        if self._closed:
            return "closed"
        return "gone" if state == "new" and self._started else state

    async def _call(self, tool_name: str, /, **arguments: object) -> object:
        session = self._session
        try:
            result = await asyncio.wrap_future(
                session.submit(lambda client: client.call_tool(tool_name, arguments))
            )
        except Exception as error:  # depends on the server
            if isinstance(error, AgentError) and self._state != "gone":
                raise  # the connection was never opened, or was closed
            if self._state == "gone" and await asyncio.to_thread(self._reconnect):
                raise ToolError(_RECONNECTED) from error
            raise ToolError(session.failure_message(error)) from error
        return tool_result(result, self._max_characters)

    def _is_available(self, context: Context[object]) -> bool | Awaitable[bool]:
        """Return whether the tools are available; false for the rest of a run in which the server was lost.

        Raises:
            AgentError: At the start of a run, the server is lost and unreachable, or the connection is closed.
        """
        run_starts = isinstance(context.messages[-1], User)
        return (
            self._reconnect_for_run() if run_starts and self._state == "gone" else self._is_usable(run_starts)
        )

    async def _reconnect_for_run(self) -> bool:
        """Return whether the tools are available in a run that starts while the server is lost."""
        await asyncio.to_thread(self._reconnect)
        return self._is_usable(run_starts=True)

    def _is_usable(self, run_starts: bool) -> bool:
        state = self._state
        if state == "closed" or (state == "gone" and run_starts):
            raise self._session.unavailable_error(state)
        return state == "open"

    def _make_toolset(self, listed: Sequence[ListedTool], strict: bool) -> Toolset:
        names: dict[str, str] = {}
        tools: list[Tool[..., object]] = []
        for each in listed:
            name = _tool_name(each.name)
            if name in names:
                raise AgentError(
                    f"the server lists two tools that map to the name {name}: {names[name]!r:.80} and "
                    f"{each.name!r:.80}; rename one of them on the server",
                    place=self.name,
                )
            names[name] = each.name
            tools.append(
                Tool(
                    function=partial(self._call, each.name),
                    name=name,
                    description=truncate(each.description or each.title or "", self._max_characters) or None,
                    timeout=self._timeout,
                    reraise=(Exception,),
                    available=self._is_available,
                    schema=JsonSchema(each.input_schema, additional="closed", strict=strict),
                )
            )
        return Toolset(tools)

    def _timeout_error(self) -> AgentError:
        return AgentError(
            f"the server did not answer within {self._timeout:g} seconds; "
            f"raise timeout=...{self._endpoint.log_suffix()}",
            place=self.name,
        )

    def _list_error(self, error: Exception) -> AgentError:
        if isinstance(error, AgentError):
            return error
        if self._state == "gone":
            return self._session.unavailable_error("gone")
        return AgentError(
            f"listing the tools of the server failed: {error_message(error)}; see the log of the server",
            place=self.name,
        )


def _tool_name(listed: str) -> str:
    """Return a valid `Tool` name for a listed name.

    >>> _tool_name("files/read"), _tool_name("3d"), _tool_name(".a")
    ('files_read', '3d', '_.a')
    """
    name = re.sub(r"[^\w.-]", "_", listed)
    return (f"_{name}" if name[:1] in ("", ".") else name)[:64]
