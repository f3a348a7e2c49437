"""`structkit serve` as a process that is told to end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.ports import free_port
from tests.serve.running import ANA, eventually

pytest.importorskip("transformers", reason="needs transformers")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

CHAT = "/v1/chat/completions"


@contextmanager
def started(log: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start the command, and yield its process and its address."""
    port = free_port()
    command = [sys.executable, "-m", "structkit", "serve", "--port", str(port), "--name", "demo", *options]
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: process.poll() is not None or listens(port), 240)
        assert process.poll() is None, log.read_text()
        assert httpx2.get(f"{url}/health", timeout=60).status_code == 200
        yield process, url
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def body(length: int, **more: object) -> dict[str, object]:
    target = {"regex": f"[a-z]{{{length}}}"}
    return {
        "model": "demo",
        "messages": ANA,
        "max_tokens": 900,
        "structured_outputs": target,
        "temperature": 0,
        **more,
    }


def is_running(client: httpx2.Client, count: int) -> bool:
    lines = client.get("/metrics").text.splitlines()
    return f"structkit_answers_running {count}.0" in lines


@pytest.mark.long
def test_answers_in_progress_are_completed_and_the_status_is_0(tmp_path: Path) -> None:
    with started(tmp_path / "log") as (process, url):
        httpx2.post(f"{url}{CHAT}", json=body(150), timeout=120)  # the later ones take no time to compile
        found: list[httpx2.Response] = []

        def send(stream: bool) -> None:
            found.append(httpx2.post(f"{url}{CHAT}", json=body(150, stream=stream), timeout=120))

        threads = [threading.Thread(target=send, args=(stream,)) for stream in (False, True)]
        for thread in threads:
            thread.start()
        with httpx2.Client(base_url=url, timeout=30) as client:
            eventually(lambda: is_running(client, 2), 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "log").read_text()
        for thread in threads:
            thread.join(30)
    assert [response.status_code for response in found] == [200, 200]
    whole = next(each for each in found if each.headers["content-type"] == "application/json")
    assert len(whole.json()["choices"][0]["message"]["content"]) == 150
    streamed = next(each for each in found if each is not whole)
    assert streamed.text.endswith("data: [DONE]\n\n")


@pytest.mark.long
def test_answers_that_take_longer_are_given_up(tmp_path: Path) -> None:
    options = ("--max-tokens", "100000", "--shutdown-timeout", "1")
    with (
        started(tmp_path / "log", *options) as (process, url),
        httpx2.stream("POST", f"{url}{CHAT}", json=body(900, stream=True), timeout=120) as response,
    ):
        assert response.status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "log").read_text()  # 100,000 tokens take longer


@pytest.mark.long
def test_a_server_without_requests_ends_at_once(tmp_path: Path) -> None:
    with started(tmp_path / "log") as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, (tmp_path / "log").read_text()
    assert b"Traceback" not in (tmp_path / "log").read_bytes()
