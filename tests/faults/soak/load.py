"""What people and agents do to a server, politely and otherwise; each of these leaves it as it was."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

PATIENCE = 20.0
OFTEN = {"answered": 60, "withdrawn": 20, "expired": 20, "given_up": 30, "left": 30, "cut_short": 30}
"""How often each is done in a cycle."""
RUNS = 10
OPERATIONS = sum(OFTEN.values())


def new_id() -> str:
    """Return an id of its own, too long for the 16,384 short texts that pydantic keeps of all that it has read."""
    return uuid.uuid4().hex * 3


class Callers:
    """An agent and a person, each with connections of their own."""

    def __init__(self, address: str, tokens: dict[str, str], clients: dict[str, httpx.AsyncClient]) -> None:
        self._address, self._tokens, self._clients = address, tokens, clients
        self.done: Counter[str] = Counter()

    async def call(self, role: str, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Call until the server says yes; what it cannot do now it is asked again."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    reply = await self._clients[role].request(method, path, json=body)
                except httpx.HTTPError:
                    continue
                if reply.status_code < 500:
                    break
                await asyncio.sleep(0.05)
        assert reply.status_code in (200, 201, 202, 409), reply.text
        answer: dict[str, Any] = reply.json()
        return answer

    async def ask(self, **more: Any) -> dict[str, Any]:
        body = {"id": new_id(), "title": "Refund?", "action": {"name": "refund", "args": {"n": 1}}, **more}
        return await self.call("agent", "POST", "/v1/requests", body)

    async def approve(self, request: dict[str, Any]) -> None:
        answer = {"decision": "approve", "digest": request["digest"]}
        await self.call("person", "POST", f"/v1/requests/{request['id']}/respond", answer)

    async def wait(self, request: dict[str, Any]) -> str:
        while True:
            seen = await self.call("agent", "GET", f"/v1/requests/{request['id']}?wait=5")
            if seen["status"] != "pending":
                return str(seen["status"])

    async def answered(self) -> None:
        request = await self.ask()
        waiting = asyncio.create_task(self.wait(request))
        await self.approve(request)
        assert await waiting == "completed"

    async def withdrawn(self) -> None:
        await self.withdraw(await self.ask())

    async def expired(self) -> None:
        assert await self.wait(await self.ask(expires_in=0.05)) == "expired"

    async def given_up(self) -> None:
        """Hang up in the middle of a long poll."""
        request = await self.ask()
        async with self._rude("GET", f"/v1/requests/{request['id']}?wait=25"):
            await self.call("agent", "GET", f"/v1/requests/{request['id']}")
        await self.withdraw(request)

    async def withdraw(self, request: dict[str, Any]) -> None:
        await self.call("agent", "POST", f"/v1/requests/{request['id']}/cancel")

    async def left(self) -> None:
        """Hang up in the middle of a stream's history."""
        async with self._rude("GET", "/v1/events?after=0") as reader:
            await reader.readuntil(b"retry:")

    async def cut_short(self) -> None:
        """Hang up in the middle of a body."""
        async with self._rude("POST", "/v1/requests", "content-type: application/json\r\ncontent-length: 100\r\n"):
            await self.call("agent", "GET", "/v1/agents")

    async def ran(self) -> None:
        """Run an agent to its end, with a reader of its output that hangs up."""
        id = new_id()
        body = {"agent": "refund", "input": {"order": 1182, "amount": 40}}
        await self.call("person", "POST", f"/v1/threads/{id}/runs", body)
        async with self._rude("GET", f"/v1/threads/{id}/stream") as reader:
            await reader.readuntil(b"retry:")
            for request in (await self._until(id, "interrupted"))["pending"]:
                await self.approve(request)
        await self._until(id, "done")

    async def _until(self, id: str, status: str) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while (thread := await self.call("person", "GET", f"/v1/threads/{id}"))["status"] != status:
                await asyncio.sleep(0.05)
        return thread

    @asynccontextmanager
    async def _rude(self, method: str, path: str, more: str = "") -> AsyncIterator[asyncio.StreamReader]:
        """Begin a call, and hang up without a word at the end of the block."""
        to = urlsplit(self._address)
        reader, writer = await asyncio.open_connection(to.hostname, to.port)
        own = f"host: {to.netloc}\r\nauthorization: Bearer {self._tokens['person']}\r\n{more}\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\n{own}".encode() + (b'{"title"' if more else b""))
        try:
            yield reader
        finally:
            writer.transport.abort()

    async def fill_pools(self) -> None:
        """Look at as many things at once as would need every connection that there is."""
        await asyncio.gather(*(self.call("person", "GET", "/v1/requests?limit=1") for _ in range(60)))


@asynccontextmanager
async def callers(address: str, tokens: dict[str, str]) -> AsyncIterator[Callers]:
    """Give callers whose connections end with the block."""
    limits = httpx.Limits(max_connections=60, max_keepalive_connections=60)
    clients = {
        role: httpx.AsyncClient(
            base_url=address,
            headers={"authorization": f"Bearer {tokens[role]}"},
            timeout=PATIENCE,
            limits=limits,
            trust_env=False,
        )
        for role in ("agent", "person")
    }
    try:
        yield Callers(address, tokens, clients)
    finally:
        for client in clients.values():
            await client.aclose()


async def cycle(address: str, tokens: dict[str, str], cut: Callable[[], Awaitable[None]] | None) -> None:
    """Do everything as often as in every cycle; cut the store's connections in the midst, or else run agents too."""
    turns = iter(random.Random(33).sample(list(OFTEN), OPERATIONS, counts=list(OFTEN.values())))
    async with callers(address, tokens) as who:

        async def one() -> None:
            for name in turns:
                await getattr(who, name)()
                who.done[name] += 1
                if cut and who.done.total() == OPERATIONS // 2:
                    await cut()

        # A run that a cut takes the lease from waits for the lease's end, longer than all else takes together.
        await asyncio.gather(*(who.ran() for _ in range(0 if cut else RUNS)))
        await asyncio.gather(*(one() for _ in range(10)))
        await who.fill_pools()
    assert who.done == OFTEN
