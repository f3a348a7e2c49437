"""A session with an MCP server, on an event loop in a thread of its own.

It lives from the beginning of a `with` block to its end. It can be asked from any thread and any event loop, that of a
notebook included.

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
    from mcp.types import Tool as Listed

__all__ = ["Session", "error_message", "list_tools"]

T = TypeVar("T")

_MAX_TOOLS = 1_000
"""Tools that a server may list; a prompt holds no more."""

_MAX_PAGES = 100
"""Pages of the list, so that a list without an end has one."""

_CLOSE_SECONDS = 15.0
"""Seconds for the end of a connection; the client gives a process about 7 to end by itself before it is killed."""


class Session:
    """The client's session on its event loop in a thread, and whether it can be asked something.

    The client must be entered and left by one task. Requests are tasks beside it.

    Attributes:
        state: `"new"`, `"open"`, `"gone"` if the server ended or cannot be reached any more, `"closed"`.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.state = "new"
        self._endpoint = endpoint
        self._closing = False
        self._connected: Future[None] = Future()
        self._loop_started = Event()
        self._lock = Lock()  # between asking and closing: what was asked is always answered
        self._thread: Thread | None = None
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def open(self) -> Future[None]:
        """Begin, unless it has begun.

        Returns:
            Done when the server has answered.
        """
        if self._thread is None:
            self._thread = Thread(target=self._run_loop, daemon=True, name="structkit-mcp")
            self._thread.start()
        return self._connected

    def close(self) -> None:
        """End the session, and a process that was started; calls that wait are answered with an error."""
        if self._thread is None or not self._loop_started.wait(1.0):
            return
        self._closing = True
        with suppress(RuntimeError):  # the event loop has ended
            cast("asyncio.AbstractEventLoop", self._loop).call_soon_threadsafe(self._request_close)
        self._thread.join(_CLOSE_SECONDS)

    def _request_close(self) -> None:
        # A client that is cancelled does not wait for the end of its process; but one that only connects does not end.
        if self._client is None:
            cast("asyncio.Task[None]", self._task).cancel()
        else:
            self._close_requested.set()

    def submit(self, request: Callable[[Client], Awaitable[T]]) -> Future[T]:
        """Begin a request. To cancel it, cancel the future.

        Raises:
            AgentError: The session is not open.
        """
        with self._lock:
            if self._client is None or self._loop is None:
                raise self.unavailable_error()
            return asyncio.run_coroutine_threadsafe(self._perform(request, self._client), self._loop)

    def failure_message(self, error: Exception) -> str:
        """Why a request failed, for the model."""
        return "the server is gone" if self.state in ("gone", "closed") else error_message(error)

    def unavailable_error(self, state: str | None = None) -> AgentError:
        """Why nothing can be asked."""
        said = {
            "new": "the connection is not open; use it in a `with` block",
            "gone": f"the server is gone; connect again{self._endpoint.log_suffix()}",
        }.get(state or self.state, "the connection is closed; use its tools in its `with` block")
        return AgentError(said, place=self._endpoint.name)

    async def _perform(self, request: Callable[[Client], Awaitable[T]], client: Client) -> T:
        from mcp.types import CONNECTION_CLOSED

        try:
            return await request(client)
        except asyncio.CancelledError:
            if self._client is None:  # by the end of the session, not by whoever asked
                raise ConnectionError("the connection is closed") from None
            raise
        except Exception as error:  # noted, and raised again
            lost = getattr(error, "code", None) == CONNECTION_CLOSED
            if lost and isinstance(self._endpoint, ProcessEndpoint) and self.state == "open":
                self.state = "gone"
            raise

    def _run_loop(self) -> None:
        try:
            asyncio.run(self._serve())
        except asyncio.CancelledError:
            error: BaseException | None = None
        except BaseException as raised:  # this thread has nobody else to tell
            error = _first_error(raised)
        else:
            error = None
        if not self._connected.done():
            why = "the connection was closed" if error is None else error_message(error)
            refused = AgentError(
                f"there is no MCP server: {why}{self._endpoint.log_suffix()}", place=self._endpoint.name
            )
            refused.__cause__ = error
            self.state = "gone"
            self._connected.set_exception(refused)

    async def _serve(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._close_requested = asyncio.Event()  # of this loop
        self._loop_started.set()
        async with AsyncExitStack() as stack:
            client = await self._endpoint.connect(stack)
            with self._lock:
                self._client, self.state = client, "open"
            self._connected.set_result(None)
            try:
                await self._close_requested.wait()
            finally:
                with self._lock:
                    self._client, self.state = None, "closed" if self._closing else "gone"


async def list_tools(client: Client) -> list[Listed]:
    """All pages of the list of tools."""
    found: list[Listed] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        found += page.tools
        cursor = page.next_cursor
        if cursor is None and len(found) <= _MAX_TOOLS:
            return found
        if len(found) > _MAX_TOOLS:
            break
    raise AgentError(f"the server lists more than {_MAX_TOOLS:,} tools, or pages without an end")


def error_message(error: BaseException) -> str:
    """What an error says."""
    said = str(error).strip()
    # The client speaks of its own errors in whole sentences; of others the type says more.
    return said if type(error).__name__ == "MCPError" and said else f"{type(error).__name__}: {said}"


def _first_error(error: BaseException) -> BaseException:
    """The first error of a group of errors."""
    while (inner := getattr(error, "exceptions", None)) is not None and inner:
        error = inner[0]
    return error
