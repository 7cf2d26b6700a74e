"""Deliveries: each event reaches each receiver at least once, even if processes are killed; reminders, due erasures."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

from ringi.base.clock import Clock
from ringi.base.failpoints import failpoint
from ringi.base.loops import cancel_all, end_task, rest
from ringi.base.model import StrictModel
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.base.settings import Settings
from ringi.contracts.backend import Backend, Job, JobNotDueError, Wakeup
from ringi.delivery.addresses import check_trusted_authorities
from ringi.delivery.attempt_log import (
    AttemptLog,
    Delivery,
    DeliveryStatus,
    DeliveryTarget,
    EndpointCounts,
    LoggedAttempt,
)
from ringi.delivery.mail import Mailer
from ringi.delivery.receivers import (
    ASKED,
    ASKED_SIGNED,
    CONFIGURED,
    GONE,
    DeliveryResult,
    delivery_queue_of_receiver,
    find_receiver,
    receiver_names,
    receiver_of_queue,
    webhook_body,
)
from ringi.delivery.settings import MAIL, DeliverySettings, Mailbox
from ringi.domain.events import FINAL_EVENTS, MAIL_EVENTS, WebhookEventName
from ringi.domain.record import START, Event, Key, Position, parse_position_number
from ringi.domain.request import Request
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.files.attachments import file_fields_of_request
from ringi.inbox.feed import Feed
from ringi.inbox.inbox import StoreInbox

if TYPE_CHECKING:
    from ringi.delivery.webhooks import WebhookClient

limited_log = rate_limited_logger(f"{__name__}.follower")
BATCH = 200
CURSOR_SAVE_EVERY = 1_000
"""The number of events without receivers between two saves of the cursor."""
INITIAL_LOOKBACK = timedelta(hours=1)
"""The age limit of events at the start of a store's first follower: older events are not delivered."""
ERASED: WebhookEventName = "request.erased"
LONGEST_WAIT = 86_400.0
"""The maximum seconds of a receiver's `Retry-After` that are honored."""

UNKNOWN_RECEIVER = "this process does not know the receiver; use the same settings on all servers and workers"
JobsOf = Callable[[Event, Request], AsyncIterator[Job]]


class DeliveryTask(StrictModel):
    """The content of a delivery job; with it, the event need not be read."""

    tenant: str
    request_id: str
    version: int
    event: str
    type: str
    happened_at: datetime
    endpoint: str
    series: int = 0

    @property
    def target(self) -> DeliveryTarget:
        """The target of the delivery."""
        return DeliveryTarget(self.endpoint, self.version, self.request_id)

    def job(self, request: Request) -> Job:
        """Return the job for this task."""
        key = f"deliver:{self.tenant}/{self.target.id}/{self.series}"
        kind, shared, receiver = delivery_queue_of_receiver(request, self.endpoint)
        # In order for each request: a receiver may get events of several at once.
        partition, payload = f"{receiver}/{self.tenant}/{self.request_id}", self.model_dump(mode="json")
        return Job(key=key, kind=kind, partition_key=partition, concurrency_key=shared, payload=payload)

    def attempt(self, host: str, at: datetime, status: DeliveryStatus, **more: Any) -> LoggedAttempt:
        """Return the record of an attempt."""
        shared = self.model_dump(include={"event", "type", "happened_at", "endpoint", "series"})
        return LoggedAttempt(delivery=self.target.id, host=host, at=at, status=status, **shared, **more)


def refuse_early(due: datetime, now: datetime) -> None:
    """Raise `JobNotDueError` before the due time: the queue may call early, or repeat a call."""
    if now < due:
        raise JobNotDueError((due - now).total_seconds())


