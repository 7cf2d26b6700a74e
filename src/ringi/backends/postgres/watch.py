"""Tells a statement that will never be answered from a slow one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import asyncpg

from ringi.backends.postgres.pool import Connection
from ringi.backends.silence import Silence
from ringi.errors import RingiError

PATIENCE_SECONDS = 2.0
"""Seconds of a statement without an answer, after which a new connection is asked about it."""
PROBE_SECONDS = 2.0
"""Seconds for that connection and its answer; without one the server is silent."""
IS_LOST = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE pid = $1 AND state = 'idle' AND state_change < clock_timestamp() - interval '1 second'
)
"""
"""Whether the session of a statement is idle: the statement never arrived, or its answer was lost on the way."""


class StatementWatch:
    """Closes the connections of statements that are not answered.

    Args:
        connect: Opens a connection.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect
        self.silence = Silence(self._is_heard)

    @contextmanager
    def over(self, connection: Connection) -> Iterator[None]:
        """Close a connection as soon as the answer to its statement is known to be missing."""
        probes = list[asyncio.Task[None]]()
        suspect = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._suspect, connection, probes)
        try:
            yield
        finally:
            suspect.cancel()
            for probe in probes:
                probe.cancel()

    def _suspect(self, connection: Connection, probes: list[asyncio.Task[None]]) -> None:
        probes.append(asyncio.create_task(self._close_if_lost(connection)))

    async def _close_if_lost(self, connection: Connection) -> None:
        is_lost: bool | None = False
        while is_lost is False:
            is_lost = await self._ask(connection.get_server_pid())
            if is_lost is False:
                await asyncio.sleep(PATIENCE_SECONDS)
        if is_lost is None:
            self.silence.begin()
        connection.terminate()

    async def _is_heard(self) -> bool:
        return await self._ask(0) is not None

    async def _ask(self, pid: int) -> bool | None:
        """Return whether a session has lost its statement; None if the server does not answer."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                connection = await self._connect()
                try:
                    return bool(await connection.fetchval(IS_LOST, pid))
                finally:
                    connection.terminate()
        except (OSError, TimeoutError):
            return None
        except (asyncpg.PostgresError, asyncpg.InterfaceError, RingiError):
            return False  # It refuses the connection: that is an answer.
