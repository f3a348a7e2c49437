"""A session with an MCP server, on an event loop in its own thread.

The session lasts for a `with` block and is usable from any thread and any event loop, including that of a notebook.

Protocol: https://modelcontextprotocol.io/specification
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, TypeVar, cast

from structkit.errors import AgentError
from structkit.mcp.endpoint import Endpoint, ProcessEndpoint

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as ListedTool

__all__ = ["Session", "error_message", "list_tools"]

T = TypeVar("T")

_MAX_TOOLS = 1_000
"""Maximum number of tools of a server; more do not fit in a prompt."""

_MAX_PAGES = 100
"""Maximum number of pages of the list, against endless lists."""

_LOST = "Connection closed"
"""Message of the client's own error for a connection that ended."""

_CLOSE_SECONDS = 15.0
"""Seconds for closing a connection; the client kills a subprocess after about 7 seconds."""


class Session:
    """The client's session on its event loop in a thread, and its state.

    The client must be entered and exited by the same task. Requests run as separate tasks.

    Attributes:
        state: `"new"`, `"open"`, `"gone"` if the server ended or is unreachable, `"closed"`.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.state = "new"
        self._endpoint = endpoint
        self._closing = False
        self._connected: Future[None] = Future()
        self._loop_started = Event()
        self._lock = Lock()  # orders submit and close, so that every request gets an answer
        self._thread: Thread | None = None
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def open(self) -> Future[None]:
        """Open the session, once.

        Returns:
            A future that is done when the server has answered.
        """
        if self._thread is None:
            self._thread = Thread(target=self._run_loop, daemon=True, name="structkit-mcp")
            self._thread.start()
        return self._connected

    def close(self) -> None:
        """Close the session and end a subprocess; pending calls fail with an error."""
        if self._thread is None or not self._loop_started.wait(1.0):
            return
        self._closing = True
        with suppress(RuntimeError):  # the event loop has ended
            cast("asyncio.AbstractEventLoop", self._loop).call_soon_threadsafe(self._request_close)
        self._thread.join(_CLOSE_SECONDS)

    def _request_close(self) -> None:
        # A cancelled client does not wait for the end of its subprocess, so only a connecting client is cancelled.
        if self._client is None:
            cast("asyncio.Task[None]", self._task).cancel()
        else:
            self._close_requested.set()

    def submit(self, request: Callable[[Client], Awaitable[T]]) -> Future[T]:
        """Submit a request. Cancel the returned future to cancel the request.

        Raises:
            AgentError: The session is not open.
        """
        with self._lock:
            if self._client is None or self._loop is None or self._thread is None:
                raise self.unavailable_error()
            if not self._thread.is_alive():
                raise self.unavailable_error("forked")
            return asyncio.run_coroutine_threadsafe(self._perform(request, self._client), self._loop)

    def failure_message(self, error: Exception) -> str:
        """Return the reason of a failed request, for the model."""
        return "the server is gone" if self.state in ("gone", "closed") else error_message(error)

    def unavailable_error(self, state: str | None = None) -> AgentError:
        """Return the error for requests in the current state."""
        message = {
            "new": "the connection is not open; use it in a `with` block",
            "forked": "the connection was opened in the process that this one was forked from; connect in this one",
            "gone": f"the server is gone; connect again{self._endpoint.log_suffix()}",
        }.get(state or self.state, "the connection is closed; use its tools in its `with` block")
        return AgentError(message, place=self._endpoint.name)

    async def _perform(self, request: Callable[[Client], Awaitable[T]], client: Client) -> T:
        from mcp.types import CONNECTION_CLOSED

        try:
            return await request(client)
        except asyncio.CancelledError:
            if self._client is None:  # cancelled by the end of the session, not by the caller
                raise ConnectionError("the connection is closed") from None
            raise
        except Exception as error:  # recorded and re-raised
            # Servers have errors of their own with this code, which JSON-RPC leaves to them.
            is_lost = getattr(error, "code", None) == CONNECTION_CLOSED and str(error) == _LOST
            if is_lost and isinstance(self._endpoint, ProcessEndpoint) and self.state == "open":
                self.state = "gone"
            raise

    def _run_loop(self) -> None:
        try:
            asyncio.run(self._serve())
        except asyncio.CancelledError:
            error: BaseException | None = None
        except BaseException as raised:  # reported through the future
            error = _first_error(raised)
        else:
            error = None
        if not self._connected.done():
            reason = "the connection was closed" if error is None else error_message(error)
            failure = AgentError(
                f"connecting to the MCP server failed: {reason}; check its command or address"
                f"{self._endpoint.log_suffix()}",
                place=self._endpoint.name,
            )
            failure.__cause__ = error
            self.state = "gone"
            self._connected.set_exception(failure)

    async def _serve(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._close_requested = asyncio.Event()  # bound to this loop
        self._loop_started.set()
        async with AsyncExitStack() as stack:
            client = await self._endpoint.connect(stack)
            # The client validates results with `jsonschema` and `re`, which a pattern of the server can stall.
            client.session.validate_tool_result = _accept_result  # type: ignore[method-assign]
            with self._lock:
                self._client, self.state = client, "open"
            self._connected.set_result(None)
            try:
                await self._close_requested.wait()
            finally:
                with self._lock:
                    self._client, self.state = None, "closed" if self._closing else "gone"


async def _accept_result(name: str, result: CallToolResult) -> None:
    """Accept a result, whatever output schema the server lists for the tool."""


async def list_tools(client: Client) -> list[ListedTool]:
    """Return the tools of all pages of the list.

    Raises:
        AgentError: There are too many tools or pages.
    """
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None and len(tools) <= _MAX_TOOLS:
            return tools
        if len(tools) > _MAX_TOOLS:
            break
    raise AgentError(f"the server lists more than {_MAX_TOOLS:,} tools, or too many pages; split the server")


def error_message(error: BaseException) -> str:
    """Return the message of an error."""
    text = str(error).strip()
    # The client's own errors have complete messages; other errors need their type.
    return text if type(error).__name__ == "MCPError" and text else f"{type(error).__name__}: {text}"


def _first_error(error: BaseException) -> BaseException:
    """Return the first error of an exception group."""
    while (inner := getattr(error, "exceptions", None)) is not None and inner:
        error = inner[0]
    return error
