"""Wakeups on one machine: direct within a process, by the file's change counter between processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Self

from ringi.backends.sqlite.database import Database
from ringi.contracts.notifier import EXPIRY, STRANDED, Notifier
from ringi.contracts.stream import StreamItem
from ringi.errors import UnavailableError

log = logging.getLogger(__name__)
LOOKS_PER_INTERVAL = 10
"""A check costs microseconds, so another process's change is seen well within the poll interval."""


NOT_OF_FILES = ("request/", "thread/", EXPIRY, STRANDED)
"""Topics that are not woken by each change of the file."""


class SqliteNotifier(Notifier):
    """Notifies this process at once, and on writes of other processes all listeners except waits for one record.

    Those waits are notified by the feed, which reads the changed records: 10,000 waits cost one query.
    """

    def __init__(self, database: Database, recheck_after: float) -> None:
        super().__init__(recheck_after)
        self._database = database

    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        self.wake(topic, items)

    async def __aenter__(self) -> Self:
        self._watch = asyncio.create_task(self._watch_file(await self._database.data_version()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watch.cancel()
        await asyncio.gather(self._watch, return_exceptions=True)

    async def _watch_file(self, seen: int) -> None:
        logged = ""
        while True:
            await asyncio.sleep(self.recheck_after / LOOKS_PER_INTERVAL)
            try:
                now, logged = await self._database.data_version(), ""
            except UnavailableError as error:
                if str(error) != logged:
                    log.warning("cannot check the file for changes: %s", error)
                now, logged = seen, str(error)
            if now != seen:
                seen = now
                self.wake_all(except_prefixes=NOT_OF_FILES)
