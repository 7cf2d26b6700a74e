"""A whole server in this process, and callers of every kind."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from ringi import demo
from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.delivery.deliveries import Deliveries
from ringi.delivery.settings import DeliverySettings
from ringi.domain.ask import Ask
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.people import NamedPerson
from ringi.protocols.agui import EXTENSION as AGUI
from ringi.protocols.hitl import EXTENSION as HITL
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.worker import Worker
from ringi.server import Keys, ServerComponents, ServerSettings
from ringi.server.app import App
from ringi.server.connections import UvicornServer, uvicorn_config
from ringi.server.extension import Extension
from ringi_apps.assistant.routes import EXTENSION as ASSISTANTS
from ringi_apps.engrammer.routes import EXTENSION as ENGRAMMERS

SAMPLES = functools.cache(demo.agents)
SECRET = "a secret of these tests, long enough"
LIMIT = 30.0


@dataclass
class World:
    """An app on open parts."""

    backend: Backend
    inbox: StoreInbox
    runner: Worker
    keys: Keys
    app: App
    url: str = "http://localhost"
    clients: list[httpx.AsyncClient] = field(default_factory=list)
    settings: ServerSettings = field(default_factory=ServerSettings)

    def token(self, role: str, name: str, tenant: str = "default", groups: tuple[str, ...] = ()) -> str:
        if role in ("person", "admin"):  # As `ringi token create` does in the store.
            self.inbox.known_people.named.append(NamedPerson(tenant, name, groups))
        return self.keys.mint(role=role, name=name, tenant=tenant, groups=groups)

    def client(
        self, role: str = "person", name: str = "ann", tenant: str = "default", groups: tuple[str, ...] = ()
    ) -> httpx.AsyncClient:
        return self.stranger(authorization=f"Bearer {self.token(role, name, tenant, groups)}")

    def proxied(self, role: str, name: str, groups: tuple[str, ...] = ()) -> httpx.AsyncClient:
        """Return a person for whom a trusted proxy vouches."""
        headers = {"x-forwarded-user": name, "x-forwarded-groups": ",".join((*groups, role)), "origin": self.url}
        return self.stranger(**headers)

    def stranger(self, **headers: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app) if self.url == "http://localhost" else None
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        client = httpx.AsyncClient(
            transport=transport, base_url=self.url, headers=headers, timeout=LIMIT, trust_env=False, limits=limits
        )
        self.clients.append(client)
        return client

    async def asked(self, by: str = "agent:bot", tenant: str = "default", **more: Any) -> Request:
        return await self.inbox.for_tenant(tenant).submit(Ask.parse({"title": "Go?", **more}), by=by)


@contextlib.asynccontextmanager
async def open_world(
    url: str,
    *,
    serves: bool = False,
    delivery: DeliverySettings | None = None,
    extensions: Sequence[Extension] = (ASSISTANTS, ENGRAMMERS),
    more_agents: Iterable[Agent] = (),
    **settings: Any,
) -> AsyncIterator[World]:
    """Open a world with the sample agents, but for those whose name one more has; with `serves`, on a real port."""
    async with open_backend(url, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        more = list(more_agents)
        samples = [agent for agent in SAMPLES() if agent.name not in {each.name for each in more}]
        runner, keys = Worker(backend, inbox, agents_by_name([*samples, *more])), Keys(SECRET)
        deliveries, allowed = Deliveries(backend, inbox, delivery or DeliverySettings()), ServerSettings(**settings)
        app = App(ServerComponents(backend, inbox, runner, keys, allowed, deliveries), [AGUI, HITL, *extensions])
        world, stop = World(backend, inbox, runner, keys, app, settings=allowed), asyncio.Event()
        working = asyncio.gather(runner.work(stop), deliveries.work(stop))
        try:
            async with served(world) if serves else contextlib.nullcontext():
                yield world
        finally:
            for client in world.clients:
                await client.aclose()
            await app.close()
            stop.set()
            await working


@contextlib.asynccontextmanager
async def served(world: World) -> AsyncIterator[UvicornServer]:
    """Serve a world on a free port."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        config = uvicorn_config(world.app, world.settings, log_level="error", timeout_graceful_shutdown=5)
        server = UvicornServer(config, world.app)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        world.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        serving = asyncio.create_task(server._serve([listener]))
        try:
            await until(lambda: server.started)
            yield server
        finally:
            for client in world.clients:
                await client.aclose()
            server.should_exit = True
            async with asyncio.timeout(LIMIT):
                await serving


async def until(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until a condition holds, or fail."""
    async with asyncio.timeout(LIMIT):
        while not await is_true(holds()):  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # noqa: TID251


async def is_true(holds: bool | Awaitable[bool]) -> bool:
    return holds if isinstance(holds, bool) else await holds


@dataclass
class Sent:
    """One server-sent event."""

    id: str
    name: str
    data: Any


class Listener:
    """An open stream of events."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.last_id: str | None = None
        self._lines = response.aiter_lines()

    async def next(self) -> Sent:
        """Return the next event that has data."""
        name, data = "message", ""
        async with asyncio.timeout(LIMIT):
            async for line in self._lines:
                key, _, value = line.partition(": ")
                if key == "id":
                    self.last_id = value
                elif key == "event":
                    name = value
                elif key == "data":
                    data = value
                elif not line and data:
                    if name != "heartbeat":
                        return Sent(self.last_id or "", name, json.loads(data))
                    name, data = "message", ""
        raise EOFError

    async def take(self, count: int) -> list[Sent]:
        return [await self.next() for _ in range(count)]

    async def placed(self) -> None:
        """Wait until the stream has told where it begins."""
        async with asyncio.timeout(LIMIT):
            async for line in self._lines:
                if line.startswith("id:"):
                    self.last_id = line.partition(": ")[2]
                elif not line and self.last_id is not None:
                    return


@contextlib.asynccontextmanager
async def listening(client: httpx.AsyncClient, path: str, **headers: str) -> AsyncIterator[Listener]:
    """Open a stream."""
    async with client.stream("GET", path, headers=headers) as response:
        if response.status_code != 200:
            await response.aread()
            raise AssertionError((response.status_code, response.text))
        yield Listener(response)


async def is_at_rest(world: World) -> bool:
    """Whether nothing runs, nor will by itself."""
    store = world.backend.store
    # In this order: what is taken up meanwhile shows as running.
    if await store.count(Request, Query(unacknowledged=True)):
        return False
    return not await store.find(Thread, Query(statuses=("running",), limit=1))
