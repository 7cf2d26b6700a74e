"""One statement per interval for all that a process would otherwise poll for."""

from __future__ import annotations

import asyncio
import random
from typing import Self

from ringi.backends.postgres.database import Database
from ringi.base.log_limit import limited
from ringi.contracts.notifier import EVENTS, EXPIRY, JOBS, REVOCATIONS, STRANDED, Notifier
from ringi.errors import RingiError

log = limited(__name__)

PULSE_AFTER = 10.0
"""Seconds after which listeners read the store even if the pulse has found nothing for them."""


class Pulse:
    """Wakes the listeners of whatever a lost notification, or the passing of time, left undone.

    Args:
        database: The database to look at.
        notifier: The notifier of this process, whose listeners then poll less often.
    """

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._database, self._notifier = database, notifier
        self._events: int | None = None
        self._revocations: int | None = None

    async def __aenter__(self) -> Self:
        self._notifier.pulse_after = max(PULSE_AFTER, self._notifier.recheck_after)
        self._looking = asyncio.create_task(self._keep_looking())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._looking.cancel()
        await asyncio.gather(self._looking, return_exceptions=True)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(self._notifier.recheck_after * random.uniform(0.95, 1.05))
            try:
                await self._look()
            except RingiError as error:
                log.warning("cannot look for lost notifications, trying again: %s", error)

    async def _look(self) -> None:
        (row,) = await self._database.fetch("SELECT * FROM pulse($1)", self._notifier.is_leader)
        due = {
            EVENTS: row["has_unsealed"] or row["last_event"] != self._events,
            JOBS: row["has_jobs"],
            EXPIRY: row["has_overdue"],
            REVOCATIONS: row["last_revocation"] != self._revocations,
            STRANDED: row["has_stranded"],
        }
        self._events, self._revocations = row["last_event"], row["last_revocation"]
        for topic in filter(due.get, due):
            self._notifier.wake(topic)