class DeliveryWorker:
    """Attempts deliveries."""

    def __init__(self, backend: Backend, clock: Clock, settings: DeliverySettings) -> None:
        self._store, self._clock, self._settings = backend.store, clock, settings
        self._mailer = Mailer(settings.mail, settings.timeout) if settings.mail else None
        self._log, self._opened = AttemptLog(backend.stream), AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    @cached_property
    def _client(self) -> WebhookClient:
        from ringi.delivery.webhooks import WebhookClient

        client = WebhookClient(self._settings, self._clock)
        self._opened.push_async_exit(client)
        return client

    async def deliver(self, job: Job) -> None:
        """Attempt once, and raise `JobNotDueError` for a retry; a settled delivery is skipped."""
        task = DeliveryTask.model_validate(job.payload)
        attempts = await self._log.of_target(task.tenant, task.target)
        in_series = [each for each in attempts if each.series == task.series and each.status != "queued"]
        last = in_series[-1] if in_series else None
        # Nothing is left to do if the series has ended, or if a later redelivery has replaced it.
        if any(each.series > task.series for each in attempts) or (last and last.status != "waiting"):
            return
        if last and last.next_at:
            refuse_early(last.next_at, self._clock())
        try:
            request = await self._store.get(Request, task.tenant, task.request_id)
        except NotFoundError:
            return
        if request.erased and task.type != ERASED:
            # Its attempts were deleted too: the event would be delivered as if for the first time.
            return
        deliver = self._mail if task.endpoint.startswith(MAIL) else self._post
        await deliver(task, request, len(in_series) + 1)

    async def _post(self, task: DeliveryTask, request: Request, number: int) -> None:
        if request.is_check and request.response:
            # A receiver that knows no checks would run the call.
            return None
        receiver = find_receiver(self._settings, request, task.endpoint)
        if not receiver:
            return await self._retry_unknown(task, number)
        if not task.series and await self._log.is_off(receiver.state_key, receiver.address):
            why = "the endpoint replied 410 Gone; request a redelivery to try it again"
            return await self._log_attempt(task, task.attempt(receiver.host, self._clock(), "disabled", error=why))
        at = self._clock()
        result = await self._client.call(receiver, task.event, webhook_body(task.type, task.happened_at, request))
        if result.is_delivered or result.code == GONE:
            await self._log.set_off(receiver.state_key, receiver.address, off=result.code == GONE)
        await self._record(task, receiver.host, at, result, number, receiver.max_tries)

    async def _mail(self, task: DeliveryTask, request: Request, number: int) -> None:
        mailbox = self._settings.mail.mailbox(task.endpoint) if self._settings.mail else None
        if not mailbox or not self._mailer:
            return await self._retry_unknown(task, number)
        host = f"mail to {mailbox.name}"
        if request.is_final and request.status != "expired":
            why = "the request ended before the mail could be sent"
            return await self._log_attempt(task, task.attempt(host, self._clock(), "failed", error=why))
        at = self._clock()
        result = await self._mailer.send(mailbox, task.event, task.type, request)
        await self._record(task, host, at, result, number, None)

    async def _record(
        self, task: DeliveryTask, host: str, at: datetime, result: DeliveryResult, number: int, max_tries: int | None
    ) -> None:
        failpoint("deliver.after_call")
        status, wait = self._next_step(number, max_tries, result)
        next_at = None if wait is None else self._clock() + timedelta(seconds=wait)
        details = {"code": result.code, "error": result.error, "seconds": result.seconds, "next_at": next_at}
        await self._log_attempt(task, task.attempt(host, at, status, **details))
        if wait is not None:
            raise JobNotDueError(wait)

    async def _retry_unknown(self, task: DeliveryTask, number: int) -> None:
        # Another process may know this receiver: giving up here would lose deliveries that only this process cannot
        # make.
        result = DeliveryResult(0.0, error=UNKNOWN_RECEIVER)
        await self._record(task, "", self._clock(), result, number, None)

    async def _log_attempt(self, task: DeliveryTask, attempt: LoggedAttempt) -> None:
        await self._log.add(task.tenant, task.request_id, attempt)
        if task.type != ERASED and (await self._store.get(Request, task.tenant, task.request_id)).erased:
            # The request was erased during the call, and the server's reply may contain personal data.
            await self._log.forget(task.tenant, task.request_id)

    def _next_step(
        self, number: int, max_tries: int | None, result: DeliveryResult
    ) -> tuple[DeliveryStatus, float | None]:
        """Return the status after an attempt, and the seconds until the next one; None without one."""
        schedule = self._settings.schedule
        if result.is_delivered:
            return "delivered", None
        if result.code == GONE:
            return "gone", None
        if result.is_final or number >= min(max_tries or len(schedule), len(schedule)):
            return "failed", None
        wait = schedule[number] * (1 + random.uniform(0, self._settings.jitter))
        return "waiting", max(wait, min(result.retry_after or 0, LONGEST_WAIT))


