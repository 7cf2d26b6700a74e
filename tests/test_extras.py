"""Without an extra, an error names the extra to install, and the rest works."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ringi.base.extras import EXTRAS
from ringi.cli import EXTRAS_OF

ROOT = Path(__file__).parent.parent

BLOCK = """
import sys
for name in {names!r}:
    sys.modules[name] = None
"""
COMMAND = """
sys.argv = ["ringi", *{arguments!r}]
from ringi.cli import main
main()
"""
CORE = """
import asyncio, ringi
from ringi import Action, Agent, Form, Policy, Request, errors, sync
from ringi.client.client import Client

async def main():
    async with ringi.open("sqlite:///core.db") as inbox:
        request = await inbox.ask("Refund 40?", action=Action("refund", {{"amount": 40}}))
        await inbox.cancel(request.id, by="ann")
        print((await inbox.get(request.id)).status)

asyncio.run(main())
try:
    {other}
except errors.RingiError as error:
    print(error)
"""


def without(extras: tuple[str, ...], script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script where the libraries of these extras are not installed."""
    code = BLOCK.format(names=[name for extra in extras for name in EXTRAS[extra]]) + script
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, cwd=folder
    )


@pytest.mark.parametrize(
    ("other", "what", "extra"),
    [
        ("ringi.Approval", "ringi.Approval", "langgraph"),
        ("from ringi.server import create_app", "ringi.server.create_app", "server"),
        ("from ringi.delivery.signing import _webhook; _webhook('whsec_aaaa')", "signing deliveries", "server"),
        ("asyncio.run(ringi.open('redis://x').__aenter__())", "Redis", "redis"),
        ("asyncio.run(ringi.open('postgresql://x').__aenter__())", "PostgreSQL", "postgres"),
    ],
)
def test_an_inbox_works_without_extras_and_other_parts_name_theirs(
    tmp_path: Path, other: str, what: str, extra: str
) -> None:
    done = without(tuple(EXTRAS), CORE.format(other=other), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"cancelled\n{what} needs an extra: pip install 'ringi[{extra}]'\n"


@pytest.mark.parametrize(
    ("lacking", "arguments", "what", "extra"),
    [
        (("terminal",), ["list"], "the command", "terminal"),
        (("server",), ["serve"], "`ringi serve`", "server"),
        (("server",), ["token", "create", "--role", "agent", "--name", "bot"], "`ringi token`", "server"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(
    tmp_path: Path, lacking: tuple[str, ...], arguments: list[str], what: str, extra: str
) -> None:
    done = without(lacking, COMMAND.format(arguments=arguments), tmp_path)
    assert (done.returncode, done.stderr) == (1, f"error: {what} needs an extra: pip install 'ringi[{extra}]'\n")


def test_the_terminal_asks_without_the_server(tmp_path: Path) -> None:
    done = without(
        ("server", "langgraph", "postgres", "redis", "oidc"), COMMAND.format(arguments=["ask", "x"]), tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("command", "extras"), EXTRAS_OF.items())
def test_what_a_bare_installation_is_told_to_install_has_the_command_line_too(command: str, extras: str) -> None:
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    brought = {re.split(r"[\[><=]", needed)[0] for extra in extras.split(",") for needed in optional[extra]}
    assert {"rich", "typer"} <= brought, command
