"""Wakeups by LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import asyncpg

from ringi.backends.broadcast import BroadcastNotifier, UntilDead
from ringi.backends.postgres.database import CONNECT_SECONDS, Database, refusing
from ringi.errors import UnavailableError

SILENCE = 5.0
"""Seconds of silence after which the listening connection is checked."""
NOTIFY = "SELECT pg_notify($1, unnest($2::text[]))"


class PostgresNotifier(BroadcastNotifier):
    """Outside the transactions of changes: NOTIFY inside them would serialize all commits."""

    def __init__(self, database: Database, recheck_after: float) -> None:
        super().__init__(recheck_after)
        self._database, self._channel = database, f"ringi:{database.schema}"
        self._line: asyncpg.Connection[asyncpg.Record] | None = None
        self._turn = asyncio.Lock()

    async def _send(self, messages: Sequence[str]) -> None:
        # On the listening connection PostgreSQL has one session less to wake, and the pool is left to the store.
        if line := self._line:
            with suppress(UnavailableError), refusing():
                async with self._turn:
                    await line.execute(NOTIFY, self._channel, messages, timeout=CONNECT_SECONDS)
                return
        await self._database.fetch(NOTIFY, self._channel, list(messages))

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[UntilDead]:
        with refusing():
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
