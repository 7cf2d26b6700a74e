"""Does the jobs of delivery: one try each time it is called, until the delivery is settled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ringi.base.clock import Clock
from ringi.base.failpoint import failpoint
from ringi.contracts.backend import Backend
from ringi.contracts.jobs import Job
from ringi.delivery.attempts import EndpointState, Entry, Status, Target, TryLog
from ringi.delivery.mail import Mailer
from ringi.delivery.mail_settings import MAIL
from ringi.delivery.settings import DeliverySettings
from ringi.delivery.webhooks import GONE, Caller, Outcome, Receivers, body_of, kind_of, lane_of
from ringi.domain.events import WebhookEventName
from ringi.domain.record import Frozen
from ringi.domain.request import Request
from ringi.errors import LaterError, NotFoundError

ERASED: WebhookEventName = "request.erased"
LONGEST_WAIT = 86_400.0
"""Seconds for which a receiver's `Retry-After` is followed."""

UNKNOWN = "not configured where it was tried: give the same receivers to all servers and workers"


class Task(Frozen):
    """What a job has to deliver; with what it says, the event need not be looked up."""

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
        """Which delivery it is."""
        return Target(self.endpoint, self.version, self.request_id)

    def job(self, request: Request) -> Job:
        """Return the job that does it."""
        kind, lane = kind_of(request, self.endpoint), lane_of(request, self.endpoint)
        key = f"deliver:{self.tenant}/{self.target.id}/{self.series}"
        return Job(key=key, kind=kind, lane=lane, payload=self.model_dump(mode="json"))

    def tried(self, host: str, at: datetime, status: Status, **more: object) -> Entry:
        """Return what is kept of a try."""
        shared = {"event": self.event, "type": self.type, "happened_at": self.happened_at, "series": self.series}
        return Entry.model_validate(
            {"delivery": self.target.id, "endpoint": self.endpoint, "host": host, "at": at, "status": status}
            | shared
            | more
        )


class Plan(NamedTuple):
    """What follows from a try."""

    status: Status
    wait: float | None = None


class DeliveryWorker:
    """Tries deliveries."""

    def __init__(self, backend: Backend, clock: Clock, settings: DeliverySettings, caller: Caller) -> None:
        self._store, self._clock, self._settings, self._caller = backend.store, clock, settings, caller
        self._receivers = Receivers(settings)
        self._mailer = Mailer(settings.mail, settings.timeout) if settings.mail else None
        self._log, self._switches = TryLog(backend.stream), EndpointState(backend.stream)

    async def deliver(self, job: Job) -> None:
        """Try once, and be called again when that was not enough; what is settled is left alone."""
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
            # Its tries are forgotten too: it would be told as if for the first time.
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
        # Another process may know it: to give up here would lose what only the settings of this one lack.
        outcome = Outcome(0.0, error=UNKNOWN)
        await self._keep(task, "", self._clock(), outcome, self._planned(number, None, outcome))

    async def _give_up(self, task: Task, host: str, status: Status, why: str) -> None:
        await self._note(task, task.tried(host, self._clock(), status, error=why))

    async def _note(self, task: Task, tried: Entry) -> None:
        await self._log.add(task.tenant, task.request_id, tried)
        if task.type != ERASED and (await self._store.get(Request, task.tenant, task.request_id)).erased:
            # It was erased during the call, and what a server has said may name somebody.
            await self._log.forget(task.tenant, task.request_id)

    def _refuse_early(self, mine: Sequence[Entry]) -> None:
        due = mine[-1].next_at if mine else None
        left = (due - self._clock()).total_seconds() if due else 0
        # A queue is no clock: it may call again early, or call what it had called already.
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
    """Whether nothing is left to do: it ended, or somebody had it delivered again since."""
    is_overtaken = any(each.series > task.series for each in tries)
    return is_overtaken or bool(mine and mine[-1].status != "waiting")
