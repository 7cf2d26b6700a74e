"""`ringi verify` on PostgreSQL: a session that may not write, unnumbered events included."""

from __future__ import annotations

import uuid

import asyncpg
import pytest

from ringi.audit.verify import verify_store
from ringi.base.settings import SettingError
from ringi.connect import open_backend, open_to_verify
from ringi.testing import store_request


@pytest.fixture
async def url(postgres_url: str) -> str:
    url = f"{postgres_url}?schema=v{uuid.uuid4().hex}"
    async with open_backend(url) as backend:
        for n in range(3):
            asked = await store_request(backend.store, f"request-{n}")
            await backend.store.put(*asked.claimed("ann", asked.created_at, asked.created_at - asked.created_at))
    return url


async def execute(url: str, sql: str) -> None:
    address, _, schema = url.partition("?schema=")
    connection = await asyncpg.connect(address, server_settings={"search_path": schema})
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def found(url: str) -> list[str]:
    async with open_to_verify(url) as (store, _):
        count, findings = await verify_store(store)
    assert count == 6
    return [f"{finding.key.id or finding.record}: {finding.what}" for finding in findings]


async def test_a_whole_store_is_whole_and_its_events_stay_unnumbered(url: str) -> None:
    assert await found(url) == []

    await execute(url, "DO $$ BEGIN ASSERT (SELECT count(*) FROM unsealed) = 6; END $$")


async def test_a_store_that_is_not_there_is_an_error_and_is_not_made(postgres_url: str) -> None:
    schema = f"v{uuid.uuid4().hex}"
    with pytest.raises(SettingError, match="no store of Ringi"):
        async with open_to_verify(f"{postgres_url}?schema={schema}"):
            pytest.fail("it was opened")
    check = f"DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '{schema}'); END $$"
    await execute(f"{postgres_url}?schema=public", check)


TAMPERINGS = {
    "UPDATE unsealed SET payload = '{' WHERE record_id = 'request-1' AND version = 2": "event: it cannot be read",
    "UPDATE requests SET attention = true WHERE id = 'request-1'": "request-1: the index column attention",
    "UPDATE texts SET search = 'x' WHERE id = 'request-1'": "request-1: the index column search",
    "DELETE FROM texts WHERE id = 'request-1'": "request-1: the index column search",
    "DELETE FROM shown WHERE id = 'request-1'": "request-1: it is missing in a list",
    "UPDATE shown SET audience = 'to:eve' WHERE id = 'request-1' AND audience = 'all'": (
        "request-1: it stands in a list that is not its own"
    ),
    "UPDATE requests SET body = replace(body, 'order', 'ordre') WHERE id = 'request-1'": "request-1: title is not what",
}


@pytest.mark.parametrize("sql", TAMPERINGS)
async def test_what_does_not_fit_is_named(url: str, sql: str) -> None:
    await execute(url, sql)

    findings = await found_any(url)

    assert [finding for finding in findings if finding.startswith(TAMPERINGS[sql])], findings


async def found_any(url: str) -> list[str]:
    async with open_to_verify(url) as (store, _):
        _, findings = await verify_store(store)
    return [f"{finding.key.id or finding.record}: {finding.what}" for finding in findings]
