"""Deliveries: each event goes to each of its receivers at least once, however often somebody dies on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from ringi.connect import Backend
from ringi.delivery.courier import Courier, Task
from ringi.delivery.endpoints import DeliverySettings
from ringi.delivery.follower import Follower
from ringi.delivery.reminders import KIND, Reminders
from ringi.delivery.tries import Delivery, Target, TryLog
from ringi.delivery.webhooks import ASKED, CONFIGURED, Caller, Receivers, lane_of
from ringi.errors import NotFoundError, UnsupportedError
from ringi.inbox import Inbox
from ringi.jobs import Job
from ringi.record import Event
from ringi.request import Request
from ringi.webhook import Webhook

CONCURRENCY = 64
"""How many receivers one process calls at once: of those configured, and again of those that asks name."""


async def nothing(_: Job) -> None:
    """Do nothing."""


NOTHING_YET = {"status": "queued", "code": None, "error": None, "seconds": None, "next_at": None}


class Deliveries:
    """Makes deliveries, and tells what became of them."""

    def __init__(self, backend: Backend, inbox: Inbox, settings: DeliverySettings) -> None:
        self._backend, self._clock, self.settings = backend, inbox.clock, settings
        self._receivers, self._log = Receivers(settings), TryLog(backend.stream)
        self._reminders = Reminders(inbox, settings.remind_before)
        self._has_jobs = True

    async def is_possible(self) -> bool:
        """Whether this store can deliver; raise `UnsupportedError` when it cannot and should."""
        ended = asyncio.Event()
        ended.set()
        try:
            await self._backend.jobs.work(nothing, kinds=(), concurrency=1, stop=ended)
        except UnsupportedError:
            self._has_jobs = False
        if (self.settings.endpoints or self.settings.mail) and not self._has_jobs:
            raise UnsupportedError.of_deliveries()
        return self._has_jobs

    def check(self, webhooks: Sequence[Webhook], tenant: str) -> None:
        """Raise `UnsupportedError` or `InvalidError` for receivers of an ask that could never be delivered to."""
        if webhooks and not self._has_jobs:
            raise UnsupportedError.of_deliveries()
        self.settings.check(webhooks, tenant)

    async def work(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set; what this process leaves undone the next one does."""
        following = asyncio.create_task(Follower(self._backend, self._clock, self._jobs_of).run())
        work = self._backend.jobs.work
        try:
            async with Caller(self.settings) as caller:
                deliver = Courier(self._backend, self._clock, self.settings, caller).deliver
                handle = lambda job: (self._reminders.remind if job.kind == KIND else deliver)(job)  # noqa: E731
                kinds = (CONFIGURED, KIND), (ASKED,)
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
        await self._backend.jobs.submit(task.job(lane_of(request, target.endpoint)))
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
            yield task.job(lane_of(request, name))
