"""A real server in a thread, on a free port."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from structkit.models.protocols import LogitsModel
from structkit.testing import ScriptedModel

pytest.importorskip("uvicorn", reason="needs the extra serve")
pytest.importorskip("prometheus_client", reason="needs the extra serve")

import uvicorn

from structkit.serve import ServerConfig, create_app

# A server looks every 0.1 s whether it should end, and waits as long when it ends; hundreds of servers end here.
vars(uvicorn.server)["asyncio"] = SimpleNamespace(
    **{**vars(asyncio), "sleep": lambda seconds: asyncio.sleep(seconds / 20)}
)

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}

PERSON = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}

ANA = [{"role": "user", "content": "Ana is 34."}]


def tool(name: str, **parameters: str) -> dict[str, object]:
    """Return a tool whose parameters have types."""
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in parameters.items()},
        "required": [*parameters],
    }
    return {
        "type": "function",
        "function": {"name": name, "description": f"The {name}.", "parameters": schema},
    }


@dataclass(frozen=True)
class Served:
    """A server that runs, and the clients that are closed before it ends."""

    port: int
    server: uvicorn.Server
    model: LogitsModel
    clients: ExitStack

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def metric(self, name: str) -> float:
        """Return a metric, which the page lists as `name value`.

        One client asks for all of them: making one takes longer than a request, and tests ask until a number is there.
        """
        lines = self.watcher.get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    @cached_property
    def watcher(self) -> httpx2.Client:
        client = httpx2.Client(base_url=self.url)
        self.clients.enter_context(client)
        return client


def client_of(served: Served, key: str = "none", path: str = "/v1") -> Any:
    """Return an official client of a server, which sends no request again, and is closed with the server."""
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{served.url}{path}", api_key=key, max_retries=0)
    return served.clients.enter_context(client)


@contextmanager
def serving(
    model: LogitsModel | Sequence[str], *, shutdown_seconds: int = 1, **config: object
) -> Iterator[Served]:
    """Serve a model, or one that writes given texts."""
    served = ScriptedModel(model) if isinstance(model, Sequence) else model
    config = {"name": "demo", "default_temperature": 0.0, **config}
    found = socket.socket()
    found.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(served, ServerConfig(**config)),  # type: ignore[arg-type]
            log_level="critical",
            timeout_graceful_shutdown=shutdown_seconds,
            ws="none",
            server_header=False,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
    thread.start()
    eventually(lambda: server.started)
    try:
        with ExitStack() as clients:
            yield Served(found.getsockname()[1], server, served, clients)
    finally:
        server.should_exit = True
        thread.join(20)
        found.close()
    assert not thread.is_alive()


def eventually(is_true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until a condition holds, on a slow machine too."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.005)
