"""The command that serves MCP clients over stdin and stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ringi.base.settings import SettingError
from ringi.cli.commands.upkeep import server_address
from ringi.cli.options import Asks
from ringi.cli.session import run_on_event_loop
from ringi.errors import RingiError


def mcp(url: Asks = None) -> None:
    """Serve one MCP client over stdin and stdout: its model can ask people and wait for them.

    The client starts this command. Over HTTP, `ringi serve` offers the same tools under `/mcp`.
    """
    page = None
    with divert_stdout():
        from ringi.gateways.mcp.server import mcp_process_server

        with suppress(SettingError):
            page = server_address()
        server = mcp_process_server(url, page)
    run_on_event_loop(serve_mcp_stdio(server))


async def serve_mcp_stdio(server: Any) -> None:
    """Serve until the client closes its end; the SDK keeps the standard output free for the protocol."""
    try:
        await server.run_stdio_async()
    except* RingiError as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


@contextmanager
def divert_stdout() -> Iterator[None]:
    """Send what is printed to stderr, at the level of the file: on stdout the client expects the protocol only."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)
