"""Tokens and sessions that are taken back: at once, on every server, and after a restart."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import token
from tests.faults.processes import skewed
from tests.server.provider import Provider
from tests.server.test_oidc import configured, provider, signed_in
from tests.server.world import LIMIT, World, listening, open_world, until
from tests.test_cli import ENTRY, Ringi, ringi_in

from ringi.backends.postgres import database
from ringi.connect import open_backend
from ringi.contracts.backend import Backend, StreamItem
from ringi.errors import UnavailableError
from ringi.server.auth.authenticator import Keys
from ringi.server.auth.revocations import KEY, LoadedRevocations, Revocation, TokenMetadata, token_digest

__all__ = ["provider"]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each store with agents."""
    own = f"t{uuid.uuid4().hex}"
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema={own}"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/ringi.db"


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    async with open_world(store_url) as world:
        yield world


async def revoke(backend: Backend, name: str, **more: Any) -> None:
    """Revoke what somebody has, as another process does."""
    fields = {"tenant": "default", "name": name, "at": time.time(), "by": "eve", **more}
    await LoadedRevocations(backend).revoke(Revocation(**fields))


async def is_out(client: httpx.AsyncClient) -> bool:
    return (await client.get("/v1/session")).status_code == 401


async def is_in(client: httpx.AsyncClient) -> bool:
    return (await client.get("/v1/session")).status_code == 200


async def test_all_that_somebody_had_is_worth_nothing_and_others_keep_theirs(url: str) -> None:
    async with open_world(url) as world:
        ann, admin = world.client("person", "ann"), world.client("admin", "ann")
        others = [
            world.client("person", "bob"),
            world.client("person", "ann", tenant="acme"),
            world.client("agent", "ann"),
        ]
        assert await is_in(ann)
        await revoke(world.backend, "ann", role="person")

        await until(lambda: is_out(ann))
        assert [await is_in(each) for each in (admin, *others)] == [True] * 4
        reply = await ann.get("/v1/requests")
        assert (reply.status_code, "revoked" in reply.json()["detail"]) == (401, True)
        assert await is_in(world.client("person", "ann"))

        await revoke(world.backend, "ann")
        await until(lambda: is_out(admin))
        await until(lambda: is_out(others[2]))
        assert [await is_in(each) for each in others[:2]] == [True, True]


async def test_one_token_is_taken_back_alone(url: str) -> None:
    async with open_world(url) as world:
        tokens = [Keys(world.keys._secret).mint(role="person", name="ann", groups=(group,)) for group in ("a", "b")]
        lost, valid = (world.stranger(authorization=f"Bearer {token}") for token in tokens)
        await revoke(world.backend, "ann", mark=token_digest(tokens[0]))

        await until(lambda: is_out(lost))
        assert await is_in(valid)


async def test_every_server_of_a_store_knows_it_and_one_that_starts_later_too(postgres_url: str) -> None:
    url = f"{postgres_url}?schema=t{uuid.uuid4().hex}"
    async with open_world(url) as here, open_world(url) as there:
        clients = [each.client("person", "ann") for each in (here, there)]
        token = clients[0].headers["authorization"]
        assert [await is_in(client) for client in clients] == [True, True]
        await revoke(here.backend, "ann")
        for client in clients:
            await until(lambda client=client: is_out(client))  # type: ignore[misc]
        async with open_world(url) as later:
            assert await is_out(later.stranger(authorization=token))


async def test_servers_on_redis_tell_each_other(durable_redis_url: str) -> None:
    url = f"{durable_redis_url}?prefix=t{uuid.uuid4().hex}"
    async with open_backend(url, poll_interval=3600) as here, open_backend(url, poll_interval=3600) as there:
        elsewhere, issued = LoadedRevocations(there), TokenMetadata("mark", time.time())
        await elsewhere.begin()
        assert not elsewhere.is_revoked("default", "ann", "person", issued)
        await revoke(here, "ann")
        await until(lambda: elsewhere.is_revoked("default", "ann", "person", issued))
        await elsewhere.close()


async def test_who_listens_is_sent_away(store_url: str) -> None:
    async with (
        open_world(store_url, serves=True) as world,
        listening(world.client("person", "ann"), "/v1/events") as gone,
        listening(world.client("person", "bob"), "/v1/events") as stays,
    ):
        await gone.placed()
        await stays.placed()
        await revoke(world.backend, "ann")
        assert (await gone.next()).name == "closing"
        request = await world.asked()
        assert (await stays.next()).data["request"]["id"] == request.id


