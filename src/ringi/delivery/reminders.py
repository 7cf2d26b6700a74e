"""Reminders before a request is due: an event of the request, so that it is made once, and delivered like any other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ringi.contracts.jobs import Job
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import LaterError, NotFoundError
from ringi.inbox.inbox import Inbox

KIND = "remind"


class Reminders:
    """Makes the job of a reminder when something is asked, and does it when its time has come."""

    def __init__(self, inbox: Inbox, before: float) -> None:
        self._inbox, self._before = inbox, before

    def of(self, event: Event, request: Request) -> Iterator[Job]:
        """Return the job, for a request that is due some day."""
        if event.type == "request.created" and request.due_at and not request.is_final:
            key = f"remind:{request.tenant}/{request.id}"
            yield Job(key=key, kind=KIND, lane=key, payload={"tenant": request.tenant, "request": request.id})

    async def remind(self, job: Job) -> None:
        """Remind, or be called again at the time for it; of what has ended or was reminded of, nobody hears."""
        inbox = self._inbox.of(job.payload["tenant"])
        try:
            request = await inbox.get(job.payload["request"])
        except NotFoundError:
            return
        if request.due_at and not request.is_final and not request.reminded_at:
            left = (reminder_time(request.created_at, request.due_at, self._before) - inbox.clock()).total_seconds()
            if left > 0:
                raise LaterError(left)
            await inbox.remind(request.id)


def reminder_time(asked: datetime, due: datetime, before: float) -> datetime:
    """Return when to remind of a request: so many seconds before it is due; of less time than that, half."""
    return max(due - timedelta(seconds=before), asked + (due - asked) / 2)
