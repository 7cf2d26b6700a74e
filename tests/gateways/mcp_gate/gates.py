"""Gates in processes of their own before the stock server, and what people and the server see of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult
from tests import warm
from tests.runs.world import until

from ringi import Request
from ringi.connect import store_inbox
from ringi.domain import Query
from ringi.inbox.inbox import StoreInbox

RINGI = Path(sys.executable).with_name("ringi")
SERVER = Path(__file__).with_name("everything_server.py")
ALLOW = {"otherwise": "allow", "rules": [{"tools": ["no_tool"]}]}
ASK = {"otherwise": "ask", "rules": [{"tools": ["read"], "effect": "allow"}]}


class Place(NamedTuple):
    """A folder with a policy, a store and the journal of the server."""

    folder: Path

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def policy(self) -> Path:
        return self.folder / "policy.json"

    @property
    def store(self) -> str:
        return f"sqlite:///{self.folder / 'ringi.db'}"

    def rules(self, policy: Any) -> Place:
        """Write the policy, a text as it is."""
        self.policy.write_text(policy if isinstance(policy, str) else json.dumps(policy), encoding="utf-8")
        return self

    def ran(self, tool: str | None = None) -> list[dict[str, Any]]:
        """Return the calls that ran, all or those of one tool."""
        lines = self.journal.read_text(encoding="utf-8").splitlines() if self.journal.exists() else []
        return [line for line in map(json.loads, lines) if tool in (None, line["tool"])]

    @property
    def server(self) -> list[str]:
        """The command of the server."""
        return [*warm.program(str(SERVER), "mcp.server.mcpserver", "uvicorn"), str(self.journal)]

    def gate(
        self, *options: str, command: Sequence[str] | None = None, program: Sequence[str] | None = None
    ) -> list[str]:
        """Return the command of a gate before the server; `program` replaces the fork that starts at once."""
        command = self.server if command is None else command
        end = ["--", *command] if command else []
        ringi = warm.ringi_program("ringi.gateways.mcp_gate.gate") if program is None else program
        return [*ringi, "gate", "--policy", str(self.policy), *options, *end]

    @asynccontextmanager
    async def client(
        self, *options: str, mode: str = "legacy", command: Sequence[str] | None = None, **more: Any
    ) -> AsyncIterator[Client]:
        """Connect the client of the official SDK to a gate, or to another command."""
        line = [*(command or self.gate(*options))]
        env = {**os.environ, "RINGI_URL": self.store, **more.pop("env", {})}
        parameters = StdioServerParameters(command=line[0], args=line[1:], env=env, cwd=self.folder)
        async with Client(parameters, mode=mode, **more) as client:
            yield client

    @asynccontextmanager
    async def inbox(self) -> AsyncIterator[StoreInbox]:
        """Open the store of the gate."""
        async with store_inbox(self.store, poll_interval=0.05) as inbox:
            yield inbox


async def opened(inbox: StoreInbox, number: int = 1) -> list[Request]:
    """Return the open requests once there are so many."""

    async def found() -> list[Request] | None:
        requests = await inbox.search(Query(statuses=("pending",)))
        return requests if len(requests) >= number else None

    return await until(found, f"{number} requests are open")


async def answer(inbox: StoreInbox, decision: Any = "approve", **more: Any) -> Request:
    """Answer the one open request."""
    (request,) = await opened(inbox)
    return await inbox.respond(request, decision, by="ann", **more)


async def has_run(place: Place, tool: str, times: int = 1) -> None:
    """Wait until a tool has run so often."""

    async def found() -> bool:
        return len(place.ran(tool)) >= times

    await until(found, f"{tool} ran {times} times")


def text(result: CallToolResult) -> str:
    """Return the text of a result."""
    (block,) = result.content
    assert block.type == "text"
    return block.text
