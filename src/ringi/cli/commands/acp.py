"""The command `acp`: a proxy between an editor and its agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringi.cli.options import Asks
from ringi.cli.session import run_on_event_loop


def acp(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="The command of the agent.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="The policy; tools are the kinds of calls, such as `execute`. By default it asks."),
    ] = None,
    url: Asks = None,
) -> None:
    """Stand between an editor and its agent, which speak the Agent Client Protocol.

    The agent's requests for permission and its forms are answered in the inbox; everything else passes unchanged.
    """
    from ringi.gateways.acp.proxy import ASK, serve_acp_proxy
    from ringi.policy.rules import PolicyFile

    file = PolicyFile(policy).policy if policy else lambda: ASK
    file()
    raise typer.Exit(run_on_event_loop(serve_acp_proxy(command, file, url)))
