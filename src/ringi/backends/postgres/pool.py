"""A pool of connections that statements share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
CLOSED = "the database is closed here"
SPARE_SECONDS = 300.0
"""Seconds after which an unused connection is closed."""


class ConnectionPool:
    """A bounded pool that opens connections on demand. asyncpg's own pool costs twice as much as a statement."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        self._connect, self._size = connect, size
        self._room = asyncio.Semaphore(size)
        self._free: list[Connection] = []
        self._unused = 0
        self._is_closed = False
        self._trimming = asyncio.create_task(self._trim())

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Connection]:
        """Lend a connection as soon as one is free; the borrower must leave its session unchanged."""
        async with self._room:
            connection = self._taken() or await self._connect()
            is_done = False
            try:
                yield connection
                is_done = True
            finally:
                self._give_back(connection, is_done)

    async def close(self, seconds: float) -> None:
        """Close all connections once they are returned, or after `seconds`."""
        self._is_closed = True
        self._trimming.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for _ in range(self._size):
                    await self._room.acquire()
        while self._free:
            await ended(self._free.pop())

    def _taken(self) -> Connection | None:
        if self._is_closed:
            raise asyncpg.InterfaceError(CLOSED)
        while self._free:
            connection = self._free.pop()
            self._unused = min(self._unused, len(self._free))
            if not connection.is_closed():
                return connection
        return None

    def _give_back(self, connection: Connection, is_done: bool) -> None:
        if connection.is_closed() or self._is_closed:
            connection.terminate()
        elif is_done:
            self._free.append(connection)
        else:  # Its statement may still be ending: it is reused last.
            self._free.insert(0, connection)

    async def _trim(self) -> None:
        while True:
            self._unused = len(self._free)
            await asyncio.sleep(SPARE_SECONDS)
            spare, self._free = self._free[: self._unused], self._free[self._unused :]
            for connection in spare:
                await ended(connection)


async def ended(connection: Connection) -> None:
    """Close a connection, with a limit on the wait."""
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        await connection.close(timeout=1)
    connection.terminate()
