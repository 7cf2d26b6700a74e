"""Erasures that wait for the review of an override: a job finishes them if no process did so at once."""

from __future__ import annotations

from collections.abc import Iterator

from ringi.contracts.backend import Job, JobNotDueError
from ringi.domain.events import FINAL_EVENTS
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import ConflictError, NotFoundError
from ringi.inbox.inbox import StoreInbox

KIND = "erase"
RETRY_SECONDS = 600.0
"""Seconds until the job tries again, such as for a request on legal hold."""


class WaitingErasures:
    """Creates a job when a review ends that erasures wait for: the process that ended it may have been killed."""

    def __init__(self, inbox: StoreInbox) -> None:
        self._inbox = inbox

    def of(self, event: Event, request: Request) -> Iterator[Job]:
        """Return the job for an ended review that erasures wait for."""
        if event.type in FINAL_EVENTS and request.waiting_erasures:
            key = f"erase:{request.tenant}/{request.id}"
            yield Job(key=key, kind=KIND, partition_key=key, payload={"tenant": request.tenant, "request": request.id})

    async def finish(self, job: Job) -> None:
        """Finish the erasures, or raise `JobNotDueError` if one cannot be done now."""
        try:
            await self._inbox.for_tenant(job.payload["tenant"]).finish_erasures(job.payload["request"])
        except NotFoundError:
            return
        except ConflictError as error:
            raise JobNotDueError(RETRY_SECONDS) from error