async def test_somebody_signs_out_everywhere(world: World) -> None:
    laptop, phone = world.client("person", "ann"), world.client("person", "ann")

    assert (await laptop.delete("/v1/session?everywhere=true")).status_code == 204
    for each in (laptop, phone):
        await until(lambda each=each: is_out(each))  # type: ignore[misc]
    assert (await world.stranger().delete("/v1/session?everywhere=true")).status_code == 401


async def test_a_session_of_a_provider_is_taken_back_and_a_new_sign_in_counts(provider: Provider) -> None:
    async with open_world("memory://", oidc=configured(provider)) as world:
        browser, _ = await signed_in(world, provider)
        assert await is_in(browser)
        await revoke(world.backend, "ann@example.com")
        await until(lambda: is_out(browser))

        again, _ = await signed_in(world, provider)
        assert await is_in(again)


async def test_a_link_with_a_revoked_token_opens_nothing(world: World) -> None:
    token = world.token("person", "ann")
    await revoke(world.backend, "ann")
    client = world.client("person", "ann")
    await until(lambda: is_out(world.stranger(authorization=f"Bearer {token}")))
    reply = await world.stranger(origin="http://localhost").post("/v1/session", json={"token": token})

    assert (reply.status_code, "set-cookie" in reply.headers) == (401, False)
    assert await is_in(client)


async def test_nobody_comes_in_before_it_is_known_what_was_revoked() -> None:
    async with open_backend("memory://") as backend:
        revocations = LoadedRevocations(backend)

        with pytest.raises(UnavailableError):
            revocations.is_revoked("default", "ann", "person", TokenMetadata("mark", time.time()))


def test_the_command_takes_back_a_token_and_all_of_somebody(tmp_path: Path) -> None:
    command: Ringi = ringi_in(tmp_path, ENTRY)
    with DemoServer(tmp_path, "serve") as server:
        tokens = [token(server, "ann", groups=(group,)) for group in ("a", "b")]

        def stand(token: str) -> int:
            return httpx.get(f"{server.url}/v1/session", headers={"authorization": f"Bearer {token}"}).status_code

        assert [stand(token) for token in tokens] == [200, 200]
        one = command("token", "revoke", tokens[0])
        assert (one.returncode, one.stdout) == (0, "ann: this token revoked\n")
        wait_for(lambda: stand(tokens[0]) == 401)
        assert stand(tokens[1]) == 200
        assert command("token", "revoke", "--name", "ann", "--role", "person").returncode == 0
        wait_for(lambda: stand(tokens[1]) == 401)
        server.kill()
        server.start()
        assert [stand(token) for token in tokens] == [401, 401]

    for wrong in ((), ("nonsense",)):
        refused = command("token", "revoke", *wrong)
        assert refused.returncode in (1, 2)
        assert refused.stderr.startswith("error: ")


def wait_for(holds: Any) -> None:
    async def held() -> bool:
        return bool(await asyncio.to_thread(holds))

    asyncio.run(until(held))


async def test_a_revoked_token_is_worth_nothing_however_its_end_is_written() -> None:
    async with open_world("memory://") as world:
        text = Keys(world.keys._secret).mint(role="admin", name="ann")
        ways = [world.stranger(authorization=f"Bearer {text}{more}") for more in ("", "=")]
        await revoke(world.backend, "ann", mark=token_digest(text))

        for client in ways:
            await until(lambda client=client: is_out(client))  # type: ignore[misc]


ENTRIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"tenant": "default", "name": "ann", "role": "auditor", "by": "eve"}, ["ann"]),
    ({"tenant": "default", "name": "ann", "at": "yesterday", "by": "eve"}, ["ann"]),
    ({"tenant": "default", "name": "ann", "at": math.nan, "by": "eve"}, ["ann"]),
    ({"tenant": "default", "name": ["ann"], "by": "eve"}, ["ann", "bob"]),
    ({"name": "ann"}, ["ann", "bob", "eve of acme"]),
]


