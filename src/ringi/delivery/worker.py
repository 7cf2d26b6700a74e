"""Does delivery jobs: one attempt per call, until the delivery is settled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ringi.base.clock import Clock
from ringi.base.failpoints import failpoint
from ringi.base.model import StrictModel
from ringi.contracts.backend import Backend, Job, JobNotDueError
from ringi.delivery.attempts import AttemptLog, DeliveryStatus, DeliveryTarget, GoneEndpoints, LoggedAttempt
from ringi.delivery.mail import Mailer
from ringi.delivery.mail_settings import MAIL
from ringi.delivery.settings import DeliverySettings
from ringi.delivery.webhooks import (
    GONE,
    DeliveryResult,
    RequestReceivers,
    WebhookClient,
    delivery_queue_of_receiver,
    webhook_body,
)
from ringi.domain.events import WebhookEventName
from ringi.domain.request import Request
from ringi.errors import NotFoundError

ERASED: WebhookEventName = "request.erased"
LONGEST_WAIT = 86_400.0
"""The maximum seconds of a receiver's `Retry-After` that are honored."""

UNKNOWN_RECEIVER = "this process does not know the receiver; use the same settings on all servers and workers"


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
        kind, receiver = delivery_queue_of_receiver(request, self.endpoint)
        # In order for each request: a receiver may get events of several at once.
        partition, payload = f"{receiver}/{self.tenant}/{self.request_id}", self.model_dump(mode="json")
        return Job(key=key, kind=kind, partition_key=partition, concurrency_key=receiver, payload=payload)

    def attempt(self, host: str, at: datetime, status: DeliveryStatus, **more: object) -> LoggedAttempt:
        """Return the record of an attempt."""
        shared = {"event": self.event, "type": self.type, "happened_at": self.happened_at, "series": self.series}
        return LoggedAttempt.model_validate(
            {"delivery": self.target.id, "endpoint": self.endpoint, "host": host, "at": at, "status": status}
            | shared
            | more
        )


class DeliveryNextStep(NamedTuple):
    """The consequence of an attempt."""

    status: DeliveryStatus
    wait: float | None = None


class DeliveryWorker:
    """Attempts deliveries."""

    def __init__(self, backend: Backend, clock: Clock, settings: DeliverySettings, client: WebhookClient) -> None:
        self._store, self._clock, self._settings, self._client = backend.store, clock, settings, client
        self._receivers = RequestReceivers(settings)
        self._mailer = Mailer(settings.mail, settings.timeout) if settings.mail else None
        self._log, self._endpoint_state = AttemptLog(backend.stream), GoneEndpoints(backend.stream)

    async def deliver(self, job: Job) -> None:
        """Attempt once, and raise `JobNotDueError` for a retry; a settled delivery is skipped."""
        task = DeliveryTask.model_validate(job.payload)
        attempts = await self._log.of_target(task.tenant, task.target)
        in_series = [each for each in attempts if each.series == task.series and each.status != "queued"]
        if is_delivery_settled(task, attempts, in_series):
            return
        self._refuse_early(in_series)
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
        receiver = self._receivers.named(request, task.endpoint)
        if not receiver:
            return await self._retry_unknown(task, number)
        if not task.series and await self._endpoint_state.is_off(receiver.state_key, receiver.address):
            why = "the endpoint replied 410 Gone; request a redelivery to try it again"
            return await self._give_up(task, receiver.host, "disabled", why)
        at = self._clock()
        result = await self._client.call(receiver, task.event, webhook_body(task.type, task.happened_at, request))
        if result.is_delivered or result.code == GONE:
            await self._endpoint_state.set_off(receiver.state_key, receiver.address, off=result.code == GONE)
        await self._record(task, receiver.host, at, result, self._next_step(number, receiver.max_tries, result))

    async def _mail(self, task: DeliveryTask, request: Request, number: int) -> None:
        mailbox = self._settings.mail.mailbox(task.endpoint) if self._settings.mail else None
        if not mailbox or not self._mailer:
            return await self._retry_unknown(task, number)
        host = f"mail to {mailbox.name}"
        if request.is_final and request.status != "expired":
            return await self._give_up(task, host, "failed", "the request ended before the mail could be sent")
        at = self._clock()
        result = await self._mailer.send(mailbox, task.event, task.type, request)
        await self._record(task, host, at, result, self._next_step(number, None, result))

    async def _record(
        self, task: DeliveryTask, host: str, at: datetime, result: DeliveryResult, next_step: DeliveryNextStep
    ) -> None:
        failpoint("deliver.after_call")
        next_at = self._clock() + timedelta(seconds=next_step.wait) if next_step.wait is not None else None
        details = {"code": result.code, "error": result.error, "seconds": result.seconds, "next_at": next_at}
        await self._log_attempt(task, task.attempt(host, at, next_step.status, **details))
        if next_step.wait is not None:
            raise JobNotDueError(next_step.wait)

    async def _retry_unknown(self, task: DeliveryTask, number: int) -> None:
        # Another process may know this receiver: giving up here would lose deliveries that only this process cannot
        # make.
        result = DeliveryResult(0.0, error=UNKNOWN_RECEIVER)
        await self._record(task, "", self._clock(), result, self._next_step(number, None, result))

    async def _give_up(self, task: DeliveryTask, host: str, status: DeliveryStatus, why: str) -> None:
        await self._log_attempt(task, task.attempt(host, self._clock(), status, error=why))

    async def _log_attempt(self, task: DeliveryTask, attempt: LoggedAttempt) -> None:
        await self._log.add(task.tenant, task.request_id, attempt)
        if task.type != ERASED and (await self._store.get(Request, task.tenant, task.request_id)).erased:
            # The request was erased during the call, and the server's reply may contain personal data.
            await self._log.forget(task.tenant, task.request_id)

    def _refuse_early(self, in_series: Sequence[LoggedAttempt]) -> None:
        due = in_series[-1].next_at if in_series else None
        seconds_left = (due - self._clock()).total_seconds() if due else 0
        # The queue's timing is not exact: it may call early, or repeat a call.
        if seconds_left > 0:
            raise JobNotDueError(seconds_left)

    def _next_step(self, number: int, max_attempts: int | None, result: DeliveryResult) -> DeliveryNextStep:
        schedule = self._settings.schedule
        if result.is_delivered:
            return DeliveryNextStep("delivered")
        if result.code == GONE:
            return DeliveryNextStep("gone")
        if result.is_final or number >= min(max_attempts or len(schedule), len(schedule)):
            return DeliveryNextStep("failed")
        wait = schedule[number] * (1 + random.uniform(0, self._settings.jitter))
        return DeliveryNextStep("waiting", max(wait, min(result.retry_after or 0, LONGEST_WAIT)))


def is_delivery_settled(
    task: DeliveryTask, attempts: Sequence[LoggedAttempt], in_series: Sequence[LoggedAttempt]
) -> bool:
    """Return whether nothing is left to do: the series has ended, or a later redelivery replaced it."""
    is_replaced = any(each.series > task.series for each in attempts)
    return is_replaced or bool(in_series and in_series[-1].status != "waiting")
