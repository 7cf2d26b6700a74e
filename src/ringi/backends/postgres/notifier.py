"""Wake-ups by LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ringi.backends.broadcast import BroadcastNotifier, UntilDead
from ringi.backends.postgres.database import Database, refusing

SILENCE = 5.0
"""Seconds after which the listening connection is asked whether it still lives."""
NOTIFY = "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message"


class PostgresNotifier(BroadcastNotifier):
    """Outside the transactions of the changes: a NOTIFY inside would let one commit at a time."""

    def __init__(self, database: Database, recheck_after: float) -> None:
        super().__init__(recheck_after)
        self._database, self._channel = database, f"ringi:{database.schema}"

    async def _send(self, messages: Sequence[str]) -> None:
        await self._database.fetch(NOTIFY, self._channel, list(messages))

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[UntilDead]:
        with refusing():
            connection = await self._database.connect()
            try:
                gone = asyncio.Event()
                connection.add_termination_listener(lambda _: gone.set())
                await connection.add_listener(self._channel, lambda *heard: self._heard(str(heard[3])))

                async def until_dead() -> None:
                    while not gone.is_set():
                        try:
                            await asyncio.wait_for(gone.wait(), SILENCE)
                        except TimeoutError:  # A connection that a firewall forgot says nothing either.
                            await connection.execute("SELECT 1")

                yield until_dead
            finally:
                connection.terminate()
