"""Calls that are cancelled while a server is silent: the connection is closed, and the thread ends."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

import structkit as sk
from structkit.models.servers.lines import Lines, shut_down
from structkit.models.text.protocol import TextModel
from tests.models.servers.fake import OPENAI, Say, error, serve

Target = dict[str, int]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
SILENCES = {"before the status": b"", "before the text": HEAD, "after a text": HEAD + OPENAI.piece('{"a": ')}


@dataclass
class Silent:
    """A server that says something to each request for a reply, and then nothing more."""

    url: str
    requests: int = 0
    closed: int = 0
    threads: list[threading.Thread] = field(default_factory=list)

    def answer(self, connection: socket.socket, words: bytes) -> None:
        with connection, suppress(OSError):
            while request := connection.recv(65_536):
                if request.startswith(b"GET /v1/models"):
                    body = b'{"data": [{"id": "demo"}]}'
                    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n"
                    connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
                elif request.startswith(b"GET"):
                    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                else:
                    connection.sendall(words)
                    self.requests += 1
                    while connection.recv(65_536):
                        pass  # the rest of the request
                    self.closed += 1
                    return


@contextmanager
def silent(words: bytes) -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Silent(f"http://127.0.0.1:{listener.getsockname()[1]}")

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    thread = threading.Thread(target=server.answer, args=(connection, words), daemon=True)
                    thread.start()

        threading.Thread(target=accept, daemon=True).start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def waiting() -> int:
    """Return the number of threads that wait for a reply."""
    return sum(thread.name in ("structkit-reply", "structkit-value") for thread in threading.enumerate())


def cancel(work: Coroutine[Any, Any, object], server: Silent, requests: int = 1) -> None:
    """Cancel some work when the server has received its requests."""

    async def run() -> None:
        task = asyncio.ensure_future(work)
        while server.requests < requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def cancel_task(model: TextModel, server: Silent) -> None:
    cancel(sk.aextract(model, "one", Target), server)


def cancel_many(model: TextModel, server: Silent) -> None:
    cancel(sk.aextract_many(model, ["one"] * 3, Target), server, requests=3)


def leave_stream(model: TextModel, server: Silent) -> None:
    async def read() -> None:
        async with sk.astream(model, "one", Target) as stream:
            async for _ in stream:
                pass

    cancel(read(), server)


def time_out(model: TextModel, server: Silent) -> None:
    with suppress(sk.GenerationError):
        sk.extract(model, "one", Target, timeout=1)


@pytest.mark.long(every=5)
@pytest.mark.parametrize("cancel", [cancel_task, cancel_many, leave_stream, time_out])
@pytest.mark.parametrize("words", SILENCES.values(), ids=SILENCES)
def test_a_silent_server_is_left(cancel: Callable[[TextModel, Silent], None], words: bytes) -> None:
    with silent(words) as server:
        model = sk.connect(server.url, timeout=3_600)
        cancel(model, server)
        until(lambda: server.closed == server.requests > 0)
        until(lambda: not waiting())
        model.close()


@pytest.mark.parametrize("words", [*SILENCES.values()][1:], ids=[*SILENCES][1:])
@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_a_silent_service_is_left(service: str, words: bytes) -> None:
    """Once the service has begun to reply: before, only its client knows the connection."""
    package = pytest.importorskip(service)
    with silent(words) as server:
        if service == "openai":
            client = package.OpenAI(base_url=f"{server.url}/v1", api_key="key", max_retries=0, timeout=3_600)
            model: TextModel = sk.from_openai(client, "demo", timeout=3_600)
        else:
            client = package.Anthropic(base_url=server.url, api_key="key", max_retries=0, timeout=3_600)
            model = sk.from_anthropic(client, "demo", timeout=3_600)
        with client:
            cancel_task(model, server)
            until(lambda: server.closed == server.requests > 0)
            until(lambda: not waiting())


def test_a_cancelled_call_is_not_tried_again() -> None:
    with serve(error(429, "busy", ("Retry-After", "3000"))) as server:
        model = sk.connect(server.url, timeout=3_600)

        async def run() -> None:
            task = asyncio.ensure_future(sk.aextract(model, "one", Target))
            while not server.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(run())
        until(lambda: not waiting())
        assert len(server.requests) == 1
        model.close()


def test_closing_a_model_ends_its_replies() -> None:
    with silent(HEAD) as server:
        model = sk.connect(server.url, timeout=3_600, max_tries=1)
        failed: list[Exception] = []

        def extract() -> None:
            try:
                sk.extract(model, "one", Target)
            except sk.ModelError as error:
                failed.append(error)

        thread = threading.Thread(target=extract)
        thread.start()
        until(lambda: server.requests > 0)
        model.close()
        thread.join(20)
        assert failed
        until(lambda: server.closed == server.requests)


def test_connections_are_used_again() -> None:
    """As many as there are requests at once, and not as many as there are requests."""
    opened: list[object] = []
    connect = Lines.use

    def use(lines: Lines, interrupt: object = None) -> object:
        found = connect(lines, interrupt)  # type: ignore[arg-type]
        opened.append(lines._used | {*lines._idle})
        return found

    with serve('{"a": 1}') as server, pytest.MonkeyPatch.context() as patch:
        model = sk.connect(server.url)
        patch.setattr(Lines, "use", use)
        sk.extract_many(model, ["one"] * 20, Target, batch_size=2)
        assert max(len(lines) for lines in opened) <= 3  # type: ignore[arg-type]
        model.close()


def test_a_reply_that_is_cut_closes_its_connection() -> None:
    with silent(HEAD + OPENAI.piece('{"a": "x')) as server:
        model = sk.connect(server.url, timeout=3_600, max_calls=1)
        with pytest.raises(sk.CorrectionsExhausted):
            sk.extract(model, "one", Target)
        until(lambda: server.closed == server.requests > 0)
        until(lambda: not waiting())
        assert Say is not None
        model.close()


def test_a_socket_is_shut_down_both_ways() -> None:
    """Whoever reads from it or from the other end is woken; what has no socket says so."""

    @dataclass
    class Stream:
        socket: object

        def get_extra_info(self, info: str) -> object:
            return getattr(self, info)

    near, far = socket.socketpair()
    with near, far:
        assert shut_down(Stream(near)) and shut_down(Stream(near))
        near.settimeout(5)
        far.settimeout(5)
        assert near.recv(1) == far.recv(1) == b""
    assert not shut_down(Stream(None)) and not shut_down(None)
