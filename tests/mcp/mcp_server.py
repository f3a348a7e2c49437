"""A tool server that the tests run as a subprocess: `python mcp_server.py`, or with a port for HTTP."""

from __future__ import annotations

import os
import sys
from typing import Annotated

if sys.argv[1:] == ["hang"]:
    sys.stdin.read()
    sys.exit()
if sys.argv[1:] == ["crash"]:
    sys.exit("no such database")

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.types import CallToolResult, EmbeddedResource, ResourceLink, TextResourceContents
from pydantic import BaseModel, Field

server = MCPServer("tests", log_level="CRITICAL")  # a traceback of an error is drawn in a second


class Weather(BaseModel):
    city: str
    celsius: int


@server.tool()
def add(a: int, b: Annotated[int, Field(ge=0, le=9)] = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def weather(city: str) -> Weather:
    """The weather in a city."""
    return Weather(city=city, celsius=18)


@server.tool(name="files/read 2")
def read(self: str, name: str) -> str:
    """Read a file; its parameters have the names of methods."""
    return f"{self}:{name}"


@server.tool()
def fail(why: str) -> str:
    raise ValueError(why)


@server.tool(structured_output=False)
def picture() -> list[object]:
    return ["a chart:", Image(data=b"\x00" * 1000, format="png")]


@server.tool()
def resources() -> CallToolResult:
    text = TextResourceContents(uri="file:///a.txt", text="the text")
    link = ResourceLink(type="resource_link", name="notes", uri="file:///notes")
    return CallToolResult(content=[EmbeddedResource(type="resource", resource=text), link])


@server.tool()
async def slow(seconds: float, note: str) -> str:
    """Sleep; write to the log at the begin, and on cancellation."""
    print(f"begun {note}", file=sys.stderr, flush=True)
    try:
        await anyio.sleep(seconds)
    except BaseException:
        print(f"cancelled {note}", file=sys.stderr, flush=True)
        raise
    return "awake"


@server.tool()
def die(code: int) -> str:
    print("the disk is full", file=sys.stderr, flush=True)
    os._exit(code)


@server.tool()
def environment(name: str) -> str | None:
    return os.environ.get(name)


@server.tool()
async def learn(context: Context) -> str:
    """Add a tool."""

    def learned() -> str:
        return "yes"

    server.add_tool(learned)
    await context.session.send_tool_list_changed()
    return "learned"


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
