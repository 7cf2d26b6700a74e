"""An auditor reads a whole tenant and changes nothing, and what they read is on record."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.server.test_matrix import ROWS
from tests.server.world import World, open_world

from ringi.audit.verify import verify_store
from ringi.errors import UnavailableError
from ringi.server import middleware
from ringi.server.identity import GroupRoles

Json = dict[str, Any]


async def accesses(world: World, role: str = "admin", tenant: str = "default") -> list[Json]:
    items: list[Json] = (await world.client(role, role, tenant).get("/v1/access-log")).json()["items"]
    return items


async def test_every_write_is_refused_before_its_body_is_read(world: World) -> None:
    auditor = world.client("auditor", "eve")
    writes = [row for row in ROWS if row[0] != "GET" and row[1] != "/v1/session"]
    for method, path in writes:
        place = path.format(id="r1", agent="chat", action_id="count-1", bullet="b-00009", number=1)
        reply = await auditor.request(method, place, json={"no": "such field"})
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden"), (method, path)
    assert not await world.backend.store.events()


async def test_a_read_is_on_record_with_who_what_and_when(world: World) -> None:
    await world.asked(id="r1", assignee="bob")
    auditor = world.client("auditor", "eve")
    assert (await auditor.get("/v1/requests/r1")).json()["title"] == "Go?"
    await auditor.get("/v1/audit?request_id=r1&limit=5")
    assert (await auditor.get("/v1/requests/nowhere")).status_code == 404
    first, second = await accesses(world)
    assert (first["by"], first["read"]) == ("eve", ["/v1/requests/r1"])
    assert second["read"] == ["/v1/audit?request_id=r1"]
    assert {"at", "by", "read"} == first.keys()
    found = [event for event in await world.backend.store.events() if event.record == "journal"]
    assert [event.actor for event in found] == ["system", "eve", "eve"]
    assert (await verify_store(world.backend.store))[1] == []


async def test_the_words_of_a_search_are_not_recorded(world: World) -> None:
    await world.client("auditor", "eve").get("/v1/requests?q=illness")
    assert [each["read"] for each in await accesses(world)] == [["/v1/requests"]]


async def test_many_reads_of_one_record_are_one_entry_until_the_window_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.asked(id="r1")
    auditor = world.client("auditor", "eve")
    await asyncio.gather(*(auditor.get("/v1/requests/r1") for _ in range(20)))
    assert len(await accesses(world)) == 1
    monkeypatch.setattr(middleware, "WINDOW_SECONDS", 0.0)
    await auditor.get("/v1/requests/r1")
    assert len(await accesses(world)) == 2


async def test_reads_during_a_write_share_the_next_entry(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    auditor, save = world.client("auditor", "eve"), middleware.AuditorReadLog._save

    async def save_slowly(*parts: Any) -> None:
        await asyncio.to_thread(int)
        await save(*parts)

    monkeypatch.setattr(middleware.AuditorReadLog, "_save", save_slowly)
    await asyncio.gather(*(world.asked(id=f"r{n}") for n in range(30)))
    await asyncio.gather(*(auditor.get(f"/v1/requests/r{n}") for n in range(30)))
    found = await accesses(world)
    assert sorted(path for each in found for path in each["read"]) == sorted(f"/v1/requests/r{n}" for n in range(30))
    assert len(found) < 30


async def test_others_leave_no_trace_and_cannot_read_the_log(world: World) -> None:
    await world.asked(id="r1")
    for role in ("admin", "person"):
        await world.client(role, "ann").get("/v1/requests/r1")
    assert await accesses(world) == []
    assert (await world.client("person", "ann").get("/v1/access-log")).status_code == 403


async def test_the_log_is_of_one_tenant(world: World) -> None:
    await world.client("auditor", "eve", "elsewhere").get("/v1/requests")
    assert await accesses(world) == []
    assert [each["by"] for each in await accesses(world, "auditor", "elsewhere")] == ["eve"]


async def test_what_cannot_be_recorded_is_not_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.asked(id="r1", title="Secret?")

    async def fail(*_: object) -> None:
        raise UnavailableError("no disk")

    monkeypatch.setattr(middleware.AuditorReadLog, "_save", fail)
    reply = await world.client("auditor", "eve").get("/v1/requests/r1")
    assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
    assert "Secret?" not in reply.text


async def test_an_erasure_of_an_auditor_leaves_what_was_read(world: World) -> None:
    await world.client("auditor", "eve").get("/v1/requests")
    await world.client("admin", "root").post("/v1/erasures", json={"person": "eve"})
    assert [(each["by"], each["read"]) for each in await accesses(world)] == [("erased:person", ["/v1/requests"])]
    assert (await verify_store(world.backend.store))[1] == []


async def test_an_auditor_signs_in_on_the_page_and_out_everywhere(world: World) -> None:
    client = world.stranger(origin=world.url)
    session = await client.post("/v1/session", json={"token": world.token("auditor", "eve")})
    assert session.json()["role"] == "auditor"
    assert (await client.post("/v1/requests", json={"title": "Go?"})).status_code == 403
    assert (await client.delete("/v1/session?everywhere=true")).status_code == 204


def test_groups_make_auditors_unless_they_make_administrators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_AUDITOR_GROUPS", "audit, revision")
    monkeypatch.setenv("RINGI_ADMIN_GROUPS", "ops")
    monkeypatch.setenv("RINGI_PEOPLE_GROUPS", "staff")
    roles = GroupRoles.load()
    assert roles.person("eve", ["revision"]).role == "auditor"
    assert roles.person("eve", ["audit", "ops"]).role == "admin"
    assert roles.person("eve", ["staff"]).role == "person"


async def test_a_stream_is_one_read(store_url: str) -> None:
    async with open_world(store_url) as world:
        assert (await world.client("auditor", "eve").head("/v1/events")).status_code == 200
        assert [each["read"] for each in await accesses(world)] == [["/v1/events"]]
