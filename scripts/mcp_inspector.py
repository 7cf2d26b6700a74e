"""The MCP server before the command line of MCP Inspector, over stdio and HTTP, in both eras of the protocol.

`python -m scripts.mcp_inspector FOLDER` installs the Inspector from npm into the folder, starts `ringi serve` there,
and prints one line for each check. It needs Node.js and npm. It exits with 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ringi import sync

VERSION = "2.12.0"
RINGI = str(Path(sys.executable).with_name("ringi"))
ERAS = ("legacy", "modern")


class Inspector:
    """MCP Inspector on one server.

    Args:
        folder: The folder in which it is installed.
        target: The arguments that name the server.
        era: The era of the protocol.
    """

    def __init__(self, folder: Path, target: list[str], era: str) -> None:
        self._folder, self._target, self._era = folder, target, era

    def run(self, method: str, *options: str) -> dict[str, Any]:
        """Return the result of a method; raise `CalledProcessError` if the Inspector fails."""
        command = ["npx", "--no-install", "mcp-inspector", "--cli", "--protocol-era", self._era, "--format", "json"]
        environment = os.environ | {"HOME": str(self._folder)}
        done = subprocess.run(
            [*command, "--method", method, *options, *self._target],
            cwd=self._folder, env=environment, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        reply = json.loads(done.stdout)
        found: dict[str, Any] = reply.get("result", reply)
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured output of a tool."""
        options = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        found: dict[str, Any] = self.run("tools/call", *options)["structuredContent"]
        return found


@contextmanager
def served(home: Path) -> Iterator[dict[str, str]]:
    """Serve an inbox; return the address and the tokens of the server."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}
    command = [RINGI, "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, env=environment | {"RINGI_HOME": str(home)}, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            yield json.loads((home / "tokens.json").read_text())
        finally:
            process.terminate()


def check(inspector: Inspector, person: sync.BlockingInbox) -> Iterator[tuple[str, bool]]:
    """Yield what was checked, and whether it holds."""
    tools = inspector.run("tools/list", "--strict")["tools"]
    yield "lists four tools without a problem of portability", len(tools) == 4
    asked = inspector.call("ask_human", title="Which colour?", options=["Blue", "Red"])
    yield "asks", asked["status"] == "pending"
    request = person.get(asked["id"])
    person.respond(request, "approve", {"answer": "Blue"})
    ended = inspector.call("get_request", id=asked["id"])
    yield "gets the answer", ended["data"] == {"answer": "Blue"}
    call = {"title": "Refund?", "action": "refund", "args": {"amount": 40}}
    asked = inspector.call("request_approval", **call)
    request = person.get(asked["id"])
    person.respond(request, "edit", args={"amount": 20})
    ended = inspector.call("get_request", id=asked["id"])
    yield "gets the edited arguments", (ended["approved"], ended["args"]) == (True, {"amount": 20})
    asked = inspector.call("request_approval", **call)
    yield "does not wait beyond its time", inspector.call("get_request", id=asked["id"], wait=0.1)["approved"] is False
    read = inspector.run("resources/read", "--uri", f"ringi://requests/{asked['id']}")["contents"][0]
    yield "reads its request as a resource", json.loads(read["text"])["status"] == "pending"
    yield "lists its requests", asked["id"] in json.dumps(inspector.run("resources/list"))
    yield "cancels", inspector.call("cancel_request", id=asked["id"])["status"] == "cancelled"


def targets(server: dict[str, str]) -> dict[str, list[str]]:
    """Return the arguments that name the server, by transport."""
    settings = [f"RINGI_URL={server['url']}", f"RINGI_TOKEN={server['agent']}"]
    return {
        "stdio": [*(part for each in settings for part in ("-e", each)), RINGI, "mcp"],
        "http": ["--server-url", f"{server['url']}/mcp", "--header", f"Authorization: Bearer {server['agent']}"],
    }


def main(folder: Path, write: Callable[[str], object] = print) -> int:
    """Run all checks; return 1 if one fails."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    package = f"@modelcontextprotocol/inspector@{VERSION}"
    subprocess.run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", package], check=True)
    failed = 0
    with served(folder / "home") as server, sync.open(server["url"], token=server["person"]) as person:
        for transport, target in targets(server).items():
            for era in ERAS:
                for what, holds in check(Inspector(folder, target, era), person):
                    write(f"{'ok  ' if holds else 'FAIL'} {transport:5} {era:6} {what}")
                    failed += not holds
    write(f"{failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