class EventFollower:
    """Submits the jobs of each event at least once, even if processes are killed; several may run concurrently."""

    def __init__(self, backend: Backend, feed: Feed, clock: Clock, jobs_of: JobsOf, cursor: str) -> None:
        self._backend, self._feed, self._clock, self._jobs_of, self._cursor = backend, feed, clock, jobs_of, cursor
        self._saved = self._position = START
        self._unsaved = 0
        self._new: list[Event] = []
        self._wakeup = Wakeup()

    async def run(self) -> None:
        """Follow without end; after a failure, begin again at the stored cursor."""
        while True:
            with FailureLog(limited_log, "cannot read events for delivery, trying again"):
                async with self._feed.follow(self._collect):
                    await self._follow()
            await asyncio.sleep(self._backend.notifier.recheck_after)

    async def _follow(self) -> None:
        """Read the store up to the newest event, then take what the feed reads."""
        self._new = []
        await self._catch_up()
        while True:
            events, self._new = self._new[:BATCH], self._new[BATCH:]
            # Some were read before, or another server has moved the cursor past them.
            if events := [event for event in events if is_position_after(event.position, self._position)]:
                await self._submit(events)
            if not self._new:
                await self._wakeup.wait(None)

    def _collect(self, events: Sequence[Event]) -> None:
        self._new += events
        self._wakeup.set()

    async def _catch_up(self) -> None:
        store = self._backend.store
        self._saved = self._position = await store.cursor(self._cursor)
        if self._position == START:
            oldest = self._clock() - INITIAL_LOOKBACK
            while (events := await store.events(self._position, BATCH)) and events[-1].at < oldest:
                self._position = events[-1].position
            await self._save_cursor()
        has_more = True
        while has_more and (events := await store.events(self._position, BATCH)):
            has_more = len(events) == BATCH
            await self._submit(events)

    async def _submit(self, events: Sequence[Event]) -> None:
        jobs = await self._jobs(events)
        if jobs:
            await self._backend.jobs.submit_all(jobs)
        failpoint("follower.after_submit")
        self._position, self._unsaved = events[-1].position, self._unsaved + len(events)
        if jobs or self._unsaved >= CURSOR_SAVE_EVERY:
            await self._save_cursor()

    async def _save_cursor(self) -> None:
        if self._position == self._saved:
            return
        try:
            await self._backend.store.move_cursor(self._cursor, self._saved, self._position)
            self._saved = self._position
        except ConflictError:
            # Another server follows too. A job that both submit is delivered once: the second worker sees that it is
            # done.
            self._saved = self._position = await self._backend.store.cursor(self._cursor)
        self._unsaved = 0

    async def _jobs(self, events: Sequence[Event]) -> list[Job]:
        request_events = [event for event in events if event.record == Request.record]
        requests = {each.key: each for each in await self._feed.requests(request_events)}
        event_requests = ((event, requests.get(Key(event.tenant, event.record_id))) for event in request_events)
        return [job for event, request in event_requests if request async for job in self._jobs_of(event, request)]


def is_position_after(position: Position, other: Position) -> bool:
    """Return False if a position is not after another; True if the store's positions are not numbers.

    An event that is taken twice creates the same jobs, and each is done once.
    """
    try:
        return parse_position_number(position) > parse_position_number(other)
    except InvalidError:
        return True


ERASE = "erase"
RETRY_SECONDS = 600.0
"""Seconds until the job tries again, such as for a request on legal hold."""


REMIND = "remind"


def upkeep_jobs(event: Event, request: Request) -> Iterator[Job]:
    """Yield the jobs for the reminder of a request with a due time, and for what its end lets be erased."""
    kinds = [REMIND] if event.type == "request.created" and request.due_at and not request.is_final else []
    # The process that ended the request may have been killed before the erasures, or have lost its database.
    if event.type in FINAL_EVENTS and (request.waiting_erasures or file_fields_of_request(request)):
        kinds += [ERASE]
    for kind in kinds:
        key = f"{kind}:{request.tenant}/{request.id}"
        payload = {"tenant": request.tenant, "request": request.id}
        yield Job(key=key, kind=kind, partition_key=key, payload=payload)


async def finish_waiting_erasures(inbox: StoreInbox, job: Job) -> None:
    """Finish the erasures, or raise `JobNotDueError` if one cannot be done now."""
    try:
        await inbox.for_tenant(job.payload["tenant"]).finish_erasures(job.payload["request"])
    except NotFoundError:
        return
    except ConflictError as error:
        raise JobNotDueError(RETRY_SECONDS) from error


async def remind(inbox: StoreInbox, before: float, job: Job) -> None:
    """Record a reminder, or raise `JobNotDueError` until it is due; skip ended or reminded requests."""
    inbox = inbox.for_tenant(job.payload["tenant"])
    try:
        request = await inbox.get(job.payload["request"])
    except NotFoundError:
        return
    if request.due_at and not request.is_final and not request.reminded_at:
        refuse_early(reminder_time(request.created_at, request.due_at, before), inbox.clock())
        await inbox.remind(request.id)


def reminder_time(asked: datetime, due: datetime, before: float) -> datetime:
    """Return the time of the reminder: `before` seconds before the due time, or halfway if there is less time."""
    return max(due - timedelta(seconds=before), asked + (due - asked) / 2)


