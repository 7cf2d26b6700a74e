"""A file of an older version is brought up to date with what is in it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ringi.backends.sqlite.database import Database
from ringi.backends.sqlite.store import SqliteStore
from ringi.record import Query
from ringi.request import Request
from ringi.testing import stored
from ringi.testing.clock import NOON

BACK_TO_1 = """
DROP INDEX requests_attention; DROP INDEX threads_by_status; ALTER TABLE requests DROP COLUMN attention;
PRAGMA user_version = 1
"""


async def test_what_needed_attention_before_it_had_a_column_is_found(path: Path) -> None:
    async with Database(path) as database:
        store = SqliteStore(database)
        for id in ("well", "stuck", "taken-up"):
            asked = await stored(store, id, parked=True)
            if id != "well":
                asked, event = asked.needing_attention("no such step", NOON)
                await store.put(asked, event)
            if id == "taken-up":
                await store.put(*asked.acknowledged("worker", NOON))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(BACK_TO_1)

    async with Database(path) as database:
        found = await SqliteStore(database).find(Request, Query(attention=True))

    assert [request.id for request in found] == ["stuck"]
