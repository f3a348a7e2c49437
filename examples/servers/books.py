"""A bookshop as an MCP server: `python examples/servers/books.py`."""

from mcp.server import MCPServer

server = MCPServer("bookshop", log_level="WARNING")
stock = {"The Silent River": 3, "Salt": 0}


@server.tool()
def count(title: str) -> int:
    """How many copies of a book there are."""
    return stock[title]


if __name__ == "__main__":
    server.run("stdio")
