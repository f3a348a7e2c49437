"""Servers of MCP in processes, and agents with their tools."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import structkit as sk
from structkit.mcp import Connection
from structkit.testing import ScriptedModel

COMMAND = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]


def listening(port: int) -> subprocess.Popen[bytes]:
    """A server that listens on a port."""
    process = subprocess.Popen([*COMMAND, str(port)], stderr=subprocess.DEVNULL)
    for _ in range(1_200):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    process.kill()
    raise TimeoutError("the server does not listen")


def agent_of(server: Connection, *texts: str, **changes: Any) -> sk.Agent[str]:
    """An agent with a script that it prefers, and options for each tool."""
    tools = [replace(tool, **changes) for tool in server.tools()]
    return sk.Agent(ScriptedModel([*texts, "Done."], strict=False), tools=tools, max_steps=len(texts) + 2)
