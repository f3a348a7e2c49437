"""Servers that exit, restart or cannot be reached."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk
from structkit.mcp import connect
from structkit.mcp.connect import Connection
from structkit.testing import ScriptedModel

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")

from mcp.server import MCPServer

from tests.calls import call
from tests.mcp.servers import COMMAND, agent_of, listening
from tests.ports import free_port


def test_a_server_that_exits_during_a_run() -> None:
    with connect(COMMAND) as server:
        agent = agent_of(server, call("die", code=3), call("add", a=1))
        result = agent.run("Go.")
        assert [each.error for each in result.calls] == ["the server is gone"]
        assert result.steps == 2  # the script has another call, which the language excludes
        with pytest.raises(
            sk.AgentError, match="the server is gone\n  connect again; its last output:\nthe disk is full"
        ):
            agent.run("Go.")
        with pytest.raises(sk.AgentError, match="the server is gone\n  connect again"):
            server.tools()


REFUSING = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    answers = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "a", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
    }
    if request.get("method") in answers:
        answer = {"result": answers[request["method"]]}
    else:
        answer = {"error": {"code": -32000, "message": "no such row"}}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""


def test_a_server_with_an_error_of_its_own_is_not_lost() -> None:
    """JSON-RPC leaves -32000 to servers; the client has the same code for a connection that ended."""
    with connect([sys.executable, "-IS", "-c", REFUSING]) as server:
        result = agent_of(server, call("add"), call("add")).run("Go.")
    assert [each.error for each in result.calls] == ["no such row"] * 2


def test_a_server_behind_a_url_that_exits_during_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["structkit.mcp.connect"], "_RECONNECT_SECONDS", 0.2)
    port = free_port()
    process = listening(port)
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            agent = agent_of(server, call("add", a=1), call("die", code=3), call("add", a=1))
            result = agent.run("Go.")
        assert [each.error for each in result.calls] == [None, "the server is gone"]
        assert result.steps == 3
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_is_forked_is_told_to_connect() -> None:
    """The thread that talks to the server does not run in the child."""
    with connect(COMMAND) as server:
        agent_of(server, call("add", a=1)).run("Go.")
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)  # a call that waits; the machine may be slow
            try:
                with pytest.raises(sk.AgentError, match="forked from\n  connect in this one"):
                    server.tools()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert agent_of(server, call("add", a=1)).run("Go.").calls[0].tool_result == 2


def restarted(process: subprocess.Popen[bytes], port: int) -> subprocess.Popen[bytes]:
    process.kill()
    process.wait()
    return listening(port)


@pytest.mark.long
def test_a_server_behind_a_url_that_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    def patient(seconds: float) -> None:
        monkeypatch.setattr(sys.modules["structkit.mcp.connect"], "_RECONNECT_SECONDS", seconds)

    patient(30.0)
    port = free_port()
    process = listening(port)
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            agent = agent_of(server, *[call("add", a=1)] * 3)
            process = restarted(process, port)  # between two runs
            assert agent_of(server, call("add", a=1)).run("Go.").calls[0].tool_result == 2

            def stop() -> None:
                process.kill()
                process.wait()

            tools = [*server.tools(), stop]
            patient(0.2)
            model = ScriptedModel([call("stop"), call("add", a=1), "Done."], strict=False)
            result = sk.Agent(model, tools=tools).run("Go.")
            assert [each.error for each in result.calls] == [None, "the server is gone"]
            with pytest.raises(sk.AgentError, match="the server is gone\n  connect again"):
                agent.run("Go.")
            process = listening(port)
            patient(30.0)
            assert [each.tool_result for each in agent.run("Go.").calls] == [2, 2, 2]

            patient(0.2)
            model = ScriptedModel([call("stop"), "Done."], strict=False)
            sk.Agent(model, tools=tools).run("Go.")
            with pytest.raises(sk.AgentError, match="the server is gone"):
                server.tools()
            process = listening(port)
            patient(30.0)
            assert "add" in [tool.name for tool in asyncio.run(server.atools())]
        with pytest.raises(sk.AgentError, match="the connection is closed"):
            agent.run("Go.")
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
def test_a_lost_server_does_not_block_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["structkit.mcp.connect"]
    monkeypatch.setattr(module, "_RECONNECT_SECONDS", 0.2)
    port = free_port()
    process = listening(port)
    with connect(f"http://127.0.0.1:{port}/mcp") as server:
        (add,) = server.tools().filter(lambda tool: tool.name == "add")
        process.kill()
        process.wait()
        stop = sk.Agent(ScriptedModel([call("add", a=1), "Done."]), tools=[add])
        stop.run("Go.")  # detects that the server is lost
        monkeypatch.setattr(module, "_RECONNECT_SECONDS", 4.0)
        gaps: list[float] = []

        async def watch() -> None:
            while True:
                started = time.perf_counter()
                await asyncio.sleep(0.01)
                gaps.append(time.perf_counter() - started)

        async def main() -> None:
            watching = asyncio.create_task(watch())
            with pytest.raises(sk.AgentError, match="the server is gone"):
                await stop.arun("Go.")
            watching.cancel()

        asyncio.run(main())
        assert sum(gaps) > 3.5
        assert max(gaps) < 3


@pytest.mark.long
def test_a_server_that_restarts_during_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["structkit.mcp.connect"], "_RECONNECT_SECONDS", 60.0)
    port = free_port()
    started = [listening(port)]

    def watch() -> None:
        started[0].wait()
        started.append(listening(port))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            result = agent_of(server, call("add", a=1), call("die", code=3), call("add", a=4)).run("Go.")
        first, died, last = result.calls
        assert (first.tool_result, last.tool_result) == (2, 5)
        assert "may or may not have been executed; the connection is open again" in (died.error or "")
    finally:
        watching.join()
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("server", "options", "message"),
    [
        ("python server.py", {}, "is not a URL; a command is a list"),
        ([], {}, "a command is a list of strings"),
        ("http://localhost/mcp", {"env": {}}, "env and cwd are for a command"),
        (["python"], {"headers": {}}, "headers are for a URL"),
        (MCPServer("a"), {"env": {}}, "env and cwd are for a command"),
        (3, {}, "3 is not an MCP server; pass a command such as"),
        (None, {}, "None is not an MCP server"),
        (object(), {}, "is not an MCP server"),
        (MCPServer, {}, "is not an MCP server"),
        (Path("server.py"), {}, "write \\['python', 'server.py'\\]"),
        ({"mcpServers": {}}, {}, "connect to each of its servers"),
        ({"command": "python", "args": []}, {}, "write connect\\(\\[command, \\*args\\], env=...\\)"),
        ({"url": "http://localhost/mcp"}, {}, "write connect\\(url, headers=...\\)"),
    ],
)
def test_mismatched_options(server: Any, options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        connect(server, **options)


def test_numbers_out_of_range() -> None:
    with pytest.raises(ValueError, match="timeout"):
        connect(["python"], timeout=0)
    with pytest.raises(ValueError, match="max_characters"):
        connect(["python"], max_characters=0)


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ImportError, match=r'pip install "structkit-llm\[mcp\]"'):
        connect(["python"])


@pytest.mark.parametrize("state", ["connected", "gone"])
@pytest.mark.parametrize("is_async", [False, True])
def test_the_tools_are_read_again_after_a_reconnection(state: str, is_async: bool) -> None:
    """A server that is there is not started again."""
    events: list[str] = []
    listed: Future[list[object]] = Future()
    listed.set_result([])

    def submit(function: object) -> Future[list[object]]:
        events.append("listed")
        return listed

    class Fake(Connection):
        _state = state  # type: ignore[assignment]
        _session = SimpleNamespace(submit=submit)  # type: ignore[assignment]
        _timeout = 20.0

        def _reconnect(self) -> bool:
            events.append("reconnected")
            return True

        def _make_toolset(self, tools: object, strict: bool) -> Any:
            return tools, strict

    server = object.__new__(Fake)
    found: Any = asyncio.run(server.atools(strict=False)) if is_async else server.tools(strict=False)
    assert found == ([], False)
    assert events == (["reconnected", "listed"] if state == "gone" else ["listed"])
