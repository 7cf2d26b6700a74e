"""Deliveries: each event is sent to each receiver at least once, even if processes are killed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ringi.base.loops import cancel_all, end_task
from ringi.base.settings import Settings
from ringi.contracts.backend import Backend, Job
from ringi.delivery.addresses import check_trust
from ringi.delivery.attempts import AttemptLog, Delivery, DeliveryTarget
from ringi.delivery.mail_settings import Mailbox
from ringi.delivery.outbox import Follower
from ringi.delivery.reminders import KIND, Reminders
from ringi.delivery.settings import DeliverySettings
from ringi.delivery.waiting_erasures import KIND as ERASE
from ringi.delivery.waiting_erasures import WaitingErasures
from ringi.delivery.webhooks import ASKED, ASKED_SIGNED, CONFIGURED, Receivers, WebhookClient
from ringi.delivery.worker import DeliveryTask, DeliveryWorker
from ringi.domain.events import MAIL_EVENTS
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import NotFoundError
from ringi.inbox.inbox import StoreInbox

log = logging.getLogger(__name__)

CURSOR, ASKED_CURSOR = "deliveries", "deliveries/asked"
"""The followers' cursors. A process without receivers must not move the cursor of one that has some."""
CONCURRENCY = 64
"""The number of concurrent calls of one process: for configured receivers, and again for receivers that asks name."""

GRACE_SECONDS = 5.0
"""Seconds for which calls in progress may continue at shutdown."""


NOT_ATTEMPTED = {"status": "queued", "code": None, "error": None, "seconds": None, "next_at": None}


class Deliveries:
    """Makes deliveries, and reports their results."""

    def __init__(self, backend: Backend, inbox: StoreInbox, settings: DeliverySettings) -> None:
        self._backend, self._clock, self._feed, self.settings = backend, inbox.clock, inbox.feed, settings
        self._inbox = inbox
        self._receivers, self._log = Receivers(settings), AttemptLog(backend.stream)
        self._reminders = Reminders(inbox, settings.remind_before)
        self._erasures = WaitingErasures(inbox)

    async def work(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set; the next process continues with unfinished deliveries."""
        is_empty = self.settings.is_empty
        follower = Follower(self._backend, self._feed, self._clock, self._jobs_of, ASKED_CURSOR if is_empty else CURSOR)
        follow_task = asyncio.create_task(follower.run())
        work = self._backend.jobs.work
        try:
            async with WebhookClient(self.settings, self._clock) as client:
                deliver = DeliveryWorker(self._backend, self._clock, self.settings, client).deliver
                own = {KIND: self._reminders.remind, ERASE: self._erasures.finish}
                handle = lambda job: own.get(job.kind, deliver)(job)  # noqa: E731
                # Without receivers of its own, it would give up deliveries that another process can make.
                kinds = ((*own,), (ASKED,)) if is_empty else ((CONFIGURED, *own), (ASKED, ASKED_SIGNED))
                await asyncio.gather(*(work(handle, kinds=each, concurrency=CONCURRENCY, stop=stop) for each in kinds))
        finally:
            await cancel_all(follow_task)

    async def of_request(self, tenant: str, request_id: str) -> list[Delivery]:
        """Return the deliveries of a request, oldest first."""
        return await self._log.of_request(tenant, request_id)

    async def redeliver(self, tenant: str, id: str, *, by: str) -> Delivery:
        """Deliver again now, regardless of the previous result, and also to an endpoint that replied 410 Gone.

        Args:
            tenant: The tenant of the request.
            id: The id of the delivery.
            by: The name of the person who requests it.

        Raises:
            NotFoundError: There is no attempt of such a delivery.
        """
        target = DeliveryTarget.parse(id)
        attempts = await self._log.of_target(tenant, target)
        if not attempts:
            raise NotFoundError("delivery", id)
        request = await self._backend.store.get(Request, tenant, target.request_id)
        queued = attempts[-1].model_copy(
            update={**NOT_ATTEMPTED, "at": self._clock(), "by": by, "series": len(attempts)}
        )
        await self._log.add(tenant, target.request_id, queued)
        shared = {name: getattr(queued, name) for name in ("event", "type", "happened_at", "endpoint", "series")}
        task = DeliveryTask(tenant=tenant, request_id=target.request_id, version=target.version, **shared)
        await self._backend.jobs.submit(task.job(request))
        return Delivery.of([*attempts, queued])

    async def _jobs_of(self, event: Event, request: Request) -> AsyncIterator[Job]:
        for job in (*self._reminders.of(event, request), *self._erasures.of(event, request)):
            yield job
        names = self._receivers.names(event.type, request)
        for name in (*names, *[mailbox.id for mailbox in await self._mailboxes(event.type, request)]):
            task = DeliveryTask(
                tenant=event.tenant,
                request_id=event.record_id,
                version=event.version,
                event=event.id,
                type=event.type,
                happened_at=event.at,
                endpoint=name,
            )
            yield task.job(request)

    async def _mailboxes(self, type: str, request: Request) -> Sequence[Mailbox]:
        mail = self.settings.mail
        if not mail or type not in MAIL_EVENTS or (request.is_final and type != "request.expired"):
            return ()
        absences = await self._inbox.for_tenant(request.tenant).absences.active()
        return mail.recipients(request, absences)


@asynccontextmanager
async def run_deliveries(backend: Backend, inbox: StoreInbox) -> AsyncIterator[Deliveries]:
    """Deliver events as the environment configures; at the end, unfinished deliveries are left to the next process."""
    deliveries, stop = Deliveries(backend, inbox, DeliverySettings.of(Settings.load())), asyncio.Event()
    check_trust()
    work_task = asyncio.create_task(deliveries.work(stop))
    work_task.add_done_callback(log_failure)
    try:
        yield deliveries
    finally:
        stop.set()
        await end_task(work_task, GRACE_SECONDS)


def log_failure(work_task: asyncio.Task[None]) -> None:
    """Log why deliveries have stopped: a server beside it would otherwise notice only at its own end."""
    if not work_task.cancelled() and (error := work_task.exception()):
        log.error("deliveries have stopped: %s", error)
