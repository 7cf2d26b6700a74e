"""Reminders before a request is due: each is an event of the request, so it occurs once and is delivered as such."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ringi.contracts.backend import Job, JobNotDueError
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import NotFoundError
from ringi.inbox.inbox import StoreInbox

KIND = "remind"


class Reminders:
    """Creates a reminder's job when a request is asked, and does it when it is due."""

    def __init__(self, inbox: StoreInbox, before: float) -> None:
        self._inbox, self._before = inbox, before

    def of(self, event: Event, request: Request) -> Iterator[Job]:
        """Return the job for a request with a due time."""
        if event.type == "request.created" and request.due_at and not request.is_final:
            key = f"remind:{request.tenant}/{request.id}"
            yield Job(key=key, kind=KIND, partition_key=key, payload={"tenant": request.tenant, "request": request.id})

    async def remind(self, job: Job) -> None:
        """Record a reminder, or raise `JobNotDueError` until it is due; skip ended or reminded requests."""
        inbox = self._inbox.for_tenant(job.payload["tenant"])
        try:
            request = await inbox.get(job.payload["request"])
        except NotFoundError:
            return
        if request.due_at and not request.is_final and not request.reminded_at:
            seconds_left = (
                reminder_time(request.created_at, request.due_at, self._before) - inbox.clock()
            ).total_seconds()
            if seconds_left > 0:
                raise JobNotDueError(seconds_left)
            await inbox.remind(request.id)


def reminder_time(asked: datetime, due: datetime, before: float) -> datetime:
    """Return the time of the reminder: `before` seconds before the due time, or halfway if there is less time."""
    return max(due - timedelta(seconds=before), asked + (due - asked) / 2)
