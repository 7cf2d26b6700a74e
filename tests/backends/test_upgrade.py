"""A newer version beside this one, on one store."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from redis.asyncio import Redis
from tests.next_version import MARK, environment, next_version

from ringi.audit.verify import verify_store
from ringi.backends.migrations import backend_migrations
from ringi.base.extras import UnsupportedError
from ringi.base.settings import SettingError
from ringi.connect import open_backend, open_inbox_on_backend, open_to_verify
from ringi.domain.record import ERASED_PERSON
from ringi.inbox.api import Seen
from ringi.server.serialize import request_json
from ringi.testing import store_request

ENTRY = "from ringi.cli import main; main()"
SECONDS = 60.0


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next version."""
    return next_version(tmp_path_factory.mktemp("newer"))


@pytest.fixture
def schema_url(postgres_url: str) -> str:
    return f"{postgres_url}?schema=t{uuid.uuid4().hex}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that nobody has opened yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ringi.db"
    return str(request.getfixturevalue("schema_url"))


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def any_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that nobody has opened yet; here Redis too, which has no tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ringi.db"
    if request.param == "redis":
        return f"{request.getfixturevalue('durable_redis_url')}?prefix=t{uuid.uuid4().hex}"
    return str(request.getfixturevalue("schema_url"))


async def run_command(code: Path, url: str, *words: str) -> str:
    """Return what the Ringi in that folder says on the command line."""
    command = [sys.executable, "-c", ENTRY, *words, "--url", url]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment(code), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, wrong = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, (out + wrong).decode()
    return out.decode()


async def test_an_old_version_works_on_when_a_newer_one_has_added_to_its_tables(url: str, newer: Path) -> None:
    async with open_backend(url) as backend:
        await store_request(backend.store, "before")
        before = json.loads(await run_command(newer, url, "migrate", "--json"))["before"]
        assert before == ("current" if url.startswith("redis") else "older")
        await store_request(backend.store, "after")
        await backend.store.move_cursor("me", "", "1")
        await backend.jobs.announce("worker", "agents", 60)
        assert await backend.jobs.announced() == ["agents"]
    async with open_backend(url) as again, open_inbox_on_backend(again, tenant="tenant-1") as inbox:
        assert {request.id for request in await inbox.find()} == {"after", "before"}
        await inbox.cancel("before", by="ann")
        assert await again.store.cursor("me") == "1"
        assert (await verify_store(again.store))[1] == []


async def test_what_a_newer_version_wrote_is_kept_through_an_older_ones_change(url: str, newer: Path) -> None:
    asked = json.loads(await run_command(newer, url, "ask", "Ship it?", "--action", "ship", "--json"))
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        done = await inbox.respond(Seen(asked["id"], asked["digest"]), "approve", by="ann")
        assert (done.model_extra or {})[MARK] == "asked"
        assert MARK not in json.loads(request_json(done))
        assert (await verify_store(backend.store))[1] == []
    request = json.loads(await run_command(newer, url, "show", asked["id"], "--json"))
    assert (request["status"], request[MARK]) == ("completed", "asked")
    await run_command(newer, url, "verify")


async def test_an_older_version_leaves_a_persons_part_to_the_newer_one_that_wrote_more(url: str, newer: Path) -> None:
    asked = json.loads(await run_command(newer, url, "ask", "Ship it?", "--action", "ship", "--json"))
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        done = await inbox.respond(Seen(asked["id"], asked["digest"]), "approve", by="ann")

        left = (await inbox.trail.erase(person="ann", by="root")).left

        assert MARK in left[asked["id"]]
        assert await inbox.get(asked["id"]) == done
        assert (await verify_store(backend.store))[1] == []
    await run_command(newer, url, "erase", "--person", "ann", "--name", "root", "--yes")
    request = json.loads(await run_command(newer, url, "show", asked["id"], "--json"))
    assert (request["response"]["responder"], request[MARK]) == (ERASED_PERSON, "asked")
    await run_command(newer, url, "verify")


async def test_tables_that_a_newer_version_has_changed_are_refused(url: str, tmp_path: Path) -> None:
    await run_command(next_version(tmp_path / "breaking", breaking=True), url, "migrate")

    with pytest.raises(SettingError, match="a newer Ringi has changed this store"):
        async with open_backend(url):
            pass


async def write_as_before_the_first_release(url: str) -> None:
    """Leave the records of migrations, or of none, as versions before the first release did."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as file:
            file.execute("UPDATE migrations SET oldest = 0")
            file.execute("PRAGMA user_version = 8")
    elif url.startswith("redis"):
        server = Redis.from_url(url.partition("?")[0])
        await server.delete(f'{{{parse_qs(urlsplit(url).query)["prefix"][0]}}}:["format"]')
        await server.aclose()
    else:
        parts = urlsplit(url)
        connection = await asyncpg.connect(parts._replace(query="").geturl())
        schema = parse_qs(parts.query)["schema"][0]
        await connection.execute(f'UPDATE "{schema}".migrations SET oldest = 0')
        await connection.close()


async def test_a_store_from_before_the_first_release_is_refused_unchanged(any_url: str, tmp_path: Path) -> None:
    async with open_backend(any_url) as made:
        await store_request(made.store, "before")
    await write_as_before_the_first_release(any_url)
    file = tmp_path / "ringi.db"
    before = file.read_bytes() if file.exists() else b""

    for opener in (open_backend, open_to_verify):
        with pytest.raises(UnsupportedError, match="is from before the first release and cannot be read"):
            async with opener(any_url):
                pass

    assert (file.read_bytes() if file.exists() else b"") == before


async def test_the_refusal_of_an_earlier_store_is_one_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ringi.db"
    async with open_backend(url):
        pass
    await write_as_before_the_first_release(url)

    for word in ("migrate", "list", "verify"):
        command = [sys.executable, "-c", ENTRY, word, "--url", url]
        refused = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
        assert (refused.returncode, refused.stdout, refused.stderr.count(b"\n")) == (1, b"", 1)
        assert b"before the first release" in refused.stderr


async def test_of_newer_versions_that_start_at_once_one_changes_the_tables(url: str, newer: Path) -> None:
    async with open_backend(url) as backend:
        await asyncio.gather(*(run_command(newer, url, "migrate") for _ in range(3)))
        await store_request(backend.store)


async def test_old_servers_write_on_while_a_foreign_transaction_keeps_the_tables_from_changing(
    schema_url: str, newer: Path
) -> None:
    parts = urlsplit(schema_url)
    schema = parse_qs(parts.query)["schema"][0]
    foreign, watcher = [await asyncpg.connect(parts._replace(query="").geturl()) for _ in range(2)]
    async with open_backend(schema_url) as backend:
        held = foreign.transaction()
        await held.start()
        await foreign.execute(f'SELECT FROM "{schema}".requests')
        migrating = asyncio.create_task(run_command(newer, schema_url, "migrate"))
        tries, number = set[Any](), 0
        async with asyncio.timeout(SECONDS):
            while len(tries) < 3:
                number += 1
                await store_request(backend.store, f"request-{number}")
                sql = "SELECT query_start FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER%'"
                tries |= {row[0] for row in await watcher.fetch(sql)}
        assert not migrating.done()
        await held.rollback()
        await migrating
        await store_request(backend.store, "after")
    for connection in (foreign, watcher):
        await connection.close()


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_migrations_are_numbered_without_a_gap(backend: str) -> None:
    numbers = [migration.number for migration in backend_migrations(backend)]

    assert numbers == list(range(1, len(numbers) + 1))
