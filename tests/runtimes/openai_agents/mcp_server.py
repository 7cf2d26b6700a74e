"""A stock MCP server with one tool; it adds what has run to the file that its argument names."""

from __future__ import annotations

import sys
from pathlib import Path

try:
    from mcp.server import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("shop")


@server.tool()
def refund(order: int, amount: int) -> str:
    """Refund an order."""
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(f"refund {order} {amount}\n")
    return "refunded"


if __name__ == "__main__":
    server.run()
