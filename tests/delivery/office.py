"""A store with somebody who delivers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from tests.server.world import until

from ringi.base.clock import Clock, utc_now
from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.delivery.attempt_log import Delivery
from ringi.delivery.deliveries import Deliveries
from ringi.delivery.settings import DeliverySettings, Endpoint
from ringi.delivery.signing import new_secret
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

SECRET = new_secret()
HERE = (ip_network("127.0.0.0/8"),)
QUICK = (0.0, 0.05, 0.05, 0.05)


def endpoint(url: str, name: str = "crm", **more: Any) -> Endpoint:
    return Endpoint(name=name, url=url, **{"secrets": (SECRET,), **more})


def settings(*endpoints: Endpoint, **more: Any) -> DeliverySettings:
    """Deliver on this machine, with little patience."""
    return DeliverySettings(endpoints=endpoints, **{"allow": HERE, "schedule": QUICK, "jitter": 0.0, **more})


@dataclass
class Office:
    """An inbox, and the deliveries of its events."""

    backend: Backend
    inbox: StoreInbox
    deliveries: Deliveries

    async def asked(self, **more: Any) -> Request:
        return await self.inbox.submit(Ask.parse({"title": "Go?", **more}), by="agent:bot")

    async def answered(self, request: Request) -> Request:
        return await self.inbox.respond(request, "respond", message="yes", by="ann")

    async def of(self, request: Request) -> list[Delivery]:
        return await self.deliveries.of_request(request.tenant, request.id)

    async def settled(self, request: Request, *statuses: str) -> list[Delivery]:
        """Wait until the deliveries of a request stand like this."""

        async def stand() -> bool:
            return [each.status for each in await self.of(request)] == list(statuses)

        await until(stand)
        return await self.of(request)


@asynccontextmanager
async def office(
    store: str | Backend, configuration: DeliverySettings, clock: Clock = utc_now
) -> AsyncIterator[Office]:
    """Deliver from a store, opened for it if need be."""
    opened = open_backend(store, poll_interval=0.1) if isinstance(store, str) else nullcontext(store)
    async with opened as backend, open_inbox_on_backend(backend, clock=clock) as inbox:
        deliveries, stop = Deliveries(backend, inbox, configuration), asyncio.Event()
        working = asyncio.create_task(deliveries.work(stop))
        try:
            yield Office(backend, inbox, deliveries)
            stop.set()
            await asyncio.wait([working], timeout=1)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
