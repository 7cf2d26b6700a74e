"""The audit beside those who write: it finds nothing where nothing is wrong, and all that is."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from ringi.audit.verify import Finding, verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.contracts.store import R, Store
from ringi.domain.record import START, Event, Position, Query
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox
from ringi.testing import store_request
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request

WRITERS = 4
ROUNDS = 5


class Writers:
    """Four who ask, claim, release, answer and withdraw, for as long as they are wanted."""

    def __init__(self, stores: list[Store]) -> None:
        self.inboxes = [StoreInbox(store, MemoryNotifier(1)) for store in stores]
        self.written, self.is_enough = 0, False

    async def write(self, n: int) -> None:
        inbox = self.inboxes[n % len(self.inboxes)]
        while not self.is_enough:
            asked = await inbox.ask("Go?")
            await inbox.claim(asked.id, by="ann")
            await inbox.release(asked.id, by="ann")
            if self.written % 3:
                await inbox.respond(asked, "respond", message="yes", by="ann")
            else:
                await inbox.cancel(asked.id, by="ann")
            self.written += 1

    async def more(self, count: int) -> None:
        """Wait until so much more was written."""
        wanted = self.written + count
        async with asyncio.timeout(20):
            while self.written < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # noqa: TID251


@asynccontextmanager
async def writing(stores: list[Store]) -> AsyncIterator[Writers]:
    writers = Writers(stores)
    tasks = [asyncio.create_task(writers.write(n)) for n in range(WRITERS)]
    try:
        yield writers
    finally:
        writers.is_enough = True
        await asyncio.gather(*tasks)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ringi.db"


async def test_an_audit_beside_four_writers_finds_nothing(path: Path) -> None:
    async with SqliteDatabase(path) as one, SqliteDatabase(path) as two, SqliteDatabase(path) as reading:
        async with writing([SqliteStore(one), SqliteStore(two)]) as writers:
            counts = []
            for _ in range(ROUNDS):
                await writers.more(20)
                count, findings = await verify_store(SqliteStore(reading))
                assert findings == []
                counts.append(count)
        assert counts == sorted(set(counts))
        last, findings = await verify_store(SqliteStore(reading))
        assert (last >= counts[-1], findings) == (True, [])


TAMPERINGS = {
    "UPDATE requests SET body = replace(body, 'Old?', 'New?') WHERE id = 'old'": {
        "old: title is not what its events say",
    },
    "UPDATE events SET payload = replace(payload, 'Old?', 'New?') WHERE record_id = 'old'": {
        "old: its payload was changed", "old: title is not what its events say",
    },
    "DELETE FROM events WHERE record_id = 'old' AND version = 2": {
        "old: an event before it is missing, or it was inserted",
    },
    "DELETE FROM events WHERE record_id = 'old' AND version = 3": {"old: its last events are missing"},
    "DELETE FROM events WHERE record_id = 'old'": {"old: the record has no events"},
    "DELETE FROM requests WHERE id = 'old'": {"old: the record is gone, its events are not"},
}  # fmt: skip


@pytest.mark.parametrize("sql", TAMPERINGS)
async def test_an_audit_beside_four_writers_finds_what_is_wrong(path: Path, sql: str) -> None:
    async with SqliteDatabase(path) as one, SqliteDatabase(path) as two, SqliteDatabase(path) as reading:
        inbox = StoreInbox(SqliteStore(one), MemoryNotifier(1))
        await inbox.ask("Old?", id="old")
        await inbox.claim("old", by="ann")
        await inbox.reassign("old", assignee="bob", by="ann")
        async with writing([SqliteStore(one), SqliteStore(two)]) as writers:
            await writers.more(20)
            with closing(sqlite3.connect(path, timeout=20)) as connection, connection:
                assert connection.execute(sql).rowcount > 0
            await writers.more(20)
            _, findings = await verify_store(SqliteStore(reading))
    assert {f"{finding.key.id}: {finding.what}" for finding in findings} == TAMPERINGS[sql]


class BusyStore(MemoryStore):
    """A store in which something is written between the reading of the events and that of the records."""

    changes: list[tuple[Request, Event]]

    async def find(self, kind: type[R], query: Query) -> list[R]:
        while self.changes:
            await self.put(*self.changes.pop(0))
        return await super().find(kind, query)


async def busy(*changes: str) -> tuple[BusyStore, Request]:
    store = BusyStore()
    store.changes = []
    asked = await store_request(store)
    now = asked
    for type in changes:
        now, event = now.changed(type, "ann", NOON, claimed_by=type)
        store.changes.append((now, event))
    return store, asked


async def test_a_record_that_moved_on_meanwhile_is_compared_where_it_was() -> None:
    store, _ = await busy("claimed", "released", "claimed")

    assert await verify_store(store) == (4, [])


async def test_a_record_that_moved_on_meanwhile_is_found_when_it_is_not_what_its_new_events_say() -> None:
    store, asked = await busy("claimed")
    moved, event = store.changes[0]
    store.changes[0] = (moved.model_copy(update={"title": "Another"}), event)

    _, findings = await verify_store(store)

    assert findings == [Finding("request", asked.key, "", "title is not what its events say")]


async def test_a_new_event_that_was_edited_is_found() -> None:
    store, asked = await busy("claimed")
    moved, event = store.changes[0]
    store.changes[0] = (moved, event.model_copy(update={"type": "request.forged"}))

    _, findings = await verify_store(store)

    assert findings == [Finding("request", asked.key, "2", "it was changed")]


async def test_a_record_that_is_new_meanwhile_is_no_finding() -> None:
    store, _ = await busy()
    store.changes = [a_request("fresh")]

    assert await verify_store(store) == (2, [])


class EndlessStore(MemoryStore):
    """A store whose writer is as quick as its reader."""

    async def events(self, after: Position = START, limit: int = 100, **chosen: Any) -> list[Event]:
        await store_request(self, f"request-{len(self._events)}")
        return await super().events(after, limit, **chosen)


async def test_an_audit_ends_although_the_writing_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringi.audit.verify.BATCH", 1)
    store = EndlessStore()
    for n in range(5):
        await store_request(store, f"first-{n}")

    async with asyncio.timeout(20):
        count, findings = await verify_store(store)

    assert findings == []
    assert count >= 5
