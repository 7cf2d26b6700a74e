"""Serves several MCP servers as one over stdio; a process of its own, which the gate starts like any other server."""

from __future__ import annotations

import json
import os

CONFIG = "MCP_GATE_SERVERS"
"""The variable with the servers, in the form of `mcpServers`; a command line would show their secrets."""


def main() -> None:
    """Serve the servers until the gate closes its end."""
    from fastmcp.server import create_proxy

    create_proxy(json.loads(os.environ.pop(CONFIG))).run("stdio", show_banner=False)


if __name__ == "__main__":
    main()