@pytest.mark.parametrize(("entry", "out"), ENTRIES)
@pytest.mark.parametrize("restarts", [False, True])
async def test_an_entry_that_cannot_be_read_takes_back_what_it_may_mean_and_nothing_else(
    entry: dict[str, Any], out: list[str], restarts: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_backend("memory://", poll_interval=0.05) as backend:
        revocations = LoadedRevocations(backend)
        if not restarts:
            await revocations.begin()
        before = TokenMetadata("before", time.time())
        await backend.stream.append(KEY, [StreamItem(entry)], fence=0)
        await revoke(backend, "zoe")
        await revocations.begin()
        await until(lambda: revocations.is_revoked("default", "zoe", "person", before))

        people = {"ann": ("default", "ann"), "bob": ("default", "bob"), "eve of acme": ("acme", "eve")}
        assert [who for who, key in people.items() if revocations.is_revoked(*key, "person", before)] == out
        assert "cannot be read" in caplog.text
        later = TokenMetadata("later", time.time() + 1)
        assert [who for who, key in people.items() if revocations.is_revoked(*key, "person", later)] == []
        await revocations.close()


async def test_an_entry_that_names_one_token_takes_back_that_one_whatever_else_it_says() -> None:
    async with open_backend("memory://", poll_interval=0.05) as backend:
        await backend.stream.append(KEY, [StreamItem({"mark": "lost", "at": None})], fence=0)
        revocations = LoadedRevocations(backend)
        await revocations.begin()

        results = [
            revocations.is_revoked("default", "ann", "person", TokenMetadata(mark, 1.0)) for mark in ("lost", "kept")
        ]

        assert results == [True, False]
        await revocations.close()


async def test_a_command_whose_clock_is_wrong_takes_back_what_was_made_until_now(postgres_url: str) -> None:
    url = f"{postgres_url}?schema=t{uuid.uuid4().hex}"
    async with open_world(url) as world:
        ann = world.client("person", "ann")
        assert await is_in(ann)
        words = ["token", "revoke", "--name", "ann", "--url", url]
        environment = {**os.environ, **skewed(-3600)}
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", ENTRY, *words, env=environment)

        assert await process.wait() == 0
        await until(lambda: is_out(ann))


async def test_who_signs_out_everywhere_is_out_though_the_clock_of_the_server_is_ahead(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_world(f"{postgres_url}?schema=t{uuid.uuid4().hex}") as world:
        now = time.time()
        monkeypatch.setattr("ringi.server.auth.authenticator.time.time", lambda: now + 60)
        ann = world.client("person", "ann")
        monkeypatch.undo()
        assert await is_in(ann)

        assert (await ann.delete("/v1/session?everywhere=true")).status_code == 204

        await until(lambda: is_out(ann))


@pytest.mark.parametrize("ahead", [-60, 60])
async def test_a_session_is_made_by_the_clock_that_takes_it_back(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    monkeypatch.setattr(LoadedRevocations, "now", lambda _: time.time() + ahead)
    async with open_world("memory://", oidc=configured(provider)) as world:
        laptop, phone = [(await signed_in(world, provider))[0] for _ in range(2)]
        laptop.headers["origin"] = "http://localhost"
        assert (await laptop.delete("/v1/session?everywhere=true")).status_code == 204
        await until(lambda: is_out(phone))

        again, _ = await signed_in(world, provider)
        assert await is_in(again)


async def test_a_stream_that_is_opened_while_its_token_is_taken_back_does_not_stay(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine that is slow must not turn the refusal into a 503.
    monkeypatch.setattr(database, "WAIT_SECONDS", 60.0)
    monkeypatch.setitem(database.LOCKS, "lock_timeout", "60000")
    schema = f"t{uuid.uuid4().hex}"
    holder, watcher = [await asyncpg.connect(postgres_url) for _ in range(2)]
    async with open_world(f"{postgres_url}?schema={schema}") as world:
        request, ann = await world.asked(), world.client("person", "ann")
        held = holder.transaction()
        await held.start()
        await holder.execute(f'LOCK TABLE "{schema}".requests')
        opening = asyncio.create_task(ann.get(f"/v1/requests/{request.id}/events"))
        # Not the server's own reads, which wait for the same lock: the stream reads its request.
        waits = f"NOT granted AND relation = '{schema}.requests'::regclass AND query LIKE '%id = $2'"
        sql = f"SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE {waits}"

        async def is_held() -> bool:
            return bool(await watcher.fetchval(sql))

        await until(is_held)
        await revoke(world.backend, "ann")
        await until(lambda: is_out(ann))
        assert not opening.done()
        await held.rollback()

        reply = await asyncio.wait_for(opening, LIMIT)
        assert (reply.status_code, "revoked" in reply.json()["detail"]) == (401, True)
    for connection in (holder, watcher):
        await connection.close()


async def test_a_long_poll_of_a_revoked_token_ends_at_once_without_the_request(world: World) -> None:
    request, ann = await world.asked(), world.client(name="ann")
    poll = asyncio.create_task(ann.get(f"/v1/requests/{request.id}", params={"wait": 25}))
    await until(lambda: len(world.app._streams._waits) == 1)
    revocations = world.app._revocations
    await revocations.revoke(Revocation(tenant="default", name="ann", at=revocations.now() + 1, by="root"))
    assert (await asyncio.wait_for(poll, 10)).status_code == 401
