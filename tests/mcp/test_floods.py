"""MCP servers that send without end: the call fails, and little is kept in memory."""

from __future__ import annotations

import asyncio
import codecs
import gzip
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest

import structkit as sk
from structkit.mcp import bounds, connect

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")

from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult, Tool

MAX = 1 << 16
"""The bound of these tests, in bytes."""

VALUES = 100
"""The bound of these tests, in values."""

FLOOD = """
import sys
sys.stdin.readline()
while True:
    sys.stdout.write("x" * 1000)
"""


PARTS = {
    "a reply": b" " * 4_000 + b"\n\n",
    "a reply with a parameter": b" " * 4_000 + b"\n\n",
    "events": b": " + b"x" * 4_000 + b"\n\n",
    "a reply of values": b"{}," * 4_000,
    "a compressed reply": gzip.compress(b" " * 1_000_000),
    "compressed events": gzip.compress((b": " + b"x" * 4_000 + b"\n\n") * 250),
}

TYPES = {
    "events": "text/event-stream",
    "compressed events": "text/event-stream",
    "a reply with a parameter": "application/json; charset=event-stream",
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_MESSAGE", MAX)
    monkeypatch.setattr(bounds, "MAX_VALUES", VALUES)


def _decoded(*parts: bytes) -> str:
    decoder = codecs.getincrementaldecoder(bounds.bounded_lines())()
    return "".join(decoder.decode(part) for part in parts)


def test_a_line_is_cut_and_lines_are_not_counted_together() -> None:
    line = b"x" * (MAX - 1) + b"\n"
    assert _decoded(*[line] * 5, b"y" * MAX) == "".join([line.decode()] * 5) + "y" * MAX
    assert _decoded("é".encode()[:1], "é".encode()[1:]) == "é"
    for parts in ([b"x" * (MAX + 1)], [b"x" * MAX, b"x"], [b"x"] * (MAX + 1), [b"x" * MAX * 3]):
        assert _decoded(*parts, b"x" * MAX, b"\nabc") == "x" * MAX + "\nabc"
    assert (
        _decoded(b"a\n" + b"x" * (MAX + 9) + b"\nb" + b"y" * MAX + b"\n")
        == f"a\n{'x' * MAX}\nb{'y' * (MAX - 1)}\n"
    )
    assert _decoded(b"x" * (MAX - 1) + "é".encode() + b"\nz") == "x" * (MAX - 1) + "\ufffd\nz"


NESTED = [
    "[" + ",".join(["{}"] * (VALUES // 2)) + "]",
    "[" * VALUES,
    '{"a":1' + ',"a":1' * (VALUES - 1) + "}",
    "[" + ",".join([r'"\\"'] * VALUES) + "]",
]
"""Texts of about `VALUES` values by their commas and brackets."""


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize("text", NESTED)
def test_values_are_counted_where_they_are_made(text: str, size: int) -> None:
    """A message of tiny objects takes a hundred times its length as objects of Python."""
    strings = json.dumps('[{,"\\"' * VALUES) + json.dumps("\\")
    for data, is_cut in (
        (text, False),
        (text + ",", True),
        (strings + text, False),
        (strings + text + "[", True),
    ):
        parts = [data[at : at + size].encode() for at in range(0, len(data), size)]
        decoded = _decoded(*parts, b"\nabc")
        assert (len(decoded) < len(data) + 4) is is_cut
        assert decoded.endswith("\nabc")


def test_a_decoder_that_is_reset_begins_a_line() -> None:
    decoder = codecs.getincrementaldecoder(bounds.bounded_lines())()
    decoder.decode(b"x" * MAX + "é".encode()[:1])
    decoder.reset()
    assert decoder.decode(b"y" * (MAX + 1)) == "y" * MAX


@pytest.mark.long
def test_a_process_that_sends_a_line_without_end() -> None:
    command = [sys.executable, "-c", FLOOD]
    with pytest.raises(sk.AgentError, match="did not answer within 1 seconds"), connect(command, timeout=1):
        pass


class Flooding(BaseHTTPRequestHandler):
    """Answers each request without end."""

    kind = ""
    sent = 0

    def do_POST(self) -> None:
        kind = type(self).kind
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", TYPES.get(kind, "application/json"))
        if "compressed" in kind:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        part = PARTS[kind]
        try:
            while type(self).sent < 2_000 * MAX:
                type(self).sent += self.wfile.write(part)
        except OSError:
            pass  # the client closed the connection
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _flooding(flood: str) -> Iterator[tuple[str, type[Flooding]]]:
    class Handler(Flooding):
        kind = flood

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", Handler
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("a reply", "a reply of more than 65,536 bytes"),
        ("a reply with a parameter", "a reply of more than 65,536 bytes"),
        ("a reply of values", "a reply of more than 100 values"),
        ("a compressed reply", "a reply that is compressed without need"),
        ("compressed events", "ended without a response"),
    ],
)
def test_a_url_that_sends_a_message_without_end(kind: str, said: str) -> None:
    with _flooding(kind) as (url, handler):
        with pytest.raises(sk.AgentError, match=said), connect(url, timeout=60):
            pass
        assert handler.sent < 2_000 * MAX, "the connection is closed"


def test_events_that_mean_nothing_end_with_the_timeout() -> None:
    """A stream may be as long as a connection lasts, so only the length of one event is bounded."""
    with _flooding("events") as (url, _), pytest.raises(sk.AgentError), connect(url, timeout=1):
        pass


def test_a_long_description_is_truncated() -> None:
    async def listed(context: object, params: object) -> ListToolsResult:
        tool = Tool(name="a", description="x" * 30_000, input_schema={"type": "object"})
        return ListToolsResult(tools=[tool])

    with connect(cast("Any", Server("long", on_list_tools=listed)), max_characters=1_000) as server:
        [tool] = server.tools()
    assert tool.description == "x" * 1_000 + " ... (29000 more characters)"


def test_a_result_is_not_matched_with_a_pattern_of_the_server() -> None:
    """The regexes of Python need years for this pattern and a longer result, without releasing the interpreter."""
    pattern = {"type": "string", "pattern": "^(a+)+$"}
    tool = Tool(
        name="a",
        input_schema={"type": "object"},
        output_schema={"type": "object", "properties": {"x": pattern}},
    )

    async def listed(context: object, params: object) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def called(context: object, params: object) -> CallToolResult:
        return CallToolResult(content=[], structured_content={"x": "aab"})

    server = Server("slow", on_list_tools=listed, on_call_tool=called)
    with connect(cast("Any", server)) as connection:
        [listed_tool] = connection.tools()
        assert asyncio.run(cast("Any", listed_tool.function)()) == {"x": "aab"}
