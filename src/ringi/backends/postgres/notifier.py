"""Wakeups by LISTEN and NOTIFY, and a pulse that shows that they arrive."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Self

import asyncpg

from ringi.backends.broadcast import BroadcastNotifier, UntilDead
from ringi.backends.postgres.database import CONNECT_SECONDS, PostgresDatabase, postgres_errors_as_own
from ringi.base.loops import cancel_all
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.contracts.backend import EVENTS, EXPIRY, JOBS, REVOCATIONS, STRANDED, Notifier
from ringi.errors import UnavailableError

SILENCE = 5.0
"""Seconds of silence after which the listening connection is checked."""
NOTIFY = "SELECT pg_notify($1, unnest($2::text[]))"
log = rate_limited_logger(__name__)
PULSE_AFTER = 10.0
"""Seconds after which listeners read the store even if the pulse has found nothing for them."""


class PostgresNotifier(BroadcastNotifier):
    """Outside the transactions of changes: NOTIFY inside them would serialize all commits."""

    def __init__(self, database: PostgresDatabase, recheck_after: float) -> None:
        super().__init__(recheck_after)
        self._database, self._channel = database, f"ringi:{database.schema}"
        self._line: asyncpg.Connection[asyncpg.Record] | None = None
        self._turn = asyncio.Lock()

    async def _send(self, messages: Sequence[str]) -> None:
        # On the listening connection PostgreSQL has one session less to wake, and the pool is left to the store.
        if line := self._line:
            with suppress(UnavailableError), postgres_errors_as_own():
                async with self._turn:
                    await line.execute(NOTIFY, self._channel, messages, timeout=CONNECT_SECONDS)
                return
        await self._database.fetch(NOTIFY, self._channel, list(messages))

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[UntilDead]:
        with postgres_errors_as_own():
            line = await self._database.connect()
            try:
                gone = asyncio.Event()
                line.add_termination_listener(lambda _: gone.set())
                await line.add_listener(self._channel, lambda *heard: self._receive(str(heard[3])))
                self._line = line

                async def until_dead() -> None:
                    while not gone.is_set():
                        try:
                            await asyncio.wait_for(gone.wait(), SILENCE)
                        except TimeoutError:  # A connection dropped by a firewall is silent too.
                            async with self._turn:
                                await line.execute("SELECT 1", timeout=CONNECT_SECONDS)

                yield until_dead
            finally:
                self._line = None
                line.terminate()


class WakeupPoller:
    """Wakes the listeners of whatever a lost notification, or the passing of time, left undone.

    Args:
        database: The database to look at.
        notifier: The notifier of this process, whose listeners then poll less often.
    """

    def __init__(self, database: PostgresDatabase, notifier: Notifier) -> None:
        self._database, self._notifier = database, notifier
        self._events: int | None = None
        self._revocations: int | None = None

    async def __aenter__(self) -> Self:
        self._notifier.pulse_after = max(PULSE_AFTER, self._notifier.recheck_after)
        self._looking = asyncio.create_task(self._keep_looking())
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_all(self._looking)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(self._notifier.recheck_after * random.uniform(0.95, 1.05))
            with FailureLog(log, "cannot look for lost notifications, trying again"):
                await self._look()

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
