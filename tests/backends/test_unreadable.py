"""A record that this version cannot read stops nobody but who asks for it."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.domain.record import Query, UnreadableError
from ringi.domain.request import Request
from ringi.server.problems import http_status_of_error
from ringi.testing import store_request

SQL = """UPDATE requests SET body = replace(body, '"kind":"approval"', '"kind":"ballot"') WHERE id = 'odd'"""


@pytest.fixture(params=["sqlite", "postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """A store with a request, between others, of a kind that only a newer version knows."""
    spoil: Callable[[], Awaitable[object]]
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/ringi.db"

        async def spoil() -> None:
            with closing(sqlite3.connect(tmp_path / "ringi.db")) as file:
                file.execute(SQL)
                file.commit()
    else:
        server, schema = request.getfixturevalue("postgres_url"), f"t{uuid.uuid4().hex}"
        url = f"{server}?schema={schema}"

        async def spoil() -> None:
            connection = await asyncpg.connect(server, server_settings={"search_path": schema})
            await connection.execute(SQL)
            await connection.close()

    async with open_backend(url) as backend:
        for id in ("a", "odd", "b", "c"):
            await store_request(backend.store, id)
        await spoil()
        yield backend


async def test_a_list_leaves_it_out_and_is_as_long_as_asked(backend: Backend) -> None:
    found = [[each.id for each in await backend.store.find(Request, Query(limit=n))] for n in (1, 2, 3, 4)]

    assert [len(ids) for ids in found] == [1, 2, 3, 3]
    assert sorted(found[3]) == ["a", "b", "c"]


async def test_who_asks_for_it_is_told_to_upgrade_and_others_are_served(backend: Backend) -> None:
    async with open_inbox_on_backend(backend, tenant="tenant-1") as inbox:
        with pytest.raises(UnreadableError, match=r"'odd' cannot be read \(kind: .*upgrade Ringi") as error_info:
            await inbox.cancel("odd", by="ann")
        assert http_status_of_error(error_info.value) == (503, "unavailable")
        assert (await inbox.cancel("a", by="ann")).status == "cancelled"
