"""Does delivery jobs: one attempt per call, until the delivery is settled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ringi.base.clock import Clock
from ringi.base.failpoints import failpoint
from ringi.base.model import StrictModel
from ringi.contracts.backend import Backend
from ringi.contracts.jobs import Job
from ringi.delivery.attempts import EndpointState, Entry, Status, Target, TryLog
from ringi.delivery.mail import Mailer
from ringi.delivery.mail_settings import MAIL
from ringi.delivery.settings import DeliverySettings
from ringi.delivery.webhooks import GONE, Caller, Outcome, Receivers, body_of, kind_of, lane_of
from ringi.domain.events import WebhookEventName
from ringi.domain.request import Request
from ringi.errors import LaterError, NotFoundError

ERASED: WebhookEventName = "request.erased"
LONGEST_WAIT = 86_400.0
"""The maximum seconds of a receiver's `Retry-After` that are honored."""

UNKNOWN = "not configured where it was tried: give the same receivers to all servers and workers"


class Task(StrictModel):
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
    def target(self) -> Target:
        """The target of the delivery."""
        return Target(self.endpoint, self.version, self.request_id)

    def job(self, request: Request) -> Job:
        """Return the job for this task."""
        kind, lane = kind_of(request, self.endpoint), lane_of(request, self.endpoint)
        key = f"deliver:{self.tenant}/{self.target.id}/{self.series}"
        return Job(key=key, kind=kind, lane=lane, payload=self.model_dump(mode="json"))

    def tried(self, host: str, at: datetime, status: Status, **more: object) -> Entry:
        """Return the record of an attempt."""
        shared = {"event": self.event, "type": self.type, "happened_at": self.happened_at, "series": self.series}
        return Entry.model_validate(
            {"delivery": self.target.id, "endpoint": self.endpoint, "host": host, "at": at, "status": status}
            | shared
            | more
        )


class Plan(NamedTuple):
    """The consequence of an attempt."""

    status: Status
    wait: float | None = None


class DeliveryWorker:
    """Attempts deliveries."""

    def __init__(self, backend: Backend, clock: Clock, settings: DeliverySettings, caller: Caller) -> None:
        self._store, self._clock, self._settings, self._caller = backend.store, clock, settings, caller
        self._receivers = Receivers(settings)
        self._mailer = Mailer(settings.mail, settings.timeout) if settings.mail else None
        self._log, self._switches = TryLog(backend.stream), EndpointState(backend.stream)

    async def deliver(self, job: Job) -> None:
        """Attempt once, and raise `LaterError` for a retry; a settled delivery is skipped."""
        task = Task.model_validate(job.payload)
        tries = await self._log.of(task.tenant, task.target)
        mine = [each for each in tries if each.series == task.series and each.status != "queued"]
        if is_settled(task, tries, mine):
            return
        self._refuse_early(mine)
        try:
            request = await self._store.get(Request, task.tenant, task.request_id)
        except NotFoundError:
            return
        if request.erased and task.type != ERASED:
            # Its attempts were deleted too: the event would be delivered as if for the first time.
            return
        deliver = self._mail if task.endpoint.startswith(MAIL) else self._post
        await deliver(task, request, len(mine) + 1)

    async def _post(self, task: Task, request: Request, number: int) -> None:
        receiver = self._receivers.named(request, task.endpoint)
        if not receiver:
            return await self._unknown(task, number)
        if not task.series and await self._switches.is_off(receiver.switch, receiver.address):
            why = "the endpoint has said that it is gone (410): deliver again to try it"
            return await self._give_up(task, receiver.host, "disabled", why)
        at = self._clock()
        outcome = await self._caller.call(receiver, task.event, body_of(task.type, task.happened_at, request))
        if outcome.is_delivered or outcome.code == GONE:
            await self._switches.turn(receiver.switch, receiver.address, off=outcome.code == GONE)
        await self._keep(task, receiver.host, at, outcome, self._planned(number, receiver.max_tries, outcome))

    async def _mail(self, task: Task, request: Request, number: int) -> None:
        box = self._settings.mail.box(task.endpoint) if self._settings.mail else None
        if not box or not self._mailer:
            return await self._unknown(task, number)
        host = f"mail to {box.name}"
        if request.is_final and request.status != "expired":
            return await self._give_up(task, host, "failed", "it had ended before the mail could be sent")
        at = self._clock()
        outcome = await self._mailer.send(box, task.event, task.type, request)
        await self._keep(task, host, at, outcome, self._planned(number, None, outcome))

    async def _keep(self, task: Task, host: str, at: datetime, outcome: Outcome, plan: Plan) -> None:
        failpoint("deliver.after_call")
        next_at = self._clock() + timedelta(seconds=plan.wait) if plan.wait is not None else None
        told = {"code": outcome.code, "error": outcome.error, "seconds": outcome.seconds, "next_at": next_at}
        await self._note(task, task.tried(host, at, plan.status, **told))
        if plan.wait is not None:
            raise LaterError(plan.wait)

    async def _unknown(self, task: Task, number: int) -> None:
        # Another process may know this receiver: giving up here would lose deliveries that only this process cannot
        # make.
        outcome = Outcome(0.0, error=UNKNOWN)
        await self._keep(task, "", self._clock(), outcome, self._planned(number, None, outcome))

    async def _give_up(self, task: Task, host: str, status: Status, why: str) -> None:
        await self._note(task, task.tried(host, self._clock(), status, error=why))

    async def _note(self, task: Task, tried: Entry) -> None:
        await self._log.add(task.tenant, task.request_id, tried)
        if task.type != ERASED and (await self._store.get(Request, task.tenant, task.request_id)).erased:
            # The request was erased during the call, and the server's reply may contain personal data.
            await self._log.forget(task.tenant, task.request_id)

    def _refuse_early(self, mine: Sequence[Entry]) -> None:
        due = mine[-1].next_at if mine else None
        left = (due - self._clock()).total_seconds() if due else 0
        # The queue's timing is not exact: it may call early, or repeat a call.
        if left > 0:
            raise LaterError(left)

    def _planned(self, tries: int, most: int | None, outcome: Outcome) -> Plan:
        schedule = self._settings.schedule
        if outcome.is_delivered:
            return Plan("delivered")
        if outcome.code == GONE:
            return Plan("gone")
        if outcome.is_final:
            return Plan("failed")
        if tries >= min(most or len(schedule), len(schedule)):
            return Plan("failed")
        wait = schedule[tries] * (1 + random.uniform(0, self._settings.jitter))
        return Plan("waiting", max(wait, min(outcome.retry_after or 0, LONGEST_WAIT)))


def is_settled(task: Task, tries: Sequence[Entry], mine: Sequence[Entry]) -> bool:
    """Return whether nothing is left to do: the series has ended, or a later redelivery replaced it."""
    is_overtaken = any(each.series > task.series for each in tries)
    return is_overtaken or bool(mine and mine[-1].status != "waiting")
