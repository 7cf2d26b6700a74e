"""Deliveries: each event goes to each of its receivers at least once, however often somebody dies on the way."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from ringi.contracts.backend import Backend
from ringi.contracts.jobs import Job
from ringi.delivery.attempts import Delivery, Target, TryLog
from ringi.delivery.outbox import Follower
from ringi.delivery.reminders import KIND, Reminders
from ringi.delivery.settings import DeliverySettings
from ringi.delivery.tls import check_trust
from ringi.delivery.webhooks import ASKED, ASKED_SIGNED, CONFIGURED, Caller, Receivers
from ringi.delivery.worker import DeliveryWorker, Task
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.webhook import Webhook
from ringi.errors import NotFoundError
from ringi.inbox.inbox import Inbox

log = logging.getLogger(__name__)

CURSOR, CURSOR_OF_ASKED = "deliveries", "deliveries/asked"
"""Where the followers are: one that knows no receivers of its own must not pass by events in place of one that does."""
CONCURRENCY = 64
"""How many receivers one process calls at once: of those configured, and again of those that asks name."""

GRACE_SECONDS = 5.0
"""How long calls that were begun may go on at the end."""


NOTHING_YET = {"status": "queued", "code": None, "error": None, "seconds": None, "next_at": None}


class Deliveries:
    """Makes deliveries, and tells what became of them."""

    def __init__(self, backend: Backend, inbox: Inbox, settings: DeliverySettings) -> None:
        self._backend, self._clock, self.settings = backend, inbox.clock, settings
        self._receivers, self._log = Receivers(settings), TryLog(backend.stream)
        self._reminders = Reminders(inbox, settings.remind_before)

    def check(self, webhooks: Sequence[Webhook], tenant: str) -> None:
        """Raise `InvalidError` for receivers of an ask that could never be delivered to."""
        self.settings.check(webhooks, tenant)

    async def work(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set; what this process leaves undone the next one does."""
        is_empty = self.settings.is_empty
        follower = Follower(self._backend, self._clock, self._jobs_of, CURSOR_OF_ASKED if is_empty else CURSOR)
        following = asyncio.create_task(follower.run())
        work = self._backend.jobs.work
        try:
            async with Caller(self.settings, self._clock) as caller:
                deliver = DeliveryWorker(self._backend, self._clock, self.settings, caller).deliver
                handle = lambda job: (self._reminders.remind if job.kind == KIND else deliver)(job)  # noqa: E731
                # Without receivers of its own it would give up what a process beside it is to deliver.
                kinds = ((KIND,), (ASKED,)) if is_empty else ((CONFIGURED, KIND), (ASKED, ASKED_SIGNED))
                await asyncio.gather(*(work(handle, kinds=each, concurrency=CONCURRENCY, stop=stop) for each in kinds))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def of_request(self, tenant: str, request_id: str) -> list[Delivery]:
        """Return the deliveries of a request, oldest first."""
        return await self._log.of_request(tenant, request_id)

    async def redeliver(self, tenant: str, id: str, *, by: str) -> Delivery:
        """Deliver once more, now, whatever became of it; also to an endpoint that said that it is gone.

        Raises `NotFoundError` for a delivery that was never tried.
        """
        target = Target.parse(id)
        tries = await self._log.of(tenant, target)
        if not tries:
            raise NotFoundError("delivery", id)
        request = await self._backend.store.get(Request, tenant, target.request_id)
        again = tries[-1].model_copy(update={**NOTHING_YET, "at": self._clock(), "by": by, "series": len(tries)})
        await self._log.add(tenant, target.request_id, again)
        shared = {name: getattr(again, name) for name in ("event", "type", "happened_at", "endpoint", "series")}
        task = Task(tenant=tenant, request_id=target.request_id, version=target.version, **shared)
        await self._backend.jobs.submit(task.job(request))
        return Delivery.of([*tries, again])

    def _jobs_of(self, event: Event, request: Request) -> Iterator[Job]:
        yield from self._reminders.of(event, request)
        names = [receiver.name for receiver in self._receivers.of(event.type, request)]
        boxes = self.settings.mail.told(event.type, request) if self.settings.mail else ()
        for name in (*names, *(box.id for box in boxes)):
            task = Task(
                tenant=event.tenant,
                request_id=event.record_id,
                version=event.version,
                event=event.id,
                type=event.type,
                happened_at=event.at,
                endpoint=name,
            )
            yield task.job(request)


@asynccontextmanager
async def delivering(backend: Backend, inbox: Inbox) -> AsyncIterator[Deliveries]:
    """Deliver events as the environment says; at the end what is on its way is left to the next process."""
    deliveries, stop = Deliveries(backend, inbox, DeliverySettings.of(os.environ)), asyncio.Event()
    check_trust()
    working = asyncio.create_task(deliveries.work(stop))
    working.add_done_callback(told)
    try:
        yield deliveries
    finally:
        stop.set()
        await asyncio.wait([working], timeout=GRACE_SECONDS)
        working.cancel()
        (result,) = await asyncio.gather(working, return_exceptions=True)
        if isinstance(result, Exception):
            raise result


def told(working: asyncio.Task[None]) -> None:
    """Log why nothing is delivered any more: whoever serves beside it would notice at its own end only."""
    if not working.cancelled() and (error := working.exception()):
        log.error("nothing is delivered any more: %s", error)
