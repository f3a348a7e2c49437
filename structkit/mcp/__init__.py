"""Tools of MCP servers for agents.

```text
with sk.mcp.connect(["python", "server.py"]) as server:
    agent = sk.Agent(model, tools=server.tools())
```
"""

from __future__ import annotations

from structkit.mcp.connect import Connection, connect

__all__ = ["Connection", "connect"]
