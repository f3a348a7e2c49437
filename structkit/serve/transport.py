"""Requests and responses over HTTP: the body and the key of a request, JSON, and server-sent events."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from structkit.serve.bounds.api_error import ApiError, Params, api_error_of
from structkit.serve.bounds.config import ServerConfig
from structkit.serve.read.fields import Fields, read_json
from structkit.serve.write.events import dumped

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = [
    "HEADERS",
    "EventStream",
    "WithoutSlash",
    "cancel_all",
    "check_access",
    "error_response",
    "json_response",
    "logged_error",
    "read_body",
    "too_slow",
    "until_gone",
]

_logger = logging.getLogger("structkit.serve")

HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

_LAST_SECONDS = 1.0
"""Seconds for the last event of a stream whose time is over: a client that does not read blocks it."""


def check_access(request: Request, config: ServerConfig) -> None:
    """Check the host and the key of a request, the key in constant time, whichever of the keys it is.

    Raises:
        ApiError: The host is not accepted, or the key is none of the keys.
    """
    if config.allowed_hosts and _host_of(request) not in config.allowed_hosts:
        raise ApiError(
            403, "the header Host has a name that this server does not accept", code="invalid_host"
        )
    if not config.api_keys:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    found = [hmac.compare_digest(given.strip().encode(), key.encode()) for key in config.api_keys]
    if scheme.lower() != "bearer" or not any(found):
        raise ApiError(
            401,
            "the API key is missing or wrong; send Authorization: Bearer KEY",
            code="invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _host_of(request: Request) -> str | None:
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return None


async def read_body(request: Request, config: ServerConfig) -> Fields:
    """Return the body of a request.

    Raises:
        ApiError: It is not JSON, compressed, too large, or does not arrive in time.
        ClientDisconnect: The client went away.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if (
        kind != "application/json"
    ):  # a page of the web can send other types to a server of its reader, unasked
        raise ApiError(415, "the header Content-Type must be application/json", code="unsupported_media_type")
    if (coding := request.headers.get("content-encoding", "identity").strip().lower()) not in (
        "",
        "identity",
    ):
        fault = f"the server does not decode the Content-Encoding {coding[:40]}; send the body as it is"
        raise ApiError(415, fault, code="unsupported_media_type")
    try:
        body = await asyncio.wait_for(_received(request, config.max_body), config.body_timeout)
    except asyncio.TimeoutError:
        raise ApiError(
            408,
            f"the body did not arrive within {config.body_timeout:g} s",
            code="timeout",
            headers={"Connection": "close"},
        ) from None
    return read_json(body)


async def _received(request: Request, maximum: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > maximum:
            raise ApiError(
                413,
                f"the body has more than {maximum:,} bytes",
                code="body_too_large",
                headers={"Connection": "close"},
            )
    return bytes(body)


class WithoutSlash:
    """An application for which slashes at the end of a path are removed.

    Starlette would redirect the request to the address in the header `Host`, which can be that of a proxy, and many
    clients do not send a body there again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        path = scope.get("path", "").rstrip("/")
        if len(path) > len(scope.get("root_path", "")):
            scope = {**scope, "path": path}
        await self._app(scope, receive, send)


class EventStream(Response):
    """Server-sent events, which end when the client goes away or the time is over.

    A client that does not read blocks `send`; then the time ends the stream, and frees its row.

    Args:
        first: The first event, or events.
        rest: The others; the generator is closed in any case.
        config: The settings of the server.
        seconds: The remaining time.
        params: See `api_error_of`.
        failure: Returns the last events of a stream that fails.
    """

    def __init__(
        self,
        first: bytes,
        rest: AsyncGenerator[bytes, None],
        config: ServerConfig,
        seconds: float,
        params: Params,
        failure: Callable[[ApiError], bytes],
    ) -> None:
        super().__init__(media_type="text/event-stream", headers={**HEADERS, "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._first = first
        self._rest = rest
        self._config = config
        self._seconds = seconds
        self._params = params
        self._failure = failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        sending = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(until_gone(receive))
        try:
            done, _ = await asyncio.wait(
                {sending, gone}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if sending in done:
                sending.result()
        finally:
            await cancel_all([sending, gone])
            await self._rest.aclose()
        if not done:
            with suppress(asyncio.TimeoutError, OSError):
                await asyncio.wait_for(
                    _put(send, self._failure(too_slow(self._config.timeout)), more=False), _LAST_SECONDS
                )

    async def _send(self, send: Send) -> None:
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            await _put(send, self._first)
            async for chunk in self._rest:
                await _put(send, chunk)
        except OSError:
            return  # the client went away
        except Exception as raised:  # the status is sent already, so the error is the last event
            await _put(send, self._failure(logged_error(raised, self._params)))
        await _put(send, b"", more=False)


async def _put(send: Send, body: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with JSON."""
    return Response(dumped(value), status, {**HEADERS, **(headers or {})}, "application/json")


def error_response(error: ApiError) -> Response:
    """Return the response of an error."""
    return json_response(error.body(), error.status, error.headers)


def logged_error(raised: Exception, params: Params = Params()) -> ApiError:  # noqa: B008
    """Return the error that a client receives, and log one that is not the client's fault."""
    found = api_error_of(raised, params)
    if found.status >= 500 and raised is not found:  # one that the server raised says all
        _logger.error("a request failed", exc_info=raised)
    return found


def too_slow(seconds: float) -> ApiError:
    """Return the error of a request whose time is over."""
    # The client of OpenAI sends a request with the status 408 again, which would take as long again.
    headers = {"x-should-retry": "false"}
    fault = f"the answer was not complete within {seconds:g} s; give a smaller max_tokens"
    return ApiError(408, fault, code="timeout", headers=headers)


async def until_gone(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def cancel_all(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
