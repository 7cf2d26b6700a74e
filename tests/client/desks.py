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
PARTS = ("grants", "suggestions", "pauses", "people", "checks", "memories", "trail")
PERSON_AT = {"Memories.list": 0, "Memories.get": 1}
"""The position of the person among the arguments."""
WAYS = (*STORES, *(f"sync {store}" for store in STORES), *CLIENTS)


class Desk:
    """A desk, or a part of it.

    Args:
        desk: The inbox.
        is_blocking: Whether each verb is called in a thread.
        has_token: Whether the token says who acts: then nobody is named.
    """

    def __init__(self, desk: Any, *, is_blocking: bool, has_token: bool) -> None:
        self.inner, self.is_blocking, self.has_token = desk, is_blocking, has_token

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self.inner, name)
        if name in PARTS:
            return Desk(verb, is_blocking=self.is_blocking, has_token=self.has_token)
        place = PERSON_AT.get(f"{type(self.inner).__name__.removeprefix('Client').removeprefix('Blocking')}.{name}")

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.has_token:
                kwargs.pop("by", None)
                args = args[:place]
            if self.is_blocking:
                return await asyncio.to_thread(verb, *args, **kwargs)
            return await verb(*args, **kwargs)

        return verb if name == "follow" else call


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
        is_blocking = way.startswith("sync")
        opened: Any = (
            stack.enter_context(ringi.sync.open(url))
            if is_blocking
            else await stack.enter_async_context(ringi.open(url))
        )
        desk = Desk(opened, is_blocking=is_blocking, has_token=False)
        yield Desks(desk, desk, desk)


async def client(stack: AsyncExitStack, way: str, server: DemoServer, name: str) -> Any:
    key = token(server, name, "admin" if name == "bot" else "person")
    is_blocking = way == "sync client"
    opened: Any = (
        stack.enter_context(ringi.sync.open(server.url, token=key))
        if is_blocking
        else await stack.enter_async_context(ringi.open(server.url, token=key))
    )
    return Desk(opened, is_blocking=is_blocking, has_token=True)
