"""The arguments of `structkit serve`."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest

from structkit.cli import main

pytest.importorskip("prometheus_client", reason="needs the extra serve")
uvicorn = pytest.importorskip("uvicorn", reason="needs the extra serve")

from structkit.cli import timed_protocol  # noqa: E402
from structkit.cli.timed_protocol import TimedProtocol  # noqa: E402


def test_a_server_needs_a_key_where_it_is_told_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    assert main(["serve", "--api-key-env", "NO_KEY"]) == 1
    assert "the environment variable NO_KEY has no key" in capsys.readouterr().err


def test_an_address_that_is_used_is_an_error_before_the_model_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = used.getsockname()[1]
        assert main(["serve", "no/model", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert f"at `127.0.0.1:{port}`" in said
    assert re.search(r"address already in use\S*\n  give another --host or --port", said)
    assert main(["serve", "no/model", "--host", "300.1.1.1", "--port", "0"]) == 1
    assert "give another --host" in capsys.readouterr().err


def test_a_model_that_returns_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert main(["serve", "openai:gpt-5-mini", "--port", "0"]) == 1
    assert "a server needs a model that returns logits" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--max-running", "0"], ["--timeout", "0"], ["--temperature", "-1"]])
def test_numbers_out_of_range_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["serve", *arguments])
    assert arguments[0] in capsys.readouterr().err


def test_the_arguments_are_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the loop of the server is replaced; it would run until it is interrupted."""
    started: list[tuple[object, dict[str, object]]] = []

    def run(app: object, **options: object) -> None:
        started.append((app, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn, "run", run)
    monkeypatch.setenv("MY_KEYS", "one, two")
    assert main(["serve", "--port", "0", "--host", "0.0.0.0", "--max-waiting", "8"]) == 130
    assert "anyone may use the model" in capsys.readouterr().err
    assert main(["serve", "--api-key-env", "MY_KEYS", "--host", "0.0.0.0", "--port", "0"]) == 130
    assert "anyone may use the model" not in capsys.readouterr().err
    [(_, options), _] = started
    assert (options["host"], options["port"], options["limit_concurrency"]) == ("0.0.0.0", 0, 160)
    assert options["http"] is TimedProtocol, "the protocol that bounds headers, whatever else is installed"


def test_headers_that_do_not_arrive_end_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the first request and of a later one; an answer may take longer."""
    monkeypatch.setattr(timed_protocol, "_HEADER_SECONDS", 0.3)
    whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    async def answer(scope: dict[str, object], receive: object, send: Callable[..., Awaitable[None]]) -> None:
        await asyncio.sleep(0.5)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def ends_after(port: int, *requests: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        found = b""
        for sent in requests[:-1]:
            writer.write(sent)
            found += await reader.readuntil(b"ok")
        writer.write(requests[-1])
        found += await asyncio.wait_for(reader.read(), timeout=20)
        writer.close()
        return found

    async def run() -> list[bytes]:
        options = uvicorn.Config(answer, http=TimedProtocol, lifespan="off", log_config=None)
        state = uvicorn.server.ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: TimedProtocol(options, state, {}), "127.0.0.1", 0
        )
        port = server.sockets[0].getsockname()[1]
        texts = [b""], [whole[:20]], [whole, whole[:20]]
        found = await asyncio.gather(*(ends_after(port, *sent) for sent in texts))
        server.close()
        return found

    nothing, part, answered = asyncio.run(run())
    assert nothing == part == b""
    assert answered.startswith(b"HTTP/1.1 200") and answered.endswith(b"ok")


_ARENAS = """
import ctypes, sys, threading
from structkit.cli.serve import share_arenas

if sys.argv[1] == "shared":
    share_arenas()
kept, together = [], threading.Barrier(12)


def allocate():
    kept.append(bytearray(5_000))
    together.wait()


threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fdopen.restype = ctypes.c_void_p
output = ctypes.c_void_p(library.fdopen(1, b"w"))
library.malloc_info(0, output)
library.fflush(output)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the allocator of glibc")
def test_threads_share_arenas() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    arenas = [
        subprocess.run(
            [sys.executable, "-c", _ARENAS, kind],
            env=environment,
            capture_output=True,
            check=True,
            timeout=120,
        ).stdout.count(b"<heap nr=")
        for kind in ("usual", "shared")
    ]
    assert arenas[0] > arenas[1] == 2
