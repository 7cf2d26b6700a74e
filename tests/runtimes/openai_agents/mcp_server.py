"""A stock MCP server with one tool; it adds what has run to the file that its argument names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mcp.server

# Version 1 of the SDK has the server in another module, under another name.
SERVERS: Any = mcp.server
if not hasattr(SERVERS, "MCPServer"):
    import mcp.server.fastmcp

server = SERVERS.MCPServer("shop") if hasattr(SERVERS, "MCPServer") else SERVERS.fastmcp.FastMCP("shop")


@server.tool()
def refund(order: int, amount: int) -> str:
    """Refund an order."""
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(f"refund {order} {amount}\n")
    return "refunded"


if __name__ == "__main__":
    server.run()