log = logging.getLogger(__name__)

CURSOR, ASKED_CURSOR = "deliveries", "deliveries/asked"
"""The followers' cursors. A process without receivers must not move the cursor of one that has some."""
GRACE_SECONDS = 5.0
"""Seconds for which calls in progress may continue at shutdown."""


class Deliveries:
    """Makes deliveries, and reports their results."""

    def __init__(self, backend: Backend, inbox: StoreInbox, settings: DeliverySettings) -> None:
        self._backend, self._clock, self._feed, self.settings = backend, inbox.clock, inbox.feed, settings
        self._inbox, self._log = inbox, AttemptLog(backend.stream)

    async def work(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set; the next process continues with unfinished deliveries."""
        is_empty = not (self.settings.endpoints or self.settings.mail)
        cursor = ASKED_CURSOR if is_empty else CURSOR
        follower = EventFollower(self._backend, self._feed, self._clock, self._jobs_of, cursor)
        follow_task = asyncio.create_task(follower.run())
        try:
            async with DeliveryWorker(self._backend, self._clock, self.settings) as worker:
                reminder = partial(remind, self._inbox, self.settings.remind_before)
                own = {REMIND: reminder, ERASE: partial(finish_waiting_erasures, self._inbox)}
                handle = lambda job: own.get(job.kind, worker.deliver)(job)  # noqa: E731
                # Without receivers of its own, it would give up deliveries that another process can make.
                kinds = ((*own,), (ASKED,)) if is_empty else ((CONFIGURED, *own), (ASKED, ASKED_SIGNED))
                places = self.settings.max_concurrent
                work = partial(self._backend.jobs.work, handle, concurrency=places, reserve=places // 4, stop=stop)
                await asyncio.gather(*(work(kinds=each) for each in kinds))
        finally:
            await cancel_all(follow_task)

    async def of_request(self, tenant: str, request_id: str) -> list[Delivery]:
        """Return the deliveries of a request, oldest first."""
        return await self._log.of_request(tenant, request_id)

    async def counts(self, tenant: str | None = None) -> list[EndpointCounts]:
        """Count the unfinished deliveries of each endpoint, of all tenants.

        Args:
            tenant: Leave out the endpoints of other tenants.
        """
        numbers = {each.name: Counter[str]() for each in self.settings.endpoints if each.url}
        hidden = {each.name for each in self.settings.endpoints if tenant and not each.receives_from(tenant)}
        for each in await self._backend.jobs.counts():
            name = receiver_of_queue(each.kind, each.concurrency_key)
            found = {"waiting": each.waiting, "running": each.running, "retrying": each.retrying}
            numbers.setdefault(name, Counter()).update(found)
        return [
            EndpointCounts(endpoint=name, waiting=of["waiting"], running=of["running"], retrying=of["retrying"])
            for name, of in sorted(numbers.items())
            if name not in hidden
        ]

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
        shared = attempts[-1].model_dump(include={"event", "type", "happened_at", "endpoint"})
        shared |= {"version": target.version, "series": len(attempts)}
        task = DeliveryTask(tenant=tenant, request_id=target.request_id, **shared)
        queued = task.attempt(attempts[-1].host, self._clock(), "queued", by=by)
        await self._log.add(tenant, target.request_id, queued)
        await self._backend.jobs.submit(task.job(request))
        return Delivery.of([*attempts, queued])

    async def _jobs_of(self, event: Event, request: Request) -> AsyncIterator[Job]:
        for job in upkeep_jobs(event, request):
            yield job
        names = receiver_names(self.settings, event.type, request)
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
        return mail.recipients(request, await self._inbox.for_tenant(request.tenant).people.active())


@asynccontextmanager
async def run_deliveries(backend: Backend, inbox: StoreInbox, *, sends: bool = True) -> AsyncIterator[Deliveries]:
    """Deliver events as the environment configures; at the end, unfinished deliveries are left to the next process.

    Without `sends`, nothing is delivered.
    """
    deliveries, stop = Deliveries(backend, inbox, DeliverySettings.of(Settings.load())), asyncio.Event()
    check_trusted_authorities()
    work_task = asyncio.create_task(deliveries.work(stop) if sends else rest(stop))
    work_task.add_done_callback(log_stopped_deliveries)
    try:
        yield deliveries
    finally:
        stop.set()
        await end_task(work_task, GRACE_SECONDS)


def log_stopped_deliveries(work_task: asyncio.Task[None]) -> None:
    """Log why deliveries have stopped: a server beside it would otherwise notice only at its own end."""
    if not work_task.cancelled() and (error := work_task.exception()):
        log.error("deliveries have stopped: %s", error)
