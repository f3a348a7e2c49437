"""Connections to a server of MCP in a process, by standard input and by HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from structkit.mcp import Connection, connect
from tests.mcp.servers import COMMAND, listening
from tests.ports import free_port


@pytest.fixture(scope="module")
def stdio() -> Iterator[Connection]:
    with connect(COMMAND, env={"TOKEN": "abc"}) as server:
        yield server


@pytest.fixture(scope="module")
def http() -> Iterator[Connection]:
    port = free_port()
    process = listening(port)
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            yield server
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> Connection:
    return cast("Connection", request.getfixturevalue(request.param))
