"""Seals on stores for many machines, by servers that seal at the same time."""

from __future__ import annotations

import asyncio
import os
import subprocess
import uuid
from pathlib import Path

import asyncpg
import pytest
from tests import warm
from tests.acceptance.demo_server import DemoServer

import ringi
from ringi.audit.seals import Sealer, SealReport, compare_events_with_seals, read_seals
from ringi.base.clock import utc_now
from ringi.connect import open_backend, store_inbox
from ringi.inbox.inbox import StoreInbox

KEY = "a key that is not in the store"


@pytest.fixture(params=["postgres", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    own = f"t{uuid.uuid4().hex}"
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema={own}"
    return f"{request.getfixturevalue('durable_redis_url')}?prefix={own}"


async def test_two_servers_that_seal_while_others_write_agree(url: str, tmp_path: Path) -> None:
    async with open_backend(url) as here, open_backend(url) as there, store_inbox(url) as inbox:
        files = [tmp_path / "here.jsonl", tmp_path / "there.jsonl"]
        sealers = [Sealer(b.store, file, KEY, utc_now) for b, file in zip((here, there), files, strict=True)]
        for first in range(0, 60, 10):
            await asyncio.gather(written(inbox, 10, first), *(sealer.seal() for sealer in sealers))
        await asyncio.gather(*(sealer.seal() for sealer in sealers))
        seals = [read_seals(file) for file in files]

        assert min(len(each) for each in seals) > 2
        assert seals[0][-1].head == seals[1][-1].head
        assert await compare_events_with_seals(here.store, [*seals[0], *seals[1]], KEY) == SealReport([], 60, 0)


async def written(inbox: StoreInbox, count: int, first: int = 0) -> None:
    await asyncio.gather(*(inbox.ask(f"Go {number}?") for number in range(first, first + count)))


async def test_a_seal_that_is_not_of_this_store_is_found_though_another_of_as_many_events_is(
    url: str, tmp_path: Path
) -> None:
    async with open_backend(url) as real, open_backend("memory://") as other:
        for backend, name in ((real, "real"), (other, "other")):
            await written(StoreInbox(backend.store, backend.notifier), 10)
            await Sealer(backend.store, tmp_path / name, KEY, utc_now).seal()
        right, wrong = read_seals(tmp_path / "real"), read_seals(tmp_path / "other")

        for seals in ([*right, *wrong], [*wrong, *right]):
            verdict = await compare_events_with_seals(real.store, seals, KEY)
            assert "over 10 events is broken" in verdict.findings[0]
            assert verdict.sealed == 0


def verify(url: str, *files: Path) -> subprocess.CompletedProcess[str]:
    expected = [word for file in files for word in ("--expect", str(file))]
    return warm.ringi(["verify", "--url", url, *expected], Path.cwd(), os.environ)


async def test_verify_holds_a_postgres_against_the_seals_of_both_its_servers(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_SEAL_KEY", KEY)
    monkeypatch.setenv("PYTHONPATH", str(Path(ringi.__file__).parents[1]))
    schema = f"t{uuid.uuid4().hex}"
    url = f"{postgres_url}?schema={schema}"
    homes = [tmp_path / "one", tmp_path / "other"]
    for home in homes:
        home.mkdir()
    servers = [DemoServer(home, "serve", "--url", url) for home in homes]
    with servers[0], servers[1]:
        async with store_inbox(url) as inbox:
            await written(inbox, 20)
        # Each seals when it ends.
        for server in servers:
            server.stop()
    files = [home / "seals.jsonl" for home in homes]

    sound = await asyncio.to_thread(verify, url, *files)
    assert sound.returncode == 0, sound.stderr
    assert "20 events match the seals; 0 are newer than the last seal" in sound.stdout

    connection = await asyncpg.connect(postgres_url)
    gone = await connection.fetchval(f'SELECT record_id FROM "{schema}".events ORDER BY number LIMIT 1')
    for table, column in (("events", "record_id"), ("requests", "id"), ("texts", "id"), ("shown", "id")):
        await connection.execute(f'DELETE FROM "{schema}".{table} WHERE {column} = $1', gone)
    await connection.close()

    assert (await asyncio.to_thread(verify, url)).returncode == 0
    for held in (files, files[:1], files[1:]):
        robbed = await asyncio.to_thread(verify, url, *held)
        assert robbed.returncode == 1
        assert "1 findings" in robbed.stdout
