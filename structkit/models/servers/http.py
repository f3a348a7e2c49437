"""The door to HTTP: requests that are tried again after transient faults, and replies that are read as they arrive."""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
import weakref
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from structkit.errors import MissingExtra
from structkit.models.servers.faults import ABOUT_LENGTH, Fault, Refused, message_of, quotable
from structkit.models.servers.lines import Interrupt, Line, Lines

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import Client, Response
    from tenacity import RetryCallState

__all__ = ["HttpClient", "Json"]

R = TypeVar("R")

Json = Mapping[str, object]
"""A JSON object."""

_MAX_BODY = 1 << 22
"""Maximum bytes of a reply that is read at once, and of a line of a stream."""

_CONNECT_SECONDS = 10.0
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 8.0
_TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 529}


class HttpClient:
    """A client of one server.

    Args:
        base: The URL of the API, such as `http://localhost:8000/v1`.
        headers: The headers of each request; their values are secret.
        timeout: Maximum number of seconds of a request and its further tries.
        max_tries: Maximum number of tries of one request.

    Raises:
        MissingExtra: The extra `servers` is not installed.
    """

    def __init__(self, base: str, headers: Mapping[str, str], timeout: float, max_tries: int) -> None:
        try:
            import httpx2
            import tenacity  # noqa: F401
        except ImportError as error:
            raise MissingExtra("servers", "servers need", error.name or "httpx2") from error
        self.base = base
        self._timeout = timeout
        self._max_tries = max_tries
        self._secrets = tuple(headers.values())
        seconds = httpx2.Timeout(timeout, connect=min(_CONNECT_SECONDS, timeout))
        files = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        context, sent, one = _tls_context(*files), dict(headers), httpx2.Limits(max_connections=1)

        def connect() -> Client:
            return httpx2.Client(headers=sent, timeout=seconds, verify=context, limits=one)

        self._lines = lines = Lines(connect)
        self.close = weakref.finalize(self, lines.close)

    def get(self, url: str) -> object:
        """Return the JSON that a URL answers with; `None` if the URL has none, or fails.

        Raises:
            Fault: The server cannot be reached, refuses the key, or is busy.
        """
        try:
            return self.retry(lambda: self._get(url))
        except Fault as fault:
            # `transformers serve` without a cache of models fails to list them, with status 500.
            if fault.status is None or fault.status in (401, 403, 429, 503):
                raise
            return None

    def retry(
        self, work: Callable[[], R], seconds: float | None = None, interrupt: Interrupt | None = None
    ) -> R:
        """Do work again while it raises transient faults, within the tries and the seconds.

        Args:
            work: A function that sends a request.
            seconds: Seconds after which the caller stops waiting for the work.
            interrupt: If set, there is no further try.

        Raises:
            Fault: The last fault.
        """
        from tenacity import (
            Retrying,
            retry_if_exception,
            sleep_using_event,
            stop_after_attempt,
            stop_before_delay,
            stop_when_event_set,
            wait_random_exponential,
        )

        backoff = wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

        def wait(state: RetryCallState) -> float:
            asked = _fault(state).retry_after
            return backoff(state) if asked is None else asked

        event = (interrupt or Interrupt()).event
        bounds = stop_after_attempt(self._max_tries) | stop_before_delay(0.9 * self._within(seconds))
        tries = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, Fault) and error.is_transient),
            wait=wait,
            sleep=sleep_using_event(event),
            stop=bounds | stop_when_event_set(event),
            reraise=True,
        )
        return tries(work)

    @contextmanager
    def post(
        self,
        path: str,
        body: Json,
        secrets: Iterable[str],
        seconds: float | None = None,
        interrupt: Interrupt | None = None,
    ) -> Generator[Iterator[Json], None, None]:
        """Send a request once; give the JSON objects of the reply as they arrive.

        Args:
            path: The path below the base.
            body: The request.
            secrets: The texts of the request that no error may show.
            seconds: Seconds after which the caller stops waiting for the reply.
            interrupt: Ends the request from another thread.

        Raises:
            Fault: The server cannot be reached, refuses the request, or cuts the reply.
        """
        seconds = self._within(seconds)
        with self._response(f"{self.base}/{path}", body, seconds, interrupt) as response:
            self._check(response, secrets)
            yield self._objects(response, secrets, seconds)

    def ask(self, url: str, body: Json, secrets: Iterable[str], interrupt: Interrupt | None = None) -> object:
        """Send a request once; return the JSON that a URL answers with, or `None` if it is not JSON.

        Raises:
            Fault: The server cannot be reached, or refuses the request.
        """
        with self._response(url, body, self._timeout, interrupt) as response, self._faults():
            self._check(response, secrets)
            return _parse(self._read(response))

    def _within(self, seconds: float | None) -> float:
        """Return the timeout of a request whose caller waits some seconds."""
        return self._timeout if seconds is None else min(seconds, self._timeout)

    @contextmanager
    def _response(
        self, url: str, body: Json, seconds: float, interrupt: Interrupt | None
    ) -> Generator[Response, None, None]:
        """Send a request; give the reply, whose body is not read, and close it."""
        if self._lines.is_closed:
            raise Fault(_CLOSED, is_transient=False)
        with self._lines.use(interrupt) as line:
            response = self._send(line, url, body, seconds)
            try:
                yield response
            finally:
                response.close()

    def _send(self, line: Line, url: str, body: Json, seconds: float) -> Response:
        timeout = {
            "connect": min(_CONNECT_SECONDS, seconds),
            "read": seconds,
            "write": seconds,
            "pool": seconds,
        }
        with self._faults():
            try:
                extensions = {"timeout": timeout, "trace": line.trace}
                sent = line.client.build_request("POST", url, json=body, extensions=extensions)
            except UnicodeEncodeError:  # its message has a part of the prompt
                what = (
                    "the prompt has half of a character (a surrogate), which UTF-8 cannot encode; remove it"
                )
                raise Fault(what, is_transient=False) from None
            return line.client.send(sent, stream=True)

    def _get(self, url: str) -> object:
        with (
            self._faults(),
            self._timed() as interrupt,
            self._lines.use(interrupt) as line,
            line.client.stream("GET", url, extensions={"trace": line.trace}) as response,
        ):
            self._check(response, ())
            return _parse(self._read(response))

    @contextmanager
    def _timed(self) -> Generator[Interrupt, None, None]:
        """Give an interrupt that ends a request after the timeout; that of the client begins again with each byte."""
        import httpx2

        interrupt = Interrupt()
        timer = threading.Timer(self._timeout, interrupt.set)
        timer.daemon = True
        timer.start()
        try:
            yield interrupt
        except httpx2.HTTPError:
            if not interrupt.event.is_set():
                raise
        finally:
            timer.cancel()
        if interrupt.event.is_set():  # a reply without a length ends as the connection does
            raise httpx2.ReadTimeout("the timeout is over")

    def _objects(self, response: Response, secrets: Iterable[str], seconds: float) -> Iterator[Json]:
        """Yield the objects of an event stream, or the one object of a reply that is not a stream."""
        with self._faults():
            parts: Iterable[bytes] = self._parts(response, seconds)
            if "event-stream" not in response.headers.get("content-type", "").lower():
                body = self._read(response)
                reply = _parse(body)
                if isinstance(reply, Mapping):
                    yield _checked(reply, self._quotable(secrets))
                    return
                if (
                    not body.removeprefix(BOM_UTF8).lstrip().startswith(b"data:")
                ):  # a stream whose media type a proxy has changed
                    raise Fault(
                        f"the server answered with {_kind(response)}; {_URL_REMEDY}", is_transient=False
                    )
                parts = [body]
            for event in _events(_lines(parts)):
                yield _checked(event, self._quotable(secrets))

    def _check(self, response: Response, secrets: Iterable[str]) -> None:
        """Raise the fault of a status."""
        status = response.status_code
        if status < 300:
            return
        if status < 400:
            raise Fault(
                f"the server redirects to another address (status {status}); pass the final address",
                is_transient=False,
            )
        body = self._read(response)
        reply = message_of(_parse(body)) or body[:2_000].decode(errors="replace")
        is_html = b"<html" in body[:1_000].lower() or _kind(response) == "HTML"
        quoted = "" if is_html else self._quotable(secrets)(reply)
        said = f": {quoted}" if quoted else ""
        if status in _TRANSIENT:
            after = _retry_after(response)
            asked = f", and asks to wait {after:g} s" if after else ""
            remedy = (
                "send fewer requests at once, wait, or check the quota"
                if status == 429
                else "see its log, or try again later"
            )
            raise Fault(
                f"the server answers with status {status}{asked}{said}; {remedy}",
                is_transient=True,
                status=status,
                retry_after=after,
            )
        if status == 401:
            what = "the server refuses the key (status 401); pass a valid one with api_key=..."
            raise Refused(what, status=status, reply=reply)
        if is_html:
            raise Refused(f"the server answered with HTML; {_URL_REMEDY}", status=status, reply="")
        what = f"the server refuses the request (status {status}){said}; {_remedy(status, reply)}"
        raise Refused(what, status=status, reply=reply)

    def _read(self, response: Response) -> bytes:
        """Return the body of a reply, up to a bound."""
        body = bytearray()
        for part in self._parts(response):
            body += part
            if len(body) > _MAX_BODY:
                what = f"the server answered with more than {_MAX_BODY} bytes; {_URL_REMEDY}"
                raise Fault(what, is_transient=False)
        return bytes(body)

    def _parts(self, response: Response, seconds: float | None = None) -> Iterator[bytes]:
        """Yield the bytes of a reply within the seconds of a request.

        The timeout of the client begins again with each byte, so a server that sends one at a time would never end.
        Compressed bytes are decoded in parts of at most 1 MiB.
        """
        seconds = self._within(seconds)
        end = time.monotonic() + seconds
        for part in response.iter_bytes():
            if time.monotonic() > end:
                what = f"the server did not complete its reply in {seconds:g} s; allow more with timeout=..."
                raise Fault(what, is_transient=True)
            yield part

    def _quotable(self, secrets: Iterable[str]) -> Callable[[str], str]:
        return lambda message: quotable(message, (*self._secrets, *secrets))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the errors of the client into faults."""
        import httpx2

        if self._lines.is_closed:
            raise Fault(_CLOSED, is_transient=False)
        try:
            yield
        except httpx2.ConnectError as error:
            what, is_transient = _about_connection(str(error), self.base)
            raise Fault(what, is_transient=is_transient) from error
        except httpx2.TimeoutException as error:
            what = f"the server did not answer within {self._timeout:g} s; allow more with timeout=..."
            raise Fault(what, is_transient=True) from error
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            what = f"{self.base} is not an address of a server; write one such as http://localhost:8000/v1"
            raise Fault(what, is_transient=False) from error
        except httpx2.HTTPError as error:
            what = (
                f"the connection failed ({type(error).__name__}) before the reply was complete; see the log of the "
                "server, or try again later"
            )
            raise Fault(what, is_transient=True) from error


@lru_cache(maxsize=1)
def _tls_context(file: str | None, folder: str | None) -> SSLContext:
    """Return the TLS settings for the certificates that the environment names; reading them takes 16 ms."""
    import httpx2

    return httpx2.create_ssl_context()


def _about_connection(message: str, base: str) -> tuple[str, bool]:
    """Return what to do about a connection that failed, and whether it can succeed later.

    >>> _about_connection("[SSL: WRONG_VERSION_NUMBER] wrong version number", "https://host/v1")
    ('the server at https://host/v1 does not speak TLS; write http://host/v1', False)
    """
    if "CERTIFICATE_VERIFY_FAILED" in message:
        remedy = (
            "set the environment variable SSL_CERT_FILE to the file with the certificate of its authority"
        )
        return f"the certificate of {base} is not one of a known authority; {remedy}", False
    if "WRONG_VERSION_NUMBER" in message or "RECORD_LAYER_FAILURE" in message:
        plain = base.replace("https://", "http://", 1)
        return f"the server at {base} does not speak TLS; write {plain}", False
    return f"no server answers at {base}; start it, or correct the address", True


_CLOSED = "the model was closed; connect again"

_URL_REMEDY = "is the address that of the API, such as http://localhost:8000/v1?"


def _remedy(status: int, reply: str) -> str:
    """Return what to do about a request that a server refused with a message."""
    if status == 402:
        return "check the balance of the account"
    if status == 403:
        return "does it need a key? Pass one that has access with api_key=..."
    if status >= 500:
        return "see its log"
    if status == 413 or re.search(ABOUT_LENGTH, reply, re.IGNORECASE):
        return "shorten the prompt, or start the server with a longer context"
    if "v1/responses" in reply:
        return "pass an openai.OpenAI() to structkit.from_openai, which sends it there"
    if re.search(r"chat.?template|not .{0,30}\bchat\b", reply, re.IGNORECASE):
        return "pass chat=False for a base model, or start the server with a template"
    if status in (404, 405):
        return "is the address that of the API? Pass chat=False if the server has no chat completions"
    return "check options=... and the prompt"


def _fault(state: RetryCallState) -> Fault:
    outcome = state.outcome
    return cast("Fault", None if outcome is None else outcome.exception())


def _parse(body: bytes | bytearray) -> object:
    """Return the value of a JSON text; `None` if it is not JSON in UTF-8."""
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream of bytes, which end with LF, CR or both."""
    rest = bytearray()  # grows in place: a line can arrive in millions of parts
    is_ended = False  # by a CR, whose end of line includes a LF that follows
    for part in filter(None, parts):
        part = part[1:] if is_ended and part[:1] == b"\n" else part
        is_ended = part[-1:] == b"\r"
        first, *others = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest += first
        for other in others:
            yield bytes(rest)
            rest = bytearray(other)
        _check_size(rest)
    yield bytes(rest)


