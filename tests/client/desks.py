"""Every way to the same verbs: an inbox or a client, with async or without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from tests.acceptance.demo_server import DemoServer

import ringi
from ringi.server.auth.authenticator import Keys

STORES = ("memory", "sqlite")
CLIENTS = ("client", "sync client")
WAYS = (*STORES, *(f"sync {store}" for store in STORES), *CLIENTS)


class Threaded:
    """A desk without async, each verb called in a thread."""

    def __init__(self, desk: Any) -> None:
        self._desk = desk

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._desk, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(verb, *args, **kwargs)

        return call


class Desks(NamedTuple):
    """The same requests as three people see them."""

    ann: Any
    bob: Any
    bot: Any


def token(server: DemoServer, name: str, role: str = "person", **more: Any) -> str:
    """Return a token of a server."""
    return Keys((server.folder / "secret").read_text().strip()).mint(role=role, name=name, **more)


@asynccontextmanager
async def opened(way: str, folder: Any, server: DemoServer | None) -> AsyncIterator[Desks]:
    """Open the desks of three people."""
    async with AsyncExitStack() as stack:
        if server:
            yield Desks(*[await client(stack, way, server, name) for name in ("ann", "bob", "bot")])
            return
        url = "memory://" if way.endswith("memory") else f"sqlite:///{folder}/ringi.db"
        if way.startswith("sync"):
            desk: Any = Threaded(stack.enter_context(ringi.sync.open(url)))
        else:
            desk = await stack.enter_async_context(ringi.open(url))
        yield Desks(desk, desk, desk)


async def client(stack: AsyncExitStack, way: str, server: DemoServer, name: str) -> Any:
    key = token(server, name, "admin" if name == "bot" else "person")
    if way == "sync client":
        return Threaded(stack.enter_context(ringi.sync.Client(server.url, key)))
    return await stack.enter_async_context(ringi.Client(server.url, key))
