"""A hook as a client runs it: a process that gets one event, and prints one reply."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests import warm
from tests.runs.world import until

from ringi import Request
from ringi.connect import store_inbox
from ringi.domain import Query
from ringi.inbox.inbox import StoreInbox

SESSION = "5f1c"


class Reply(NamedTuple):
    """What a hook did."""

    code: int
    output: dict[str, Any] | None
    """The JSON on standard output; None if there is nothing."""
    errors: str

    @property
    def specific(self) -> dict[str, Any]:
        """The part that is specific to the event."""
        assert (self.code, self.output is None) == (0, False), self
        assert self.output
        found = dict(self.output["hookSpecificOutput"])
        found.pop("hookEventName")
        return found


class Hooks:
    """An inbox, and the processes of hooks that ask in it."""

    def __init__(self, inbox: StoreInbox, folder: Path) -> None:
        self.inbox, self.folder = inbox, folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("RINGI_", "CLAUDE_"))},
            "RINGI_URL": f"sqlite:///{folder / 'ringi.db'}",
        }

    def event(self, name: str, tool: str, args: object, call: str, **more: Any) -> dict[str, Any]:
        """Return an event as the clients write it."""
        return {
            **{"session_id": SESSION, "transcript_path": "/t.jsonl", "cwd": str(self.folder), "hook_event_name": name},
            **{"permission_mode": "default", "prompt_id": "p1", "tool_name": tool, "tool_input": args},
            **({"tool_use_id": call} if name != "PermissionRequest" else {}),
            **more,
        }

    async def start(self, client: str, event: dict[str, Any] | bytes, *options: str) -> asyncio.subprocess.Process:
        """Start a hook, and write the event to it."""
        arguments = [*warm.ringi_program("ringi.gateways.hooks.process"), "hook", client, *options]
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=self.environment, cwd=self.folder
        )
        assert process.stdin
        process.stdin.write(event if isinstance(event, bytes) else json.dumps(event).encode())
        process.stdin.close()
        return process

    async def run(self, client: str, event: dict[str, Any] | bytes, *options: str) -> Reply:
        """Run a hook until it ends."""
        return await ended(await self.start(client, event, *options))

    async def decided(self, client: str, event: dict[str, Any], decision: Any, *options: str, **answer: Any) -> Reply:
        """Run a hook, and answer its request."""
        process = await self.start(client, event, *options)
        await self.respond(decision, **answer)
        return await ended(process)

    async def respond(self, decision: Any, **answer: Any) -> Request:
        """Answer the open request."""
        request = await self.opened()
        return await self.inbox.respond(request, decision, by="ann", **answer)

    async def opened(self) -> Request:
        """Return the open request."""
        return await until(self._pending, "a request is open")

    async def _pending(self) -> Request | None:
        return next(iter(await self.inbox.search(Query(statuses=("pending",)))), None)

    async def count(self) -> int:
        """Return the number of all requests."""
        return await self.inbox.count(Query())


async def ended(process: asyncio.subprocess.Process) -> Reply:
    """Return what a hook did."""
    output, errors = await asyncio.wait_for(process.communicate(), 60)
    return Reply(process.returncode or 0, json.loads(output) if output else None, errors.decode())


@pytest.fixture
async def hooks(tmp_path: Path) -> AsyncIterator[Hooks]:
    """Hooks and their inbox."""
    async with store_inbox(f"sqlite:///{tmp_path / 'ringi.db'}", poll_interval=0.05) as inbox:
        yield Hooks(inbox, tmp_path)