def _events(lines: Iterable[bytes]) -> Iterator[Json]:
    r"""Yield the objects of an event stream up to its end.

    An event is complete at its first line, if this is JSON, or else at an empty line.

    Raises:
        Fault: An event is not JSON.

    >>> list(_events([b'data: {"a":', b"data: 1}", b"", b'data: {"b": 2}', b'data: {"c": 3}', b"data: [DONE]"]))
    [{'a': 1}, {'b': 2}, {'c': 3}]
    """
    data = bytearray()
    for line in lines:
        field, _, value = line.removeprefix(BOM_UTF8).partition(b":")
        value = value.strip() if field.strip() == b"data" else b""
        if not data and value == b"[DONE]":
            return
        event = None if data or not value else _parse(value)
        if event is None:
            data += value and value + b"\n"
            _check_size(data)
        if event is not None or (data and not line):
            yield _object(_parse(data) if event is None else event)
            data.clear()
    if data:
        yield _object(_parse(data))


def _check_size(data: bytearray) -> None:
    if len(data) > _MAX_BODY:
        what = f"the server sent a line of more than {_MAX_BODY} bytes; {_URL_REMEDY}"
        raise Fault(what, is_transient=False)


def _object(event: object) -> Json:
    if isinstance(event, Mapping):
        return event
    what = "the stream of the server is not valid JSON in UTF-8; see its log, or update the server"
    raise Fault(what, is_transient=True)


def _checked(reply: Json, quote: Callable[[str], str]) -> Json:
    """Return a reply that is not an error."""
    if reply.get("error"):
        quoted = quote(message_of(reply))
        said = f": {quoted}" if quoted else ""
        raise Fault(f"the server failed{said}; see its log, or try again later", is_transient=True)
    return reply


def _kind(response: Response) -> str:
    content = response.headers.get("content-type", "").partition(";")[0].lower()
    return "HTML" if "html" in content else "something other than JSON"


def _retry_after(response: Response) -> float | None:
    """Return the seconds of the header `Retry-After`, which are a number or a date; services of Azure send ms, too."""
    value = response.headers.get("retry-after", "").strip()
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = unit * float(response.headers.get(name, ""))
            if math.isfinite(seconds):
                return max(0.0, seconds)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
